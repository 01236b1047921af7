import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database } from './database.ts';
import { compareSchema, migrate, requireSchema } from './migrate.ts';
import { isPostgres } from './dialects/postgres.ts';
import { createSpanPartitions } from './dialects/postgres-spans.ts';
import { DatabaseUnfitError } from './errors.ts';
import { hasTable } from './applied-migrations.ts';
import { TABLE_NAMES, type TableName } from './stored-tables.ts';
import {
  batchSizeOf,
  keyOf,
  listRowsAfter,
  readTableChecksum,
  type Row,
  type RowKey,
  type TableChecksum,
} from './table-checksum.ts';
import { inTransaction } from './transaction.ts';
import { withWritesBlocked } from './writes-blocked.ts';

/** How many rows of a table were copied, and how many it has. */
type MoveProgress = { table: TableName; rows: number; of: number };

/** A table that was moved, with its row count and checksum on both sides. */
export type MovedTable = { table: TableName; from: TableChecksum; to: TableChecksum };

/** The move is not possible. The message says why, and what to do. A move that has begun can still be resumed. */
export class MoveError extends Error {}

export type MoveOptions = {
  /** Names the source. An unfinished move can only be resumed from the same source. */
  origin: string;
  /** Aborts the move between two batches. */
  signal: AbortSignal;
  onProgress: (progress: MoveProgress) => void;
  /** Rows copied in one transaction; {@link batchSizeOf} by default. SQLite takes at most 32,766 parameters in a statement. */
  batchSize?: number;
};

/**
 * A table in the target that exists while a move is unfinished. It says how far each table is copied. The row with an empty
 * table name holds the name of the source.
 */
const PROGRESS = 'database_move';
type TableProgress = { table_name: string; last_key: string | null; copied: number };

/**
 * Copies a database to an empty one, of the same or another dialect, and compares the two. Writes to the source are refused
 * while it runs, so that no acknowledged write is left behind.
 *
 * Each batch is one transaction that also saves the progress. After an interruption, the same call resumes there. If the
 * source was written to in between, the comparison shows it.
 *
 * @returns the row count and checksum of each table on both sides. The move is complete if all tables are the same.
 * @throws {MoveError} if the source has another schema version or is the target of an unfinished move, or if the target is
 *   not empty
 */
export async function moveDatabase(source: Database, target: Database, options: MoveOptions): Promise<MovedTable[]> {
  await nameDatabaseInError('source', requireComplete(source));
  await nameDatabaseInError('target', migrate(target));
  // Otherwise new spans would go to the default partition, and the next start would have to move them.
  if (isPostgres(target)) await createSpanPartitions(target, new Date());
  return withWritesBlocked(source, async (frozen) => {
    // Check again: the source may have changed before its writes were blocked.
    await nameDatabaseInError('source', requireComplete(frozen));
    await startOrResume(target, options.origin);
    const moved: MovedTable[] = [];
    for (const table of TABLE_NAMES) await copyTable(frozen, target, { ...options, table });
    for (const table of TABLE_NAMES) {
      options.signal.throwIfAborted();
      moved.push({ table, from: await readTableChecksum(frozen, table), to: await readTableChecksum(target, table) });
    }
    if (!moved.every(hasSameContents)) return moved;
    // Without statistics PostgreSQL may choose any index that begins with the tenant. Autovacuum would collect them later.
    if (isPostgres(target)) await sql`analyze`.execute(target);
    await target.schema.dropTable(PROGRESS).execute();
    return moved;
  });
}

export function hasSameContents({ from, to }: MovedTable): boolean {
  return from.rows === to.rows && from.checksum === to.checksum;
}

/** The name of the source of an unfinished move to this database. Null if there is none. */
async function findUnfinishedMove(db: Database): Promise<string | null> {
  if (!(await hasTable(db, PROGRESS))) return null;
  return (await findProgress(db, ''))?.last_key ?? 'another database';
}

/** Requires the schema of this version, and no unfinished move to this database. */
async function requireComplete(source: Database): Promise<void> {
  await requireSchema(source);
  // What the later migrations added would be left behind.
  if ((await compareSchema(source)) === 'newer') {
    throw new DatabaseUnfitError('has the schema of a newer version: use the command of that version');
  }
  await requireNoUnfinishedMove(source);
}

