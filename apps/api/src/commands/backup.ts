import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { sqlitePath } from '@quartermaster/db/database.ts';
import { BackupError, backupSqlite } from '@quartermaster/db/dialects/sqlite-backup.ts';
import { ROOT, readDatabaseUrl } from '../config.ts';
import { reportFailure } from '../failures.ts';
import { progressBar } from './progress-bar.ts';
import { tableOf } from './text-table.ts';

// Copies the embedded database that DATABASE_URL names, while servers use it: npm run backup -- --to <file>
const { values } = parseArgs({ options: { to: { type: 'string' } } });

try {
  const from = sqlitePath(readDatabaseUrl(process.env), ROOT);
  if (values.to === undefined) stop('usage: npm run backup -- --to <file>');
  else if (from === null) stop('DATABASE_URL names a Postgres server: use pg_dump, as docs/operations.md says');
  // npm runs it in the folder of the repository, and says where it was called.
  else await backUp(from, resolve(process.env['INIT_CWD'] ?? '', values.to));
} catch (error) {
  reportFailure(error);
}

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
