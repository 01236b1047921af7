import { migrate, openDatabase } from '@quartermaster/db/database.ts';
import { ROOT, readDatabaseUrl } from '../config.ts';
import { reportFailure } from '../failures.ts';
import { recoverAdministrator } from '../server/bootstrap.ts';
import { refuseUnfinishedMove } from '../server/unfinished-move.ts';

// For whoever has the host and lost the keys: prints another key of the first platform administrator.
try {
  const db = await openDatabase(readDatabaseUrl(process.env), ROOT);
  try {
    await migrate(db);
    await refuseUnfinishedMove(db);
    process.stdout.write(`${await recoverAdministrator(db, new Date())}\n`);
  } finally {
    await db.destroy();
  }
} catch (error) {
  reportFailure(error);
}
