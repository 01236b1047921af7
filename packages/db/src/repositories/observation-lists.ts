import {
  type ObservationView,
  type RiskLevel,
  RiskLevelSchema,
  type RuntimeObservation,
} from '@quartermaster/contracts/runtime-observations.ts';
import { type Expression, type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { isPostgres } from '../dialects/postgres.ts';
import { inKeysetRange, listRows } from '../listing.ts';
import { containsAsciiText, inScope, type Page, type PageKey, type PageRequest, toFlag } from '../queries.ts';
import { firstKeys, type SortKey, type SortOrder, selectFromAll, sortsAfter } from '../sorted-keys.ts';
import type { TenantScope } from '../tenancy.ts';
import { toObservation } from './runtime-observations.ts';

/** What selects observations across providers. A condition that is left out or null selects all. */
export type ObservationSelection = {
  unknown?: boolean | null | undefined;
  status?: string | null | undefined;
  view?: ObservationView | null | undefined;
  minRisk?: RiskLevel | null | undefined;
  providerId?: string | null | undefined;
  kind?: string | null | undefined;
  name?: string | null | undefined;
  /** A part of the name; ASCII letters in any case. */
  text?: string | null | undefined;
  /** What this agent or service called, by its usage. */
  agent?: string | null | undefined;
  /** What this account reported, by its usage. */
  account?: string | null | undefined;
  /** An environment in which it was seen, in any case. */
  environment?: string | null | undefined;
  firstSeenAfter?: string | null | undefined;
  firstSeenBefore?: string | null | undefined;
  lastSeenAfter?: string | null | undefined;
  lastSeenBefore?: string | null | undefined;
};

/** Newest first, by when the service first received them. */
export async function selectObservations(
  db: Database,
  scope: TenantScope,
  selection: ObservationSelection,
  page: PageRequest,
): Promise<Page<RuntimeObservation>> {
  return listByCreation(db, scope, { selection, changedAfter: null }, page);
}

/** Observations that are read before yielding to the event loop. One may have 25 KB of evidence, in front of most columns. */
const BATCH_SIZE = 500;

const TABLE = { table: 'runtime_observations', batchSize: BATCH_SIZE } as const;

async function listByCreation(
  db: Database,
  scope: TenantScope,
  { selection, changedAfter }: { selection: ObservationSelection; changedAfter: string | null },
  page: PageRequest,
): Promise<Page<RuntimeObservation>> {
  const conditions = conditionsOf(selection);
  if (changedAfter !== null) conditions.push(sql`updated_at > ${changedAfter}`);
  const { rows, next } = await listRows(db, scope, page, {
    ...TABLE,
    hasUnindexedFilter: conditions.length > 0,
    rows: (range) => {
      let query = db.selectFrom('runtime_observations').selectAll().where(inScope(range.scope));
      for (const condition of conditions) query = query.where(condition);
      return query.$call(inKeysetRange(range)).execute();
    },
  });
  return { items: rows.map(toObservation), next };
}

/** Clocks of processes differ by less than this, in milliseconds. */
const CLOCK_TOLERANCE_MS = 60_000;

/** What observations can be sorted by, besides their creation. */
export type ObservationOrder =
  | 'last_seen_at'
  | 'first_seen_at'
  | 'risk'
  | 'calls'
  | 'name'
  | 'provider'
  | 'status'
  | 'reviewed_at';

/**
 * Sorts by another order than that of creation. No index serves it, because most of these values change with every span. So the
 * caller makes sure that there are few observations in `scope`.
 *
 * Values change while a client reads page after page, so a row may move to a page that was read already, and would be missed. For
 * this reason the list has a second part: all rows that changed since the first page, in the order of creation, which never
 * changes. A row that did not change is read exactly once, in the first part. A row that changed is read in the second part.
 *
 * @param now the time when the first page is read. Later pages have that time in their key.
 */
export async function selectSortedObservations(
  db: Database,
  scope: TenantScope,
  { order, ...selection }: ObservationSelection & { order: ObservationOrder },
  { limit, after }: PageRequest,
  now: Date,
): Promise<Page<RuntimeObservation>> {
  const position = positionOf(after, now);
  if (position.part === 'changed') return changedSince(db, scope, { selection, position, limit });
  const keys = await sortedKeys(db, scope, selection, { order, limit: limit + 1, after: position.key });
  const items = await findInOrder(db, scope, keys.slice(0, limit));
  const last = keys[limit - 1];
  if (keys.length > limit && last) {
    return { items, next: [`sorted ${position.startedAt} ${last.value}`, last.id] };
  }
  // One page is read at once: nothing can have moved.
  if (after === null) return { items, next: null };
  const rest = limit - items.length;
  const changed = { part: 'changed', startedAt: position.startedAt, key: null } as const;
  if (rest === 0) return { items, next: [`changed ${position.startedAt} `, ''] };
  const further = await changedSince(db, scope, { selection, position: changed, limit: rest });
  return { items: [...items, ...further.items], next: further.next };
}

/** The keys of the first observations that come after `after`. It reads all observations of the scope. */
async function sortedKeys(
  db: Database,
  scope: TenantScope,
  selection: ObservationSelection,
  { order, limit, after }: { order: ObservationOrder; limit: number; after: PageKey | null },
): Promise<SortKey[]> {
  const sortOrder = orderOf(db, order);
  const conditions = [...conditionsOf(selection), sortsAfter(sortOrder, after)];
  const keys = await selectFromAll(db, scope, {
    ...TABLE,
    rows: (range) => {
      let query = db
        .selectFrom('runtime_observations')
        .select(['tenant_id', 'created_at', 'id', sortOrder.value.as('value')])
        .where(inScope(range.scope));
      for (const condition of conditions) query = query.where(condition);
      return query.$call(inKeysetRange(range)).execute();
    },
  });
  return firstKeys(keys, sortOrder, limit);
}

/** The observations of some keys, in their order. One that was removed since its key was read is left out. */
async function findInOrder(db: Database, scope: TenantScope, keys: readonly SortKey[]): Promise<RuntimeObservation[]> {
  if (keys.length === 0) return [];
  const ids = keys.map(({ id }) => id);
  const rows = await db
    .selectFrom('runtime_observations')
    .selectAll()
    .where('id', 'in', ids)
    .where(inScope(scope))
    .execute();
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => {
    const row = byId.get(id);
    return row ? [toObservation(row)] : [];
  });
}

