import { access } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { type Database, isPostgresUrl, openDatabase, sqlitePath } from '@quartermaster/db/database.ts';
import { isSame, type MovedTable, MoveError, moveDatabase } from '@quartermaster/db/database-move.ts';
import { DatabaseUnavailableError } from '@quartermaster/db/errors.ts';
import { ROOT } from '../config.ts';
import { progressBar } from './progress-bar.ts';
import { tableOf } from './text-table.ts';

// Moves a deployment to another database: npm run migrate-database -- --from sqlite:... --to postgres://...
const { values } = parseArgs({ options: { from: { type: 'string' }, to: { type: 'string' } } });

/** As a shell reports a program that SIGINT ended. */
const INTERRUPTED = 130;

/** Characters of a checksum that are shown; all of it is compared. */
const SHOWN = 16;

if (values.from === undefined || values.to === undefined)
  stop('usage: npm run migrate-database -- --from <url> --to <url>');
else await move(values.from, values.to);

async function move(from: string, to: string): Promise<void> {
  const reason = await refusal(from, to);
  if (reason !== null) return stop(reason);
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupted.abort());
  const opened: Database[] = [];
  const bar = progressBar('rows');
  try {
    const source = await openDatabase(from, ROOT);
    opened.push(source);
    const target = await openDatabase(to, ROOT);
    opened.push(target);
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
    else if (error instanceof MoveError) stop(error.message);
    else if (error instanceof DatabaseUnavailableError) stop(`a database is busy or away: ${String(error.cause)}`);
    else throw error;
  } finally {
    await Promise.all(opened.map((db) => db.destroy()));
  }
}

/** Why these two cannot be moved, before either is opened: opening a file makes it. */
async function refusal(from: string, to: string): Promise<string | null> {
  for (const url of [from, to]) {
    if (!isPostgresUrl(url) && sqlitePath(url, ROOT) === null) return 'a database is sqlite:<path> or postgres://...';
  }
  const file = isPostgresUrl(from) ? null : sqlitePath(from, ROOT);
  if (from === to || (file !== null && !isPostgresUrl(to) && file === sqlitePath(to, ROOT))) {
    return 'the source and the target are the same database';
  }
  const missing =
    file !== null &&
    (await access(file).then(
      () => false,
      () => true,
    ));
  return missing ? `there is no database at ${file}` : null;
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
