import type { Grant } from './access.ts';
import { ageOf, type Moment, moment } from './clock.ts';
import { GuardError } from './errors.ts';
import type { Jwk } from './service.ts';

/** The `typ` of session tokens, so that no other token is accepted as one (RFC 8725, section 3.11). */
const TOKEN_TYPE = 'qm-session+jwt';
const MAX_TOKEN_LENGTH = 16_384;

/** How far the clock of this machine may be behind, for `iat`. There is no tolerance for `exp`. */
const SKEW_SECONDS = 30;

/** How long keys may be used before they are read again, and how often they are read at most. */
const KEYS_MAX_AGE_MS = 300_000;
const KEYS_MIN_INTERVAL_MS = 5000;

type VerificationKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/** The claims of a session token. Times are in seconds since 1970-01-01 UTC. */
export type SessionClaims = {
  jti: string;
  sub: string;
  iat: number;
  exp: number;
  grants?: readonly Grant[];
  grants_digest?: string;
};

export type VerifyOptions = { issuer: string; gatewayId: string; keys: KeySet };

/**
 * Verifies a session token without the service: a JWT with ES256 (RFC 7515, RFC 7518 section 3.4).
 *
 * @throws GuardError `token_invalid`; `unavailable` if its key is not known and the keys cannot be read
 */
export async function verifySessionToken(
  token: string,
  { issuer, gatewayId, keys }: VerifyOptions,
): Promise<SessionClaims> {
  const parts = token.length > MAX_TOKEN_LENGTH ? [] : token.split('.');
  const [header = '', payload = '', signature = ''] = parts;
  if (parts.length !== 3) throw invalid('malformed');
  const { alg, typ, kid, crit } = decodeJson(header);
  if (alg !== 'ES256' || typ !== TOKEN_TYPE || typeof kid !== 'string' || crit !== undefined) throw invalid('header');
  const key = await keys.find(kid);
  if (key === undefined) throw invalid('key');
  const signed = new TextEncoder().encode(`${header}.${payload}`);
  const isSigned = await crypto.subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, key, decodeBytes(signature), signed);
  if (!isSigned) throw invalid('signature');
  const claims = decodeJson(payload);
  if (claims['iss'] !== issuer) throw invalid('issuer');
  if (claims['aud'] !== gatewayId) throw invalid('audience');
  const { iat, exp, jti, sub } = claims;
  if (typeof iat !== 'number' || typeof exp !== 'number' || typeof jti !== 'string' || typeof sub !== 'string')
    throw invalid('claims');
  const now = Date.now() / 1000;
  if (now >= exp) throw invalid('expired');
  if (iat > now + SKEW_SECONDS) throw invalid('not_yet_valid');
  return claims as SessionClaims;
}

/**
 * The grants of a token: its own, or those that the caller has if the token only holds their digest.
 *
 * @throws GuardError `token_invalid` if the caller's grants are not those of the token
 */
export async function grantsOf(
  claims: SessionClaims,
  given: readonly Grant[] | undefined,
): Promise<readonly Grant[] | null> {
  if (Array.isArray(claims.grants)) return claims.grants;
  if (given === undefined) return null;
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(canonical(given)));
  const hex = Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');
  if (claims.grants_digest !== `sha256:${hex}`) throw invalid('grants_digest');
  return given;
}

/** JSON in its canonical form (RFC 8785). Grants hold no numbers, so `JSON.stringify` writes each value canonically. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  // `toSorted` compares UTF-16 code units, as RFC 8785 wants.
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`;
}

/** The public keys of the service. They are read when a token names an unknown key, at most once in 5 s. */
export class KeySet {
  readonly #read: () => Promise<readonly Jwk[]>;
  #keys = new Map<string, VerificationKey>();
  #last: { at: Moment; error: GuardError | null } | null = null;
  #reading: Promise<void> | null = null;

  constructor(read: () => Promise<readonly Jwk[]>) {
    this.#read = read;
  }

  /** @returns undefined if the service has no such key @throws GuardError `unavailable` */
  async find(kid: string): Promise<VerificationKey | undefined> {
    const wanted = this.#keys.has(kid) ? KEYS_MAX_AGE_MS : KEYS_MIN_INTERVAL_MS;
    const isDue =
      this.#last === null || ageOf(this.#last.at) >= (this.#last.error === null ? wanted : KEYS_MIN_INTERVAL_MS);
    if (isDue || this.#reading !== null) {
      this.#reading ??= this.#readKeys().finally(() => {
        this.#reading = null;
      });
      await this.#reading;
    }
    const key = this.#keys.get(kid);
    if (key === undefined && this.#last?.error) throw this.#last.error;
    return key;
  }

  /** Keeps the keys it has if the service does not answer. */
  async #readKeys(): Promise<void> {
    try {
      const keys = await this.#read();
      this.#keys = new Map(await Promise.all(keys.filter(isSigningKey).map(imported)));
      this.#last = { at: moment(), error: null };
    } catch (cause) {
      const error = new GuardError('unavailable', 'The signing keys of the service cannot be read.', { cause });
      this.#last = { at: moment(), error };
    }
  }
}

function isSigningKey({ kid, kty, crv, x, y, use = 'sig', alg = 'ES256' }: Jwk): boolean {
  const isComplete = kid !== undefined && x !== undefined && y !== undefined;
  return isComplete && kty === 'EC' && crv === 'P-256' && use === 'sig' && alg === 'ES256';
}

async function imported({ kid = '', x = '', y = '' }: Jwk): Promise<[string, VerificationKey]> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };
  return [kid, await crypto.subtle.importKey('jwk', { kty: 'EC', crv: 'P-256', x, y }, algorithm, false, ['verify'])];
}

function decodeJson(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(decodeBytes(text)));
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // Falls through: whatever is wrong, the token is malformed.
  }
  throw invalid('malformed');
}

function decodeBytes(base64url: string): Uint8Array<ArrayBuffer> {
  if (!/^[A-Za-z0-9_-]*$/.test(base64url) || base64url.length % 4 === 1) throw invalid('malformed');
  const text = atob(base64url.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

function invalid(reason: string): GuardError {
  return new GuardError('token_invalid', `The session token is not valid (${reason}).`, { reason });
}
