import { setImmediate as breathe } from 'node:timers/promises';
import { type Expression, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import type { Database } from './database.ts';
import { isPostgres } from './dialects/postgres.ts';
import { before, MAX_PLACES, type PageKey, type PageRequest, within } from './queries.ts';
import { statement } from './statement.ts';
import { EVERYWHERE, type TenantScope } from './tenancy.ts';

/** Rows that are looked at between two turns of the event loop: some milliseconds of work on SQLite. */
const ROWS_AT_ONCE = 2000;

/** Rows that one request looks at, whatever it finds among them, unless the request says otherwise. */
const MAX_ROWS_SCANNED = 200_000;

type ListedTable =
  | 'audit_events'
  | 'credentials'
  | 'gateways'
  | 'manifests'
  | 'operator_tasks'
  | 'providers'
  | 'runtime_observations'
  | 'service_accounts'
  | 'traces'
  | 'users';

/** What stands where its parent does, and is listed by it. */
type ChildTable = 'gateway_sessions' | 'inventory_items' | 'recommendations';

/** Users are of no tenant, and listed as what is everywhere. */
type Keyed = { tenant_id?: string; created_at: string; id: string };

/** Which rows of a list are wanted: before `after`, down to `until` (itself included), at the most `rows`. */
export type Stretch = {
  scope: TenantScope;
  after: PageKey | null;
  until: PageKey | null;
  rows: number;
  /** The same range as plain bounds on `created_at`, on Postgres alone: see {@link plainBounds}. */
  times: { from: string; to: string } | null;
};

type Listed = { table: ListedTable } | { table: ChildTable; parentId: string } | { keyAt: KeyAt };

/** Some rows further down than `after`. */
export type At = { scope: TenantScope; after: PageKey | null; offset: number };

/** The key some rows further down a list, whatever its filters: read from an index alone. At most one. */
type KeyAt = (db: Database, at: At) => Promise<{ created_at: string; id: string }[]>;

export type Listing<Row> = Listed & {
  /** Whether filters leave rows out, and no index finds those that are left. Those in `created` are none of them. */
  isSifted: boolean;
  /** Where the rows were made: what is newer is not looked at, nor what is older. */
  created?: { after: string | null | undefined; before: string | null | undefined };
  /** The rows of a stretch that pass the filters, newest first. */
  rows: (stretch: Stretch) => Promise<Row[]>;
};

/**
 * One page of a list that is sorted by (created_at, id), newest first. The id of a trace is its {@link tracePlace}.
 *
 * Work is bounded, however large the table and however little is found: where rows are sifted, it looks at
 * {@link ROWS_AT_ONCE} of them at a time and at {@link MAX_ROWS_SCANNED} in all; then the page ends where it looked last, and
 * may be short, or empty, though there are more. Each place of the scope is read by its own index, and merged: for
 * several at once SQLite would read and sort all that they hold.
 */
export async function listRows<Row extends Keyed>(
  db: Database,
  scope: TenantScope,
  page: PageRequest,
  listing: Listing<Row>,
): Promise<{ rows: Row[]; next: PageKey | null }> {
  if (scope.length > MAX_PLACES) return listManyPlaces(db, scope, page, listing);
  const places = distinct(scope);
  const found: Row[] = [];
  let floor: PageKey | null = null;
  for (const place of places) {
    const wanted = { after: beginOf(page, listing), rows: page.limit + 1, maxRowsScanned: page.maxRowsScanned };
    const read = await listPlace(db, [place], wanted, listing);
    found.push(...read.rows);
    if (read.stoppedAt && (floor === null || isBefore(floor, read.stoppedAt))) floor = read.stoppedAt;
  }
  // Where one place was not read to its end, nothing is known of what is older in it.
  const known = floor === null ? found : found.filter((row) => !isBefore(keyOf(row), floor));
  const sorted = places.length < 2 ? known : merged(known);
  const rows = sorted.slice(0, page.limit);
  const last = rows.at(-1);
  return { rows, next: sorted.length > page.limit && last ? keyOf(last) : floor };
}

/**
 * The same for many places: one walk through the rows of all tenants, newest first, that leaves out those of other places
 * as a filter does. A query for each place would take longer, and their number has no bound.
 */
async function listManyPlaces<Row extends Keyed>(
  db: Database,
  scope: TenantScope,
  page: PageRequest,
  listing: Listing<Row>,
): Promise<{ rows: Row[]; next: PageKey | null }> {
  const wanted = { after: beginOf(page, listing), rows: page.limit + 1, maxRowsScanned: page.maxRowsScanned };
  const walk = { ...listing, isSifted: true, scopeOfKeys: EVERYWHERE };
  const { rows: found, stoppedAt } = await listPlace(db, scope, wanted, walk);
  const rows = found.slice(0, page.limit);
  const last = rows.at(-1);
  return { rows, next: found.length > page.limit && last ? keyOf(last) : stoppedAt };
}

async function listPlace<Row extends Keyed>(
  db: Database,
  scope: TenantScope,
  wanted: { after: PageKey | null; rows: number; maxRowsScanned: number | undefined },
  listing: Listing<Row> & { scopeOfKeys?: TenantScope },
): Promise<{ rows: Row[]; stoppedAt: PageKey | null }> {
  const { isSifted, created, rows: read, scopeOfKeys = scope } = listing;
  let { after } = wanted;
  const stretch = (until: PageKey | null, rows: number): Stretch => {
    return { scope, after, until, rows, times: plainBounds(db, after, until) };
  };
  if (!isSifted) return { rows: await read(stretch(null, wanted.rows)), stoppedAt: null };
  const { maxRowsScanned = MAX_ROWS_SCANNED } = wanted;
  const rows: Row[] = [];
  for (let looked = 0; looked < maxRowsScanned; looked += ROWS_AT_ONCE) {
    if (looked > 0) await breathe();
    const [end] = await keyAt(db, listing, { scope: scopeOfKeys, after, offset: ROWS_AT_ONCE - 1 });
    const isLast = !end || (created?.after != null && end.created_at <= created.after);
    const until: PageKey | null = isLast ? null : [end.created_at, end.id];
    rows.push(...(await read(stretch(until, wanted.rows - rows.length))));
    if (until === null || rows.length === wanted.rows) return { rows, stoppedAt: null };
    after = until;
  }
  return { rows, stoppedAt: after };
}

/**
 * Postgres estimates each comparison of row constructors alone, as a large part of the table, and would then read and sort
 * the table for a range of {@link ROWS_AT_ONCE} rows. A pair of plain bounds adds no condition, but the planner knows it
 * as a range. SQLite needs none, and could choose a worse index for them.
 */
function plainBounds(db: Database, after: PageKey | null, until: PageKey | null): Stretch['times'] {
  return isPostgres(db) ? { from: until?.[0] ?? '', to: after?.[0] ?? AFTER_ALL_TIMES } : null;
}

/** No time begins with it, and all sort before it. */
const AFTER_ALL_TIMES = '~';

/**
 * The plain bounds of a range, to be put after its other conditions: Postgres begins to scan an index at the first
 * condition on its column, and many rows may share one time.
 */
export function withinTimes(times: Stretch['times']): Expression<SqlBool> {
  return times === null ? sql<SqlBool>`1 = 1` : sql<SqlBool>`created_at <= ${times.to} and created_at >= ${times.from}`;
}

/**
 * The order, place and number of a stretch's rows, for a query of them.
 *
 * @param id what the list is sorted by, after the time
 */
export function inStretch<DB, T extends keyof DB, O>(
  { after, until, rows, times }: Pick<Stretch, 'after' | 'until' | 'rows' | 'times'>,
  id: Expression<string> = ID,
) {
  return (query: SelectQueryBuilder<DB, T, O>): SelectQueryBuilder<DB, T, O> =>
    query
      .where(withinStretch({ after, until }, id))
      .$if(times !== null, (ranged) => ranged.where(withinTimes(times)))
      .orderBy(sql.ref('created_at'), 'desc')
      .orderBy(id, 'desc')
      .limit(rows);
}

function withinStretch(
  { after, until }: Pick<Stretch, 'after' | 'until'>,
  id: Expression<string>,
): Expression<SqlBool> {
  if (until === null) return olderThan(after, id);
  const isReached = sql<SqlBool>`(created_at, ${id}) >= (${until[0]}, ${until[1]})`;
  return id === ID
    ? sql<SqlBool>`${olderThan(after, id)} and ${isReached}`
    : sql<SqlBool>`${olderThan(after, id)} and ${isReached} and created_at >= ${until[0]}`;
}

/** What tells traces of one time apart: one trace may stand in several places. */
export const tracePlace = sql<string>`trace_id || '/' || tenant_id || '/' || sub_tenant_id`;

const ID: Expression<string> = sql.ref('id');

function olderThan(key: PageKey | null, id: Expression<string>): Expression<SqlBool> {
  if (id === ID || key === null) return before(key, 'created_at', 'id');
  // The second condition says nothing new, but an index of SQLite serves it.
  return sql<SqlBool>`(created_at, ${id}) < (${key[0]}, ${key[1]}) and created_at <= ${key[0]}`;
}

/** Where the page begins: after the one before it, and before what is too new. */
function beginOf({ after }: PageRequest, { created }: Pick<Listing<never>, 'created'>): PageKey | null {
  if (created?.before == null) return after;
  // No id comes before the empty text.
  const newest: PageKey = [created.before, ''];
  return after !== null && isBefore(after, newest) ? after : newest;
}

function keyAt(db: Database, listed: Listed, at: At): ReturnType<KeyAt> {
  if ('keyAt' in listed) return listed.keyAt(db, at);
  return 'parentId' in listed
    ? KEY_AT_IN_PARENT[listed.table](db, { ...at, parentId: listed.parentId })
    : KEY_AT[listed.table](db, at);
}

const KEY_AT = {
  audit_events: keyOfTable('audit_events'),
  credentials: keyOfTable('credentials'),
  gateways: keyOfTable('gateways'),
  manifests: keyOfTable('manifests'),
  operator_tasks: keyOfTable('operator_tasks'),
  providers: keyOfTable('providers'),
  runtime_observations: keyOfTable('runtime_observations'),
  service_accounts: keyOfTable('service_accounts'),
  traces: keyOfTable('traces', tracePlace),
  users: keyOfTable('users'),
} satisfies Record<ListedTable, unknown>;

const KEY_AT_IN_PARENT = {
  gateway_sessions: keyInParent('gateway_sessions', 'gateway_id'),
  inventory_items: keyInParent('inventory_items', 'provider_id'),
  recommendations: keyInParent('recommendations', 'provider_id'),
} satisfies Record<ChildTable, unknown>;

function keyOfTable(table: ListedTable, id = ID) {
  return statement((db, at: At) => keyQuery(db, table, at, id).where(within(at.scope)));
}

function keyInParent(table: ChildTable, parent: 'gateway_id' | 'provider_id') {
  return statement((db, at: At & { parentId: string }) =>
    keyQuery(db, table, at, ID)
      .where(sql.ref(parent), '=', at.parentId)
      // Not the sub-tenant: all rows of a parent stand where it does, and the index does not have it.
      .where(within(at.scope.map((place) => ({ ...place, subTenantId: null })))),
  );
}

function keyQuery(db: Database, table: ListedTable | ChildTable, { after, offset }: At, id: Expression<string>) {
  return db
    .selectFrom(table)
    .select(['created_at', sql<string>`${id}`.as('id')])
    .where(olderThan(after, id))
    .orderBy('created_at', 'desc')
    .orderBy(id, 'desc')
    .limit(1)
    .offset(offset);
}

/** The places that no other one covers, each once. */
function distinct(scope: TenantScope): TenantScope {
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

/** Newest first. Places may overlap, though none covers the other: a tenant, and a sub-tenant of this name in any. */
function merged<Row extends Keyed>(rows: readonly Row[]): Row[] {
  const once = new Map(rows.map((row) => [`${row.tenant_id}\n${row.id}`, row]));
  return [...once.values()].toSorted((a, b) => (isBefore(keyOf(a), keyOf(b)) ? 1 : -1));
}

function keyOf(row: Keyed): PageKey {
  return [row.created_at, row.id];
}

/** Whether a key comes later in the list: older. */
function isBefore(a: PageKey, b: PageKey): boolean {
  return a[0] === b[0] ? a[1] < b[1] : a[0] < b[0];
}
