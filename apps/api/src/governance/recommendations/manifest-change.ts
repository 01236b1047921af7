import { ManifestSchema } from '@quartermaster/contracts/manifests.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { findGatewaysOfManifest } from '@quartermaster/db/repositories/gateways.ts';
import { findActiveManifest, findManifest } from '@quartermaster/db/repositories/manifests.ts';
import { covers, scopeOf, wholeTenant } from '@quartermaster/db/tenancy.ts';
import { z } from 'zod';
import type { AuditedChange } from '../../platform/audit/audited-write.ts';
import type { TenantLimits } from '../../platform/tenant-limits.ts';
import { withItemAllowed } from '../declarations/manifest-entry.ts';
import { replaceVersion, takeBackVersion } from '../declarations/manifest-versions.ts';
import { itemOf } from '../rules/reconcile.ts';
import type { Change } from '../rules/rule.ts';

/** What a change of a manifest names: the manifest, in the tenant of the provider. */
const ProposedSchema = z.object({ manifest: ManifestSchema.pick({ subTenantId: true, kind: true, name: true }) });

/** What applying adds: the version before, and the new version with the gateways that use it. An undo needs them. */
const BeforeSchema = z.object({ manifestId: z.string() });
const AfterSchema = z.object({ manifestId: z.string(), gatewayIds: z.array(z.string()) });

type Writing = { record: (change: AuditedChange) => void; tenantLimits: TenantLimits; appliedBy: string };

/** Publishes a version of the manifest with one entry more, and gives it to the gateways that use the active version. */
export async function applyToManifest(
  trx: Database,
  provider: Provider,
  { change, record, tenantLimits, appliedBy }: Writing & { change: Change },
  now: Date,
): Promise<Change> {
  const { manifest: named } = ProposedSchema.parse(change.after);
  const place = { tenantId: provider.tenantId, subTenantId: named.subTenantId };
  const before = await findActiveManifest(trx, place, named);
  const { kind, name } = itemOf(change);
  const widened = before && withItemAllowed(before, { providerId: provider.id, kind, name });
  if (!before || !widened) throw new Error(`the manifest ${named.name} cannot get an entry`);
  const replacing = { spec: widened.spec, gatewayScope: scopeOf(provider), createdBy: appliedBy, tenantLimits, record };
  const { manifest, gatewayIds } = await replaceVersion(trx, before, replacing, now);
  return {
    target: { ...change.target, id: manifest.id },
    before: { ...change.before, manifestId: before.id },
    after: { ...change.after, manifestId: manifest.id, gatewayIds },
  };
}

/** Gives the gateways the former version again, and makes it the active one. The version that the change published is deleted. */
export async function undoInManifest(
  trx: Database,
  provider: Provider,
  { change, record }: Pick<Writing, 'record'> & { change: Change },
  now: Date,
): Promise<void> {
  const former = await findManifest(trx, scopeOf(provider), BeforeSchema.parse(change.before).manifestId);
  const manifest = await findManifest(trx, scopeOf(provider), AfterSchema.parse(change.after).manifestId);
  if (!former || !manifest) throw new Error('a version of the manifest does not exist');
  await takeBackVersion(trx, { manifest, former }, record, now);
}

/** Why a change of a manifest cannot be undone. Null: it can. */
export async function findManifestObstacle(db: Database, provider: Provider, change: Change): Promise<string | null> {
  const { manifestId, gatewayIds } = AfterSchema.parse(change.after);
  const scope = scopeOf(provider);
  const manifest = await findManifest(db, scope, manifestId);
  if (!manifest) return 'the version of the manifest that it published was deleted';
  const active = await findActiveManifest(db, manifest, manifest);
  if (active?.id !== manifestId) {
    const since = active === undefined ? 'deleted' : `published again, as version ${active.version}`;
    return `the manifest ${manifest.name} was ${since}`;
  }
  if (!(await findManifest(db, scope, BeforeSchema.parse(change.before).manifestId))) {
    return 'the former version of the manifest was deleted';
  }
  const using = await findGatewaysOfManifest(db, wholeTenant(provider.tenantId), manifestId);
  const other = using.find(({ id }) => !gatewayIds.includes(id));
  if (other === undefined) return null;
  const named = covers(scope, other) ? `the gateway ${other.id}` : 'a gateway of the tenant';
  return `${named} uses version ${manifest.version} of the manifest since then`;
}

/** The change as the rule proposes it, without what applying added. */
export function asProposed({ target, before, after }: Change): Change {
  return { target: { ...target, id: null }, before: withoutIds(before), after: withoutIds(after) };
}

function withoutIds(fields: Change['after']): Change['after'] {
  const { manifestId: _, gatewayIds: __, ...proposed } = fields ?? {};
  return proposed;
}
