import type { CreateGatewayInput, Gateway, UpdateGatewayInput } from '@quartermaster/contracts/gateways.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { revokeSessionsOfGateway } from '@quartermaster/db/repositories/gateway-sessions.ts';
import {
  findGateway,
  type GatewayChange,
  insertGateway,
  updateGateway,
} from '@quartermaster/db/repositories/gateways.ts';
import { findManifest } from '@quartermaster/db/repositories/manifests.ts';
import { findProviders } from '@quartermaster/db/repositories/providers.ts';
import { scopeOf, type TenantPlace } from '@quartermaster/db/tenancy.ts';
import { existingPlace } from '../access/places.ts';
import { changedFields, write } from '../audit-events/write.ts';
import { ApiError, missingValue, ValidationFailure, valueError, whenTaken } from '../errors.ts';
import type { CallerContext } from '../trpc.ts';

export async function createGateway(ctx: CallerContext, body: CreateGatewayInput): Promise<Gateway> {
  return write(ctx, async (trx, record, now) => {
    const place = await existingPlace(ctx, trx, body);
    await refuseUnusableProviders(ctx, trx, place, body.providerIds, []);
    await refuseUnusableManifest(ctx, trx, place, body.manifestId ?? null);
    await ctx.services.tenantLimits.add(trx, place.tenantId, 'gateways');
    const { name, status, sessionTtlSeconds, displayName = null, url = null, manifestId = null } = body;
    const providerIds = [...new Set(body.providerIds)];
    const values = { name, status, sessionTtlSeconds, displayName, url, manifestId, providerIds };
    const gateway = await insertGateway(trx, place, values, now).catch(nameTaken(name));
    record({ place, target: { type: 'gateway', id: gateway.id }, changed: Object.keys(body) });
    return gateway;
  });
}

export async function changeGateway(ctx: CallerContext, id: string, body: UpdateGatewayInput): Promise<Gateway> {
  return write(ctx, async (trx, record, now) => {
    const gateway = await requireGateway(ctx, trx, id);
    const { providerIds, ...rest } = body;
    const change = { ...rest, ...(providerIds && { providerIds: [...new Set(providerIds)] }) } as GatewayChange;
    const changed = changedFields(gateway, change);
    if (changed.length === 0) return gateway;
    await refuseUnusableProviders(ctx, trx, gateway, providerIds ?? [], gateway.providerIds);
    if (changed.includes('manifestId')) await refuseUnusableManifest(ctx, trx, gateway, change.manifestId ?? null);
    else if (changed.includes('status')) await refuseDeletedManifest(trx, { ...gateway, ...change });
    const updated = await updateGateway(trx, ctx.reach, id, change, now).catch(nameTaken(change.name ?? gateway.name));
    if (!updated) throw notFound();
    if (updated.status === 'disabled') await revokeSessionsOfGateway(trx, scopeOf(updated), id, now);
    record({ place: updated, target: { type: 'gateway', id }, changed });
    return updated;
  });
}

export async function deleteGateway(ctx: CallerContext, id: string): Promise<Gateway> {
  return write(ctx, async (trx, record, now) => {
    const deleted = await updateGateway(trx, ctx.reach, id, { status: 'deleted' }, now);
    if (!deleted) throw notFound();
    await revokeSessionsOfGateway(trx, scopeOf(deleted), id, now);
    record({ place: deleted, target: { type: 'gateway', id }, changed: ['status'] });
    return deleted;
  });
}

/** The gateway that a path names. @throws 404 */
export async function requireGateway(ctx: CallerContext, db: Database, id: string): Promise<Gateway> {
  const gateway = await findGateway(db, ctx.reach, id);
  if (!gateway) throw notFound();
  return gateway;
}

/**
 * Refuses providers that a gateway at this place may not list. One that is out of reach is refused like one that does not
 * exist. Those that it lists already may stay, also where the caller does not reach them.
 */
async function refuseUnusableProviders(
  ctx: CallerContext,
  db: Database,
  place: TenantPlace,
  providerIds: readonly string[],
  listed: readonly string[],
): Promise<void> {
  const added = [...new Set(providerIds)].filter((id) => !listed.includes(id));
  const found = await findProviders(db, ctx.reach, added);
  const usable = new Set(found.filter((provider) => isUsableAt(place, provider)).map((provider) => provider.id));
  const details = providerIds.flatMap((id, index) =>
    usable.has(id) || listed.includes(id)
      ? []
      : valueError(['body', 'providerIds', index], 'provider does not exist', id).details,
  );
  if (details.length > 0) throw new ValidationFailure(details, 'provider_not_found');
}

async function refuseUnusableManifest(
  ctx: CallerContext,
  db: Database,
  place: TenantPlace,
  manifestId: string | null,
): Promise<void> {
  if (manifestId === null) return;
  const manifest = await findManifest(db, ctx.reach, manifestId);
  if (manifest && isUsableAt(place, manifest)) return;
  throw missingValue('manifest_not_found', ['body', 'manifestId'], 'manifest does not exist', manifestId);
}

/** A manifest can be deleted while its gateways are disabled: an active gateway never runs under a deleted one. */
async function refuseDeletedManifest(db: Database, { tenantId, status, manifestId }: Gateway): Promise<void> {
  if (status !== 'active' || manifestId === null) return;
  // The whole tenant: its caller need not reach what the gateway runs under already.
  if (await findManifest(db, [{ tenantId, subTenantId: null }], manifestId)) return;
  throw valueError(['body', 'manifestId'], 'manifest does not exist', manifestId);
}

/**
 * A gateway uses what stands in its tenant. What belongs to a sub-tenant is for that sub-tenant and for gateways of the
 * whole tenant: through a sibling's gateway its inventory would be seen by those who cannot reach it.
 */
function isUsableAt(place: TenantPlace, used: TenantPlace): boolean {
  if (used.tenantId !== place.tenantId) return false;
  return used.subTenantId === null || place.subTenantId === null || used.subTenantId === place.subTenantId;
}

function notFound(): ApiError {
  return new ApiError('gateway_not_found', 'No gateway of this id in your reach.');
}

function nameTaken(name: string): (error: unknown) => never {
  return whenTaken('name_taken', `A gateway named ${JSON.stringify(name)} exists here.`);
}
