import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { sqlitePath } from '@quartermaster/db/database.ts';
import { BackupError, backupSqlite } from '@quartermaster/db/dialects/sqlite-backup.ts';
import { ROOT, readConfig } from '../config.ts';
import { progressBar } from './progress-bar.ts';
import { tableOf } from './text-table.ts';

// Copies the embedded database that DATABASE_URL names, while servers use it: npm run backup -- --to <file>
const { values } = parseArgs({ options: { to: { type: 'string' } } });
const { databaseUrl } = readConfig({ ...process.env, QM_DEV_IDENTITY: '' });
const from = sqlitePath(databaseUrl, ROOT);

if (values.to === undefined) stop('usage: npm run backup -- --to <file>');
else if (from === null) stop('DATABASE_URL names a Postgres server: use pg_dump, as docs/operations.md says');
else await backUp(from, resolve(values.to));

async function backUp(from: string, to: string): Promise<void> {
  const bar = progressBar('pages');
  try {
    const tables = await backupSqlite({ from, to, onProgress: ({ pages, of }) => bar.update('database', pages, of) });
    bar.stop();
    const lines = tableOf(
      ['table', 'rows', 'sha-256'],
      tables.map(({ table, rows, checksum }) => [table, rows, checksum]),
    );
    process.stdout.write(`${lines}\n\nintegrity check: ok; compared with the database: the same\n${to}\n`);
    process.stdout.write(`its secrets open with ${from}.key, or QM_SECRET_KEY: keep that as well, and apart from it\n`);
  } catch (error) {
    bar.stop();
    if (!(error instanceof BackupError) && !(error instanceof Error && 'code' in error)) throw error;
    stop(error.message);
  }
}

function stop(message: string): void {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}
