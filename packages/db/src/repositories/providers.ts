import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Selectable } from 'kysely';
import type { Database } from '../database.ts';
import { newId } from '../ids.ts';
import { inStretch, listRows, type Stretch } from '../listing.ts';
import { folded, type Page, type PageRequest, placeColumns, placeOf, timesOf, within } from '../queries.ts';
import { statement } from '../statement.ts';
import { storedJson } from '../stored-json.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';

export type NewProvider = Pick<
  Provider,
  'name' | 'displayName' | 'description' | 'kind' | 'baseUrl' | 'status' | 'metadata'
> &
  Partial<Pick<Provider, 'syncIntervalSeconds'>>;
export type ProviderChange = Partial<NewProvider>;

export type ProviderFilter = {
  kind?: string | null | undefined;
  status?: string | null | undefined;
  name?: string | null | undefined;
};

/** A provider that is not deleted. */
export async function findProvider(db: Database, scope: TenantScope, id: string): Promise<Provider | undefined> {
  const row = await db
    .selectFrom('providers')
    .selectAll()
    .where('id', '=', id)
    .where('status', '<>', 'deleted')
    .where(within(scope))
    .executeTakeFirst();
  return row && toProvider(row);
}

const providersByIds = statement((db, { scope, ids }: { scope: TenantScope; ids: readonly string[] }) =>
  db.selectFrom('providers').selectAll().where('id', 'in', ids).where('status', '<>', 'deleted').where(within(scope)),
);

/** The providers among `ids` that are not deleted, in no order. */
export async function findProviders(db: Database, scope: TenantScope, ids: readonly string[]): Promise<Provider[]> {
  if (ids.length === 0) return [];
  return (await providersByIds(db, { scope, ids })).map(toProvider);
}

const providerNames = statement((db, { scope, ids }: { scope: TenantScope; ids: readonly string[] }) =>
  db
    .selectFrom('providers')
    .select(['tenant_id', 'sub_tenant_id', 'id', 'name'])
    .where('id', 'in', ids)
    .where('status', '=', 'active')
    .where(within(scope)),
);

/** What those among `ids` that are active are called, and where they stand, in no order. */
export async function findActiveProviders(
  db: Database,
  scope: TenantScope,
  ids: readonly string[],
): Promise<Pick<Provider, 'id' | 'name' | 'tenantId' | 'subTenantId'>[]> {
  if (ids.length === 0) return [];
  return (await providerNames(db, { scope, ids })).map((row) => ({ ...placeOf(row), id: row.id, name: row.name }));
}

type ListedProviders = Stretch & { kind: string | null; status: string | null; nameKey: string | null };

const providerRows = statement((db, { kind, status, nameKey, ...stretch }: ListedProviders) => {
  let query = db.selectFrom('providers').selectAll().where(within(stretch.scope));
  query =
    status === null ? query.where('status', '<>', 'deleted') : query.where('status', '=', status as Provider['status']);
  if (kind !== null) query = query.where('kind', '=', kind as Provider['kind']);
  if (nameKey !== null) query = query.where('name_key', '=', nameKey);
  return query.$call(inStretch(stretch));
});

/** Newest first, for an answer: metadata is {@link storedJson}. Deleted ones are listed by their status alone. */
export async function listProviders(
  db: Database,
  scope: TenantScope,
  filter: ProviderFilter,
  page: PageRequest,
): Promise<Page<Provider>> {
  const { kind = null, status = null, name = null } = filter;
  const nameKey = name === null ? null : folded(name);
  const { rows, next } = await listRows(db, scope, page, {
    table: 'providers',
    isSifted: kind !== null || status !== null || nameKey !== null,
    rows: (stretch) => providerRows(db, { kind, status, nameKey, ...stretch }),
  });
  return { items: rows.map(toListed), next };
}

/**
 * The providers that traffic in a place can belong to: those of the place and of its whole tenant which have one of the
 * hosts or (case-folded) names.
 */
export async function findProvidersOfTraffic(
  db: Database,
  place: TenantPlace,
  seen: { hosts: readonly string[]; names: readonly string[] },
): Promise<Provider[]> {
  const { tenant_id, sub_tenant_id } = placeColumns(place);
  const rows = await db
    .selectFrom('providers')
    .selectAll()
    .where('tenant_id', '=', tenant_id)
    .where('sub_tenant_id', 'in', ['', sub_tenant_id])
    .where('status', '<>', 'deleted')
    .where((eb) => eb.or([eb('host', 'in', ['', ...seen.hosts]), eb('name_key', 'in', ['', ...seen.names])]))
    .execute();
  return rows.map(toProvider);
}

/**
 * The providers that declarations of a place can mean: by their (case-folded) names those of the place and of its whole
 * tenant, see `mayNameProvider`; by their ids the same, and for a whole tenant those of its sub-tenants too.
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
    .where('status', '<>', 'deleted')
    .where((eb) =>
      eb.or([
        eb('id', 'in', ['', ...declared.ids]),
        eb.and([eb('sub_tenant_id', 'in', nearby), eb('name_key', 'in', ['', ...declared.names])]),
      ]),
    )
    .execute();
  return rows.map(toProvider);
}

/**
 * The declared provider of traffic in a place that alone has a tool, for each of some tools where there is one.
 *
 * @param keys of the tools' names, as nameKey makes them; some thousands at the most
 */