type Position = { part: 'sorted' | 'changed'; startedAt: string; key: PageKey | null };

function positionOf(after: PageKey | null, now: Date): Position {
  if (after === null) return { part: 'sorted', startedAt: now.toISOString(), key: null };
  const [part = '', startedAt = ''] = after[0].split(' ', 2);
  // A name may have spaces.
  const value = after[0].slice(`${part} ${startedAt} `.length);
  return { part: part === 'sorted' ? 'sorted' : 'changed', startedAt, key: value === '' ? null : [value, after[1]] };
}

async function changedSince(
  db: Database,
  scope: TenantScope,
  { selection, position, limit }: { selection: ObservationSelection; position: Position; limit: number },
): Promise<Page<RuntimeObservation>> {
  const changedAfter = new Date(Date.parse(position.startedAt) - CLOCK_TOLERANCE_MS).toISOString();
  const found = await listByCreation(db, scope, { selection, changedAfter }, { limit, after: position.key });
  return {
    items: found.items,
    next: found.next && [`changed ${position.startedAt} ${found.next[0]}`, found.next[1]],
  };
}

/** Whether an observation passes the filters now. */
export async function isSelected(
  db: Database,
  scope: TenantScope,
  selection: ObservationSelection,
  id: string,
): Promise<boolean> {
  let query = db.selectFrom('runtime_observations').select('id').where('id', '=', id).where(inScope(scope));
  for (const condition of conditionsOf(selection)) query = query.where(condition);
  return (await query.executeTakeFirst()) !== undefined;
}

/** How many open observations each view has, and each risk level. */
export type OpenCounts = {
  open: number;
  new: number;
  seenAgain: number;
  changedDefinition: number;
  low: number;
  medium: number;
  high: number;
};

export async function countOpenObservations(
  db: Database,
  scope: TenantScope,
  selection: ObservationSelection,
): Promise<OpenCounts> {
  const conditions = [IN_VIEW.open, ...conditionsOf(selection)];
  const rows = await selectFromAll(db, scope, {
    ...TABLE,
    rows: (range) => {
      let query = db
        .selectFrom('runtime_observations')
        .select(['tenant_id', 'created_at', 'id'])
        .select([
          flag(IS_NEW).as('new'),
          flag(IS_SEEN_AGAIN).as('seenAgain'),
          flag(IS_CHANGED).as('changedDefinition'),
          flag(hasRisk('low')).as('low'),
          flag(hasRisk('medium')).as('medium'),
          flag(hasRisk('high')).as('high'),
        ])
        .where(inScope(range.scope));
      for (const condition of conditions) query = query.where(condition);
      return query.$call(inKeysetRange(range)).execute();
    },
  });
  const count = (name: Exclude<keyof OpenCounts, 'open'>) => rows.reduce((sum, row) => sum + row[name], 0);
  return {
    open: rows.length,
    new: count('new'),
    seenAgain: count('seenAgain'),
    changedDefinition: count('changedDefinition'),
    low: count('low'),
    medium: count('medium'),
    high: count('high'),
  };
}

