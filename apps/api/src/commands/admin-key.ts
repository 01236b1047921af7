import { migrate, openDatabase } from '@quartermaster/db/database.ts';
import { ROOT, readConfig } from '../config.ts';
import { recoverAdministrator } from '../server/bootstrap.ts';

// For whoever has the host and lost the keys: prints another key of the first platform administrator.
const { databaseUrl } = readConfig({ ...process.env, QM_DEV_IDENTITY: '' });
const db = await openDatabase(databaseUrl, ROOT);
try {
  await migrate(db);
  process.stdout.write(`${await recoverAdministrator(db, new Date())}\n`);
} finally {
  await db.destroy();
}
