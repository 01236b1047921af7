import { BoundedMap } from '@quartermaster/db/bounded-map.ts';
import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import type { Services } from '../../platform/services.ts';
import { SESSION_TOKEN_TYPE } from '../gateway-sessions/token.ts';
import { SIGNING_ALGORITHM, verificationKey } from '../signing-keys/service.ts';

/** Maximum characters of a token. Our tokens have less than half of that, even with the longest grants. */
const TOKEN_MAX_LENGTH = 16 * 1024;

/** Tokens that are remembered, because a signature takes longer to verify than everything else of a decision: up to 30 MiB. */
const MAX_REMEMBERED = 5000;

/** What a session token says about its session. */
export type SessionClaims = { sessionId: string; tenantId: string; gatewayId: string; expiresAt: number };

type Payload = JWTPayload & { jti: string; aud: string; exp: number; tenant_id: string };

/** Verifies session tokens, each one once while it is remembered. */
export class SessionTokens {
  readonly #services: Pick<Services, 'db' | 'secrets' | 'publicUrl' | 'now'>;
  readonly #known = new BoundedMap<string, SessionClaims>(MAX_REMEMBERED);

  constructor(services: Pick<Services, 'db' | 'secrets' | 'publicUrl' | 'now'>) {
    this.#services = services;
  }

  /** @returns null for a text that is not a token of ours, and for an expired token */
  verify(token: string): SessionClaims | null | Promise<SessionClaims | null> {
    const known = this.#known.get(token);
    if (known === undefined) return this.#verifyNew(token);
    if (known.expiresAt > this.#services.now().getTime()) return known;
    this.#known.delete(token);
    return null;
  }

  async #verifyNew(token: string): Promise<SessionClaims | null> {
    if (token.length > TOKEN_MAX_LENGTH) return null;
    try {
      const { kid } = decodeProtectedHeader(token);
      const key = await verificationKey(this.#services, kid);
      if (typeof key === 'string') return null;
      const { payload } = await jwtVerify<Payload>(token, key, {
        algorithms: [SIGNING_ALGORITHM],
        typ: SESSION_TOKEN_TYPE,
        issuer: this.#services.publicUrl,
        requiredClaims: ['jti', 'aud', 'exp', 'tenant_id'],
        currentDate: this.#services.now(),
      });
      const claims = {
        sessionId: payload.jti,
        tenantId: payload.tenant_id,
        gatewayId: payload.aud,
        expiresAt: payload.exp * 1000,
      };
      this.#known.set(token, claims);
      return claims;
    } catch (error) {
      // `decodeProtectedHeader` throws a TypeError for text that is not a JWS.
      if (error instanceof errors.JOSEError || error instanceof TypeError) return null;
      throw error;
    }
  }
}
