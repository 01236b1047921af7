import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { type Expression, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import type { Database } from './database.ts';
import { isPostgres } from './dialects/postgres.ts';
import { beforeKey, inScope, MAX_LISTED_PLACES, type PageKey, type PageRequest } from './queries.ts';
import { preparedStatement } from './prepared-statement.ts';
import { EVERYWHERE, type TenantScope } from './tenancy.ts';

/** Rows that are scanned before yielding to the event loop, by default: some milliseconds of work on SQLite. */
const BATCH_SIZE = 2000;

/** Rows that one request scans at most by default, even if few of them pass its filters. */
const MAX_ROWS_SCANNED = 200_000;

type ListedTable =
  | 'audit_events'
  | 'credentials'
  | 'gateways'
  | 'inventory_items'
  | 'manifests'
  | 'operator_tasks'
  | 'providers'
  | 'recommendations'
  | 'runtime_observations'
  | 'service_accounts'
  | 'traces'
  | 'users';

/** Records that belong to a parent and are listed for one parent. They are in the same place as the parent. */
type ChildTable = 'gateway_sessions' | 'inventory_items' | 'recommendations';

/** A listed row. Users belong to no tenant. */
type Keyed = { tenant_id?: string; created_at?: string; start_time?: string; id: string };

/** What a list is sorted by, both descending: a time, or the time in an id, then an id. */
export type ListOrder = { time: 'created_at' | 'start_time' | 'id'; id: Expression<string> };

const BY_CREATION: ListOrder = { time: 'created_at', id: sql.ref('id') };

/** Nearly the order of creation, since ids begin with the time of creation. The primary key is the index for it. */
export const BY_ID: ListOrder = { time: 'id', id: sql.ref('id') };

/** The order of traces. A trace id is not unique, since one trace may be in several places. */
export const BY_TRACE_START: ListOrder = {
  time: 'start_time',
  id: sql<string>`trace_id || '/' || tenant_id || '/' || sub_tenant_id`,
};

/**
 * A range of rows for keyset pagination, newest first: from after the key `after` to the key `until` (inclusive), at most
 * `rows`.
 */
export type KeysetRange = {
  scope: TenantScope;
  after: PageKey | null;
  until: PageKey | null;
  rows: number;
  /** Postgres only: the same range as bounds on the time that rows are sorted by. See {@link timeBounds}. */
  times: { from: string; to: string } | null;
};

type Listed = { table: ListedTable } | { table: ChildTable; parentId: string } | { findKeyAt: FindKeyAt };

/** The position `offset` rows after the key `after`. */
export type KeysetOffset = { scope: TenantScope; after: PageKey | null; offset: number };

/** Finds the key at a position of the unfiltered list, from an index alone. Returns at most one. */
type FindKeyAt = (db: Database, at: KeysetOffset) => Promise<Keyed[]>;

export type Listing<Row> = Listed & {
  /** Default: newest first, by creation. */
  order?: ListOrder;
  /** Whether there are filters that no index serves. The bounds in `times` do not count. */
  hasUnindexedFilter: boolean;
  /** Rows that are scanned before yielding to the event loop. Set a smaller number for a table with large rows. */
  batchSize?: number;
  /** Bounds on the time that rows are sorted by. Rows outside of them are not scanned. */
  times?: { after: string | null | undefined; before: string | null | undefined };
  /** Reads the rows of a range that pass the filters, newest first. */
  rows: (range: KeysetRange) => Promise<Row[]>;
};

/**
 * One page of a list that is sorted by (created_at, id), newest first, or by another order.
 *
 * The work is bounded, however large the table and however few rows match. With unindexed filters it scans
 * a batch of rows at a time, and {@link MAX_ROWS_SCANNED} in total. Then the page ends at the last scanned row, so it
 * may be short or empty although there are more.
 *
 * Each place of the scope is read by its own index, and the results are merged. For several places in one query SQLite would
 * read and sort all of their rows.
 */
export async function listRows<Row extends Keyed>(
  db: Database,
  scope: TenantScope,
  page: PageRequest,
  listing: Listing<Row>,
): Promise<{ rows: Row[]; next: PageKey | null }> {
  if (scope.length > MAX_LISTED_PLACES) return listManyPlaces(db, scope, page, listing);
  const places = withoutCoveredPlaces(scope);
  const { order = BY_CREATION } = listing;
  const found: Row[] = [];
  let completeDownTo: PageKey | null = null;
  for (const place of places) {
    const wanted = { after: startOfPage(page, listing), rows: page.limit + 1, maxRowsScanned: page.maxRowsScanned };
    const read = await listPlace(db, [place], wanted, listing);
    found.push(...read.rows);
    if (read.stoppedAt && (completeDownTo === null || isOlder(completeDownTo, read.stoppedAt)))
      completeDownTo = read.stoppedAt;
  }
  // If one place was not scanned to its end, rows older than where it stopped may be missing: they belong to the next page.
  const known = completeDownTo === null ? found : found.filter((row) => !isOlder(keyOf(row, order), completeDownTo));
  const sorted = places.length < 2 ? known : sortNewestFirst(known, order);
  const rows = sorted.slice(0, page.limit);
  const last = rows.at(-1);
  return { rows, next: sorted.length > page.limit && last ? keyOf(last, order) : completeDownTo };
}

/**
 * {@link listRows} for many places. It scans the rows of all tenants, newest first, and treats the scope as an unindexed
 * filter. One query for each place would take longer, and there may be any number of places.
 */
async function listManyPlaces<Row extends Keyed>(
  db: Database,
  scope: TenantScope,
  page: PageRequest,
  listing: Listing<Row>,
): Promise<{ rows: Row[]; next: PageKey | null }> {
  const wanted = { after: startOfPage(page, listing), rows: page.limit + 1, maxRowsScanned: page.maxRowsScanned };
  const overAllTenants = { ...listing, hasUnindexedFilter: true, scopeOfKeys: EVERYWHERE };
  const { rows: found, stoppedAt } = await listPlace(db, scope, wanted, overAllTenants);
  const rows = found.slice(0, page.limit);
  const last = rows.at(-1);
  return { rows, next: found.length > page.limit && last ? keyOf(last, listing.order) : stoppedAt };
}

async function listPlace<Row extends Keyed>(
  db: Database,
  scope: TenantScope,
  wanted: { after: PageKey | null; rows: number; maxRowsScanned: number | undefined },
  listing: Listing<Row> & { scopeOfKeys?: TenantScope },
): Promise<{ rows: Row[]; stoppedAt: PageKey | null }> {
  const { order, hasUnindexedFilter, batchSize = BATCH_SIZE, times, rows: read, scopeOfKeys = scope } = listing;
  let { after } = wanted;
  const range = (until: PageKey | null, rows: number): KeysetRange => {
    return { scope, after, until, rows, times: timeBounds(db, after, until) };
  };
  if (!hasUnindexedFilter) return { rows: await read(range(null, wanted.rows)), stoppedAt: null };
  const { maxRowsScanned = MAX_ROWS_SCANNED } = wanted;
  const rows: Row[] = [];
  for (let scanned = 0; scanned < maxRowsScanned; scanned += batchSize) {
    if (scanned > 0) await yieldToEventLoop();
    const [end] = await findKeyAt(db, listing, { scope: scopeOfKeys, after, offset: batchSize - 1 });
    const key = end && keyOf(end, order);
    const isLast = key === undefined || (times?.after != null && key[0] <= times.after);
    const until: PageKey | null = isLast ? null : key;
    rows.push(...(await read(range(until, wanted.rows - rows.length))));
    if (until === null || rows.length === wanted.rows) return { rows, stoppedAt: null };
    after = until;
  }
  return { rows, stoppedAt: after };
}

/**
 * The bounds of a range on its time alone. They are redundant, but the planner of Postgres can estimate them. Of a comparison of
 * row constructors it assumes that it matches a large part of the table. Without the bounds it would read and sort the whole
 * table to find a few rows. SQLite gets none: it needs no such hint, and might choose a worse index because of it.
 */
function timeBounds(db: Database, after: PageKey | null, until: PageKey | null): KeysetRange['times'] {
  return isPostgres(db) ? { from: until?.[0] ?? '', to: after?.[0] ?? AFTER_ALL_TIMES } : null;
}

/** Sorts after every time. */
const AFTER_ALL_TIMES = '~';

/**
 * The condition of {@link timeBounds}. It must come after the other conditions: Postgres starts an index scan at the first
 * condition on a column, and many rows may share one time.
 */
export function inTimeRange(
  times: KeysetRange['times'],
  { time }: Pick<ListOrder, 'time'> = BY_CREATION,
): Expression<SqlBool> {
  if (times === null) return sql<SqlBool>`1 = 1`;
  return sql<SqlBool>`${sql.ref(time)} <= ${times.to} and ${sql.ref(time)} >= ${times.from}`;
}

/** Limits a query to a range: its condition, order and limit. */
export function inKeysetRange<DB, T extends keyof DB, O>(
  { after, until, rows, times }: Pick<KeysetRange, 'after' | 'until' | 'rows' | 'times'>,
  order = BY_CREATION,
) {
  return (query: SelectQueryBuilder<DB, T, O>): SelectQueryBuilder<DB, T, O> =>
    query
      .where(keysetCondition({ after, until }, order))
      .$if(times !== null, (ranged) => ranged.where(inTimeRange(times, order)))
      .orderBy(sql.ref(order.time), 'desc')
      .orderBy(order.id, 'desc')
      .limit(rows);
}

function keysetCondition(
  { after, until }: Pick<KeysetRange, 'after' | 'until'>,
  order: ListOrder,
): Expression<SqlBool> {
  if (until === null) return olderThan(after, order);
  const time = sql.ref(order.time);
  const isReached = sql<SqlBool>`(${time}, ${order.id}) >= (${until[0]}, ${until[1]})`;
  return order === BY_CREATION
    ? sql<SqlBool>`${olderThan(after, order)} and ${isReached}`
    : sql<SqlBool>`${olderThan(after, order)} and ${isReached} and ${time} >= ${until[0]}`;
}

function olderThan(key: PageKey | null, order: ListOrder): Expression<SqlBool> {
  if (order === BY_CREATION || key === null) return beforeKey(key, 'created_at', 'id');
  const time = sql.ref(order.time);
  // The second condition is redundant, but SQLite can use an index for it.
  return sql<SqlBool>`(${time}, ${order.id}) < (${key[0]}, ${key[1]}) and ${time} <= ${key[0]}`;
}

/** The key after which the page begins: the end of the previous page, or the upper bound in `times` if that is older. */
function startOfPage({ after }: PageRequest, { times }: Pick<Listing<never>, 'times'>): PageKey | null {
  if (times?.before == null) return after;
  // Every id sorts after the empty text.
  const newest: PageKey = [times.before, ''];
  return after !== null && isOlder(after, newest) ? after : newest;
}

function findKeyAt(db: Database, listed: Listed, at: KeysetOffset): ReturnType<FindKeyAt> {
  if ('findKeyAt' in listed) return listed.findKeyAt(db, at);
  return 'parentId' in listed
    ? FIND_KEY_IN_PARENT[listed.table](db, { ...at, parentId: listed.parentId })
    : FIND_KEY[listed.table](db, at);
}

const FIND_KEY = {
  audit_events: findKeyOfTable('audit_events'),
  credentials: findKeyOfTable('credentials'),
  gateways: findKeyOfTable('gateways'),
  inventory_items: findKeyOfTable('inventory_items', BY_ID),
  manifests: findKeyOfTable('manifests'),
  operator_tasks: findKeyOfTable('operator_tasks'),
  providers: findKeyOfTable('providers'),
  recommendations: findKeyOfTable('recommendations'),
  runtime_observations: findKeyOfTable('runtime_observations'),
  service_accounts: findKeyOfTable('service_accounts'),
  traces: findKeyOfTable('traces', BY_TRACE_START),
  users: findKeyOfTable('users'),
} satisfies Record<ListedTable, unknown>;

const FIND_KEY_IN_PARENT = {
  gateway_sessions: findKeyInParent('gateway_sessions', 'gateway_id'),
  inventory_items: findKeyInParent('inventory_items', 'provider_id'),
  recommendations: findKeyInParent('recommendations', 'provider_id'),
} satisfies Record<ChildTable, unknown>;

function findKeyOfTable(table: ListedTable, order = BY_CREATION) {
  return preparedStatement((db, at: KeysetOffset) => keyQuery(db, table, at, order).where(inScope(at.scope)));
}

function findKeyInParent(table: ChildTable, parent: 'gateway_id' | 'provider_id') {
  return preparedStatement((db, at: KeysetOffset & { parentId: string }) =>
    keyQuery(db, table, at, BY_CREATION)
      .where(sql.ref(parent), '=', at.parentId)
      // Without the sub-tenant: all rows of a parent are in its sub-tenant, and the index lacks that column.
      .where(inScope(at.scope.map((place) => ({ ...place, subTenantId: null })))),
  );
}

function keyQuery(db: Database, table: ListedTable | ChildTable, { after, offset }: KeysetOffset, order: ListOrder) {
  return db
    .selectFrom(table)
    .select([sql.ref<string>(order.time).as(order.time), sql<string>`${order.id}`.as('id')])
    .where(olderThan(after, order))
    .orderBy(sql.ref(order.time), 'desc')
    .orderBy(order.id, 'desc')
    .limit(1)
    .offset(offset);
}

/** The places that no other place of the scope covers, each once. */
function withoutCoveredPlaces(scope: TenantScope): TenantScope {
  return scope.filter((place, index) =>
    scope.every(
      (other, position) =>
        position === index || !includes(other, place) || (includes(place, other) && index < position),
    ),
  );
}

function includes(outer: TenantScope[number], inner: TenantScope[number]): boolean {
  return (
    (outer.tenantId === null || outer.tenantId === inner.tenantId) &&
    (outer.subTenantId === null || outer.subTenantId === inner.subTenantId)
  );
}

/**
 * Sorts rows of several places newest first, each once. Places may overlap although none covers the other: one tenant as a
 * whole, and a sub-tenant id in any tenant.
 */
function sortNewestFirst<Row extends Keyed>(rows: readonly Row[], order: ListOrder): Row[] {
  const once = new Map(rows.map((row) => [`${row.tenant_id}\n${row.id}`, row]));
  return [...once.values()].toSorted((a, b) => (isOlder(keyOf(a, order), keyOf(b, order)) ? 1 : -1));
}

function keyOf(row: Keyed, { time }: ListOrder = BY_CREATION): PageKey {
  return [row[time] ?? '', row.id];
}

/** Whether `a` is older than `b`, and so comes later in the list. */
function isOlder(a: PageKey, b: PageKey): boolean {
  return a[0] === b[0] ? a[1] < b[1] : a[0] < b[0];
}
