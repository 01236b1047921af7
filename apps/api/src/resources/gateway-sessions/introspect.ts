import type { GatewaySession, GatewaySessionIntrospection } from '@quartermaster/contracts/gateway-sessions.ts';
import type { Gateway } from '@quartermaster/contracts/gateways.ts';
import { findGatewaySession } from '@quartermaster/db/repositories/gateway-sessions.ts';
import { listPublishedKeys } from '@quartermaster/db/repositories/signing-keys.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import { createLocalJWKSet, errors, type JWTPayload, jwtVerify } from 'jose';
import { requireGateway } from '../gateways/service.ts';
import type { Services } from '../../platform/services.ts';
import { SIGNING_ALGORITHM } from '../signing-keys/service.ts';
import type { CallerContext } from '../../auth/context.ts';
import { stillGranted } from './grants.ts';
import { SESSION_TOKEN_TYPE } from './token.ts';

/** Maximum characters of a token. Our tokens have less than half of that, even with the longest grants. */
const TOKEN_MAX_LENGTH = 16 * 1024;

const INACTIVE = { active: false } as const;

/**
 * Token introspection (RFC 7662). The signature proves that the token is ours. The session's record decides whether it is
 * active, and the current policy decides which grants are left. The response never says why a token is inactive (section
 * 2.2).
 */
export async function introspectSession(
  ctx: CallerContext,
  gatewayId: string,
  token: string,
): Promise<GatewaySessionIntrospection> {
  const { db, now } = ctx.services;
  const gateway = await requireGateway(ctx, db, gatewayId);
  const claims = await verified(ctx.services, gateway, token);
  if (claims === null) return INACTIVE;
  const session = await findGatewaySession(db, scopeOf(gateway), gateway.id, claims.jti, now());
  if (session?.status !== 'active') return INACTIVE;
  return answer(claims, session, await stillGranted(db, gateway, session.grants));
}

type Claims = JWTPayload & { iss: string; jti: string; iat: number; exp: number };

/** The claims of a token that we signed for this gateway and that has not expired; null for any other text. */
async function verified(
  { db, now, publicUrl }: Pick<Services, 'db' | 'now' | 'publicUrl'>,
  gateway: Gateway,
  token: string,
): Promise<Claims | null> {
  if (token.length > TOKEN_MAX_LENGTH) return null;
  // The published keys include a retired key for as long as a token that it signed may be valid.
  const keys = createLocalJWKSet({ keys: await listPublishedKeys(db, now()) });
  try {
    const { payload } = await jwtVerify<Claims>(token, keys, {
      algorithms: [SIGNING_ALGORITHM],
      typ: SESSION_TOKEN_TYPE,
      issuer: publicUrl,
      audience: gateway.id,
      requiredClaims: ['iss', 'jti', 'iat', 'exp'],
      currentDate: now(),
    });
    return payload;
  } catch (error) {
    if (error instanceof errors.JOSEError) return null;
    throw error;
  }
}

function answer(
  { iss, jti, iat, exp }: Claims,
  session: GatewaySession,
  grants: GatewaySession['grants'],
): GatewaySessionIntrospection {
  const { subject, actor, gatewayId, tenantId, subTenantId } = session;
  return {
    active: true,
    iss,
    sub: subject,
    aud: gatewayId,
    jti,
    iat,
    token_type: 'Bearer',
    // A session may end earlier than its token says, because the API key that opened it was rotated.
    exp: Math.min(exp, Math.floor(Date.parse(session.expiresAt) / 1000)),
    client_id: actor ?? subject,
    tenant_id: tenantId,
    ...(subTenantId !== null && { sub_tenant_id: subTenantId }),
    ...(actor !== null && { act: { sub: actor } }),
    gateway_id: gatewayId,
    session_id: session.id,
    grants,
    metadata: session.metadata,
  };
}
