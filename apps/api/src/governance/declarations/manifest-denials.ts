import type { Manifest } from '@quartermaster/contracts/manifests.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import type { GatewayReference } from '@quartermaster/db/repositories/gateways.ts';
import { findManifestDenials } from '@quartermaster/db/repositories/manifest-denials.ts';
import { findManifest } from '@quartermaster/db/repositories/manifests.ts';
import { covers, scopeOf, type TenantPlace, wholeTenant } from '@quartermaster/db/tenancy.ts';
import { allowanceOf, type Allows } from './allow-list.ts';

/** A version of a manifest that does not allow something, and the gateways that denied it for that reason and use this version. */
export type DenyingManifest = { manifest: Manifest; gateways: readonly GatewayReference[] };

type Observed = {
  provider: Provider;
  observation: Pick<RuntimeObservation, 'id' | 'kind' | 'name' | 'evidence'>;
};

/** Whether a gateway denied something because of its manifest. It may be allowed by now. */
export function wasDeniedByManifest({ evidence }: Pick<RuntimeObservation, 'evidence'>): boolean {
  return evidence.deniedReasons.includes('manifest');
}

/**
 * Finds the manifests that deny observations of a tenant now: those of gateways that denied them because of their manifests, and
 * that still do not allow them. Sorted by the names of the manifests. A deleted manifest is not among them, because it cannot be
 * changed.
 *
 * @returns a look-up by the id of the observation
 */
export async function findDenyingManifests(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  observed: readonly Observed[],
): Promise<(observation: Pick<RuntimeObservation, 'id'>) => readonly DenyingManifest[]> {
  const denied = observed.filter(({ observation }) => wasDeniedByManifest(observation));
  if (denied.length === 0) return () => [];
  const rows = await findManifestDenials(
    db,
    { tenantId },
    denied.map(({ observation }) => observation.id),
  );
  const manifests = new Map<string, Manifest>();
  for (const id of new Set(rows.map(({ manifestId }) => manifestId))) {
    const manifest = await findManifest(db, wholeTenant(tenantId), id);
    if (manifest) manifests.set(id, manifest);
  }
  const byId = new Map(denied.map((one) => [one.observation.id, one]));
  const allowances = new Map<string, Allows>();
  const denying = new Map<string, Map<string, GatewayReference[]>>();
  for (const { observationId, gateway, manifestId } of rows) {
    const { provider, observation } = byId.get(observationId) ?? {};
    const manifest = manifests.get(manifestId);
    if (!provider || !observation || !manifest) continue;
    const key = JSON.stringify([manifestId, gateway.subTenantId, provider.id]);
    const allows = allowances.get(key) ?? allowanceOf(gateway, manifest)(provider);
    allowances.set(key, allows);
    if (allows(observation)) continue;
    const ofObservation = denying.get(observationId) ?? new Map<string, GatewayReference[]>();
    ofObservation.set(manifestId, [...(ofObservation.get(manifestId) ?? []), gateway]);
    denying.set(observationId, ofObservation);
  }
  return ({ id }) =>
    [...(denying.get(id) ?? [])]
      .flatMap(([manifestId, gateways]) => {
        const manifest = manifests.get(manifestId);
        return manifest ? [{ manifest, gateways }] : [];
      })
      .toSorted(byName);
}

/** The manifests that deny some observations of one subject, each once. */
export function mergedDenials(lists: readonly (readonly DenyingManifest[])[]): DenyingManifest[] {
  const byManifest = Map.groupBy(lists.flat(), ({ manifest }) => manifest.id);
  return [...byManifest.values()]
    .flatMap(([first, ...others]) => {
      if (first === undefined) return [];
      const gateways = [first, ...others].flatMap((one) => one.gateways);
      return [{ manifest: first.manifest, gateways: [...new Map(gateways.map((one) => [one.id, one])).values()] }];
    })
    .toSorted(byName);
}

/** The name and id decide, so that the order is the same after a manifest is published again. */
function byName(a: DenyingManifest, b: DenyingManifest): number {
  return a.manifest.name === b.manifest.name
    ? compared(a.manifest.id, b.manifest.id)
    : compared(a.manifest.name, b.manifest.name);
}

function compared(a: string, b: string): number {
  return a < b ? -1 : 1;
}

/** Says which manifest denies something, for readers at a place. Those of a sub-tenant must not learn names of the whole tenant. */
export function denialInWords(place: TenantPlace, { manifest, gateways }: DenyingManifest): string {
  const scope = scopeOf(place);
  const shown = gateways.filter((gateway) => covers(scope, gateway)).map(({ name }) => name);
  const where = shown.length === 0 ? '' : ` at the ${shown.length === 1 ? 'gateway' : 'gateways'} ${shown.join(', ')}`;
  if (!covers(scope, manifest)) return `a manifest of the tenant${where}`;
  const version = manifest.status === 'active' ? '' : `version ${manifest.version}, which is not the newest, of `;
  return `${version}the manifest ${manifest.name}${where}`;
}
