import { link, lstat, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { Kysely, SqliteDialect } from 'kysely';
import { refuseHalf } from '../database-move.ts';
import { DatabaseUnfitError } from '../errors.ts';
import { migrationsOf } from '../stored-migrations.ts';
import { TABLE_NAMES, type TableName } from '../stored-tables.ts';
import { type Contents, contentsOf } from '../table-contents.ts';
import type { Tables } from '../tables.ts';

/** Pages copied between two looks at what else is to be done: 4 MiB of the usual pages. */
const PAGES_OF_STEP = 1000;

export type BackupOptions = {
  /** The database's file; servers may have it open. */
  from: string;
  /** The file that is made. */
  to: string;
  onProgress: (progress: { pages: number; of: number }) => void;
};

/** A table as it stands in the backup. */
export type BackedUpTable = Contents & { table: TableName };

/** The backup was not made: what there was of it is removed. The message says why. */
export class BackupError extends Error {}

/** There is a file already where the backup should be. */
export class TargetTakenError extends BackupError {}

/**
 * Copies an embedded database that is in use, as it stands in one moment: reads in one transaction, which in WAL mode
 * neither waits for those who write nor holds them up; the log that they write grows until it ends. The copy is checked
 * and compared with that moment, table by table, and has its name only then. Its owner alone may read it.
 *
 * Not for the process of a server: what it does between two steps holds the event loop.
 *
 * @throws {BackupError} where the copy is damaged or differs
 * @throws {DatabaseUnfitError} where there is nothing whole to copy
 * @throws {TargetTakenError} where there is a file of that name: it stays
 */
export async function backupSqlite({ from, to, onProgress }: BackupOptions): Promise<BackedUpTable[]> {
  // Before all is copied; the link at the end is for whoever comes in between.
  if (await isTaken(to)) throw new TargetTakenError(`${to} exists`);
  const partial = `${to}.${process.pid}.partial`;
  const source = new SqliteDatabase(from, { readonly: true, fileMustExist: true });
  try {
    // SQLite's backup begins anew whenever somebody writes, unless its connection reads in a transaction already.
    source.exec('begin');
    source.prepare('select count(*) from sqlite_schema').get();
    await requireWhole(reading(source));
    await (await open(partial, 'wx', 0o600)).close();
    await source.backup(partial, {
      progress({ totalPages, remainingPages }) {
        onProgress({ pages: totalPages - remainingPages, of: totalPages });
        return PAGES_OF_STEP;
      },
    });
    const tables = await compared(source, partial);
    await synced(partial);
    // Unlike a rename, a link does not take the place of a file that came in between.
    await link(partial, to).catch((error: unknown) => {
      if (error instanceof Error && 'code' in error && error.code === 'EEXIST')
        throw new TargetTakenError(`${to} exists`);
      throw error;
    });
    await rm(partial);
    await synced(dirname(to));
    return tables;
  } finally {
    source.close();
    for (const rest of ['', '-wal', '-shm', '-journal']) await rm(`${partial}${rest}`, { force: true });
  }
}

/** Of any version. */
async function requireWhole(source: Kysely<Tables>): Promise<void> {
  if ((await migrationsOf(source)).length === 0) throw new DatabaseUnfitError('has no schema of this service');
  await refuseHalf(source);
}

async function isTaken(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
    throw error;
  }
}

/** Checks the copy, and compares it with what the source's transaction sees. */
async function compared(source: SqliteDatabase.Database, path: string): Promise<BackedUpTable[]> {
  const copy = new SqliteDatabase(path);
  try {
    // One file, complete in itself: a server that opens it sets what it wants.
    copy.pragma('journal_mode = delete');
    const faults = copy.pragma('integrity_check', { simple: true });
    if (faults !== 'ok') throw new BackupError(`the copy is damaged: ${String(faults)}`);
    const tables: BackedUpTable[] = [];
    for (const table of TABLE_NAMES) {
      const [there, here] = [await contentsOf(reading(source), table), await contentsOf(reading(copy), table)];
      if (there.checksum !== here.checksum) throw new BackupError(`the copy differs in the table ${table}`);
      tables.push({ table, ...here });
    }
    return tables;
  } finally {
    copy.close();
  }
}

/** Queries on a connection that is open, in the transaction that it is in. */
function reading(database: SqliteDatabase.Database): Kysely<Tables> {
  return new Kysely<Tables>({ dialect: new SqliteDialect({ database }) });
}

/** To the disk, before anything is said of it: a file, or the names in a folder. */
async function synced(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
