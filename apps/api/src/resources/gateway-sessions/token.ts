import type { GatewaySession, Grant } from '@quartermaster/contracts/gateway-sessions.ts';
import { type Signer, signJws } from '../signing-keys/service.ts';

/** The `typ` of session tokens, so that no other token can be used as one (RFC 8725, section 3.11). */
export const SESSION_TOKEN_TYPE = 'qm-session+jwt';

/** A token contains its grants up to this many bytes of JSON, because HTTP headers have limits. */
const GRANTS_MAX_BYTES = 4096;

/**
 * Creates the token of a session. Gateways need only the public keys to verify it.
 *
 * Claims: `iss` the service's public URL, `aud` the gateway's id, `sub` the subject, `jti` the session's id, `iat` and `exp`
 * in whole seconds, never later than the record says; `tenant_id`, and `sub_tenant_id` if there is one; `grants`, or
 * `grants_digest` if they are too long; `act` if another principal opened it (RFC 8693, section 4.1).
 */
export function signSessionToken(signer: Signer, issuer: string, session: GatewaySession): string {
  const { tenantId, subTenantId, actor } = session;
  const claims = {
    tenant_id: tenantId,
    ...(subTenantId !== null && { sub_tenant_id: subTenantId }),
    ...grantClaims(session),
    ...(actor !== null && { act: { sub: actor } }),
    iss: issuer,
    aud: session.gatewayId,
    sub: session.subject,
    jti: session.id,
    iat: seconds(session.issuedAt),
    exp: seconds(session.expiresAt),
  };
  return signJws(signer, SESSION_TOKEN_TYPE, claims);
}

function grantClaims({
  grants,
  grantsDigest,
}: GatewaySession): { grants: readonly Grant[] } | { grants_digest: string } {
  const bytes = Buffer.byteLength(JSON.stringify(grants));
  return bytes <= GRANTS_MAX_BYTES ? { grants } : { grants_digest: grantsDigest };
}

function seconds(time: string): number {
  return Math.floor(Date.parse(time) / 1000);
}
