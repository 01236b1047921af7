import type { CreateManifestInput, Manifest } from '@quartermaster/contracts/manifests.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { DuplicateKeyError } from '@quartermaster/db/errors.ts';
import { findActiveGatewayOfManifest } from '@quartermaster/db/repositories/gateways.ts';
import {
  deleteDeclarations,
  distinctDeclarations,
  endManifest,
  findActiveManifest,
  findManifest,
  insertDeclarations,
  insertManifest,
  lastManifestVersion,
} from '@quartermaster/db/repositories/manifests.ts';
import { covers } from '@quartermaster/db/tenancy.ts';
import { existingPlace } from '../access/places.ts';
import { principalName } from '../access/principal.ts';
import { write } from '../audit-events/write.ts';
import { canonicalDigest } from '../crypto/canonical-digest.ts';
import { ApiError } from '../errors.ts';
import { recomputeDeclared } from '../runtime-observations/recompute.ts';
import type { CallerContext } from '../trpc.ts';

/** How often a version is tried again, where others publish the same manifest at the same time. */
const ATTEMPTS = 3;

/** Publishes the next version; the content of the active one again answers that one, and records nothing. */
export async function createManifest(ctx: CallerContext, body: CreateManifestInput): Promise<Manifest> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await publish(ctx, body);
    } catch (error) {
      // Where transactions are not serial, two may count the same version; the second finds the first the next time.
      // Within a transaction that is not its own to begin again, whoever began it does.
      if (!(error instanceof DuplicateKeyError) || attempt === ATTEMPTS || ctx.services.db.isTransaction) throw error;
    }
  }
}

export async function deleteManifest(ctx: CallerContext, id: string): Promise<Manifest> {
  return write(ctx, async (trx, record, now) => {
    const manifest = await requireManifest(ctx, trx, id);
    const gateway = await findActiveGatewayOfManifest(trx, ctx.reach, id);
    if (gateway) {
      const named = covers(ctx.reach, gateway)
        ? `The gateway ${gateway.id} (${gateway.name})`
        : 'A gateway of the tenant';
      throw new ApiError('manifest_in_use', `${named} is active and runs under this manifest.`);
    }
    const removed = await deleteDeclarations(trx, manifest);
    const deleted = await endManifest(trx, ctx.reach, id, 'deleted', now);
    if (!deleted) throw notFound();
    await recomputeDeclared(trx, manifest, removed, now);
    record({ place: deleted, target: { type: 'manifest', id }, changed: ['status'] });
    return deleted;
  });
}

/** The manifest that a path names. @throws 404 */
export async function requireManifest(ctx: CallerContext, db: Database, id: string): Promise<Manifest> {
  const manifest = await findManifest(db, ctx.reach, id);
  if (!manifest) throw notFound();
  return manifest;
}

async function publish(ctx: CallerContext, body: CreateManifestInput): Promise<Manifest> {
  const { name, kind, spec } = body;
  const digest = canonicalDigest(spec);
  return write(ctx, async (trx, record, now) => {
    const place = await existingPlace(ctx, trx, body);
    const before = await findActiveManifest(trx, place, body);
    if (before?.digest === digest) return before;
    const bytes = Buffer.byteLength(JSON.stringify(spec));
    await ctx.services.tenantLimits.add(trx, place.tenantId, 'storedBytes', bytes);
    const version = (await lastManifestVersion(trx, place, body)) + 1;
    const createdBy = principalName(ctx.principal);
    const manifest = await insertManifest(trx, place, { name, kind, version, digest, spec, createdBy }, now);
    const added = await insertDeclarations(trx, manifest, spec.declares ?? []);
    const removed = before ? await deleteDeclarations(trx, before) : [];
    if (before) {
      await endManifest(trx, [place], before.id, 'superseded', now);
      record({ place, target: { type: 'manifest', id: before.id }, changed: ['status'] });
    }
    await recomputeDeclared(trx, place, distinctDeclarations([...added, ...removed]), now);
    record({ place, target: { type: 'manifest', id: manifest.id }, changed: Object.keys(body) });
    return manifest;
  });
}

function notFound(): ApiError {
  return new ApiError('manifest_not_found', 'No manifest of this id in your reach.');
}
