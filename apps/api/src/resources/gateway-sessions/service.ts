import type {
  CreatedGatewaySession,
  CreateGatewaySessionInput,
  GatewaySession,
  SessionGrant,
} from '@quartermaster/contracts/gateway-sessions.ts';
import type { Gateway } from '@quartermaster/contracts/gateways.ts';
import { holdsScopes } from '@quartermaster/contracts/scopes.ts';
import { together } from '@quartermaster/db/prepared-statement.ts';
import type { Database } from '@quartermaster/db/database.ts';
import type { Page, PageRequest } from '@quartermaster/db/queries.ts';
import {
  findGatewaySession,
  findSubject,
  insertGatewaySession,
  revokeGatewaySession,
  type Subject,
} from '@quartermaster/db/repositories/gateway-sessions.ts';
import { findProviders } from '@quartermaster/db/repositories/providers.ts';
import { covers, wholeTenant } from '@quartermaster/db/tenancy.ts';
import { scopeMissing } from '../../auth/authorize.ts';
import { type Principal, principalName, reachOf, scopesAt } from '../../auth/principal.ts';
import { earlierExpiry, requireSource } from '../../auth/source.ts';
import { auditedWrite } from '../../platform/audit/audited-write.ts';
import { ApiError, missingValue, ValidationFailure, valueError, requireFound } from '../../platform/errors.ts';
import { requireGateway } from '../gateways/service.ts';
import { currentSigner, findSigner } from '../signing-keys/service.ts';
import type { CallerContext } from '../../auth/context.ts';
import { digestOfGrants, grantsOf } from './grants.ts';
import { signSessionToken } from './token.ts';

type Path = { gateway_id: string; session_id: string };

export async function createGatewaySession(
  ctx: CallerContext,
  gatewayId: string,
  body: CreateGatewaySessionInput,
): Promise<CreatedGatewaySession> {
  const { session, signer } = await auditedWrite(ctx, async (trx, record, now) => {
    const [gateway, source] = await together(trx, [
      () => requireGateway(ctx, trx, gatewayId),
      () => requireSource(ctx, trx, now),
    ]);
    const { subject, actor } = await subjectOf(ctx, trx, gateway, body.subject ?? null);
    const ttlSeconds = ttlOf(gateway, body.ttlSeconds ?? null);
    const asked = body.providerIds ?? null;
    const providerIds = providersOf(gateway, asked);
    if (gateway.status !== 'active') throw new ApiError('gateway_not_active', 'The gateway is disabled.');
    const { tenantLimits } = ctx.services;
    await tenantLimits.addRecord(trx, gateway.tenantId, { resource: 'openSessions', content: [body, providerIds] });
    const [, grants] = await together(trx, [
      () => ctx.services.subjectSessions.add(gateway, subject),
      () => grantsOf(trx, gateway, providerIds),
    ]);
    const values = {
      gatewayId: gateway.id,
      subject,
      actor,
      openedBy: source.principal,
      openedByKey: source.keyId,
      expiresAt: earlierExpiry(new Date(now.getTime() + ttlSeconds * 1000).toISOString(), source.endsAt),
      gatewayUrl: gateway.url,
      grants,
      grantsDigest: digestOfGrants(grants),
      providerIds: asked === null ? null : providerIds,
      metadata: body.metadata ?? {},
    };
    const beforeStoring = (bytes: number) => tenantLimits.add(trx, gateway.tenantId, 'storedBytes', bytes);
    const [inserted, signer] = await together(trx, [
      () => insertGatewaySession(trx, gateway, values, beforeStoring, now),
      () => findSigner(ctx.services, trx),
    ]);
    const changed = { fields: Object.keys(body), before: null, after: inserted };
    record({ place: gateway, target: { type: 'gateway_session', id: inserted.id }, changed });
    return { session: inserted, signer };
  });
  // The rotation of the key has its own transaction.
  const token = signSessionToken(signer ?? (await currentSigner(ctx.services)), ctx.services.publicUrl, session);
  return { ...session, token, tokenType: 'Bearer' };
}

