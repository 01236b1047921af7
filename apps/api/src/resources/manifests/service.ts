import type { CreateManifestInput, Manifest } from '@quartermaster/contracts/manifests.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { DuplicateKeyError } from '@quartermaster/db/errors.ts';
import { findActiveGatewayOfManifest, findGatewaysOfManifest } from '@quartermaster/db/repositories/gateways.ts';
import { deleteDeclarations, endManifest, findManifest } from '@quartermaster/db/repositories/manifests.ts';
import { covers, wholeTenant } from '@quartermaster/db/tenancy.ts';
import { existingPlace } from '../../auth/places.ts';
import { principalName } from '../../auth/principal.ts';
import { auditedWrite } from '../../platform/audit/audited-write.ts';
import { ApiError, requireFound } from '../../platform/errors.ts';
import { publishVersion } from '../../governance/declarations/manifest-versions.ts';
import { reevaluateAgent, reevaluateDeclared, reevaluateDeniedAt } from '../../governance/observations/reevaluate.ts';
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
    // Only gateways that are disabled may have a deleted manifest.
    const denied = await reevaluateGateways(trx, manifest, now);
    const agents = manifest.kind === 'agent' ? await reevaluateAgent(trx, manifest, manifest.name, now) : 0;
    record({
      place: deleted,
      target: { type: 'manifest', id },
      changed: { fields: ['status'], before: manifest, after: deleted },
    });
    return { deleted, changed: removed.length + agents + denied };
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
  return auditedWrite(ctx, async (trx, record, now) => {
    const { name, kind } = body;
    const place = await existingPlace(ctx, trx, body);
    const createdBy = principalName(ctx.principal);
    const { tenantLimits } = ctx.services;
    const publishing = { content: body, createdBy, tenantLimits, record, fields: Object.keys(body) };
    const { manifest, before, changed } = await publishVersion(trx, place, publishing, now);
    if (changed.length > 0) await reevaluateDeclared(trx, place, changed, now);
    const agents = kind === 'agent' && !before ? await reevaluateAgent(trx, place, name, now) : 0;
    // The gateways keep the former version. What they deny is no longer repaired by a version after it.
    const denied = before && before.id !== manifest.id ? await reevaluateGateways(trx, before, now) : 0;
    return { manifest, changed: changed.length + agents + denied };
  });
}

/** Reevaluates what the gateways of a manifest denied because of it. */
async function reevaluateGateways(trx: Database, { tenantId, id }: Manifest, now: Date): Promise<number> {
  const gateways = await findGatewaysOfManifest(trx, wholeTenant(tenantId), id);
  const gatewayIds = gateways.map((gateway) => gateway.id);
  return reevaluateDeniedAt(trx, { tenantId }, gatewayIds, now);
}
