import { recoverAdministrator } from '../server/bootstrap.ts';
import { type Invocation, runCommand } from './run-command.ts';
import { withDatabase } from './with-database.ts';

const usage = `npm run --silent admin-key

For an operator on the host who has lost the keys: prints another key of the first platform administrator. DATABASE_URL says
of which database, which has to be one that this version was started on. QM_SECRET_KEY is read as by the server.`;

/** Prints another API key of the first platform administrator. @returns the exit code */
export function runAdminKey(invocation: Invocation): Promise<number> {
  const { environment, stdout } = invocation;
  const run = async () => {
    const key = await withDatabase(environment, (services) => recoverAdministrator(services));
    stdout.write(`${key}\n`);
    return 0;
  };
  return runCommand({ usage, options: [], run }, invocation);
}
