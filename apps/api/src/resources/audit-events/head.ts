import type { Head } from '@quartermaster/db/repositories/audit-chain.ts';
import { decodeJwt, decodeProtectedHeader, errors, jwtVerify } from 'jose';
import { z } from 'zod';
import type { Services } from '../../platform/services.ts';
import { SIGNING_ALGORITHM, signJws, type Signer, verificationKey } from '../signing-keys/service.ts';

/** The `typ` of signed heads, so that a head cannot be used as a session token, or the reverse (RFC 8725, section 3.11). */
const HEAD_TYPE = 'qm-audit-head+jwt';

const ClaimsSchema = z.object({
  tenant_id: z.string().nullable(),
  size: z.int().min(1),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  // In seconds, up to the end of the year 9999.
  iat: z.int().min(0).max(253_402_300_799),
});

/** A signed head states that the chain of a tenant (null: the platform's own) had this length and ended with this hash. */
export type HeadClaims = z.infer<typeof ClaimsSchema>;

export type ReadHead =
  /** Signed by a key of this service: QM_SECRET_KEY opens its private half. */
  | { is: 'genuine'; claims: HeadClaims }
  /** It names a key of this service, but QM_SECRET_KEY does not open that key. */
  | { is: 'unverifiable'; claims: HeadClaims }
  | { is: 'forged' };

/**
 * Signs a head as a compact JWS (RFC 7515, 7519): `iss` the service's public URL, `tenant_id`, `size`, `hash`, `iat`.
 */
export function signHead(signer: Signer, issuer: string, tenantId: string, head: Omit<Head, 'token'>): string {
  return signJws(signer, HEAD_TYPE, {
    iss: issuer,
    iat: Math.floor(Date.parse(head.sealedAt) / 1000),
    tenant_id: tenantId === '' ? null : tenantId,
    size: head.size,
    hash: head.hash,
  });
}

/**
 * Reads a head, and checks whether this service signed it. It does not check the issuer, because heads stay valid when the
 * service's address changes. It does not use the published key, because an attacker with write access to the database could
 * replace that key.
 */
export async function readHead(services: Pick<Services, 'db' | 'secrets'>, token: string): Promise<ReadHead> {
  const claimed = claimsOf(token);
  if (claimed === null) return { is: 'forged' };
  const key = await verificationKey(services, claimed.kid);
  if (key === 'unknown') return { is: 'forged' };
  if (key === 'unreadable') return { is: 'unverifiable', claims: claimed.claims };
  try {
    await jwtVerify(token, key, { algorithms: [SIGNING_ALGORITHM], typ: HEAD_TYPE });
    return { is: 'genuine', claims: claimed.claims };
  } catch (error) {
    if (error instanceof errors.JOSEError) return { is: 'forged' };
    throw error;
  }
}

/** The claims of a text that has the form of a head, or null. Does not check the signature. */
export function claimsOf(token: string): { kid: string; claims: HeadClaims } | null {
  try {
    const { typ, kid } = decodeProtectedHeader(token);
    const claims = ClaimsSchema.safeParse(decodeJwt(token));
    return typ === HEAD_TYPE && kid !== undefined && claims.success ? { kid, claims: claims.data } : null;
  } catch (error) {
    // jose throws a plain TypeError for a header that it cannot read.
    if (error instanceof errors.JOSEError || error instanceof TypeError) return null;
    throw error;
  }
}

/** The time at which a head says that it was signed. Null if the text is not a head. Does not check the signature. */
export function signedAt(token: string): string | null {
  const claimed = claimsOf(token);
  return claimed && new Date(claimed.claims.iat * 1000).toISOString();
}

/** Whether a signed head belongs to a row: a genuine head could have been copied from another tenant or position. */
export function isOf(claims: HeadClaims, tenantId: string, head: Pick<Head, 'size' | 'hash'>): boolean {
  return (claims.tenant_id ?? '') === tenantId && claims.size === head.size && claims.hash === head.hash;
}
