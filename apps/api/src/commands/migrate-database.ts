import { type Database, isPostgresUrl, openDatabase, sqlitePath } from '@quartermaster/db/database.ts';
import { isSame, type MovedTable, MoveError, moveDatabase } from '@quartermaster/db/database-move.ts';
import { DatabaseUnavailableError, DatabaseUnfitError } from '@quartermaster/db/errors.ts';
import { sql } from 'kysely';
import { ConfigError, DATABASE_URL_FORM, isDatabaseUrl, ROOT } from '../config.ts';
import { causeOf } from '../failures.ts';
import { progressBar } from './progress-bar.ts';
import { requireFile } from './require-file.ts';
import { runCommand } from './run-command.ts';
import { tableOf } from './text-table.ts';

const usage = `npm run migrate-database -- --from <url> --to <url>

Moves a deployment to another database: sqlite:<path> or postgres://...`;

/** As a shell reports a program that SIGINT ended. */
const INTERRUPTED = 130;

/** Characters of a checksum that are shown; all of it is compared. */
const SHOWN = 16;

await runCommand({ usage, options: ['from', 'to'] }, ({ from, to }) => move(from, to));

async function move(from: string, to: string): Promise<void> {
  refuseAsMove(from, to);
  await requireFile(from);
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupted.abort());
  const opened: Database[] = [];
  const bar = progressBar('rows');
  try {
    const source = await usable('--from', from, opened);
    const target = await usable('--to', to, opened);
    const moved = await moveDatabase(source, target, {
      origin: named(from),
      signal: interrupted.signal,
      onProgress: ({ table, rows, of }) => bar.update(table, rows, of),
    });
    bar.stop();
    report(moved, from);
  } catch (error) {
    bar.stop();
    if (interrupted.signal.aborted) stop('interrupted: the same command goes on from here', INTERRUPTED);
    else if (error instanceof MoveError) throw new ConfigError(error.message);
    else if (error instanceof DatabaseUnfitError) throw new ConfigError(`a database ${error.message}`);
    else if (error instanceof DatabaseUnavailableError) {
      stop(`a database is busy or away: ${causeOf(error)}: the same command may be run again`);
    } else throw error;
  } finally {
    await Promise.all(opened.map((db) => db.destroy()));
  }
}

/** Before either is opened: opening a file makes it. @throws {ConfigError} where these two cannot be moved */
function refuseAsMove(from: string, to: string): void {
  if (![from, to].every(isDatabaseUrl)) throw new ConfigError(`a database is ${DATABASE_URL_FORM}`);
  const file = sqlitePath(from, ROOT);
  if (from === to || (file !== null && file === sqlitePath(to, ROOT))) {
    throw new ConfigError('the source and the target are the same database');
  }
}

/** Opens a database, and asks it something. @throws {ConfigError} where it cannot be used as it is named */
async function usable(option: string, url: string, opened: Database[]): Promise<Database> {
  try {
    const db = await openDatabase(url, ROOT);
    opened.push(db);
    await sql`select 1`.execute(db);
    return db;
  } catch (error) {
    if (!(error instanceof DatabaseUnavailableError)) throw error;
    throw new ConfigError(`${option}: the database cannot be used: ${causeOf(error)}`);
  }
}

function report(moved: readonly MovedTable[], from: string): void {
  const rows = moved.map((table) => [
    ...[table.table, table.from.rows, table.to.rows],
    ...[table.from.checksum.slice(0, SHOWN), table.to.checksum.slice(0, SHOWN), isSame(table) ? 'same' : 'DIFFERS'],
  ]);
  process.stdout.write(`${tableOf(['table', 'source', 'target', 'sha-256', 'sha-256', ''], rows)}\n\n`);
  if (!moved.every(isSame)) {
    stop('the target differs: one of the two was written to between two runs. Empty the target, and move again');
    return;
  }
  const key = isPostgresUrl(from) ? 'QM_SECRET_KEY' : `QM_SECRET_KEY, or what ${sqlitePath(from, ROOT)}.key holds`;
  process.stdout.write(`moved. Start the servers with the new DATABASE_URL, and the same ${key}\n`);
}

/** A database without the password in its URL. */
function named(url: string): string {
  if (!isPostgresUrl(url)) return `sqlite:${sqlitePath(url, ROOT)}`;
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

function stop(message: string, code = 1): void {
  process.stderr.write(`${message}\n`);
  process.exitCode = code;
}