/** The observations at a provider, or of an agent. */
export type ObservationGroup = {
  key: string;
  count: number;
  byRisk: { low: number; medium: number; high: number };
  lastSeenAt: string;
};

/**
 * All groups of the selected observations. An observation is in the group of each agent that called it. In no particular
 * order.
 */
export async function groupObservations(
  db: Database,
  scope: TenantScope,
  selection: ObservationSelection,
  by: 'provider' | 'agent',
): Promise<ObservationGroup[]> {
  const conditions = conditionsOf(selection);
  const keys = by === 'provider' ? sql<string>`provider_id` : agentsAsJson(db);
  const rows = await selectFromAll(db, scope, {
    ...TABLE,
    rows: (range) => {
      let query = db
        .selectFrom('runtime_observations')
        .select(['tenant_id', 'created_at', 'id', 'last_seen_at', keys.as('keys')])
        .select([flag(hasRisk('medium')).as('isMedium'), flag(hasRisk('high')).as('isHigh')])
        .where(inScope(range.scope));
      for (const condition of conditions) query = query.where(condition);
      return query.$call(inKeysetRange(range)).execute();
    },
  });
  const groups = new Map<string, ObservationGroup>();
  for (const row of rows) {
    const level = row.isHigh === 1 ? 'high' : row.isMedium === 1 ? 'medium' : 'low';
    for (const key of by === 'provider' ? [row.keys] : (JSON.parse(row.keys) as string[])) {
      const group = groups.get(key) ?? { key, count: 0, byRisk: { low: 0, medium: 0, high: 0 }, lastSeenAt: '' };
      groups.set(key, group);
      group.count += 1;
      group.byRisk[level] += 1;
      if (row.last_seen_at > group.lastSeenAt) group.lastSeenAt = row.last_seen_at;
    }
  }
  return [...groups.values()];
}

/** The agents that used the subject of an observation, as a JSON list. */
function agentsAsJson(db: Database) {
  const list = isPostgres(db)
    ? sql`coalesce(json_agg(distinct series.agent)::text, '[]')`
    : sql`json_group_array(distinct series.agent)`;
  return sql<string>`(select ${list} from usage_series as series where ${IS_SERIES_OF_OBSERVATION} and series.agent <> '')`;
}

function flag(condition: Expression<SqlBool>) {
  return sql<number>`case when ${condition} then 1 else 0 end`;
}

/** How many observations there are, at most, in the tenants of a scope. */
export async function countObservationsOfTenants(db: Database, scope: TenantScope): Promise<number> {
  const ids = scope.map(({ tenantId }) => tenantId);
  let query = db.selectFrom('tenants').select(sql<number>`coalesce(sum(observation_count), 0)`.as('count'));
  if (!ids.includes(null)) query = query.where('id', 'in', ['', ...ids.flatMap((id) => id ?? [])]);
  const { count } = await query.executeTakeFirstOrThrow();
  return Number(count);
}

/** There is nothing to decide about what a deleted provider offered, so its observations are in no view of open ones. */
const IS_OPEN = sql<SqlBool>`status = 'open' and not exists (
  select 1 from providers where providers.tenant_id = runtime_observations.tenant_id
    and providers.id = runtime_observations.provider_id and providers.status = 'deleted')`;

const IS_NEW = sql<SqlBool>`review is null and drift is null`;
const IS_SEEN_AGAIN = sql<SqlBool>`review like '%"decision":"rejected"%'`;
const IS_CHANGED = sql<SqlBool>`drift is not null`;

const IN_VIEW: Record<ObservationView, Expression<SqlBool>> = {
  open: sql<SqlBool>`(${IS_OPEN})`,
  new: sql<SqlBool>`(${IS_OPEN} and ${IS_NEW})`,
  seen_again: sql<SqlBool>`(${IS_OPEN} and ${IS_SEEN_AGAIN})`,
  changed_definition: sql<SqlBool>`(${IS_OPEN} and ${IS_CHANGED})`,
  blocked: sql<SqlBool>`(occurrences > 0 and (risk like '%"factor":"blocked_item"%' or risk like '%"factor":"disabled_provider"%'))`,
  denied: sql<SqlBool>`denials > 0`,
};

const LEVELS = RiskLevelSchema.options;

