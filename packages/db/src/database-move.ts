import { setImmediate as breathe } from 'node:timers/promises';
import { sql } from 'kysely';
import { type Database, migrate, requireSchema } from './database.ts';
import { isPostgres } from './dialects/postgres.ts';
import { makeSpanPartitions } from './dialects/postgres-spans.ts';
import { DatabaseUnfitError } from './errors.ts';
import { hasTable } from './stored-migrations.ts';
import { TABLE_NAMES, type TableName } from './stored-tables.ts';
import { type Contents, contentsOf, keyOf, type Row, type RowKey, rowsBehind, rowsOfBatch } from './table-contents.ts';
import { inTransaction } from './transaction.ts';
import { withoutWrites } from './without-writes.ts';

/** What a move has come to: of a table so many rows of so many. */
type MoveProgress = { table: TableName; rows: number; of: number };

/** A table that was moved, and what each side has of it. */
export type MovedTable = { table: TableName; from: Contents; to: Contents };

/** The move cannot be made; the message says why, and what to do. Nothing was changed, or what was can be gone on with. */
export class MoveError extends Error {}

export type MoveOptions = {
  /** Names the source: an unfinished move goes on from the one that it was begun from. */
  origin: string;
  /** Ends the move between two batches. */
  signal: AbortSignal;
  onProgress: (progress: MoveProgress) => void;
  /** Rows copied in one transaction; {@link rowsOfBatch} by default. An insert of SQLite takes 32,766 parameters. */
  batchSize?: number;
};

/** In the target, while a move is unfinished: how far each table is copied. The row of no table names the source. */
const PROGRESS = 'database_move';
type Step = { table_name: string; last_key: string | null; copied: number };

/**
 * Copies all that a database holds to an empty one, of any dialect, and compares. While it runs the source takes no
 * writes: what its servers are asked to write is refused, so that nothing that was acknowledged is left behind.
 *
 * Each batch is one transaction with the note of how far it got: after an interruption, however sudden, the same call goes
 * on from there. What was written to the source meanwhile shows in the comparison.
 *
 * @returns what each side has; the target is finished where they are the same everywhere
 * @throws {MoveError} where the source is of another version or half a move itself, or the target is not empty
 */
export async function moveDatabase(source: Database, target: Database, options: MoveOptions): Promise<MovedTable[]> {
  await named('source', requireWhole(source));
  await named('target', migrate(target));
  // As a server does at its start: spans that are younger than its days would have to be moved to them then.
  if (isPostgres(target)) await makeSpanPartitions(target, new Date());
  return withoutWrites(source, async (frozen) => {
    // Again: it may have changed before it could not any more.
    await named('source', requireWhole(frozen));
    await beginOrGoOn(target, options.origin);
    const moved: MovedTable[] = [];
    for (const table of TABLE_NAMES) await copyTable(frozen, target, { ...options, table });
    for (const table of TABLE_NAMES) {
      options.signal.throwIfAborted();
      moved.push({ table, from: await contentsOf(frozen, table), to: await contentsOf(target, table) });
    }
    if (moved.every(isSame)) await target.schema.dropTable(PROGRESS).execute();
    return moved;
  });
}

export function isSame({ from, to }: MovedTable): boolean {
  return from.rows === to.rows && from.checksum === to.checksum;
}

/** Where the unfinished move to a database comes from; null where there is none. A finished one leaves nothing behind. */
export async function unfinishedMove(db: Database): Promise<string | null> {
  if (!(await hasTable(db, PROGRESS))) return null;
  return (await stepOf(db, ''))?.last_key ?? 'another database';
}

/** Of this version, and all that its own source had. */
async function requireWhole(source: Database): Promise<void> {
  await requireSchema(source);
  await refuseHalf(source);
}

/**
 * What is half a move looks like a database, once the note of the move is forgotten.
 *
 * @throws {DatabaseUnfitError}
 */
export async function refuseHalf(db: Database): Promise<void> {
  const origin = await unfinishedMove(db);
  if (origin === null) return;
  throw new DatabaseUnfitError(`holds an unfinished move from ${origin}: bring that to its end first`);
}

/** Says of which of the two it is that it does not do. */
async function named(which: 'source' | 'target', work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    throw error instanceof DatabaseUnfitError ? new MoveError(`the ${which} ${error.message}`) : error;
  }
}

async function beginOrGoOn(target: Database, origin: string): Promise<void> {
  if (await hasTable(target, PROGRESS)) {
    const begun = await stepOf(target, '');
    if (begun?.last_key === origin) return;
    throw new MoveError(`the target holds an unfinished move from ${begun?.last_key}: go on with that, or empty it`);
  }
  for (const table of TABLE_NAMES) {
    const [row] = await rowsBehind(target, table, { after: null, limit: 1 });
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
    await note(trx, { table_name: '', last_key: origin, copied: 0 });
  });
}

type TableCopy = Omit<MoveOptions, 'origin'> & { table: TableName };

async function copyTable(source: Database, target: Database, options: TableCopy): Promise<void> {
  const { table, signal, onProgress, batchSize = rowsOfBatch(options.table) } = options;
  const step = await stepOf(target, table);
  const of = await countOf(source, table);
  let after = step?.last_key == null ? null : (JSON.parse(step.last_key) as RowKey);
  let rows = step?.copied ?? 0;
  onProgress({ table, rows, of });
  for (let copied = batchSize; copied === batchSize; ) {
    signal.throwIfAborted();
    const batch = await rowsBehind(source, table, { after, limit: batchSize });
    const last = batch.at(-1);
    copied = batch.length;
    if (last === undefined) return;
    const behind = keyOf(table, last);
    const sum = rows + copied;
    await inTransaction(target, async (trx) => {
      await insertRows(trx, table, batch);
      await note(trx, { table_name: table, last_key: JSON.stringify(behind), copied: sum });
    });
    [after, rows] = [behind, sum];
    onProgress({ table, rows, of });
    // Between two files nothing waits: signals would not come in.
    await breathe();
  }
}

/** A row that is there already is the same one: that its batch was committed may not have been heard. */
async function insertRows(db: Database, table: TableName, rows: readonly Row[]): Promise<void> {
  const columns = Object.keys(rows[0] ?? {});
  const values = rows.map((row) => sql`(${sql.join(columns.map((column) => row[column] ?? null))})`);
  const names = sql.join(columns.map((column) => sql.ref(column)));
  await sql`insert into ${sql.table(table)} (${names}) values ${sql.join(values)} on conflict do nothing`.execute(db);
}

async function stepOf(db: Database, table: string): Promise<Step | undefined> {
  const query = sql<Step>`select * from ${sql.table(PROGRESS)} where table_name = ${table}`;
  return (await query.execute(db)).rows[0];
}

async function note(db: Database, { table_name, last_key, copied }: Step): Promise<void> {
  await sql`insert into ${sql.table(PROGRESS)} (table_name, last_key, copied) values (${table_name}, ${last_key}, ${copied})
    on conflict (table_name) do update set last_key = excluded.last_key, copied = excluded.copied`.execute(db);
}

async function countOf(db: Database, table: TableName): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(table)}`.execute(db);
  return Number(rows[0]?.count ?? 0);
}
