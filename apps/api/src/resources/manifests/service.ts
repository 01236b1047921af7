import type { CreateManifestInput, Manifest } from '@quartermaster/contracts/manifests.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { DuplicateKeyError } from '@quartermaster/db/errors.ts';
import { findActiveGatewayOfManifest } from '@quartermaster/db/repositories/gateways.ts';
import {
  compareDeclarations,
  deleteDeclarations,
  endManifest,
  findActiveManifest,
  findDeclarations,
  findLastManifestVersion,
  findManifest,
  insertManifest,
  storeDeclarations,
} from '@quartermaster/db/repositories/manifests.ts';
import { covers } from '@quartermaster/db/tenancy.ts';
import { existingPlace } from '../../auth/places.ts';
import { principalName } from '../../auth/principal.ts';
import { auditedWrite } from '../../platform/audit/audited-write.ts';
import { canonicalDigest } from '../../platform/canonical-digest.ts';
import { ApiError, requireFound } from '../../platform/errors.ts';
import { reevaluateAgent, reevaluateDeclared } from '../../governance/observations/reevaluate.ts';
import type { CallerContext } from '../../auth/context.ts';

/** Changed declarations and agents that cost one point of the rate limits: observations are reevaluated in the transaction. */
const CHANGES_PER_POINT = 50;

/** Attempts to insert a version, because concurrent requests may publish the same manifest. */
const ATTEMPTS = 3;

/** Publishes the next version. If the content equals that of the active version, returns that one and records nothing. */
export async function createManifest(ctx: CallerContext, body: CreateManifestInput): Promise<Manifest> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { manifest, changed } = await publish(ctx, body);
      await chargeForChanges(ctx, changed);
      return manifest;
    } catch (error) {
      // On PostgreSQL two concurrent requests may choose the same version number. The loser tries again, and then finds the
      // winner's version. Inside a transaction of the caller, only the caller can try again.
      if (!(error instanceof DuplicateKeyError) || attempt === ATTEMPTS || ctx.services.db.isTransaction) throw error;
    }
  }
}

export async function deleteManifest(ctx: CallerContext, id: string): Promise<Manifest> {
  const { deleted, changed } = await auditedWrite(ctx, async (trx, record, now) => {
    const manifest = await requireManifest(ctx, trx, id);
    const gateway = await findActiveGatewayOfManifest(trx, ctx.reach, id);
    if (gateway) {
      const named = covers(ctx.reach, gateway)
        ? `The gateway ${gateway.id} (${gateway.name})`
        : 'A gateway of the tenant';
      throw new ApiError('manifest_in_use', `${named} is active and uses this manifest.`);
    }
    const removed = await deleteDeclarations(trx, manifest);
    const deleted = requireFound(await endManifest(trx, ctx.reach, id, 'deleted', now), 'manifest_not_found');
    await reevaluateDeclared(trx, manifest, removed, now);
    const agents = manifest.kind === 'agent' ? await reevaluateAgent(trx, manifest, manifest.name, now) : 0;
    record({
      place: deleted,
      target: { type: 'manifest', id },
      changed: { fields: ['status'], before: manifest, after: deleted },
    });
    return { deleted, changed: removed.length + agents };
  });
  await chargeForChanges(ctx, changed);
  return deleted;
}

function chargeForChanges({ charge }: CallerContext, changed: number): Promise<void> {
  return charge(Math.floor(changed / CHANGES_PER_POINT));
}

/** The manifest that a path names. @throws 404 */
export async function requireManifest(ctx: CallerContext, db: Database, id: string): Promise<Manifest> {
  return requireFound(await findManifest(db, ctx.reach, id), 'manifest_not_found');
}

/** @returns the active version, and how many declarations and observed agents it changed */
async function publish(
  ctx: CallerContext,
  body: CreateManifestInput,
): Promise<{ manifest: Manifest; changed: number }> {
  const { name, kind, spec } = body;
  const digest = canonicalDigest(spec);
  return auditedWrite(ctx, async (trx, record, now) => {
    const place = await existingPlace(ctx, trx, body);
    const before = await findActiveManifest(trx, place, body);
    if (before?.digest === digest) return { manifest: before, changed: 0 };
    const bytes = Buffer.byteLength(JSON.stringify(spec));
    await ctx.services.tenantLimits.add(trx, place.tenantId, 'storedBytes', bytes);
    const version = (await findLastManifestVersion(trx, place, body)) + 1;
    const createdBy = principalName(ctx.principal);
    const manifest = await insertManifest(trx, place, { name, kind, version, digest, spec, createdBy }, now);
    const changes = compareDeclarations(before ? await findDeclarations(trx, before) : [], spec.declares ?? []);
    const changed = [...changes.added, ...changes.removed];
    await storeDeclarations(trx, manifest, changes, before);
    if (changed.length > 0) await reevaluateDeclared(trx, place, changed, now);
    const agents = kind === 'agent' && !before ? await reevaluateAgent(trx, place, name, now) : 0;
    if (before) {
      const after = { status: 'superseded' };
      await endManifest(trx, [place], before.id, 'superseded', now);
      record({ place, target: { type: 'manifest', id: before.id }, changed: { fields: ['status'], before, after } });
    }
    record({
      place,
      target: { type: 'manifest', id: manifest.id },
      changed: { fields: Object.keys(body), before: null, after: manifest },
    });
    return { manifest, changed: changed.length + agents };
  });
}
