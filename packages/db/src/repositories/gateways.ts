import type { Gateway } from '@quartermaster/contracts/gateways.ts';
import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { newId } from '../ids.ts';
import { inKeysetRange, type KeysetRange, listRows } from '../listing.ts';
import { caseFolded } from '@quartermaster/naming/case-folded.ts';
import { inScope, type Page, type PageRequest, placeColumns, placeOf, timesOf } from '../queries.ts';
import { preparedStatement } from '../prepared-statement.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';

export type NewGateway = Pick<
  Gateway,
  | 'name'
  | 'displayName'
  | 'url'
  | 'status'
  | 'providerIds'
  | 'manifestId'
  | 'sessionTtlSeconds'
  | 'enforcement'
  | 'mcpProxy'
>;
export type GatewayChange = Partial<NewGateway>;
export type GatewayFilter = { status?: string | null | undefined };

/** A gateway, for error messages about what it refers to. */
export type GatewayReference = TenantPlace & Pick<Gateway, 'id' | 'name'>;

type Row = Selectable<Tables['gateways']>;

const gatewayById = preparedStatement((db, { scope, id }: { scope: TenantScope; id: string }) =>
  db
    .selectFrom('gateways')
    .selectAll()
    .where('id', '=', id)
    .where('status', '<>', sql.lit('deleted'))
    .where(inScope(scope)),
);

/** A gateway that is not deleted. */
export async function findGateway(db: Database, scope: TenantScope, id: string): Promise<Gateway | undefined> {
  const [row] = await gatewayById(db, { scope, id });
  return row && toGateway(row, await providersOf(db, [row]));
}

/** Newest first. Deleted gateways are only listed if the filter asks for their status. */
export async function listGateways(
  db: Database,
  scope: TenantScope,
  filter: GatewayFilter,
  page: PageRequest,
): Promise<Page<Gateway>> {
  const { status = null } = filter;
  const { rows, next } = await listRows(db, scope, page, {
    table: 'gateways',
    hasUnindexedFilter: status !== null,
    rows: (range) => gatewayRows(db, status, range).execute(),
  });
  const providers = await providersOf(db, rows);
  return { items: rows.map((row) => toGateway(row, providers)), next };
}

function gatewayRows(db: Database, status: string | null, range: KeysetRange) {
  const query = db.selectFrom('gateways').selectAll().where(inScope(range.scope));
  return (
    status === null
      ? query.where('status', '<>', sql.lit('deleted'))
      : query.where('status', '=', status as Gateway['status'])
  ).$call(inKeysetRange(range));
}

/**
 * @param gateway with distinct `providerIds`
 * @throws DuplicateKeyError if the name is taken at the place
 */
