import { resolve } from 'node:path';
import { sqlitePath } from '@quartermaster/db/database-url.ts';
import { BackupError, backupSqlite, TargetTakenError } from '@quartermaster/db/dialects/sqlite-backup.ts';
import { ConfigError, ROOT, readDatabaseUrl } from '../config.ts';
import { installation } from '../installation.ts';
import { progressBar } from './progress-bar.ts';
import { requireFile } from './require-file.ts';
import { type Invocation, runCommand } from './run-command.ts';
import { tableOf } from './text-table.ts';

const usage = `${installation.commandLine('backup')} --to <file>

Copies the embedded database that DATABASE_URL names, while servers use it.`;

/** Error codes of an unusable path. Other errors, such as a full disk, have nothing to do with the path. */
const UNUSABLE = /^(ENOENT|ENOTDIR|EISDIR|EACCES|EPERM|EROFS|ELOOP|ENAMETOOLONG|SQLITE_(CANTOPEN|NOTADB|READONLY))/;

/** Copies the embedded database to a file, and compares the two. @returns the exit code */
export function runBackup(invocation: Invocation): Promise<number> {
  const { environment } = invocation;
  const run = async ({ to }: { to: string }) => {
    const url = readDatabaseUrl(environment);
    const from = sqlitePath(url, ROOT);
    if (from === null) {
      throw new ConfigError('DATABASE_URL names a Postgres server: use pg_dump, as docs/operations.md says');
    }
    await requireFile(url);
    // npm changes to the repository's folder, and keeps the caller's folder in INIT_CWD.
    return backUp({ from, to: resolve(environment['INIT_CWD'] ?? '', to) }, invocation);
  };
  return runCommand({ usage, options: ['to'], run }, invocation);
}

async function backUp({ from, to }: { from: string; to: string }, { stdout, stderr }: Invocation): Promise<number> {
  const bar = progressBar('pages', stderr);
  try {
    const tables = await backupSqlite({ from, to, onProgress: ({ pages, of }) => bar.update('database', pages, of) });
    bar.stop();
    const lines = tableOf(
      ['table', 'rows', 'sha-256'],
      tables.map(({ table, rows, checksum }) => [table, rows, checksum]),
    );
    stdout.write(`${lines}\n\nintegrity check: ok; compared with the database: the same\n${to}\n`);
    stdout.write(`To restore it you also need ${from}.key, or QM_SECRET_KEY. Keep the key in another place.\n`);
    return 0;
  } catch (error) {
    bar.stop();
    const code = error instanceof Error && 'code' in error ? String(error.code) : null;
    if (!(error instanceof BackupError) && (!(error instanceof Error) || code === null)) throw error;
    if (error instanceof TargetTakenError || UNUSABLE.test(code ?? '')) throw new ConfigError(error.message);
    stderr.write(`${error.message}\n`);
    return 1;
  }
}
