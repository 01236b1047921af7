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
import { scopeOf, type TenantPlace, wholeTenant } from '@quartermaster/db/tenancy.ts';
import { existingPlace } from '../../auth/places.ts';
import { changedFields, auditedWrite } from '../../platform/audit/audited-write.ts';
import {
  missingValue,
  ValidationFailure,
  valueError,
  duplicateKeyAs,
  notFound,
  requireFound,
} from '../../platform/errors.ts';
import type { CallerContext } from '../../auth/context.ts';
import { reevaluateDeniedAt } from '../../governance/observations/reevaluate.ts';

export async function createGateway(ctx: CallerContext, body: CreateGatewayInput): Promise<Gateway> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const place = await existingPlace(ctx, trx, body);
    await requireUsableProviders(ctx, trx, place, body.providerIds, []);
    await requireUsableManifest(ctx, trx, place, body.manifestId ?? null);
    await ctx.services.tenantLimits.addRecord(trx, place.tenantId, { resource: 'gateways', content: body });
    const { name, status, sessionTtlSeconds, enforcement, mcpProxy } = body;
    const { displayName = null, url = null, manifestId = null } = body;
    const providerIds = [...new Set(body.providerIds)];
    const settings = { status, sessionTtlSeconds, enforcement, mcpProxy };
    const values = { ...settings, name, displayName, url, manifestId, providerIds };
    const gateway = await insertGateway(trx, place, values, now).catch(nameTaken(name));
    record({
      place,
      target: { type: 'gateway', id: gateway.id },
      changed: { fields: Object.keys(body), before: null, after: gateway },
    });
    return gateway;
  });
}

/** Denied observations that cost one point of the rate limits: they are reevaluated in the transaction. */
const DENIED_PER_POINT = 50;

export async function changeGateway(ctx: CallerContext, id: string, body: UpdateGatewayInput): Promise<Gateway> {
  let denied = 0;
  const answer = await auditedWrite(ctx, async (trx, record, now) => {
    const gateway = await requireGateway(ctx, trx, id);
    const { providerIds, ...rest } = body;
    const change = { ...rest, ...(providerIds && { providerIds: [...new Set(providerIds)] }) } as GatewayChange;
    const changed = changedFields(gateway, change);
    if (changed.length === 0) return gateway;
    await ctx.services.tenantLimits.changeRecord(trx, gateway.tenantId, { before: gateway, change, changed });
    await requireUsableProviders(ctx, trx, gateway, providerIds ?? [], gateway.providerIds);
    for (const field of changed)
      if (isLoosening(field, change)) await requireReachedProviders(ctx, trx, gateway, field);
    if (changed.includes('manifestId')) await requireUsableManifest(ctx, trx, gateway, change.manifestId ?? null);
    else if (changed.includes('status')) await requireExistingManifest(trx, { ...gateway, ...change });
    const updated = await updateGateway(trx, ctx.reach, id, change, now).catch(nameTaken(change.name ?? gateway.name));
    if (!updated) throw notFound('gateway_not_found');
    if (updated.status === 'disabled') await revokeSessionsOfGateway(trx, scopeOf(updated), id, now);
    record({
      place: updated,
      target: { type: 'gateway', id },
      changed: { fields: changed, before: gateway, after: updated },
    });
    const decidesAnew = changed.includes('manifestId') || changed.includes('providerIds');
    if (decidesAnew) denied = await reevaluateDeniedAt(trx, updated, [id], now);
    return updated;
  });
  await ctx.charge(Math.floor(denied / DENIED_PER_POINT));
  return answer;
}

export async function deleteGateway(ctx: CallerContext, id: string): Promise<Gateway> {
  let denied = 0;
  const answer = await auditedWrite(ctx, async (trx, record, now) => {
    const gateway = await requireGateway(ctx, trx, id);
    const deleted = requireFound(
      await updateGateway(trx, ctx.reach, id, { status: 'deleted' }, now),
      'gateway_not_found',
    );
    await revokeSessionsOfGateway(trx, scopeOf(deleted), id, now);
    denied = await reevaluateDeniedAt(trx, deleted, [id], now);
    record({
      place: deleted,
      target: { type: 'gateway', id },
      changed: { fields: ['status'], before: gateway, after: deleted },
    });
    return deleted;
  });
  await ctx.charge(Math.floor(denied / DENIED_PER_POINT));
  return answer;
}

