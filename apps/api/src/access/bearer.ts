import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify, type ProtectedHeaderParameters } from 'jose';
import { ApiError } from '../errors.ts';
import { issuerKeys } from './jwks.ts';
import { type TokenEmail, tokenEmails } from './token-email.ts';

const MAX_TOKEN_BYTES = 16 * 1024;
const MAX_SUBJECT_LENGTH = 255;
const MAX_KEY_ID_LENGTH = 256;
const SKEW_SECONDS = 60;

/** Asymmetric ones alone: with a symmetric one the public key would be the secret (RFC 8725 section 2.1). */
const ALGORITHMS = [...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'], ...['ES256', 'ES384', 'ES512', 'EdDSA']];

/** Headers that would have us take the key from the token itself, or from where it says. */
const KEY_BEARING_HEADERS = ['jku', 'x5u', 'jwk', 'x5c'];

export type VerifiedToken = { issuer: string; subject: string; claims: JWTPayload };

export type TokenVerifier = {
  /** @throws ApiError 401 for a token that is not good; 503 while the identity provider cannot be reached */
  verify(token: string): Promise<VerifiedToken>;
  /**
   * The email of whom the token speaks of: of the token, else of the issuer's userinfo endpoint, which is asked once a
   * minute at most for each token. Null where neither has one.
   *
   * @throws ApiError 503 while the identity provider cannot be reached
   */
  emailOf(token: string, verified: VerifiedToken): Promise<TokenEmail | null>;
  /** For a token without an email: what the identity provider leaves out, in a sentence for its operator. */
  whyNoEmail(token: string): Promise<string>;
};

export type TokenVerifierOptions = {
  issuer: string;
  audience: string;
  /** The `typ` of access tokens, with or without `application/`, in any case: `at+jwt` (RFC 9068). */
  tokenTypes: readonly string[];
  emailClaim: string;
  now: () => Date;
  fetch?: typeof globalThis.fetch;
};

/** Verifies OIDC access tokens as RFC 9068, 8725 and 6750 say. Asks the issuer nothing before the first token. */
export function createTokenVerifier(options: TokenVerifierOptions): TokenVerifier {
  const { issuer, audience, emailClaim, now, fetch = globalThis.fetch } = options;
  const keys = issuerKeys({ issuer, now, fetch });
  const emails = tokenEmails({ emailClaim, now, fetch, endpoint: keys.userinfoEndpoint });
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
      // jose looks at `iat` only where an age is given, and takes a `sub` of any type.
      if ((payload.iat ?? 0) > now().getTime() / 1000 + SKEW_SECONDS) throw refused('the token is not valid yet');
      if (!isSubject(payload.sub)) throw refused('the subject is not usable');
      return { issuer, subject: payload.sub, claims: payload };
    },
    emailOf: emails.emailOf,
    whyNoEmail: emails.whyNoEmail,
  };
}

/** @throws where the token is no signed JWT in its compact form; one that is encrypted has five parts */
function headerOf(token: string): ProtectedHeaderParameters {
  if (token.length > MAX_TOKEN_BYTES) throw refused('the token is too large');
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) throw refused('the token is malformed');
  try {
    return decodeProtectedHeader(token);
  } catch (error) {
    throw refused('the token is malformed', error);
  }
}

/** What is refused before a key is looked for, so that such tokens cause no fetch. */
function checkHeader(header: ProtectedHeaderParameters, types: ReadonlySet<string>): void {
  const { alg, typ, kid } = header;
  if (typeof alg !== 'string' || !ALGORITHMS.includes(alg)) throw refused('the algorithm is not allowed');
  if (typeof typ !== 'string' || !types.has(normalisedType(typ))) throw refused('the token is no access token');
  if (kid !== undefined && !isKeyId(kid)) throw refused('the key is not known');
  if ('crit' in header) throw refused('a critical header is not understood');
  if (KEY_BEARING_HEADERS.some((name) => name in header)) throw refused('the token brings its own key');
}

/** RFC 7515 section 4.1.9: a media type, whose `application/` may be left out. */
function normalisedType(type: string): string {
  return type.toLowerCase().replace(/^application\//, '');
}

function isKeyId(kid: unknown): boolean {
  return typeof kid === 'string' && kid.length <= MAX_KEY_ID_LENGTH && /^[\x20-\x7e]+$/.test(kid);
}

function isSubject(sub: unknown): sub is string {
  return (
    typeof sub === 'string' && /^[^\p{Cc}]{1,255}$/u.test(sub) && sub.length <= MAX_SUBJECT_LENGTH && sub.isWellFormed()
  );
}

/** Fixed words: what stands in a refused token is never repeated. */
function describe(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'the token has expired';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'the signature is not valid';
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) {
    return 'the key is not known';
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