export async function findSoleProvidersOfTools(
  db: Database,
  place: TenantPlace,
  keys: readonly string[],
): Promise<Map<string, Provider>> {
  if (keys.length === 0) return new Map();
  const { tenant_id, sub_tenant_id } = placeColumns(place);
  const owned = await db
    .selectFrom('inventory_items as item')
    .innerJoin('providers', (join) =>
      join.onRef('providers.tenant_id', '=', 'item.tenant_id').onRef('providers.id', '=', 'item.provider_id'),
    )
    .select((eb) => ['item.name_key', eb.fn.min('item.provider_id').as('provider_id')])
    .where('item.tenant_id', '=', tenant_id)
    .where('item.kind', '=', 'tool')
    .where('item.name_key', 'in', keys)
    .where('providers.sub_tenant_id', 'in', ['', sub_tenant_id])
    .where('providers.status', 'in', ['active', 'disabled'])
    .groupBy('item.name_key')
    .having((eb) => eb.fn.countAll(), '=', 1)
    .execute();
  const ids = [...new Set(owned.map((row) => row.provider_id))];
  const found = await findProviders(db, [{ tenantId: place.tenantId, subTenantId: null }], ids);
  const byId = new Map(found.map((provider) => [provider.id, provider]));
  const owners = new Map<string, Provider>();
  for (const row of owned) {
    const owner = byId.get(row.provider_id);
    if (owner) owners.set(row.name_key, owner);
  }
  return owners;
}

/** @throws DuplicateKeyError where the name is taken in the place */
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
      name_key: folded(provider.name),
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
  return toProvider(row);
}

/** @throws DuplicateKeyError where the name is taken in the place */
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
    .where('status', '<>', 'deleted')
    .where(within(scope))
    .returningAll()
    .executeTakeFirst();
  return row && toProvider(row);
}

/** The providers whose sync is due, the longest due first. */
export async function findDueForSync(db: Database, scope: TenantScope, now: Date, limit: number): Promise<Provider[]> {
  const rows = await db
    .selectFrom('providers')
    .selectAll()
    .where('next_sync_at', '<=', now.toISOString())
    .where('status', '=', 'active')
    .where('kind', 'in', ['mcp', 'llm'])
    .where('base_url', 'is not', null)
    .where(within(scope))
    .orderBy('next_sync_at')
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map(toProvider);
}

/** Sets when a provider is synced next, where it is synced on a schedule at all. */
export async function setNextSync(db: Database, scope: TenantScope, id: string, next: Date): Promise<void> {
  await db
    .updateTable('providers')
    .set({ next_sync_at: next.toISOString() })
    .where('id', '=', id)
    .where('sync_interval_seconds', 'is not', null)
    .where(within(scope))
    .execute();
}

/** Remembers how a sync went. */
export async function markSynced(
  db: Database,
  scope: TenantScope,
  id: string,
  how: { health: 'healthy' | 'failing' },
  now: Date,
): Promise<void> {
  await db
    .updateTable('providers')
    .set({
      health: how.health,
      ...(how.health === 'healthy' && { inventory_synced_at: now.toISOString() }),
      updated_at: now.toISOString(),
    })
    .where('id', '=', id)
    .where(within(scope))
    .execute();
}

/** The host of a URL as `server.address` has it: lower case, without brackets and port. */
export function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '').toLowerCase();
}

function columns(change: ProviderChange, now: Date) {
  const { name, displayName, description, kind, baseUrl, status, metadata, syncIntervalSeconds } = change;
  return {
    ...(name !== undefined && { name, name_key: folded(name) }),
    ...(displayName !== undefined && { display_name: displayName }),
    ...(description !== undefined && { description }),
    ...(kind !== undefined && { kind }),
    ...(baseUrl !== undefined && { base_url: baseUrl, host: baseUrl === null ? null : hostOf(baseUrl) }),
    ...(status !== undefined && { status }),
    ...(metadata !== undefined && { metadata: JSON.stringify(metadata) }),
    ...(syncIntervalSeconds !== undefined && {
      sync_interval_seconds: syncIntervalSeconds,
      next_sync_at:
        syncIntervalSeconds === null ? null : new Date(now.getTime() + syncIntervalSeconds * 1000).toISOString(),
    }),
  };
}

type ProviderRow = Selectable<Tables['providers']>;

function toProvider(row: ProviderRow): Provider {
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
    displayName: row.display_name,
    description: row.description,
    kind: row.kind,
    baseUrl: row.base_url,
    status: row.status,
    health: row.health,
    inventorySyncedAt: row.inventory_synced_at,
    syncIntervalSeconds: row.sync_interval_seconds,
    metadata,
    ...timesOf(row),
  };
}
