import { type CryptoKey, createLocalJWKSet, errors, type JSONWebKeySet, type JWTHeaderParameters } from 'jose';
import { ApiError } from '../platform/errors.ts';
import { isRecent } from '../platform/is-recent.ts';
import { fetchObject } from './provider-fetch.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;

/** Keys are used for this time without fetching them again. */
const FRESH_MS = 10 * MINUTE_MS;

/** If the provider cannot be reached, old keys are used for this time longer. */
const STALE_MS = 60 * MINUTE_MS;

/** Unknown key ids cause at most one fetch in this time. */
const UNKNOWN_KEY_COOL_DOWN_MS = 30 * SECOND_MS;

/** After a failed fetch there is no further fetch for this time. */
const FAILURE_COOL_DOWN_MS = 5 * SECOND_MS;

export type IssuerKeys = {
  /**
   * The key that a token's header names.
   *
   * @throws ApiError 503 if the provider cannot be reached and there is no cached key; errors of jose if the provider does
   *   not have such a key
   */
  keyFor(header: JWTHeaderParameters): Promise<CryptoKey>;
  /** The userinfo endpoint in the last discovery document; null if it names none. */
  userinfoEndpoint(): string | null;
};

type Discovery = { jwksUri: string; userinfoEndpoint: string | null; fetchedAt: number };
type KeySet = { find: ReturnType<typeof createLocalJWKSet>; fetchedAt: number };

/**
 * The signing keys of an issuer, found by OpenID Connect Discovery. Concurrent requests share one fetch.
 *
 * jose 6.2's createRemoteJWKSet does not do what jwks.test.ts promises: it cannot use old keys while the provider is away,
 * fetches again for each token after a failure, and its cooldown refuses a key that the provider added just after a fetch.
 */
export function issuerKeys(options: { issuer: string; now: () => Date; fetch: typeof globalThis.fetch }): IssuerKeys {
  const { issuer, fetch } = options;
  const now = () => options.now().getTime();
  const isWithin = (at: number, ms: number) => isRecent(at, ms, options.now());
  let discovery: Discovery | null = null;
  let current: KeySet | null = null;
  let fetching: Promise<KeySet> | null = null;
  let failedAt = Number.NEGATIVE_INFINITY;
  let unknownKeyFetchAt = Number.NEGATIVE_INFINITY;

  async function load(): Promise<KeySet> {
    if (discovery === null || !isWithin(discovery.fetchedAt, FRESH_MS))
      discovery = await discover(fetch, issuer, now());
    const keys = await fetchObject(fetch, discovery.jwksUri);
    return { find: createLocalJWKSet(keys as unknown as JSONWebKeySet), fetchedAt: now() };
  }

  /** Fetches the keys, or joins a running fetch. @throws if that fails, or failed less than 5 s ago */
  function refresh(why: 'age' | 'unknown_key'): Promise<KeySet> {
    if (fetching) return fetching;
    if (isWithin(failedAt, FAILURE_COOL_DOWN_MS)) {
      return Promise.reject(new Error('the identity provider failed a moment ago'));
    }
    fetching = load().then(
      (keys) => {
        fetching = null;
        current = keys;
        if (why === 'unknown_key') unknownKeyFetchAt = keys.fetchedAt;
        return keys;
      },
      (error: unknown) => {
        fetching = null;
        failedAt = now();
        throw error;
      },
    );
    return fetching;
  }

  async function usableKeys(): Promise<KeySet> {
    const cached: KeySet | null = current;
    if (cached !== null && isWithin(cached.fetchedAt, FRESH_MS)) return cached;
    const stale = cached !== null && now() - cached.fetchedAt < FRESH_MS + STALE_MS ? cached : null;
    // Only the first request waits for the new keys. A provider that hangs must not block all others.
    if (stale !== null && fetching) return stale;
    try {
      return await refresh('age');
    } catch (error) {
      if (stale !== null) return stale;
      throw unavailable(error);
    }
  }

  /** Newer keys than `known`; `known` itself if no fetch is due. */
  async function newerKeys(known: KeySet): Promise<KeySet> {
    if (current !== null && current !== known) return current;
    if (!fetching && isWithin(unknownKeyFetchAt, UNKNOWN_KEY_COOL_DOWN_MS)) return known;
    return refresh('unknown_key').catch((error: unknown) => {
      throw unavailable(error);
    });
  }

  return {
    async keyFor(header) {
      const before = current;
      const keys = await usableKeys();
      try {
        return await keys.find(header);
      } catch (error) {
        // Keys that were just fetched for this token are not fetched a second time.
        if (!(error instanceof errors.JWKSNoMatchingKey) || keys !== before) throw error;
        const newer = await newerKeys(keys);
        if (newer === keys) throw error;
        return newer.find(header);
      }
    },
    userinfoEndpoint: () => discovery?.userinfoEndpoint ?? null,
  };
}

/** The 503 while the identity provider is away: the token cannot be checked, so 401 would be wrong. */
export function unavailable(cause: unknown): ApiError {
  return new ApiError(
    'identity_provider_unavailable',
    'The identity provider cannot be reached. Try again in a few seconds.',
    {
      headers: { 'Retry-After': String(FAILURE_COOL_DOWN_MS / SECOND_MS) },
      cause,
    },
  );
}

/** OpenID Connect Discovery 1.0, section 4. */
async function discover(fetch: typeof globalThis.fetch, issuer: string, fetchedAt: number): Promise<Discovery> {
  const document = await fetchObject(fetch, `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
  if (document.issuer !== issuer) throw new Error('the discovery document is of another issuer');
  const jwksUri = endpoint(document.jwks_uri, issuer);
  if (jwksUri === null) throw new Error('the discovery document names no usable jwks_uri');
  return { jwksUri, userinfoEndpoint: endpoint(document.userinfo_endpoint, issuer), fetchedAt };
}

/** A URL from the discovery document; null if it is missing, invalid, or http although the issuer uses https. */
function endpoint(value: unknown, issuer: string): string | null {
  const url = typeof value === 'string' ? URL.parse(value) : null;
  if (url === null) return null;
  const plain = url.protocol === 'http:' && issuer.startsWith('http:');
  return url.protocol === 'https:' || plain ? url.href : null;
}
