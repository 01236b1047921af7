import { resolve } from 'node:path';
import { sqlitePath } from '@quartermaster/db/database.ts';
import { BackupError, backupSqlite, TargetTakenError } from '@quartermaster/db/dialects/sqlite-backup.ts';
import { ConfigError, ROOT, readDatabaseUrl } from '../config.ts';
import { progressBar } from './progress-bar.ts';
import { requireFile } from './require-file.ts';
import { runCommand } from './run-command.ts';
import { tableOf } from './text-table.ts';

const usage = `npm run backup -- --to <file>

Copies the embedded database that DATABASE_URL names, while servers use it.`;

/** A file or folder cannot be used as it was named; other errors of them come of the machine. */
const UNUSABLE = /^(ENOENT|ENOTDIR|EISDIR|EACCES|EPERM|EROFS|ELOOP|ENAMETOOLONG|SQLITE_(CANTOPEN|NOTADB|READONLY))/;

await runCommand({ usage, options: ['to'] }, async ({ to }) => {
  const url = readDatabaseUrl(process.env);
  const from = sqlitePath(url, ROOT);
  if (from === null) {
    throw new ConfigError('DATABASE_URL names a Postgres server: use pg_dump, as docs/operations.md says');
  }
  await requireFile(url);
  // npm runs it in the folder of the repository, and says where it was called.
  await backUp(from, resolve(process.env['INIT_CWD'] ?? '', to));
});

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
    const code = error instanceof Error && 'code' in error ? String(error.code) : null;
    if (!(error instanceof BackupError) && (!(error instanceof Error) || code === null)) throw error;
    if (error instanceof TargetTakenError || UNUSABLE.test(code ?? '')) throw new ConfigError(error.message);
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}
