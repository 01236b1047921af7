import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Database } from './database.ts';
import { firstInOrder } from './first-in-order.ts';
import { type KeysetRange, listRows } from './listing.ts';
import type { PageKey } from './queries.ts';
import type { TenantScope } from './tenancy.ts';

/** A row and the value that it is sorted by, as a text. */
export type SortKey = { tenant_id: string; created_at: string; id: string; value: string };

/** An order that no index serves. */
export type SortOrder = {
  /** The value of a row as a text that sorts like it. */
  value: RawBuilder<string>;
  isAscending?: boolean;
};

const ALL = Number.MAX_SAFE_INTEGER - 1;

type Options<Row> = {
  table: 'providers' | 'runtime_observations';
  /** Rows that are read before yielding to the event loop. */
  batchSize?: number;
  rows: (range: KeysetRange) => Promise<Row[]>;
};

/** Runs `options.rows` over all rows in `scope`, a batch at a time. The caller makes sure that there are not too many. */
export async function selectFromAll<Row extends { tenant_id: string; created_at: string; id: string }>(
  db: Database,
  scope: TenantScope,
  options: Options<Row>,
): Promise<Row[]> {
  const all = { limit: ALL, after: null, maxRowsScanned: ALL };
  return (await listRows(db, scope, all, { ...options, hasUnindexedFilter: true })).rows;
}

/** The condition that a row comes after the last one of a page. */
export function sortsAfter({ value, isAscending = false }: SortOrder, after: PageKey | null): Expression<SqlBool> {
  if (after === null) return sql<SqlBool>`1 = 1`;
  const comparison = sql.raw(isAscending ? '>' : '<');
  return sql<SqlBool>`(${value}, id) ${comparison} (${sql.join([...after])})`;
}

/** The first keys in an order. */
export function firstKeys(
  keys: readonly SortKey[],
  { isAscending = false }: SortOrder,
  limit: number,
): Promise<SortKey[]> {
  return firstInOrder(keys, limit, isAscending ? comesBefore : (a, b) => comesBefore(b, a));
}

function comesBefore(a: SortKey, b: SortKey): boolean {
  return a.value === b.value ? a.id < b.id : a.value < b.value;
}