/** A quote inside a JSON text is escaped, so only the member itself has this form. */
function hasRisk(level: RiskLevel): Expression<SqlBool> {
  return sql<SqlBool>`risk like ${sql.lit(`%"level":"${level}"%`)}`;
}

/** In ascending order of their rank, so lists begin with `open`. */
const STATUSES = ['resolved', 'approved', 'ignored', 'rejected', 'open'] as const;

/** The number (from 1) of the first condition that a row meets, as a digit; 0 if it meets none. */
function rankOf(conditions: readonly Expression<SqlBool>[]) {
  const cases = conditions.map((condition, index) => sql`when ${condition} then ${sql.lit(String(index + 1))}`);
  return sql<string>`case ${sql.join(cases, sql` `)} else '0' end`;
}

function orderOf(db: Database, order: ObservationOrder): SortOrder {
  if (order !== 'reviewed_at') return ORDERS[order];
  const review = isPostgres(db) ? sql`review::json` : sql`review`;
  // Observations without a review come last.
  return { value: sql`coalesce(${review} ->> 'reviewedAt', '')` };
}

const ORDERS: Record<Exclude<ObservationOrder, 'reviewed_at'>, SortOrder> = {
  last_seen_at: { value: sql`last_seen_at` },
  first_seen_at: { value: sql`first_seen_at` },
  // Observations with the same risk are sorted by their last sight.
  risk: {
    value: sql`${rankOf(LEVELS.map(hasRisk))} || last_seen_at`,
  },
  // The added constant gives all numbers 17 digits, so that they sort as texts.
  calls: { value: sql`cast(10000000000000000 + occurrences as text)` },
  name: { value: sql`lower(name)`, isAscending: true },
  provider: {
    value: sql`coalesce((select lower(coalesce(provider.display_name, provider.name)) from providers as provider
      where provider.tenant_id = runtime_observations.tenant_id and provider.id = runtime_observations.provider_id), '')`,
    isAscending: true,
  },
  status: {
    value: sql`${rankOf(STATUSES.map((status) => sql<SqlBool>`status = ${sql.lit(status)}`))} || last_seen_at`,
  },
};

function conditionsOf(selection: ObservationSelection): Expression<SqlBool>[] {
  const { unknown, status, view, minRisk, providerId, kind, name, text, agent, account, environment } = selection;
  const conditions: Expression<SqlBool>[] = [];
  const add = (condition: Expression<SqlBool>) => conditions.push(condition);
  if (unknown != null) add(sql`unknown = ${toFlag(unknown)}`);
  if (status != null) add(sql`status = ${status}`);
  if (view != null) add(IN_VIEW[view]);
  if (minRisk != null && minRisk !== LEVELS[0]) {
    const levels = LEVELS.slice(LEVELS.indexOf(minRisk));
    add(sql`(${sql.join(levels.map(hasRisk), sql` or `)})`);
  }
  if (providerId != null) add(sql`provider_id = ${providerId}`);
  if (kind != null) add(sql`kind = ${kind}`);
  if (name != null) add(sql`name = ${name}`);
  if (text != null) add(containsAsciiText('name', text));
  if (agent != null) add(usedBy('agent', agent));
  if (account != null) add(usedBy('account', account));
  // The column is a JSON list of names without quotes.
  if (environment != null) add(containsAsciiText('environments', `"${environment}"`));
  if (selection.firstSeenAfter != null) add(sql`first_seen_at > ${selection.firstSeenAfter}`);
  if (selection.firstSeenBefore != null) add(sql`first_seen_at < ${selection.firstSeenBefore}`);
  if (selection.lastSeenAfter != null) add(sql`last_seen_at > ${selection.lastSeenAfter}`);
  if (selection.lastSeenBefore != null) add(sql`last_seen_at < ${selection.lastSeenBefore}`);
  return conditions;
}

/**
 * Usage has every agent and account; the evidence of an observation only some of them. A series without sums does not count: its
 * calls were moved to another agent or provider when later spans arrived.
 */
const IS_SERIES_OF_OBSERVATION = sql<SqlBool>`
  series.tenant_id = runtime_observations.tenant_id and series.provider_id = runtime_observations.provider_id
    and series.kind = runtime_observations.kind and series.name_key = runtime_observations.name_key
    and series.sub_tenant_id = runtime_observations.sub_tenant_id
    and exists (select 1 from usage_rollups where tenant_id = series.tenant_id and series_id = series.id)`;

function usedBy(column: 'agent' | 'account', value: string): Expression<SqlBool> {
  return sql<SqlBool>`exists (
    select 1 from usage_series as series where ${IS_SERIES_OF_OBSERVATION} and series.${sql.ref(column)} = ${value})`;
}
