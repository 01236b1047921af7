import type { Database } from '@quartermaster/db/database.ts';
import { openDatabase } from '@quartermaster/db/open-database.ts';
import { hasSameContents, moveDatabase, type MovedTable, MoveError } from '@quartermaster/db/database-move.ts';
import { isPostgresUrl, sqlitePath } from '@quartermaster/db/database-url.ts';
import { DatabaseUnavailableError, DatabaseUnfitError } from '@quartermaster/db/errors.ts';
import { sql } from 'kysely';
import { ConfigError, DATABASE_URL_FORM, isDatabaseUrl, ROOT } from '../config.ts';
import { installation } from '../installation.ts';
import { causeOf, isTransient } from '../server/failures.ts';
import { progressBar } from './progress-bar.ts';
import { requireFile } from './require-file.ts';
import { type Invocation, runCommand } from './run-command.ts';
import { tableOf } from './text-table.ts';

const usage = `${installation.commandLine('migrate')} --from <url> --to <url>

Moves a deployment to another database: sqlite:<path> or postgres://...`;

/** The exit code with which shells report a program that SIGINT ended. */
const INTERRUPTED = 130;

const FAILED = 1;

/** Characters of a checksum that are printed. All of it is compared. */
const CHECKSUM_SHOWN = 16;

/** `signal` interrupts the move between two batches. */
type MoveInvocation = Invocation & { signal: AbortSignal };

/** Moves a deployment to another database, or resumes an interrupted move. @returns the exit code */
export function runMigrateDatabase(invocation: MoveInvocation): Promise<number> {
  const run = (urls: { from: string; to: string }) => move(urls, invocation);
  return runCommand({ usage, options: ['from', 'to'], run }, invocation);
}

async function move({ from, to }: { from: string; to: string }, invocation: MoveInvocation): Promise<number> {
  const { signal, stderr } = invocation;
  requireMovable(from, to);
  await requireFile(from);
  const opened: Database[] = [];
  const bar = progressBar('rows', stderr);
  const fail = (message: string, exitCode: number) => {
    stderr.write(`${message}\n`);
    return exitCode;
  };
  try {
    const source = await openUsable('--from', from, opened);
    const target = await openUsable('--to', to, opened);
    const moved = await moveDatabase(source, target, {
      origin: withoutPassword(from),
      signal,
      onProgress: ({ table, rows, of }) => bar.update(table, rows, of),
    });
    bar.stop();
    return report({ moved, from }, invocation);
  } catch (error) {
    bar.stop();
    if (signal.aborted) return fail('interrupted: run the same command again to continue', INTERRUPTED);
    if (error instanceof MoveError) throw new ConfigError(error.message);
    if (error instanceof DatabaseUnfitError) throw new ConfigError(`a database ${error.message}`);
    if (!(error instanceof DatabaseUnavailableError)) throw error;
    return fail(`a database is busy or away: ${causeOf(error)}: run the same command again to continue`, FAILED);
  } finally {
    await Promise.all(opened.map((db) => db.destroy()));
  }
}

/**
 * Checks the URLs before the databases are opened, because opening would create a missing file.
 *
 * @throws {ConfigError} if one is not a database URL, or both name the same database
 */
function requireMovable(from: string, to: string): void {
  if (![from, to].every(isDatabaseUrl)) throw new ConfigError(`a database is ${DATABASE_URL_FORM}`);
  const file = sqlitePath(from, ROOT);
  if (from === to || (file !== null && file === sqlitePath(to, ROOT))) {
    throw new ConfigError('the source and the target are the same database');
  }
}

/**
 * Opens a database, and runs a query to check that it works.
 *
 * @throws {DatabaseUnavailableError} if a later attempt may succeed
 * @throws {ConfigError} if none will
 */
async function openUsable(option: string, url: string, opened: Database[]): Promise<Database> {
  try {
    const db = await openDatabase(url, ROOT);
    opened.push(db);
    await sql`select 1`.execute(db);
    return db;
  } catch (error) {
    if (!(error instanceof DatabaseUnavailableError)) throw error;
    const reason = `${option}: the database cannot be used: ${causeOf(error)}`;
    throw isTransient(error)
      ? new DatabaseUnavailableError({ cause: new Error(reason, { cause: error }) })
      : new ConfigError(reason);
  }
}

/** Prints the comparison of both databases. @returns the exit code: 0 only if every table is the same */
function report(
  { moved, from }: { moved: readonly MovedTable[]; from: string },
  { stdout, stderr }: Invocation,
): number {
  const rows = moved.map((table) => [
    table.table,
    table.from.rows,
    table.to.rows,
    table.from.checksum.slice(0, CHECKSUM_SHOWN),
    table.to.checksum.slice(0, CHECKSUM_SHOWN),
    hasSameContents(table) ? 'same' : 'DIFFERS',
  ]);
  stdout.write(`${tableOf(['table', 'source', 'target', 'sha-256', 'sha-256', ''], rows)}\n\n`);
  if (!moved.every(hasSameContents)) {
    const why = 'one of the two was written to between two runs. Empty the target, and move again';
    stderr.write(`the target differs: ${why}\n`);
    return FAILED;
  }
  const key = isPostgresUrl(from)
    ? 'QM_SECRET_KEY'
    : `QM_SECRET_KEY (the content of ${sqlitePath(from, ROOT)}.key, unless you set it)`;
  stdout.write(`moved. Start the servers with the new DATABASE_URL, and the same ${key}\n`);
  return 0;
}

/** The URL of a database without user and password. */
function withoutPassword(url: string): string {
  if (!isPostgresUrl(url)) return `sqlite:${sqlitePath(url, ROOT)}`;
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}
