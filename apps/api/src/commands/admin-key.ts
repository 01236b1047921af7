import { openDatabase, requireSchema } from '@quartermaster/db/database.ts';
import { ROOT, readDatabaseUrl } from '../config.ts';
import { recoverAdministrator } from '../server/bootstrap.ts';
import { refuseUnfinishedMove } from '../server/unfinished-move.ts';
import { requireFile } from './require-file.ts';
import { runCommand } from './run-command.ts';

const usage = `npm run --silent admin-key

For whoever has the host and lost the keys: prints another key of the first platform administrator. DATABASE_URL says
of which database, which has to be one that this version was started on.`;

await runCommand({ usage, options: [] }, async () => {
  const url = readDatabaseUrl(process.env);
  await requireFile(url);
  const db = await openDatabase(url, ROOT);
  try {
    await requireSchema(db);
    await refuseUnfinishedMove(db);
    process.stdout.write(`${await recoverAdministrator(db, new Date())}\n`);
  } finally {
    await db.destroy();
  }
});
