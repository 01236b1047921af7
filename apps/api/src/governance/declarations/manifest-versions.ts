import type { CreateManifestInput, Manifest } from '@quartermaster/contracts/manifests.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { findGatewaysOfManifest, updateGateway } from '@quartermaster/db/repositories/gateways.ts';
import {
  compareDeclarations,
  type Declaration,
  deleteDeclarations,
  endManifest,
  findActiveManifest,
  findDeclarations,
  findLastManifestVersion,
  insertManifest,
  reactivateManifest,
  storeDeclarations,
} from '@quartermaster/db/repositories/manifests.ts';
import { scopeOf, type TenantPlace, type TenantScope, wholeTenant } from '@quartermaster/db/tenancy.ts';
import type { AuditedChange } from '../../platform/audit/audited-write.ts';
import { canonicalDigest } from '../../platform/canonical-digest.ts';
import type { TenantLimits } from '../../platform/tenant-limits.ts';

type Publishing = {
  content: Pick<CreateManifestInput, 'name' | 'kind' | 'spec'>;
  createdBy: string;
  tenantLimits: TenantLimits;
  record: (change: AuditedChange) => void;
  /** The fields that the audit event names. */
  fields?: readonly string[];
};

/** The active version, the one before it, and the declarations that differ. */
type PublishedVersion = { manifest: Manifest; before: Manifest | undefined; changed: readonly Declaration[] };

/**
 * Publishes the next version of a manifest within a transaction. If the content equals that of the active version, returns that one
 * and records nothing. The caller reevaluates what `changed` lists.
 */
export async function publishVersion(
  trx: Database,
  place: TenantPlace,
  { content, createdBy, tenantLimits, record, fields = ['name', 'kind', 'spec'] }: Publishing,
  now: Date,
): Promise<PublishedVersion> {
  const { name, kind, spec } = content;
  const digest = canonicalDigest(spec);
  const before = await findActiveManifest(trx, place, content);
  if (before?.digest === digest) return { manifest: before, before, changed: [] };
  const bytes = Buffer.byteLength(JSON.stringify(spec));
  await tenantLimits.add(trx, place.tenantId, 'storedBytes', bytes);
  const version = (await findLastManifestVersion(trx, place, content)) + 1;
  const manifest = await insertManifest(trx, place, { name, kind, version, digest, spec, createdBy }, now);
  const changes = compareDeclarations(before ? await findDeclarations(trx, before) : [], spec.declares ?? []);
  await storeDeclarations(trx, manifest, changes, before);
  if (before) {
    const after = { status: 'superseded' };
    await endManifest(trx, [place], before.id, 'superseded', now);
    record({ place, target: { type: 'manifest', id: before.id }, changed: { fields: ['status'], before, after } });
  }
  record({ place, target: { type: 'manifest', id: manifest.id }, changed: { fields, before: null, after: manifest } });
  return { manifest, before, changed: [...changes.added, ...changes.removed] };
}

/**
 * Publishes a version with other content, and gives it to the gateways that use the version before it.
 *
 * @param gatewayScope where gateways are changed
 */
export async function replaceVersion(
  trx: Database,
  before: Manifest,
  {
    spec,
    gatewayScope,
    ...publishing
  }: Omit<Publishing, 'content'> & Pick<Manifest, 'spec'> & { gatewayScope: TenantScope },
  now: Date,
): Promise<{ manifest: Manifest; gatewayIds: string[] }> {
  const { tenantId, subTenantId, name, kind } = before;
  const content = { name, kind, spec };
  const { manifest } = await publishVersion(trx, { tenantId, subTenantId }, { content, ...publishing }, now);
  const gateways = await findGatewaysOfManifest(trx, gatewayScope, before.id);
  for (const { id } of gateways) await setManifest(trx, id, { from: before, to: manifest }, publishing.record, now);
  return { manifest, gatewayIds: gateways.map(({ id }) => id) };
}

/**
 * Takes a version back that {@link replaceVersion} published: the version before it is the active one again, the gateways use that one,
 * and the version is deleted.
 *
 * @param former the superseded version
 */
export async function takeBackVersion(
  trx: Database,
  { manifest, former }: { manifest: Manifest; former: Manifest },
  record: (change: AuditedChange) => void,
  now: Date,
): Promise<void> {
  const scope = scopeOf(manifest);
  const using = await findGatewaysOfManifest(trx, wholeTenant(manifest.tenantId), manifest.id);
  for (const { id } of using) await setManifest(trx, id, { from: manifest, to: former }, record, now);
  await deleteDeclarations(trx, manifest);
  await storeDeclarations(trx, former, compareDeclarations([], former.spec.declares ?? []));
  for (const [before, after] of [
    [manifest, await endManifest(trx, scope, manifest.id, 'deleted', now)],
    [former, await reactivateManifest(trx, scope, former.id, now)],
  ] as const) {
    if (!after) throw new Error(`the manifest ${before.id} is in another state`);
    record({
      place: after,
      target: { type: 'manifest', id: after.id },
      changed: { fields: ['status'], before, after },
    });
  }
}

async function setManifest(
  trx: Database,
  id: string,
  { from, to }: { from: Manifest; to: Manifest },
  record: (change: AuditedChange) => void,
  now: Date,
): Promise<void> {
  const gateway = await updateGateway(trx, wholeTenant(to.tenantId), id, { manifestId: to.id }, now);
  if (!gateway) throw new Error(`the gateway ${id} does not exist`);
  record({
    place: gateway,
    target: { type: 'gateway', id },
    changed: { fields: ['manifestId'], before: { manifestId: from.id }, after: { manifestId: to.id } },
  });
}
