import type { ExpressionBuilder } from 'kysely';
import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { placeOf } from '../queries.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace } from '../tenancy.ts';

export type EmptiedProvider = TenantPlace & { id: string; isInUse: boolean };

/**
 * The discovered providers of a tenant, or those among `ids`, that no longer have observations. `isInUse` says whether a user
 * gave one an inventory item, a credential, an address or a sync schedule, or added it to a gateway.
 */
export async function findEmptiedProviders(
  db: Database,
  { tenantId }: TenantPlace,
  ids?: readonly string[],
): Promise<EmptiedProvider[]> {
  if (ids?.length === 0) return [];
  const rows = await db
    .selectFrom('providers')
    .select(['tenant_id', 'sub_tenant_id', 'id', 'base_url', 'sync_interval_seconds'])
    .select((eb) => eb.or([eb.exists(items(eb)), eb.exists(secrets(eb)), eb.exists(gateways(eb))]).as('has_something'))
    .where('tenant_id', '=', tenantId)
    .where('status', '=', sql.lit('discovered'))
    .$if(ids !== undefined, (query) => query.where('id', 'in', ids ?? []))
    .where((eb) => eb.not(eb.exists(observations(eb))))
    .execute();
  return rows.map((row) => ({
    ...placeOf(row),
    id: row.id,
    isInUse: Boolean(row.has_something) || row.base_url !== null || row.sync_interval_seconds !== null,
  }));
}

type OfProvider = ExpressionBuilder<Tables, 'providers'>;

function items(eb: OfProvider) {
  return eb
    .selectFrom('inventory_items as item')
    .select('item.id')
    .whereRef('item.tenant_id', '=', 'providers.tenant_id')
    .whereRef('item.provider_id', '=', 'providers.id');
}

function secrets(eb: OfProvider) {
  return eb
    .selectFrom('credentials as credential')
    .select('credential.id')
    .whereRef('credential.tenant_id', '=', 'providers.tenant_id')
    .whereRef('credential.owner_id', '=', 'providers.id')
    .where('credential.kind', '=', sql.lit('provider_secret'))
    .where('credential.revoked_at', 'is', null);
}

function gateways(eb: OfProvider) {
  return eb
    .selectFrom('gateway_providers as listed')
    .innerJoin('gateways as gateway', (join) =>
      join.onRef('gateway.tenant_id', '=', 'listed.tenant_id').onRef('gateway.id', '=', 'listed.gateway_id'),
    )
    .select('gateway.id')
    .whereRef('listed.tenant_id', '=', 'providers.tenant_id')
    .whereRef('listed.provider_id', '=', 'providers.id')
    .where('gateway.status', '<>', sql.lit('deleted'));
}

function observations(eb: OfProvider) {
  return eb
    .selectFrom('runtime_observations as observation')
    .select('observation.id')
    .whereRef('observation.tenant_id', '=', 'providers.tenant_id')
    .whereRef('observation.provider_id', '=', 'providers.id');
}
