import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { multiRowStatement } from '../prepared-statement.ts';
import type { TenantPlace } from '../tenancy.ts';
import type { GatewayReference } from './gateways.ts';

type InTenant = Pick<TenantPlace, 'tenantId'>;

/** A gateway that denied something because of its manifest, and the manifest that it uses now. */
type ManifestDenial = { observationId: string; gateway: GatewayReference; manifestId: string };

/**
 * The gateways that last denied observations because of their manifests, and that use a manifest and list the provider now. By the ids
 * of the gateways.
 */
export async function findManifestDenials(
  db: Database,
  { tenantId }: InTenant,
  observationIds: readonly string[],
): Promise<ManifestDenial[]> {
  const ids = [...new Set(observationIds)].map((id) => ({ id }));
  const rows = await selectDenials(db, ids, { tenantId });
  return rows
    .flatMap(({ observationId, id, name, subTenant, manifestId }) =>
      manifestId === null
        ? []
        : [{ observationId, gateway: { tenantId, subTenantId: subTenant || null, id, name }, manifestId }],
    )
    .toSorted((a, b) => (a.gateway.id < b.gateway.id ? -1 : 1));
}

const selectDenials = multiRowStatement((db, rows: readonly { id: string }[], { tenantId }: { tenantId: string }) =>
  db
    .selectFrom('observation_denials as denial')
    .innerJoin('gateways as gateway', (join) =>
      join.onRef('gateway.tenant_id', '=', 'denial.tenant_id').onRef('gateway.id', '=', 'denial.gateway_id'),
    )
    .innerJoin('runtime_observations as observation', (join) =>
      join
        .onRef('observation.tenant_id', '=', 'denial.tenant_id')
        .onRef('observation.id', '=', 'denial.observation_id'),
    )
    .innerJoin('gateway_providers as listed', (join) =>
      join
        .onRef('listed.tenant_id', '=', 'gateway.tenant_id')
        .onRef('listed.gateway_id', '=', 'gateway.id')
        .onRef('listed.provider_id', '=', 'observation.provider_id'),
    )
    .select(['denial.observation_id as observationId', 'gateway.id', 'gateway.name'])
    .select(['gateway.sub_tenant_id as subTenant', 'gateway.manifest_id as manifestId'])
    .distinct()
    .where('denial.tenant_id', '=', tenantId)
    .where(
      'denial.observation_id',
      'in',
      rows.map(({ id }) => id),
    )
    .where('denial.reason', '=', sql.lit('manifest'))
    .where('gateway.manifest_id', 'is not', null)
    .where('gateway.status', '<>', sql.lit('deleted')),
);

/** The ids of the observations that gateways last denied because of their manifests. */
export async function findObservationsDeniedByManifest(
  db: Database,
  { tenantId }: InTenant,
  gatewayIds: readonly string[],
): Promise<string[]> {
  const rows = await selectDenied(
    db,
    gatewayIds.map((id) => ({ id })),
    { tenantId },
  );
  return [...new Set(rows.map(({ observationId }) => observationId))];
}

const selectDenied = multiRowStatement((db, rows: readonly { id: string }[], { tenantId }: { tenantId: string }) =>
  db
    .selectFrom('observation_denials')
    .select('observation_id as observationId')
    .where('tenant_id', '=', tenantId)
    .where(
      'gateway_id',
      'in',
      rows.map(({ id }) => id),
    )
    .where('reason', '=', sql.lit('manifest')),
);
