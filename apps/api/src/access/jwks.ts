import { type CryptoKey, createLocalJWKSet, errors, type JSONWebKeySet, type JWTHeaderParameters } from 'jose';
import { ApiError } from '../errors.ts';
import { fetchObject } from './provider-fetch.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;

/** So long keys are used without asking again. */
const FRESH_MS = 10 * MINUTE_MS;

/** So long after that they still serve, while the provider cannot be reached. */
const STALE_MS = 60 * MINUTE_MS;

/** At most one fetch in this time because a token names a key that is not known. */
const UNKNOWN_KEY_COOL_DOWN_MS = 30 * SECOND_MS;

/** After a failed fetch nothing is asked for this time. */
const FAILURE_COOL_DOWN_MS = 5 * SECOND_MS;

export type IssuerKeys = {
  /**
   * The key that a token's header names.
   *
   * @throws ApiError 503 while the provider cannot be reached and no key is at hand; errors of jose where the provider
   *   has no such key
   */
  keyFor(header: JWTHeaderParameters): Promise<CryptoKey>;
  /** The address of the userinfo endpoint, as the discovery document last had it; null where it names none. */
  userinfoEndpoint(): string | null;
};

type Discovery = { jwksUri: string; userinfoEndpoint: string | null; fetchedAt: number };
type KeySet = { find: ReturnType<typeof createLocalJWKSet>; fetchedAt: number };

/**
 * The signing keys of an issuer, by OpenID Connect Discovery. One fetch is under way at a time, whoever waits for it.
 * jose's own remote key set forgets its keys when they are ten minutes old, refuses every token while the provider is
 * away, and asks again for each of them: hence this one.
 */
export function issuerKeys(options: { issuer: string; now: () => Date; fetch: typeof globalThis.fetch }): IssuerKeys {
  const { issuer, fetch } = options;
  const now = () => options.now().getTime();
  let discovery: Discovery | null = null;
  let current: KeySet | null = null;
  let fetching: Promise<KeySet> | null = null;
  let failedAt = Number.NEGATIVE_INFINITY;
  let unknownKeyFetchAt = Number.NEGATIVE_INFINITY;

  async function load(): Promise<KeySet> {
    if (discovery === null || now() - discovery.fetchedAt >= FRESH_MS) discovery = await discover(fetch, issuer, now());
    const keys = await fetchObject(fetch, discovery.jwksUri);
    return { find: createLocalJWKSet(keys as unknown as JSONWebKeySet), fetchedAt: now() };
  }

  /** @throws where the provider cannot be reached, or could not a moment ago */
  function refresh(why: 'age' | 'unknown_key'): Promise<KeySet> {
    if (fetching) return fetching;
    if (now() - failedAt < FAILURE_COOL_DOWN_MS) {
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
    const held: KeySet | null = current;
    const age = held === null ? Number.POSITIVE_INFINITY : now() - held.fetchedAt;
    if (held !== null && age < FRESH_MS) return held;
    const stale = age < FRESH_MS + STALE_MS ? held : null;
    // Whoever comes first waits for the new keys; the others need not, since a provider that hangs would hold them all.
    if (stale !== null && fetching) return stale;
    try {
      return await refresh('age');
    } catch (error) {
      if (stale !== null) return stale;
      throw unavailable(error);
    }
  }

  /** The keys after another fetch; those that were at hand where none is due. */
  async function keysBeyond(known: KeySet): Promise<KeySet> {
    if (current !== null && current !== known) return current;
    if (!fetching && now() - unknownKeyFetchAt < UNKNOWN_KEY_COOL_DOWN_MS) return known;
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
        // Keys that were fetched for this token are not fetched again for it.
        if (!(error instanceof errors.JWKSNoMatchingKey) || keys !== before) throw error;
        const newer = await keysBeyond(keys);
        if (newer === keys) throw error;
        return newer.find(header);
      }
    },
    userinfoEndpoint: () => discovery?.userinfoEndpoint ?? null,
  };
}

/** The identity provider is away: nobody can tell whether the token is good, so it is not called bad. */
export function unavailable(cause: unknown): ApiError {
  return new ApiError('identity_provider_unavailable', 'The identity provider cannot be reached. Try again shortly.', {
    headers: { 'Retry-After': String(FAILURE_COOL_DOWN_MS / SECOND_MS) },
    cause,
  });
}

/** OpenID Connect Discovery 1.0, section 4. */
async function discover(fetch: typeof globalThis.fetch, issuer: string, fetchedAt: number): Promise<Discovery> {
  const document = await fetchObject(fetch, `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
  if (document.issuer !== issuer) throw new Error('the discovery document is of another issuer');
  const jwksUri = endpoint(document.jwks_uri, issuer);
  if (jwksUri === null) throw new Error('the discovery document names no usable jwks_uri');
  return { jwksUri, userinfoEndpoint: endpoint(document.userinfo_endpoint, issuer), fetchedAt };
}

/** An address from the discovery document; null for none, and for one less safe than the issuer's own. */
function endpoint(value: unknown, issuer: string): string | null {
  const url = typeof value === 'string' ? URL.parse(value) : null;
  if (url === null) return null;
  const plain = url.protocol === 'http:' && issuer.startsWith('http:');
  return url.protocol === 'https:' || plain ? url.href : null;
}