/** The gateway that a path names. @throws 404 */
export async function requireGateway(ctx: CallerContext, db: Database, id: string): Promise<Gateway> {
  return requireFound(await findGateway(db, ctx.reach, id), 'gateway_not_found');
}

/** Why a gateway cannot use a provider or manifest. The same text for all reasons: others must not learn which ids exist. */
const UNUSABLE =
  'does not exist in your reach, or the gateway cannot use it: a gateway of a sub-tenant uses those of its sub-tenant and of the whole tenant';

/**
 * Checks that a gateway at this place may list the providers. A provider out of the caller's reach is treated like one that
 * does not exist. Providers that the gateway already lists may stay, even if the caller does not reach them.
 *
 * @throws 422 `provider_not_found`
 */
async function requireUsableProviders(
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
      : valueError(['body', 'providerIds', index], `provider ${UNUSABLE}`, id).details,
  );
  if (details.length > 0) throw new ValidationFailure(details, 'provider_not_found');
}

/** Whether a change lets agents use more than the inventories, blocks and manifests allow, or lets them use stored credentials. */
function isLoosening(field: string, { enforcement, mcpProxy }: GatewayChange): boolean {
  return (field === 'enforcement' && enforcement === 'observe') || (field === 'mcpProxy' && mcpProxy === 'on');
}

/**
 * A gateway of a sub-tenant may list providers of the whole tenant. Their blocks and credentials are not for the sub-tenant to lift or
 * to use.
 *
 * @throws 422 `provider_not_found`
 */
async function requireReachedProviders(
  ctx: CallerContext,
  db: Database,
  { tenantId, providerIds }: Gateway,
  field: string,
): Promise<void> {
  const listed = await findProviders(db, wholeTenant(tenantId), providerIds);
  const reached = await findProviders(db, ctx.reach, providerIds);
  if (reached.length === listed.length) return;
  const message = 'the gateway lists providers out of your reach, so only those who reach them may set this';
  throw new ValidationFailure(valueError(['body', field], message).details, 'provider_not_found');
}

async function requireUsableManifest(
  ctx: CallerContext,
  db: Database,
  place: TenantPlace,
  manifestId: string | null,
): Promise<void> {
  if (manifestId === null) return;
  const manifest = await findManifest(db, ctx.reach, manifestId);
  if (manifest && isUsableAt(place, manifest)) return;
  throw missingValue('manifest_not_found', ['body', 'manifestId'], `manifest ${UNUSABLE}`, manifestId);
}

/**
 * A manifest can be deleted while its gateways are disabled. This keeps a gateway from becoming active with a deleted manifest.
 *
 * @throws 422
 */
async function requireExistingManifest(db: Database, { tenantId, status, manifestId }: Gateway): Promise<void> {
  if (status !== 'active' || manifestId === null) return;
  // The whole tenant: the caller need not reach the manifest that the gateway already has.
  if (await findManifest(db, wholeTenant(tenantId), manifestId)) return;
  const message = "the gateway's manifest was deleted; name another one, or null for none";
  throw valueError(['body', 'manifestId'], message, manifestId);
}

/**
 * A gateway uses providers and manifests of its tenant. Those of a sub-tenant are only for gateways of that sub-tenant and of
 * the whole tenant: through a gateway of another sub-tenant, callers would see an inventory that they do not reach.
 */
function isUsableAt(place: TenantPlace, used: TenantPlace): boolean {
  if (used.tenantId !== place.tenantId) return false;
  return used.subTenantId === null || place.subTenantId === null || used.subTenantId === place.subTenantId;
}

function nameTaken(name: string): (error: unknown) => never {
  return duplicateKeyAs(
    'name_taken',
    `A gateway named ${JSON.stringify(name)} already exists in this tenant and sub-tenant.`,
  );
}