/** An expired session can be revoked, because its gateway's clock may be slow. A revoked session answers 404. */
export async function revokeSession(ctx: CallerContext, path: Path): Promise<GatewaySession> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const gateway = await requireGateway(ctx, trx, path.gateway_id);
    const session = requireFound(
      await revokeGatewaySession(trx, ctx.reach, gateway.id, path.session_id, now),
      'gateway_session_not_found',
    );
    record({
      place: gateway,
      target: { type: 'gateway_session', id: session.id },
      changed: { fields: ['revokedAt', 'revokedReason'], before: {}, after: session },
    });
    return session;
  });
}

/** The session that a path names. @throws 404 */
export async function requireGatewaySession(ctx: CallerContext, path: Path): Promise<GatewaySession> {
  const { db, now } = ctx.services;
  const gateway = await requireGateway(ctx, db, path.gateway_id);
  return requireFound(
    await findGatewaySession(db, ctx.reach, gateway.id, path.session_id, now()),
    'gateway_session_not_found',
  );
}

/** A page of the items that a session grants. The cursor is the index of the next item. */
export async function pageOfGrants(
  db: Database,
  { id, tenantId, grants }: GatewaySession,
  page: PageRequest,
): Promise<Page<SessionGrant>> {
  const from = page.after === null ? 0 : Number(page.after[0]);
  const providerIds = grants.map(({ providerId }) => providerId);
  // The whole tenant: a gateway of a sub-tenant also lists providers of the tenant.
  const providers = await findProviders(db, wholeTenant(tenantId), providerIds);
  const statuses = new Map(providers.map((provider) => [provider.id, provider.status]));
  const items = grants.flatMap(({ providerId, providerName, items: ofProvider }) => {
    const providerStatus = statuses.get(providerId) ?? 'deleted';
    return ofProvider.map(({ kind, name }) => ({ providerId, providerName, providerStatus, kind, name }));
  });
  const end = from + page.limit;
  return { items: items.slice(from, end), next: end < items.length ? [String(end), id] : null };
}

/** The subject that the session is for, and the actor that opens it if that is a different principal. */
async function subjectOf(
  ctx: CallerContext,
  db: Database,
  gateway: Gateway,
  named: string | null,
): Promise<{ subject: string; actor: string | null }> {
  const caller = principalName(ctx.principal);
  if (named === null || named === caller) return { subject: caller, actor: null };
  const scope = 'gateway_sessions:impersonate';
  if (!holdsScopes(scopesAt(ctx.principal, gateway), [scope])) {
    throw scopeMissing(scope, 'A session for another subject');
  }
  const subject = await findSubject(db, gateway, named);
  if (!subject || !mayActAs(ctx.principal, subject)) {
    const rule = "subject should be active, in the gateway's tenant, and in your reach";
    throw missingValue('service_account_not_found', ['body', 'subject'], rule, named);
  }
  return { subject: named, actor: caller };
}

/** Whether the caller may impersonate the subject: at all places that the subject belongs to. */
function mayActAs(principal: Principal, subject: Subject): boolean {
  if (subject.platformAdministrator && !principal.platformAdministrator) return false;
  const reach = reachOf(principal, 'gateway_sessions:impersonate');
  return subject.places.every((place) => covers(reach, place));
}

function ttlOf(gateway: Gateway, asked: number | null): number {
  const le = gateway.sessionTtlSeconds;
  if (asked === null || asked <= le) return asked ?? le;
  const msg = `Input should be less than or equal to ${le}`;
  throw new ValidationFailure([
    { loc: ['body', 'ttlSeconds'], msg, type: 'less_than_equal', input: asked, ctx: { le } },
  ]);
}

/** The requested providers, in the order in which the gateway lists them. @throws 422 for one that it does not list */
function providersOf(gateway: Gateway, asked: readonly string[] | null): string[] {
  if (asked === null) return gateway.providerIds;
  const details = asked.flatMap((id, index) =>
    gateway.providerIds.includes(id)
      ? []
      : valueError(['body', 'providerIds', index], 'provider should be one of the providers of the gateway', id)
          .details,
  );
  if (details.length > 0) throw new ValidationFailure(details);
  return gateway.providerIds.filter((id) => asked.includes(id));
}
