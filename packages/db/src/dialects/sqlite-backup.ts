import { link, lstat, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { Kysely, SqliteDialect } from 'kysely';
import { requireNoUnfinishedMove } from '../database-move.ts';
import { DatabaseUnfitError } from '../errors.ts';
import { listAppliedMigrations } from '../applied-migrations.ts';
import { TABLE_NAMES, type TableName } from '../stored-tables.ts';
import { readTableChecksum, type TableChecksum } from '../table-checksum.ts';
import type { Tables } from '../tables.ts';

/** Pages that are copied before yielding to the event loop: 4 MiB with the default page size. */
const PAGES_PER_STEP = 1000;

export type BackupOptions = {
  /** The file of the database. Servers may have it open. */
  from: string;
  /** The file to create. */
  to: string;
  onProgress: (progress: { pages: number; of: number }) => void;
};

/** A table in the backup, with its row count and checksum. */
export type BackedUpTable = TableChecksum & { table: TableName };

/** The backup failed, and its partial file was removed. The message says why. */
export class BackupError extends Error {}

/** The target file of the backup exists. */
export class TargetTakenError extends BackupError {}

/**
 * Copies a SQLite database that is in use, as a consistent snapshot. It reads in one transaction. In WAL mode that neither waits
 * for writers nor blocks them, but the write-ahead log grows until the end. The copy is checked and compared with the
 * snapshot, table by table, and only then gets its name. Only its owner may read it.
 *
 * Do not call this in a server: each step blocks the event loop.
 *
 * @throws {BackupError} if the copy is damaged or differs from the source
 * @throws {DatabaseUnfitError} if the source has no schema, or holds an unfinished move
 * @throws {TargetTakenError} if the target file exists. It is not changed.
 */
export async function backupSqlite({ from, to, onProgress }: BackupOptions): Promise<BackedUpTable[]> {
  // An early check, before everything is copied. The link below is the authoritative one.
  if (await isTaken(to)) throw new TargetTakenError(`${to} exists`);
  const partial = `${to}.${process.pid}.partial`;
  const source = new SqliteDatabase(from, { readonly: true, fileMustExist: true });
  try {
    // SQLite restarts a backup after each write, unless the source connection is already in a read transaction.
    source.exec('begin');
    source.prepare('select count(*) from sqlite_schema').get();
    await requireComplete(queryBuilderOn(source));
    await (await open(partial, 'wx', 0o600)).close();
    await source.backup(partial, {
      progress({ totalPages, remainingPages }) {
        onProgress({ pages: totalPages - remainingPages, of: totalPages });
        return PAGES_PER_STEP;
      },
    });
    const tables = await verifyCopy(source, partial);
    await syncToDisk(partial);
    // Unlike a rename, a link does not overwrite a file that was created in the meantime.
    await link(partial, to).catch((error: unknown) => {
      if (error instanceof Error && 'code' in error && error.code === 'EEXIST')
        throw new TargetTakenError(`${to} exists`);
      throw error;
    });
    await rm(partial);
    await syncToDisk(dirname(to));
    return tables;
  } finally {
    source.close();
    for (const rest of ['', '-wal', '-shm', '-journal']) await rm(`${partial}${rest}`, { force: true });
  }
}

/** Requires a schema of any version, and no unfinished move to this database. */
async function requireComplete(source: Kysely<Tables>): Promise<void> {
  if ((await listAppliedMigrations(source)).length === 0) throw new DatabaseUnfitError('has no schema of this service');
  await requireNoUnfinishedMove(source);
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

/** Checks the copy, and compares it with the snapshot of the source's transaction. */
async function verifyCopy(source: SqliteDatabase.Database, path: string): Promise<BackedUpTable[]> {
  const copy = new SqliteDatabase(path);
  try {
    // Makes the copy a single file. A server that opens it switches back to WAL.
    copy.pragma('journal_mode = delete');
    const faults = copy.pragma('integrity_check', { simple: true });
    if (faults !== 'ok') throw new BackupError(`the copy is damaged: ${String(faults)}`);
    const tables: BackedUpTable[] = [];
    for (const table of TABLE_NAMES) {
      const [original, copied] = [
        await readTableChecksum(queryBuilderOn(source), table),
        await readTableChecksum(queryBuilderOn(copy), table),
      ];
      if (original.checksum !== copied.checksum) throw new BackupError(`the copy differs in the table ${table}`);
      tables.push({ table, ...copied });
    }
    return tables;
  } finally {
    copy.close();
  }
}

/** A query builder on an open connection, within its current transaction. */
function queryBuilderOn(database: SqliteDatabase.Database): Kysely<Tables> {
  return new Kysely<Tables>({ dialect: new SqliteDialect({ database }) });
}

/** Flushes a file, or the entries of a folder, to the disk. */
async function syncToDisk(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
