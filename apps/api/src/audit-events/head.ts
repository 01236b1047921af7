import type { Head } from '@quartermaster/db/repositories/audit-chain.ts';
import { decodeJwt, decodeProtectedHeader, errors, jwtVerify, SignJWT } from 'jose';
import { z } from 'zod';
import type { Services } from '../services.ts';
import { SIGNING_ALGORITHM, type Signer, verificationKey } from '../signing-keys/service.ts';

/** The `typ` of signed heads: none passes for a session token, nor the other way round (RFC 8725, section 3.11). */
const HEAD_TYPE = 'qm-audit-head+jwt';

const ClaimsSchema = z.object({
  tenant_id: z.string().nullable(),
  size: z.int().min(1),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  // In seconds, up to the last one that has a year of four digits.
  iat: z.int().min(0).max(253_402_300_799),
});

/** What a signed head says: the chain of the tenant (null: the platform's own) had this length and ended with this hash. */
export type HeadClaims = z.infer<typeof ClaimsSchema>;

export type ReadHead =
  /** Signed by a key of this service: one whose private half only QM_SECRET_KEY opens, and is opened by it. */
  | { is: 'genuine'; claims: HeadClaims }
  /** Signed, it says, by a key of this service that QM_SECRET_KEY does not open. */
  | { is: 'unverifiable'; claims: HeadClaims }
  | { is: 'forged' };

/**
 * Signs a head as a compact JWS (RFC 7515, 7519): `iss` the service's public URL, `tenant_id`, `size`, `hash`, `iat`.
 */
export function signHead(signer: Signer, issuer: string, tenantId: string, head: Omit<Head, 'token'>): Promise<string> {
  return new SignJWT({ tenant_id: tenantId === '' ? null : tenantId, size: head.size, hash: head.hash })
    .setProtectedHeader({ alg: SIGNING_ALGORITHM, typ: HEAD_TYPE, kid: signer.kid })
    .setIssuer(issuer)
    .setIssuedAt(new Date(head.sealedAt))
    .sign(signer.key);
}

/**
 * Reads a head, and whether it was signed here. The issuer is not looked at: a service keeps its heads when its address
 * changes. Neither is the published key: whoever can write to the database could put another one there.
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

/** What a text says, if it has the form of a head; its signature is not looked at. */
export function claimsOf(token: string): { kid: string; claims: HeadClaims } | null {
  try {
    const { typ, kid } = decodeProtectedHeader(token);
    const claims = ClaimsSchema.safeParse(decodeJwt(token));
    return typ === HEAD_TYPE && kid !== undefined && claims.success ? { kid, claims: claims.data } : null;
  } catch (error) {
    // jose throws a TypeError of its own for a header that it cannot read.
    if (error instanceof errors.JOSEError || error instanceof TypeError) return null;
    throw error;
  }
}

/** When a head was signed, as it says itself; null where it has not the form of one. */
export function signedAt(token: string): string | null {
  const claimed = claimsOf(token);
  return claimed && new Date(claimed.claims.iat * 1000).toISOString();
}

/** Whether a signed head is that of a row: a genuine one of another tenant or length is not. */
export function isOf(claims: HeadClaims, tenantId: string, head: Pick<Head, 'size' | 'hash'>): boolean {
  return (claims.tenant_id ?? '') === tenantId && claims.size === head.size && claims.hash === head.hash;
}
