import { hash } from 'node:crypto';
import type { JWTPayload } from 'jose';
import { BoundedMap } from '@quartermaster/db/bounded-map.ts';
import { isRecent } from '../platform/is-recent.ts';
import { unavailable } from './jwks.ts';
import { fetchObject, ProviderStatusError } from './provider-fetch.ts';

/** How long the answer of the userinfo endpoint for a token is cached, also one without an email. */
const CACHED_MS = 60_000;

/** How long its failures are cached. */
const FAILURE_CACHED_MS = 5000;

const MAX_CACHED = 10_000;
const MAX_EMAIL_LENGTH = 254;

export type VerifiedToken = { issuer: string; subject: string; claims: JWTPayload };

/** `verified` is null if the identity provider does not say. */
export type TokenEmail = { email: string; verified: boolean | null };

export type EmailRules = {
  /** The claim with the email. */
  emailClaim: string;
  /** Whether an email without a flag counts as verified. An email that the identity provider calls unverified never does. */
  trustsEmails: boolean;
};

type Options = EmailRules & {
  now: () => Date;
  fetch: typeof globalThis.fetch;
  /** The userinfo endpoint's address; null if the issuer has none. */
  endpoint: () => string | null;
};
/** Why the userinfo endpoint gave no email. */
type Gap = 'refused' | 'another_subject' | 'no_email';
type Cached = { at: number; forMs: number; answer: Promise<TokenEmail | Gap> };

export type TokenEmails = {
  emailOf: (token: string, verified: VerifiedToken) => Promise<TokenEmail | null>;
  /** For a token whose `emailOf` is null: why, and how to configure the identity provider. */
  whyNoEmail: (token: string) => Promise<string>;
};

/**
 * Reads emails from the claim `emailClaim` of access tokens, which rarely have it, else from the userinfo endpoint. If the
 * answer of that endpoint does not have the claim, its `email` is used.
 */
export function tokenEmails({ now, fetch, endpoint, ...rules }: Options): TokenEmails {
  const { emailClaim, trustsEmails } = rules;
  const cache = new BoundedMap<string, Cached>(MAX_CACHED);

  async function ask(token: string, verified: VerifiedToken, url: string): Promise<TokenEmail | Gap> {
    let claims: Record<string, unknown>;
    try {
      claims = await fetchObject(fetch, url, { authorization: `Bearer ${token}` });
    } catch (error) {
      // 4xx is an answer: the token is not for this endpoint. Any other error means that the provider is away.
      const refused = error instanceof ProviderStatusError && error.status >= 400 && error.status < 500;
      if (refused && error.status !== 429) return 'refused';
      throw unavailable(error);
    }
    // OpenID Connect Core 5.3.2: an answer about another subject must not be used.
    if (claims.sub !== verified.subject) return 'another_subject';
    return withTrust(emailIn(claims, emailClaim) ?? emailIn(claims, 'email'), rules) ?? 'no_email';
  }

  async function emailOf(token: string, verified: VerifiedToken): Promise<TokenEmail | null> {
    const claimed = emailIn(verified.claims, emailClaim);
    if (claimed && (claimed.verified !== null || trustsEmails)) return withTrust(claimed, rules);
    const url = endpoint();
    if (url === null) return claimed;
    const key = digestOf(token);
    const time = now();
    const cached = cache.get(key);
    if (cached && isRecent(cached.at, cached.forMs, time)) return emailOrNull(await cached.answer) ?? claimed;
    const entry: Cached = { at: time.getTime(), forMs: CACHED_MS, answer: ask(token, verified, url) };
    cache.delete(key);
    cache.set(key, entry);
    entry.answer.catch(() => {
      Object.assign(entry, { at: now().getTime(), forMs: FAILURE_CACHED_MS });
    });
    return emailOrNull(await entry.answer) ?? claimed;
  }

  async function whyNoEmail(token: string): Promise<string> {
    const answer = await cache.get(digestOf(token))?.answer;
    const gap = endpoint() === null || typeof answer !== 'string' ? 'no_endpoint' : answer;
    const cause = `The access token has no claim ${emailClaim}, and ${GAPS[gap]}.`;
    return `${cause} The identity provider has to put ${emailClaim} and ${emailClaim}_verified into access tokens, or to let them ask its userinfo endpoint for the scopes openid and email.`;
  }

  return { emailOf, whyNoEmail };
}

const GAPS: Record<Gap | 'no_endpoint', string> = {
  no_endpoint: 'its issuer names no userinfo endpoint',
  refused:
    'the userinfo endpoint of its issuer refuses it, as for a token that is only for another audience (RFC 8707)',
  another_subject: 'the userinfo endpoint of its issuer answers for another subject',
  no_email: 'the userinfo endpoint of its issuer answers without one',
};

function emailOrNull(answer: TokenEmail | Gap): TokenEmail | null {
  return typeof answer === 'string' ? null : answer;
}

function digestOf(token: string): string {
  return hash('sha256', token, 'base64url');
}

/**
 * The email in a claim, and whether the provider verified it (null: it does not say). Each claim has its own flag
 * `<claim>_verified`: `email_verified` is about `email` (OpenID Connect Core, 5.1), and says nothing about other claims. Some
 * providers send the flag as text.
 */
export function emailIn(claims: Record<string, unknown>, claim: string): TokenEmail | null {
  const email = claims[claim];
  if (typeof email !== 'string' || email.length > MAX_EMAIL_LENGTH || !/^[^\s\p{Cc}\p{Cs}]+$/u.test(email)) return null;
  const flag = claims[`${claim}_verified`] ?? null;
  return { email, verified: flag === null ? null : flag === true || flag === 'true' };
}

/**
 * The email of a person, from several sources such as the ID token and the userinfo endpoint. An email and its flag always come
 * from one source: the flag of one source says nothing about the email of another. The first email with a flag is used.
 */
export function emailInSources(sources: readonly Record<string, unknown>[], rules: EmailRules): TokenEmail | null {
  const { emailClaim } = rules;
  const found = [emailClaim, 'email'].flatMap((claim) => sources.flatMap((claims) => emailIn(claims, claim) ?? []));
  return withTrust(found.find(({ verified }) => verified !== null) ?? found[0] ?? null, rules);
}

function withTrust(found: TokenEmail | null, { trustsEmails }: EmailRules): TokenEmail | null {
  return found && { email: found.email, verified: found.verified ?? (trustsEmails ? true : null) };
}
