import type * as openid from 'openid-client';
import { ApiError } from '../../platform/errors.ts';
import { isRecent } from '../../platform/is-recent.ts';
import { SKEW_SECONDS } from '../bearer.ts';
import { unavailable } from '../jwks.ts';
import { limitedFetch } from '../provider-fetch.ts';
import { isSubject } from '../subject.ts';

/** Time limit for each request to the identity provider, in seconds. */
const TIME_LIMIT_SECONDS = 5;

/** The discovery document is read again after this time. */
const FRESH_MS = 10 * 60_000;

/** After a failed discovery, sign-ins fail at once for this time, so that they do not all wait for the time limit. */
const COOLDOWN_MS = 5000;

export type ConsoleClient = {
  issuer: string;
  clientId: string;
  /** Null for a public client. */
  clientSecret: string | null;
  /** Separated by spaces. Always includes `openid`. */
  scopes: string;
  /** The URL to which the identity provider sends the browser back. */
  redirectUri: string;
};

/** The values of a pending sign-in that the callback is checked against. */
export type PendingSignIn = { state: string; nonce: string; codeVerifier: string };

type SignedIn = {
  subject: string;
  idClaims: Record<string, unknown>;
  /** The claims of the userinfo endpoint. Empty if it was not asked. */
  userinfoClaims: Record<string, unknown>;
  idToken: string;
};

/** The web console as a client of the identity provider: authorization code with PKCE (RFC 7636). */
export type IdentityProvider = {
  /** The URL to send the browser to. @throws 503 if the identity provider cannot be reached */
  authorizationUrl(prompt: string | null): Promise<{ url: URL; pending: PendingSignIn }>;
  /**
   * Redeems the code of a callback.
   *
   * @param query the query of the callback
   * @param suffice whether the claims of the ID token are enough. If not, the userinfo endpoint is asked as well.
   * @throws 401 if the identity provider refused, or its answer is not valid; 503 if it cannot be reached
   */
  redeem(
    query: string,
    pending: PendingSignIn,
    suffice: (claims: Record<string, unknown>) => boolean,
  ): Promise<SignedIn>;
  /** The URL for a sign-out (OpenID Connect RP-Initiated Logout 1.0); null if the identity provider has none. */
  signOutUrl(idToken: string | null, returnTo: string): Promise<URL | null>;
};

export function identityProvider(client: ConsoleClient, now: () => Date): IdentityProvider {
  let known: { configuration: openid.Configuration; at: number } | null = null;
  let failed: { error: unknown; at: number } | null = null;
  /** Shared by sign-ins that come at the same time. */
  let asking: Promise<openid.Configuration> | null = null;

  async function configurationOf(library: typeof openid): Promise<openid.Configuration> {
    const time = now();
    if (known !== null && isRecent(known.at, FRESH_MS, time)) return known.configuration;
    if (failed !== null && isRecent(failed.at, COOLDOWN_MS, time)) throw failed.error;
    asking ??= discover(library, client).finally(() => {
      asking = null;
    });
    try {
      const configuration = await asking;
      known = { configuration, at: time.getTime() };
      failed = null;
      return configuration;
    } catch (error) {
      failed = { error, at: now().getTime() };
      throw error;
    }
  }

  return {
    async authorizationUrl(prompt) {
      const library = await loadLibrary();
      const configuration = await reaching(() => configurationOf(library));
      const pending = {
        state: library.randomState(),
        nonce: library.randomNonce(),
        codeVerifier: library.randomPKCECodeVerifier(),
      };
      const url = library.buildAuthorizationUrl(configuration, {
        redirect_uri: client.redirectUri,
        scope: client.scopes,
        state: pending.state,
        nonce: pending.nonce,
        code_challenge: await library.calculatePKCECodeChallenge(pending.codeVerifier),
        code_challenge_method: 'S256',
        ...(prompt !== null && { prompt }),
      });
      return { url, pending };
    },

    async redeem(query, { state, nonce, codeVerifier }, suffice) {
      const library = await loadLibrary();
      const configuration = await reaching(() => configurationOf(library));
      const tokens = await reaching(() =>
        library.authorizationCodeGrant(configuration, new URL(`${client.redirectUri}?${query}`), {
          pkceCodeVerifier: codeVerifier,
          expectedState: state,
          expectedNonce: nonce,
          idTokenExpected: true,
        }),
      );
      const idClaims = tokens.claims();
      if (idClaims === undefined || tokens.id_token === undefined) throw refused(undefined);
      const subject = idClaims.sub;
      if (!isSubject(subject)) throw refused(new Error('the subject of the ID token is not valid'));
      // The library checks `exp` and `nbf`, but not whether the token comes from the future.
      if (idClaims.iat > now().getTime() / 1000 + SKEW_SECONDS) {
        throw refused(new Error('the ID token was issued in the future'));
      }
      const asksUserinfo = !suffice(idClaims) && configuration.serverMetadata().userinfo_endpoint !== undefined;
      const userinfoClaims = asksUserinfo
        ? await userinfoOf(() => library.fetchUserInfo(configuration, tokens.access_token, subject))
        : {};
      return { subject, idClaims, userinfoClaims, idToken: tokens.id_token };
    },

    async signOutUrl(idToken, returnTo) {
      const library = await loadLibrary();
      const configuration = await reaching(() => configurationOf(library));
      if (configuration.serverMetadata().end_session_endpoint === undefined) return null;
      return library.buildEndSessionUrl(configuration, {
        post_logout_redirect_uri: returnTo,
        ...(idToken !== null && { id_token_hint: idToken }),
      });
    },
  };
}