/**
 * Refuses a database that holds an unfinished move. Without its progress table, a partial copy looks like a complete database.
 * Writes to it would be reported as differences when the move is resumed.
 *
 * @throws {DatabaseUnfitError}
 */
export async function requireNoUnfinishedMove(db: Database): Promise<void> {
  const origin = await findUnfinishedMove(db);
  if (origin === null) return;
  throw new DatabaseUnfitError(
    `holds an unfinished move from ${origin}: repeat the command of the move, or empty this database`,
  );
}

/** Adds to an error which of the two databases it is about. */
async function nameDatabaseInError(which: 'source' | 'target', work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    throw error instanceof DatabaseUnfitError ? new MoveError(`the ${which} ${error.message}`) : error;
  }
}

async function startOrResume(target: Database, origin: string): Promise<void> {
  if (await hasTable(target, PROGRESS)) {
    const begun = await findProgress(target, '');
    if (begun?.last_key === origin) return;
    throw new MoveError(
      `the target holds an unfinished move from ${begun?.last_key}: continue that move, or empty the target`,
    );
  }
  for (const table of TABLE_NAMES) {
    const [row] = await listRowsAfter(target, table, { after: null, limit: 1 });
    if (row) throw new MoveError(`the target is not empty: its table ${table} has rows`);
  }
  await inTransaction(target, async (trx) => {
    await trx.schema
      .createTable(PROGRESS)
      .addColumn('table_name', 'text', (column) => column.notNull())
      .addColumn('last_key', 'text')
      .addColumn('copied', 'integer', (column) => column.notNull())
      .addPrimaryKeyConstraint(`${PROGRESS}_key`, ['table_name'])
      .execute();
    await saveProgress(trx, { table_name: '', last_key: origin, copied: 0 });
  });
}

type TableCopy = Omit<MoveOptions, 'origin'> & { table: TableName };

async function copyTable(source: Database, target: Database, options: TableCopy): Promise<void> {
  const { table, signal, onProgress, batchSize = batchSizeOf(options.table) } = options;
  const progress = await findProgress(target, table);
  const of = await countOf(source, table);
  let after = progress?.last_key == null ? null : (JSON.parse(progress.last_key) as RowKey);
  let rows = progress?.copied ?? 0;
  onProgress({ table, rows, of });
  for (let copied = batchSize; copied === batchSize; ) {
    signal.throwIfAborted();
    const batch = await listRowsAfter(source, table, { after, limit: batchSize });
    const last = batch.at(-1);
    copied = batch.length;
    if (last === undefined) return;
    const lastKey = keyOf(table, last);
    const sum = rows + copied;
    await inTransaction(target, async (trx) => {
      await insertRows(trx, table, batch);
      await saveProgress(trx, { table_name: table, last_key: JSON.stringify(lastKey), copied: sum });
    });
    [after, rows] = [lastKey, sum];
    onProgress({ table, rows, of });
    // If both databases are SQLite, nothing else here yields. Signals such as SIGINT would then not be handled.
    await yieldToEventLoop();
  }
}

/** Skips rows that exist: their batch was committed before, and only the answer to the commit was lost. */
async function insertRows(db: Database, table: TableName, rows: readonly Row[]): Promise<void> {
  const columns = Object.keys(rows[0] ?? {});
  const values = rows.map((row) => sql`(${sql.join(columns.map((column) => row[column] ?? null))})`);
  const names = sql.join(columns.map((column) => sql.ref(column)));
  await sql`insert into ${sql.table(table)} (${names}) values ${sql.join(values)} on conflict do nothing`.execute(db);
}

async function findProgress(db: Database, table: string): Promise<TableProgress | undefined> {
  const query = sql<TableProgress>`select * from ${sql.table(PROGRESS)} where table_name = ${table}`;
  return (await query.execute(db)).rows[0];
}

async function saveProgress(db: Database, { table_name, last_key, copied }: TableProgress): Promise<void> {
  await sql`insert into ${sql.table(PROGRESS)} (table_name, last_key, copied) values (${table_name}, ${last_key}, ${copied})
    on conflict (table_name) do update set last_key = excluded.last_key, copied = excluded.copied`.execute(db);
}

async function countOf(db: Database, table: TableName): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(table)}`.execute(db);
  return Number(rows[0]?.count ?? 0);
}
