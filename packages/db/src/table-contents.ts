import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from './database.ts';
import { TABLE_KEYS, type TableName } from './stored-tables.ts';

/** A row as any dialect has it: texts, numbers, bytes and nulls. */
export type Row = Record<string, string | number | Buffer | null>;

/** A row's primary key, in the order of its columns. No key has bytes. */
export type RowKey = readonly (string | number | null)[];

/** How many rows a table has, and the SHA-256 of all of them in the order of their keys, hex. */
export type Contents = { rows: number; checksum: string };

/** Rows that are read, or copied in one transaction, at once. */
const ROWS_OF_BATCH = 500;

/** Blocks of spans have up to some megabytes each. */
const BLOCKS_OF_BATCH = 16;

export function rowsOfBatch(table: TableName): number {
  return table === 'span_blocks' ? BLOCKS_OF_BATCH : ROWS_OF_BATCH;
}

/** The rows behind a key in the order of their keys: bytewise, on every dialect. */
export async function rowsBehind(
  db: Database,
  table: TableName,
  { after, limit }: { after: RowKey | null; limit: number },
): Promise<Row[]> {
  const key = sql.join(TABLE_KEYS[table].map((column) => sql.ref(column)));
  const behind = after === null ? sql`` : sql`where (${key}) > (${sql.join([...after])})`;
  const query = sql<Row>`select * from ${sql.table(table)} ${behind} order by ${key} limit ${limit}`;
  return (await query.execute(db)).rows;
}

export function keyOf(table: TableName, row: Row): RowKey {
  return TABLE_KEYS[table].map((column) => {
    const value = row[column] ?? null;
    if (Buffer.isBuffer(value)) throw new TypeError('a key has no bytes');
    return value;
  });
}

/**
 * Reads a whole table. A row counts as its columns in the order of their names, each a text or null: so what two dialects
 * hold compares equal where it is, whatever order or width they keep it in.
 */
export async function contentsOf(db: Database, table: TableName): Promise<Contents> {
  const hash = createHash('sha256');
  let rows = 0;
  let batch: Row[] = [];
  let after: RowKey | null = null;
  const limit = rowsOfBatch(table);
  do {
    batch = await rowsBehind(db, table, { after, limit });
    for (const row of batch) hash.update(`${canonical(row)}\n`);
    const last = batch.at(-1);
    if (last) after = keyOf(table, last);
    rows += batch.length;
  } while (batch.length === limit);
  return { rows, checksum: hash.digest('hex') };
}

function canonical(row: Row): string {
  const columns = Object.keys(row).toSorted();
  return JSON.stringify(columns.map((column) => [column, textOf(row[column] ?? null)]));
}

function textOf(value: Row[string] | null): string | null {
  if (value === null || value === undefined) return null;
  return Buffer.isBuffer(value) ? value.toString('base64') : String(value);
}
