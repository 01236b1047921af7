import type { GatewaySession, Grant } from '@quartermaster/contracts/gateway-sessions.ts';
import { CompactSign } from 'jose';
import { SIGNING_ALGORITHM, type Signer } from '../signing-keys/service.ts';

/** The `typ` of session tokens: no other token of ours, and no access token, passes for one (RFC 8725, section 3.11). */
export const SESSION_TOKEN_TYPE = 'qm-session+jwt';

/** Grants that a token carries itself, in bytes of JSON: it goes through HTTP headers, which have limits of their own. */
const GRANTS_MAX_BYTES = 4096;

/**
 * Makes the token of a session, which gateways verify with the public keys alone.
 *
 * Claims: `iss` the service's public URL, `aud` the gateway's id, `sub` the subject, `jti` the session's id, `iat` and `exp`
 * in whole seconds, never later than the record says; `tenant_id`, and `sub_tenant_id` where there is one; `grants`, or
 * `grants_digest` where they are too long; `act` where somebody else opened it (RFC 8693, section 4.1).
 */
export async function signSessionToken(signer: Signer, issuer: string, session: GatewaySession): Promise<string> {
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
  // The claims are whole: a builder of them would copy the grants deeply.
  return new CompactSign(Buffer.from(JSON.stringify(claims)))
    .setProtectedHeader({ alg: SIGNING_ALGORITHM, typ: SESSION_TOKEN_TYPE, kid: signer.kid })
    .sign(signer.key);
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
