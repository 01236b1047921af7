import type { Provider } from '@quartermaster/contracts/providers.ts';
import { type Expression, type Selectable, type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { DuplicateKeyError } from '../errors.ts';
import { newId } from '../ids.ts';
import { inKeysetRange, type KeysetRange, listRows } from '../listing.ts';
import { rewrittenName } from '@quartermaster/naming/name-family.ts';
import { hostOf } from '@quartermaster/naming/provider-names.ts';
import { caseFolded } from '@quartermaster/naming/case-folded.ts';
import {
  asciiLowerCase,
  inScope,
  patternOf,
  type Page,
  type PageRequest,
  placeColumns,
  placeOf,
  timesOf,
} from '../queries.ts';
import { preparedStatement } from '../prepared-statement.ts';
import { storedJson } from '../stored-json.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';

export type NewProvider = Pick<
  Provider,
  'name' | 'displayName' | 'description' | 'kind' | 'baseUrl' | 'status' | 'metadata'
> &
  Partial<Pick<Provider, 'aliases' | 'syncIntervalSeconds' | 'newItems' | 'headers' | 'mcp'>>;
export type ProviderChange = Partial<NewProvider>;

export type ProviderFilter = {
  kind?: string | null | undefined;
  status?: string | null | undefined;
  name?: string | null | undefined;
  /** A part of the name or of the display name, in any case. */
  text?: string | null | undefined;
};

/** A provider that is not deleted. */
export async function findProvider(db: Database, scope: TenantScope, id: string): Promise<Provider | undefined> {
  const row = await db
    .selectFrom('providers')
    .selectAll()
    .where('id', '=', id)
    .where('status', '<>', sql.lit('deleted'))
    .where(inScope(scope))
    .executeTakeFirst();
  return row && toProvider(row);
}

const providersByIds = preparedStatement((db, { scope, ids }: { scope: TenantScope; ids: readonly string[] }) =>
  db
    .selectFrom('providers')
    .selectAll()
    .where('id', 'in', ids)
    .where('status', '<>', sql.lit('deleted'))
    .where(inScope(scope)),
);

/** The providers among `ids` that are not deleted. In no particular order. */
export async function findProviders(db: Database, scope: TenantScope, ids: readonly string[]): Promise<Provider[]> {
  if (ids.length === 0) return [];
  return (await providersByIds(db, { scope, ids })).map(toProvider);
}

/** The ids among `ids` that deleted providers have. */
export async function findDeletedProviders(
  db: Database,
  scope: TenantScope,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const rows = await db
    .selectFrom('providers')
    .select('id')
    .where('id', 'in', ids)
    .where('status', '=', sql.lit('deleted'))
    .where(inScope(scope))
    .execute();
  return new Set(rows.map(({ id }) => id));
}

const namedProviders = preparedStatement((db, { scope, ids }: { scope: TenantScope; ids: readonly string[] }) =>
  db
    .selectFrom('providers')
    .select(['tenant_id', 'sub_tenant_id', 'id', 'name', 'aliases', 'kind', 'base_url', 'status', 'mcp'])
    .where('id', 'in', ids)
    .where('status', '<>', sql.lit('deleted'))
    .where(inScope(scope)),
);

/** A provider, as far as it matters to what a gateway allows. */
export type NamedProvider = TenantPlace &
  Pick<Provider, 'id' | 'name' | 'aliases' | 'kind' | 'baseUrl' | 'status' | 'mcp'>;

/** The names, places and statuses of the providers among `ids`, without deleted ones. In no particular order. */
export async function findNamedProviders(
  db: Database,
  scope: TenantScope,
  ids: readonly string[],
): Promise<NamedProvider[]> {
  if (ids.length === 0) return [];
  return (await namedProviders(db, { scope, ids })).map((row) => ({
    ...placeOf(row),
    id: row.id,
    name: row.name,
    aliases: JSON.parse(row.aliases) as string[],
    kind: row.kind,
    baseUrl: row.base_url,
    status: row.status,
    mcp: mcpOf(row),
  }));
}

type FilterValues = Record<'kind' | 'status' | 'nameKey' | 'pattern' | 'asciiPattern', string | null>;
type ListedProviders = KeysetRange & FilterValues;

/** The columns that an answer shows. A list reads no others: each column of a row costs time. */
const SHOWN = [
  'id',
  'tenant_id',
  'sub_tenant_id',
  'name',
  'aliases',
  'display_name',
  'description',
  'kind',
  'base_url',
  'status',
  'health',
  'health_reason',
  'unhealthy_since',
  'inventory_synced_at',
  'sync_interval_seconds',
  'new_items',
  'headers',
  'mcp',
  'metadata',
  'created_at',
  'updated_at',
] as const;

const providerRows = preparedStatement((db, { scope, after, until, rows, times, ...values }: ListedProviders) => {
  let query = db.selectFrom('providers').select(SHOWN).where(inScope(scope));
  for (const condition of conditionsOn(values)) query = query.where(condition);
  return query.$call(inKeysetRange({ after, until, rows, times }));
});

function conditionsOn({ kind, status, nameKey, pattern, asciiPattern }: FilterValues): Expression<SqlBool>[] {
  const conditions: Expression<SqlBool>[] = [
    status === null ? sql`status <> ${sql.lit('deleted')}` : sql`status = ${status}`,
  ];
  if (kind !== null) conditions.push(sql`kind = ${kind}`);
  if (nameKey !== null) conditions.push(sql`name_key = ${nameKey}`);
  if (pattern !== null) {
    conditions.push(
      sql`(name_key like ${pattern} escape '\\' or lower(display_name) like ${asciiPattern} escape '\\')`,
    );
  }
  return conditions;
}

function valuesOf({ kind = null, status = null, name = null, text = null }: ProviderFilter): FilterValues {
  return {
    kind,
    status,
    nameKey: name === null ? null : caseFolded(name),
    pattern: text === null ? null : patternOf(caseFolded(text)),
    asciiPattern: text === null ? null : patternOf(asciiLowerCase(text)),
  };
}

/** The conditions of a filter. Deleted providers pass only if the filter asks for them. */
export function providerConditions(filter: ProviderFilter): Expression<SqlBool>[] {
  return conditionsOn(valuesOf(filter));
}

/** Newest first, for an answer: metadata is {@link storedJson}. Deleted ones are only listed if the filter asks for them. */
export async function listProviders(
  db: Database,
  scope: TenantScope,
  filter: ProviderFilter,
  page: PageRequest,
): Promise<Page<Provider>> {
  const values = valuesOf(filter);
  const { rows, next } = await listRows(db, scope, page, {
    table: 'providers',
    hasUnindexedFilter: Object.values(values).some((value) => value !== null),
    rows: (range) => providerRows(db, { ...values, ...range }),
  });
  return { items: rows.map(toListed), next };
}

/** Some providers in the order of their ids, for an answer. One that does not exist any more is left out. */
export async function findListedProviders(
  db: Database,
  scope: TenantScope,
  ids: readonly string[],
): Promise<Provider[]> {
  if (ids.length === 0) return [];
  const rows = await db.selectFrom('providers').select(SHOWN).where('id', 'in', ids).where(inScope(scope)).execute();
  const byId = new Map(rows.map((row) => [row.id, toListed(row)]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/**
 * The providers that declarations of a place can refer to. By case-folded name or alias, these are the providers of the place and
 * of the whole tenant, see `mayNameProvider`. By id, declarations of a whole tenant can also refer to those of its sub-tenants.
 */
export async function findProvidersDeclared(
  db: Database,
  place: TenantPlace,
  declared: { names: readonly string[]; ids: readonly string[] },
): Promise<Provider[]> {
  const { tenant_id, sub_tenant_id } = placeColumns(place);
  const nearby = ['', sub_tenant_id];
  let query = db.selectFrom('providers').selectAll().where('tenant_id', '=', tenant_id);
  if (place.subTenantId !== null) query = query.where('sub_tenant_id', 'in', nearby);
  const rows = await query
    .where('status', '<>', sql.lit('deleted'))
    .where((eb) =>
      eb.or([
        // Each list begins with an empty text, which matches nothing, because SQL does not accept an empty list.
        eb('id', 'in', ['', ...declared.ids]),
        eb.and([eb('sub_tenant_id', 'in', nearby), eb('name_key', 'in', ['', ...declared.names])]),
        eb(
          'id',
          'in',
          eb
            .selectFrom('provider_aliases')
            .select('provider_id')
            .where('tenant_id', '=', tenant_id)
            .where('sub_tenant_id', 'in', nearby)
            .where('alias_key', 'in', ['', ...declared.names]),
        ),
      ]),
    )
    .execute();
  return rows.map(toProvider);
}

/** @throws DuplicateKeyError if the name or an alias is taken at the place */
export async function insertProvider(
  db: Database,
  place: TenantPlace,
  provider: NewProvider,
  now: Date,
): Promise<Provider> {
  const row = await db
    .insertInto('providers')
    .values({
      ...placeColumns(place),
      id: newId('prov', now),
      ...columns(provider, now),
      name: provider.name,
      name_key: caseFolded(provider.name),
      name_family: rewrittenName(provider.name),
      kind: provider.kind,
      status: provider.status,
      metadata: JSON.stringify(provider.metadata),
      health: 'unknown',
      inventory_synced_at: null,
      created_at: now.toISOString(),
      updated_at: now.toISOString(),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  const inserted = toProvider(row);
  await insertAliases(db, inserted);
  return inserted;
}

/** @throws DuplicateKeyError if the name or an alias is taken at the place */
export async function updateProvider(
  db: Database,
  scope: TenantScope,
  id: string,
  change: ProviderChange | { status: 'deleted' },
  now: Date,
): Promise<Provider | undefined> {
  const row = await db
    .updateTable('providers')
    .set({ ...columns(change, now), updated_at: now.toISOString() })
    .where('id', '=', id)
    .where('status', '<>', sql.lit('deleted'))
    .where(inScope(scope))
    .returningAll()
    .executeTakeFirst();
  if (!row) return undefined;
  const updated = toProvider(row);
  if ('name' in change || 'aliases' in change || change.status === 'deleted') {
    await db
      .deleteFrom('provider_aliases')
      .where('tenant_id', '=', updated.tenantId)
      .where('provider_id', '=', id)
      .execute();
    if (updated.status !== 'deleted') await insertAliases(db, updated);
  }
  return updated;
}

/**
 * Stores the aliases of a provider. At a place, no name or alias is used twice. No index can enforce that, because names and
 * aliases are in two tables, so it is checked here, within the transaction.
 *
 * @throws DuplicateKeyError if a name is taken
 */
async function insertAliases(db: Database, provider: Provider): Promise<void> {
  const { tenant_id, sub_tenant_id } = placeColumns(provider);
  const nameKey = caseFolded(provider.name);
  const aliases = provider.aliases.map((alias) => ({
    alias_key: caseFolded(alias),
    alias_family: rewrittenName(alias),
  }));
  const keys = aliases.map(({ alias_key }) => alias_key);
  const taken = await db
    .selectFrom('provider_aliases')
    .select('provider_id as id')
    .where('tenant_id', '=', tenant_id)
    .where('sub_tenant_id', '=', sub_tenant_id)
    .where('alias_key', 'in', [nameKey, ...keys])
    .unionAll(
      db
        .selectFrom('providers')
        .select('id')
        .where('tenant_id', '=', tenant_id)
        .where('sub_tenant_id', '=', sub_tenant_id)
        .where('name_key', 'in', ['', ...keys])
        .where('id', '<>', provider.id)
        .where(sql<SqlBool>`status <> 'deleted'`),
    )
    .execute();
  if (taken.length > 0) throw new DuplicateKeyError();
  if (aliases.length === 0) return;
  await db
    .insertInto('provider_aliases')
    .values(aliases.map((alias) => ({ ...alias, tenant_id, sub_tenant_id, provider_id: provider.id })))
    .execute();
}

/**
 * The providers whose sync is due, the longest overdue first: at most `limit`, and at most `perTenant` of each tenant. So a
 * tenant with many slow providers does not hide those of others.
 */
export async function findProvidersDueForSync(
  db: Database,
  scope: TenantScope,
  now: Date,
  { limit, perTenant }: { limit: number; perTenant: number },
): Promise<Provider[]> {
  const due = db
    .selectFrom('providers')
    .select(['tenant_id', 'id', 'next_sync_at'])
    .select(sql<number>`row_number() over (partition by tenant_id order by next_sync_at, id)`.as('turn'))
    .where('next_sync_at', '<=', now.toISOString())
    .where('status', '=', 'active')
    .where('kind', 'in', ['mcp', 'llm'])
    .where('base_url', 'is not', null)
    .where(inScope(scope));
  const rows = await db
    .selectFrom(due.as('due'))
    .innerJoin('providers', (join) =>
      join.onRef('providers.tenant_id', '=', 'due.tenant_id').onRef('providers.id', '=', 'due.id'),
    )
    .selectAll('providers')
    .where('due.turn', '<=', perTenant)
    .orderBy('due.next_sync_at')
    .orderBy('due.id')
    .limit(limit)
    .execute();
  return rows.map(toProvider);
}

/** Sets when a provider is synced next, if it has a sync schedule. */
export async function setNextSync(db: Database, scope: TenantScope, id: string, next: Date): Promise<void> {
  await db
    .updateTable('providers')
    .set({ next_sync_at: next.toISOString() })
    .where('id', '=', id)
    .where('sync_interval_seconds', 'is not', null)
    .where(inScope(scope))
    .execute();
}

/** Stores the result of a sync. */
export async function markSynced(
  db: Database,
  scope: TenantScope,
  id: string,
  { health, healthReason, mcp }: Pick<Provider, 'health' | 'healthReason'> & Partial<Pick<Provider, 'mcp'>>,
  now: Date,
): Promise<void> {
  await db
    .updateTable('providers')
    .set({
      ...mcpColumn(mcp),
      ...healthColumns({ health, healthReason }, now),
      ...(health !== 'failing' && { inventory_synced_at: now.toISOString(), items_listed_at: now.toISOString() }),
      updated_at: now.toISOString(),
    })
    .where('id', '=', id)
    .where(inScope(scope))
    .execute();
}

/** Stores that a person confirmed a doubtful sync, or took that back. */
export async function setHealth(
  db: Database,
  scope: TenantScope,
  id: string,
  { health, healthReason }: Pick<Provider, 'health' | 'healthReason'>,
  now: Date,
): Promise<void> {
  await db
    .updateTable('providers')
    .set({ ...healthColumns({ health, healthReason }, now), updated_at: now.toISOString() })
    .where('id', '=', id)
    .where(inScope(scope))
    .execute();
}

/** A provider that stays unhealthy keeps its `unhealthy_since`. */
function healthColumns({ health, healthReason }: Pick<Provider, 'health' | 'healthReason'>, now: Date) {
  const isHealthy = health === 'healthy' || health === 'unknown';
  const since = sql<string | null>`coalesce(unhealthy_since, ${now.toISOString()})`;
  return { health, health_reason: healthReason, unhealthy_since: isHealthy ? null : since };
}

function columns(change: ProviderChange, now: Date) {
  const { name, aliases, displayName, description, kind, baseUrl, status, metadata } = change;
  const { syncIntervalSeconds, newItems, headers, mcp } = change;
  return {
    ...(name !== undefined && { name, name_key: caseFolded(name), name_family: rewrittenName(name) }),
    ...(aliases !== undefined && { aliases: JSON.stringify(aliases) }),
    ...(displayName !== undefined && { display_name: displayName }),
    ...(description !== undefined && { description }),
    ...(kind !== undefined && { kind }),
    ...(baseUrl !== undefined && { base_url: baseUrl, host: baseUrl === null ? null : hostOf(baseUrl) }),
    ...(status !== undefined && { status }),
    ...(metadata !== undefined && { metadata: JSON.stringify(metadata) }),
    ...(newItems !== undefined && { new_items: newItems }),
    ...(headers !== undefined && { headers: JSON.stringify(headers) }),
    ...mcpColumn(mcp),
    ...(syncIntervalSeconds !== undefined && {
      sync_interval_seconds: syncIntervalSeconds,
      next_sync_at:
        syncIntervalSeconds === null ? null : new Date(now.getTime() + syncIntervalSeconds * 1000).toISOString(),
    }),
  };
}

function mcpColumn(mcp: Provider['mcp'] | undefined) {
  return mcp === undefined ? {} : { mcp: mcp === null ? null : JSON.stringify(mcp) };
}

function mcpOf({ mcp }: { mcp: string | null }): Provider['mcp'] {
  return mcp === null ? null : (JSON.parse(mcp) as Provider['mcp']);
}

type ProviderRow = Pick<Selectable<Tables['providers']>, (typeof SHOWN)[number]>;

export function toProvider(row: ProviderRow): Provider {
  return withMetadata(row, JSON.parse(row.metadata) as Provider['metadata']);
}

function toListed(row: ProviderRow): Provider {
  return withMetadata(row, storedJson(row.metadata));
}

function withMetadata(row: ProviderRow, metadata: Provider['metadata']): Provider {
  return {
    id: row.id,
    ...placeOf(row),
    name: row.name,
    aliases: JSON.parse(row.aliases) as string[],
    displayName: row.display_name,
    description: row.description,
    kind: row.kind,
    baseUrl: row.base_url,
    status: row.status,
    health: row.health,
    healthReason: row.health_reason,
    unhealthySince: row.unhealthy_since,
    inventorySyncedAt: row.inventory_synced_at,
    syncIntervalSeconds: row.sync_interval_seconds,
    newItems: row.new_items,
    headers: JSON.parse(row.headers) as Provider['headers'],
    mcp: mcpOf(row),
    metadata,
    ...timesOf(row),
  };
}
