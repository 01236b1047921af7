import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from './database.ts';
import { TABLE_KEYS, type TableName } from './stored-tables.ts';

/** A row in any dialect: texts, numbers, bytes and nulls. */
export type Row = Record<string, string | number | Buffer | null>;

/** The values of a row's primary key, in the order of its columns. No key contains bytes. */
export type RowKey = readonly (string | number | null)[];

/** The number of rows of a table, and the SHA-256 of all rows in the order of their keys, in hex. */
export type TableChecksum = { rows: number; checksum: string };

/** Rows that are read with one query, or copied in one transaction. */
const BATCH_SIZE = 500;

/** The same for blocks of spans, which have up to some megabytes each. */
const SPAN_BLOCKS_BATCH_SIZE = 16;

export function batchSizeOf(table: TableName): number {
  return table === 'span_blocks' ? SPAN_BLOCKS_BATCH_SIZE : BATCH_SIZE;
}

/** The rows after a key, in the order of their keys. The order is bytewise in every dialect. */
export async function listRowsAfter(
  db: Database,
  table: TableName,
  { after, limit }: { after: RowKey | null; limit: number },
): Promise<Row[]> {
  const key = sql.join(TABLE_KEYS[table].map((column) => sql.ref(column)));
  const condition = after === null ? sql`` : sql`where (${key}) > (${sql.join([...after])})`;
  const query = sql<Row>`select * from ${sql.table(table)} ${condition} order by ${key} limit ${limit}`;
  return (await query.execute(db)).rows;
}

export function keyOf(table: TableName, row: Row): RowKey {
  return TABLE_KEYS[table].map((column) => {
    const value = row[column] ?? null;
    if (Buffer.isBuffer(value)) throw new TypeError('a key contains bytes');
    return value;
  });
}

/**
 * Reads a whole table and computes its checksum. Columns are sorted by name, and values become texts or null. So the checksum
 * does not depend on how a dialect orders columns or stores numbers.
 */
export async function readTableChecksum(db: Database, table: TableName): Promise<TableChecksum> {
  const hash = createHash('sha256');
  let rows = 0;
  let batch: Row[] = [];
  let after: RowKey | null = null;
  const limit = batchSizeOf(table);
  do {
    batch = await listRowsAfter(db, table, { after, limit });
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
