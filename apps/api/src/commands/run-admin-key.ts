import { installation } from '../installation.ts';
import { recoverAdministrator } from '../server/bootstrap.ts';
import { type Invocation, runCommand } from './run-command.ts';
import { withDatabase } from './with-database.ts';

const usage = `${installation.commandLine('admin-key')}

For an operator on the host who has lost all keys: creates and prints a new API key of the first platform administrator.
DATABASE_URL names the database. This version must have been started on it before. QM_SECRET_KEY has the same meaning as for
the server.`;

/** Creates and prints an API key of the first platform administrator. @returns the exit code */
export function runAdminKey(invocation: Invocation): Promise<number> {
  const { environment, stdout } = invocation;
  const run = async () => {
    const key = await withDatabase(environment, (services) => recoverAdministrator(services));
    stdout.write(`${key}\n`);
    return 0;
  };
  return runCommand({ usage, options: [], run }, invocation);
}