export async function insertGateway(
  db: Database,
  place: TenantPlace,
  gateway: NewGateway,
  now: Date,
): Promise<Gateway> {
  const row = await db
    .insertInto('gateways')
    .values({
      ...placeColumns(place),
      id: newId('gw', now),
      name: gateway.name,
      name_key: caseFolded(gateway.name),
      display_name: gateway.displayName,
      url: gateway.url,
      status: gateway.status,
      manifest_id: gateway.manifestId,
      session_ttl_seconds: gateway.sessionTtlSeconds,
      enforcement: gateway.enforcement,
      mcp_proxy: gateway.mcpProxy,
      created_at: now.toISOString(),
      updated_at: now.toISOString(),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  await insertProviders(db, row, gateway.providerIds);
  return toGateway(row, new Map([[row.id, gateway.providerIds]]));
}

/**
 * @param change with distinct `providerIds`
 * @throws DuplicateKeyError if the name is taken at the place
 */
export async function updateGateway(
  db: Database,
  scope: TenantScope,
  id: string,
  change: GatewayChange | { status: 'deleted' },
  now: Date,
): Promise<Gateway | undefined> {
  const row = await db
    .updateTable('gateways')
    .set({ ...columns(change), updated_at: now.toISOString() })
    .where('id', '=', id)
    .where('status', '<>', sql.lit('deleted'))
    .where(inScope(scope))
    .returningAll()
    .executeTakeFirst();
  if (!row) return undefined;
  if ('providerIds' in change && change.providerIds !== undefined) {
    await db
      .deleteFrom('gateway_providers')
      .where('tenant_id', '=', row.tenant_id)
      .where('gateway_id', '=', id)
      .execute();
    await insertProviders(db, row, change.providerIds);
  }
  return toGateway(row, await providersOf(db, [row]));
}

/**
 * A gateway, active or disabled, that lists a provider. The scope applies to the provider: a gateway of the whole tenant that
 * lists a sub-tenant's provider is also found from the sub-tenant.
 */
export async function findGatewayOfProvider(
  db: Database,
  scope: TenantScope,
  providerId: string,
): Promise<GatewayReference | undefined> {
  const row = await db
    .selectFrom('providers as provider')
    .innerJoin('gateway_providers as listed', (join) =>
      join.onRef('listed.tenant_id', '=', 'provider.tenant_id').onRef('listed.provider_id', '=', 'provider.id'),
    )
    .innerJoin('gateways as gateway', (join) =>
      join.onRef('gateway.tenant_id', '=', 'listed.tenant_id').onRef('gateway.id', '=', 'listed.gateway_id'),
    )
    .select(['gateway.tenant_id', 'gateway.sub_tenant_id', 'gateway.id', 'gateway.name'])
    .where('provider.id', '=', providerId)
    .where('gateway.status', '<>', sql.lit('deleted'))
    .where(inScope(scope, 'provider'))
    .orderBy('gateway.id')
    .limit(1)
    .executeTakeFirst();
  return row && toReference(row);
}

/** An active gateway that uses a manifest. The scope applies to the manifest, as in {@link findGatewayOfProvider}. */
export async function findActiveGatewayOfManifest(
  db: Database,
  scope: TenantScope,
  manifestId: string,
): Promise<GatewayReference | undefined> {
  const row = await db
    .selectFrom('manifests as manifest')
    .innerJoin('gateways as gateway', (join) =>
      join.onRef('gateway.tenant_id', '=', 'manifest.tenant_id').onRef('gateway.manifest_id', '=', 'manifest.id'),
    )
    .select(['gateway.tenant_id', 'gateway.sub_tenant_id', 'gateway.id', 'gateway.name'])
    .where('manifest.id', '=', manifestId)
    .where('gateway.status', '=', 'active')
    .where(inScope(scope, 'manifest'))
    .orderBy('gateway.id')
    .limit(1)
    .executeTakeFirst();
  return row && toReference(row);
}

/** The gateways of a scope that use a manifest, active or disabled. */
export async function findGatewaysOfManifest(db: Database, scope: TenantScope, manifestId: string): Promise<Gateway[]> {
  const rows = await db
    .selectFrom('gateways')
    .selectAll()
    .where('manifest_id', '=', manifestId)
    .where('status', '<>', sql.lit('deleted'))
    .where(inScope(scope))
    .orderBy('id')
    .execute();
  const providers = await providersOf(db, rows);
  return rows.map((row) => toGateway(row, providers));
}

async function insertProviders(
  db: Database,
  gateway: Pick<Row, 'tenant_id' | 'id'>,
  providerIds: readonly string[],
): Promise<void> {
  if (providerIds.length === 0) return;
  const { tenant_id, id: gateway_id } = gateway;
  await db
    .insertInto('gateway_providers')
    .values(providerIds.map((provider_id, position) => ({ tenant_id, gateway_id, provider_id, position })))
    .execute();
}

/** The ids of the providers that gateways list, in the order in which they were given. */
const providersOfGateways = preparedStatement(
  (db, { tenantIds, gatewayIds }: { tenantIds: readonly string[]; gatewayIds: readonly string[] }) =>
    db
      .selectFrom('gateway_providers')
      .select(['gateway_id', 'provider_id'])
      .where('tenant_id', 'in', tenantIds)
      .where('gateway_id', 'in', gatewayIds)
      .orderBy('gateway_id')
      .orderBy('position'),
);

async function providersOf(
  db: Database,
  gateways: readonly Pick<Row, 'tenant_id' | 'id'>[],
): Promise<Map<string, string[]>> {
  const providers = new Map(gateways.map(({ id }) => [id, [] as string[]]));
  if (gateways.length === 0) return providers;
  const rows = await providersOfGateways(db, {
    tenantIds: [...new Set(gateways.map((gateway) => gateway.tenant_id))],
    gatewayIds: [...providers.keys()],
  });
  for (const row of rows) providers.get(row.gateway_id)?.push(row.provider_id);
  return providers;
}

function columns(change: GatewayChange | { status: 'deleted' }) {
  const { name, displayName, url, status, manifestId, sessionTtlSeconds, enforcement, mcpProxy } =
    change as GatewayChange;
  return {
    ...(name !== undefined && { name, name_key: caseFolded(name) }),
    ...(displayName !== undefined && { display_name: displayName }),
    ...(url !== undefined && { url }),
    ...(status !== undefined && { status }),
    ...(manifestId !== undefined && { manifest_id: manifestId }),
    ...(sessionTtlSeconds !== undefined && { session_ttl_seconds: sessionTtlSeconds }),
    ...(enforcement !== undefined && { enforcement }),
    ...(mcpProxy !== undefined && { mcp_proxy: mcpProxy }),
  };
}

function toGateway(row: Row, providers: ReadonlyMap<string, string[]>): Gateway {
  return {
    id: row.id,
    ...placeOf(row),
    name: row.name,
    displayName: row.display_name,
    url: row.url,
    status: row.status,
    providerIds: providers.get(row.id) ?? [],
    manifestId: row.manifest_id,
    sessionTtlSeconds: row.session_ttl_seconds,
    enforcement: row.enforcement,
    mcpProxy: row.mcp_proxy,
    ...timesOf(row),
  };
}

function toReference(row: Pick<Row, 'tenant_id' | 'sub_tenant_id' | 'id' | 'name'>): GatewayReference {
  return { id: row.id, name: row.name, ...placeOf(row) };
}
