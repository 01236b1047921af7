import { decodeProtectedHeader, errors, jwtVerify, type ProtectedHeaderParameters } from 'jose';
import { ApiError } from '../platform/errors.ts';
import { parseApiKey } from './api-key-format.ts';
import { issuerKeys } from './jwks.ts';
import { isSubject } from './subject.ts';
import { type EmailRules, type TokenEmail, tokenEmails, type VerifiedToken } from './token-email.ts';

const MAX_TOKEN_BYTES = 16 * 1024;
const MAX_KEY_ID_LENGTH = 256;

/** How far the clock of the identity provider may be ahead or behind. */
export const SKEW_SECONDS = 60;

/** Only asymmetric algorithms: with a symmetric one the public key could be used as the secret (RFC 8725 section 2.1). */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

/** Stands for tokens without a `typ`, as Okta sends them. */
const NO_TYPE = 'none';

/** Headers that would make us take the key from the token itself, or from an address in it. */
const KEY_BEARING_HEADERS = ['jku', 'x5u', 'jwk', 'x5c'];

export type TokenVerifier = {
  /** @throws ApiError 401 for an invalid token; 503 if the identity provider cannot be reached */
  verify(token: string): Promise<VerifiedToken>;
  /**
   * The email of the token's subject: from the token, else from the issuer's userinfo endpoint, at most one request a minute
   * for each token. Null if neither has an email.
   *
   * @throws ApiError 503 if the identity provider cannot be reached
   */
  emailOf(token: string, verified: VerifiedToken): Promise<TokenEmail | null>;
  /** For a token without an email: why, in sentences for the operator of the identity provider. */
  whyNoEmail(token: string): Promise<string>;
};

export type TokenVerifierOptions = EmailRules & {
  issuer: string;
  audience: string;
  /**
   * Accepted `typ` of access tokens, such as `at+jwt` (RFC 9068). `application/` is optional, and case does not matter.
   * {@link NO_TYPE} accepts tokens without one.
   */
  tokenTypes: readonly string[];
  now: () => Date;
  fetch?: typeof globalThis.fetch;
};

/** Verifies OIDC access tokens by RFC 9068, 8725 and 6750. Sends no request to the issuer before the first token. */
export function createTokenVerifier(options: TokenVerifierOptions): TokenVerifier {
  const { issuer, audience, emailClaim, trustsEmails, now, fetch = globalThis.fetch } = options;
  const keys = issuerKeys({ issuer, now, fetch });
  const emails = tokenEmails({ emailClaim, trustsEmails, now, fetch, endpoint: keys.userinfoEndpoint });
  const types = new Set(options.tokenTypes.map(normalisedType));

  return {
    async verify(token) {
      checkHeader(headerOf(token), types);
      const { payload } = await jwtVerify(token, keys.keyFor, {
        algorithms: ALGORITHMS,
        issuer,
        audience,
        clockTolerance: SKEW_SECONDS,
        currentDate: now(),
        requiredClaims: ['exp', 'iat', 'sub'],
      }).catch((error: unknown) => {
        throw error instanceof ApiError ? error : refused(describe(error), error);
      });
      // jose checks `iat` only together with a maximum age, and accepts a `sub` of any type.
      if ((payload.iat ?? 0) > now().getTime() / 1000 + SKEW_SECONDS) throw refused('the token is not valid yet');
      if (!isSubject(payload.sub)) throw refused('the subject is not valid');
      return { issuer, subject: payload.sub, claims: payload };
    },
    emailOf: emails.emailOf,
    whyNoEmail: emails.whyNoEmail,
  };
}

/** @throws 401 for a token that is not a signed JWT in compact form. An encrypted one has five parts. */
function headerOf(token: string): ProtectedHeaderParameters {
  if (token.length > MAX_TOKEN_BYTES) throw refused('the token is too large');
  if (parseApiKey(token) !== null) throw refused('it is an API key, which belongs in the header X-API-Key');
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) throw refused('the token is malformed');
  try {
    return decodeProtectedHeader(token);
  } catch (error) {
    throw refused('the token is malformed', error);
  }
}

/** Checks the header before looking for the key, so that bad tokens cause no request to the issuer. @throws 401 */
function checkHeader(header: ProtectedHeaderParameters, types: ReadonlySet<string>): void {
  const { alg, typ, kid } = header;
  if (typeof alg !== 'string' || !ALGORITHMS.includes(alg)) throw refused('the algorithm is not allowed');
  const type = typ === undefined ? NO_TYPE : normalisedType(String(typ));
  if (!types.has(type)) throw refused('the token is not an access token');
  if (kid !== undefined && !isKeyId(kid)) throw refused('the signing key is unknown');
  if ('crit' in header) throw refused('a critical header is not supported');
  if (KEY_BEARING_HEADERS.some((name) => name in header)) throw refused('the token contains or links its own key');
}

/** `typ` is a media type whose `application/` may be left out (RFC 7515 section 4.1.9). */
function normalisedType(type: string): string {
  return type.toLowerCase().replace(/^application\//, '');
}

function isKeyId(kid: unknown): boolean {
  return typeof kid === 'string' && kid.length <= MAX_KEY_ID_LENGTH && /^[\x20-\x7e]+$/.test(kid);
}

/** Why a token is refused, in fixed words: no part of the token is ever repeated. */
function describe(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'the token has expired';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'the signature is not valid';
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) {
    return 'the signing key is unknown';
  }
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.reason === 'check_failed' && error.claim === 'iss') return 'the token is of another issuer';
    if (error.reason === 'check_failed' && error.claim === 'aud') return 'the token is for another audience';
    if (error.reason === 'check_failed' && error.claim === 'nbf') return 'the token is not valid yet';
    return 'a claim is missing or malformed';
  }
  return 'the token is malformed';
}

function refused(description: string, cause?: unknown): ApiError {
  return new ApiError('credentials_invalid', `The bearer token is refused: ${description}.`, {
    headers: { 'WWW-Authenticate': `Bearer error="invalid_token", error_description="${description}"` },
    cause,
  });
}