/** Imported at the first sign-in, to keep the start of the service fast. */
function loadLibrary(): Promise<typeof openid> {
  return import('openid-client');
}

function discover(library: typeof openid, { issuer, clientId, clientSecret }: ConsoleClient) {
  // Also verifies the signature of the ID token. OpenID Connect makes that optional for tokens that come over TLS.
  const execute = [library.enableNonRepudiationChecks];
  if (issuer.startsWith('http:')) execute.push(library.allowInsecureRequests);
  return library.discovery(new URL(issuer), clientId, {}, authenticationOf(library, clientSecret), {
    execute,
    timeout: TIME_LIMIT_SECONDS,
    // The library itself reads answers of any size.
    [library.customFetch]: (url, request) => limitedFetch(url, { ...request, body: request.body ?? null }),
  });
}

/** Client authentication. The default method is `client_secret_basic` (OpenID Connect Discovery, section 3). */
function authenticationOf(library: typeof openid, secret: string | null): openid.ClientAuth {
  if (secret === null) return library.None();
  const [basic, post] = [library.ClientSecretBasic(secret), library.ClientSecretPost(secret)];
  return (server, client, body, headers) => {
    const methods = server.token_endpoint_auth_methods_supported;
    const authenticate = methods === undefined || methods.includes('client_secret_basic') ? basic : post;
    authenticate(server, client, body, headers);
  };
}

/**
 * No claims if the endpoint refuses the token, or answers about another subject (OpenID Connect Core 5.3.2). @throws 503 if it
 * cannot be reached. Without its claims a registered user would seem unknown, and an administrator would have fewer rights.
 */
async function userinfoOf(ask: () => Promise<Record<string, unknown>>): Promise<Record<string, unknown>> {
  try {
    return await ask();
  } catch (error) {
    if (isAnswer(error)) return {};
    throw unavailable(error);
  }
}

/** Whether the userinfo endpoint answered something that a further attempt would not change. */
function isAnswer(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  // For an unexpected status, the cause is the response.
  const status = cause instanceof Response ? cause.status : (error as { status?: unknown }).status;
  if (typeof status === 'number' && (status >= 500 || status === 429)) return false;
  return isRefusal(error) || (typeof code === 'string' && code.startsWith('OAUTH_') && !AWAY_CODES.has(code));
}

/** Codes of openid-client for an answer that did not arrive, or not as a whole. */
const AWAY_CODES = new Set(['OAUTH_TIMEOUT', 'OAUTH_ABORT', 'OAUTH_PARSE_ERROR']);

/** Runs a request to the identity provider, and turns its errors into ApiErrors. */
async function reaching<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw isRefusal(error) ? refused(error) : unavailable(error);
  }
}

/** Whether the identity provider answered, but refused or sent something invalid. Other errors mean that it is away. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (['AuthorizationResponseError', 'ResponseBodyError', 'WWWAuthenticateChallengeError'].includes(error.name)) {
    return true;
  }
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && REFUSING_CODES.has(code);
}

/** Codes of openid-client for an answer with a wrong state, nonce, key, signature or claim, or with an unsupported extension. */
const REFUSING_CODES = new Set([
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_INVALID_REQUEST',
  'OAUTH_KEY_SELECTION_FAILED',
  'OAUTH_UNSUPPORTED_OPERATION',
]);

function refused(cause: unknown): ApiError {
  return new ApiError('credentials_invalid', 'The identity provider did not complete the sign-in. Start again.', {
    cause,
  });
}
