import type {
  CreatedGatewaySession,
  CreateGatewaySessionInput,
  GatewaySession,
} from '@quartermaster/contracts/gateway-sessions.ts';
import type { Gateway } from '@quartermaster/contracts/gateways.ts';
import { holdsScopes } from '@quartermaster/contracts/scopes.ts';
import type { Database } from '@quartermaster/db/database.ts';
import {
  findGatewaySession,
  insertGatewaySession,
  revokeGatewaySession,
  subjectExists,
} from '@quartermaster/db/repositories/gateway-sessions.ts';
import { scopeMissing } from '../access/authorise.ts';
import { principalName, scopesAt } from '../access/principal.ts';
import { write } from '../audit-events/write.ts';
import { ApiError, missingValue, ValidationFailure, valueError } from '../errors.ts';
import { requireGateway } from '../gateways/service.ts';
import { currentSigner } from '../signing-keys/service.ts';
import type { CallerContext } from '../trpc.ts';
import { grantsOf } from './grants.ts';
import { signSessionToken } from './token.ts';

type Path = { gateway_id: string; session_id: string };

export async function createGatewaySession(
  ctx: CallerContext,
  gatewayId: string,
  body: CreateGatewaySessionInput,
): Promise<CreatedGatewaySession> {
  // Before the transaction, since a rotation has one of its own.
  const signer = await currentSigner(ctx.services);
  const session = await write(ctx, async (trx, record, now) => {
    const gateway = await requireGateway(ctx, trx, gatewayId);
    const { subject, actor } = await subjectOf(ctx, trx, gateway, body.subject ?? null);
    const ttlSeconds = ttlOf(gateway, body.ttlSeconds ?? null);
    const providerIds = providersOf(gateway, body.providerIds ?? null);
    if (gateway.status !== 'active') throw new ApiError('gateway_not_active', 'The gateway is disabled.');
    const values = {
      gatewayId: gateway.id,
      subject,
      actor,
      openedBy: principalName(ctx.principal),
      expiresAt: new Date(now.getTime() + ttlSeconds * 1000).toISOString(),
      gatewayUrl: gateway.url,
      grants: await grantsOf(trx, gateway, providerIds),
      metadata: body.metadata ?? {},
    };
    const inserted = await insertGatewaySession(trx, gateway, values, now);
    record({ place: gateway, target: { type: 'gateway_session', id: inserted.id }, changed: Object.keys(body) });
    return inserted;
  });
  const token = await signSessionToken(signer, ctx.services.publicUrl, session);
  return { ...session, token, tokenType: 'Bearer' };
}

/** An expired session can be revoked, since its gateway's clock may differ; a revoked one is not found. */
export async function revokeSession(ctx: CallerContext, path: Path): Promise<GatewaySession> {
  return write(ctx, async (trx, record, now) => {
    const gateway = await requireGateway(ctx, trx, path.gateway_id);
    const session = await revokeGatewaySession(trx, ctx.reach, gateway.id, path.session_id, now);
    if (!session) throw notFound();
    record({
      place: gateway,
      target: { type: 'gateway_session', id: session.id },
      changed: ['revokedAt', 'revokedReason'],
    });
    return session;
  });
}

/** The session that a path names. @throws 404 */
export async function requireGatewaySession(ctx: CallerContext, path: Path): Promise<GatewaySession> {
  const { db, now } = ctx.services;
  const gateway = await requireGateway(ctx, db, path.gateway_id);
  const session = await findGatewaySession(db, ctx.reach, gateway.id, path.session_id, now());
  if (!session) throw notFound();
  return session;
}

/** Whom the session acts for, and who opens it where that is somebody else. */
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
  if (!(await subjectExists(db, gateway, named))) {
    const rule = "subject should be active and of the gateway's tenant";
    throw missingValue('service_account_not_found', ['body', 'subject'], rule, named);
  }
  return { subject: named, actor: caller };
}

function ttlOf(gateway: Gateway, asked: number | null): number {
  const le = gateway.sessionTtlSeconds;
  if (asked === null || asked <= le) return asked ?? le;
  const msg = `Input should be less than or equal to ${le}`;
  throw new ValidationFailure([
    { loc: ['body', 'ttlSeconds'], msg, type: 'less_than_equal', input: asked, ctx: { le } },
  ]);
}

/** The chosen ones of the gateway's providers, in its order. */
function providersOf(gateway: Gateway, asked: readonly string[] | null): string[] {
  if (asked === null) return gateway.providerIds;
  const details = asked.flatMap((id, index) =>
    gateway.providerIds.includes(id)
      ? []
      : valueError(['body', 'providerIds', index], 'provider should be one of the gateway', id).details,
  );
  if (details.length > 0) throw new ValidationFailure(details);
  return gateway.providerIds.filter((id) => asked.includes(id));
}

function notFound(): ApiError {
  return new ApiError('gateway_session_not_found', 'The gateway has no session of this id.');
}
