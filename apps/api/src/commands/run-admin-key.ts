import { openDatabase, requireSchema } from '@quartermaster/db/database.ts';
import { ROOT, readDatabaseUrl, readSecretKeys } from '../config.ts';
import { recoverAdministrator } from '../server/bootstrap.ts';
import { openSecretBox } from '../server/secret-key.ts';
import { refuseUnfinishedMove } from '../server/unfinished-move.ts';
import { requireFile } from './require-file.ts';
import { type Invocation, runCommand } from './run-command.ts';

const usage = `npm run --silent admin-key

For an operator on the host who has lost the keys: prints another key of the first platform administrator. DATABASE_URL says
of which database, which has to be one that this version was started on. QM_SECRET_KEY is read as by the server.`;

/** Prints another API key of the first platform administrator. @returns the exit code */
export function runAdminKey(invocation: Invocation): Promise<number> {
  const { environment, stdout } = invocation;
  const run = async () => {
    const url = readDatabaseUrl(environment);
    await requireFile(url);
    const db = await openDatabase(url, ROOT);
    try {
      await requireSchema(db);
      await refuseUnfinishedMove(db);
      const now = () => new Date();
      const secrets = await openSecretBox(db, readSecretKeys(environment), now);
      stdout.write(`${await recoverAdministrator({ db, now, secrets })}\n`);
      return 0;
    } finally {
      await db.destroy();
    }
  };
  return runCommand({ usage, options: [], run }, invocation);
}
