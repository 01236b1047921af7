import { createHash } from 'node:crypto';
import type { VerifiedToken } from './bearer.ts';
import { unavailable } from './jwks.ts';
import { fetchObject, ProviderStatusError } from './provider-fetch.ts';

/** What the userinfo endpoint said of a token is remembered for this time, that it said nothing as well. */
const REMEMBERED_MS = 60_000;

/** Its failures are remembered for less. */
const FAILURE_REMEMBERED_MS = 5000;

const MOST_REMEMBERED = 10_000;
const MAX_EMAIL_LENGTH = 254;

export type TokenEmail = { email: string; verified: boolean };

type Options = {
  emailClaim: string;
  now: () => Date;
  fetch: typeof globalThis.fetch;
  /** The userinfo endpoint's address; null where the issuer has none. */
  endpoint: () => string | null;
};
/** Why the userinfo endpoint gave no email. */
type Gap = 'refused' | 'another_subject' | 'no_email';
type Asked = { until: number; answer: Promise<TokenEmail | Gap> };

export type TokenEmails = {
  emailOf: (token: string, verified: VerifiedToken) => Promise<TokenEmail | null>;
  /** For a token whose `emailOf` is null: what the identity provider leaves out, and what would put it right. */
  whyNoEmail: (token: string) => Promise<string>;
};

/**
 * Reads emails from the claim `emailClaim` of access tokens, which seldom have one, else from the userinfo endpoint. An
 * answer of that endpoint without the claim counts with its `email`.
 */
export function tokenEmails({ emailClaim, now, fetch, endpoint }: Options): TokenEmails {
  const asked = new Map<string, Asked>();

  async function ask(token: string, verified: VerifiedToken, url: string): Promise<TokenEmail | Gap> {
    let claims: Record<string, unknown>;
    try {
      claims = await fetchObject(fetch, url, { authorization: `Bearer ${token}` });
    } catch (error) {
      // A refusal is an answer: the token was not given for this endpoint. Anything else is the provider being away.
      const refused = error instanceof ProviderStatusError && error.status >= 400 && error.status < 500;
      if (refused && error.status !== 429) return 'refused';
      throw unavailable(error);
    }
    // OpenID Connect Core 5.3.2: an answer about somebody else must not be used.
    if (claims.sub !== verified.subject) return 'another_subject';
    const found = emailIn(claims, emailClaim) ?? emailIn(claims, 'email');
    return found ? { email: found.email, verified: found.verified === true } : 'no_email';
  }

  async function emailOf(token: string, verified: VerifiedToken): Promise<TokenEmail | null> {
    const told = emailIn(verified.claims, emailClaim);
    if (told && told.verified !== null) return { email: told.email, verified: told.verified };
    const unverified = told && { email: told.email, verified: false };
    const url = endpoint();
    if (url === null) return unverified;
    const key = digestOf(token);
    const time = now().getTime();
    const known = asked.get(key);
    if (known && time < known.until) return emailAmong(await known.answer) ?? unverified;
    const entry: Asked = { until: time + REMEMBERED_MS, answer: ask(token, verified, url) };
    asked.delete(key);
    asked.set(key, entry);
    if (asked.size > MOST_REMEMBERED) asked.delete(asked.keys().next().value ?? key);
    entry.answer.catch(() => {
      entry.until = now().getTime() + FAILURE_REMEMBERED_MS;
    });
    return emailAmong(await entry.answer) ?? unverified;
  }

  async function whyNoEmail(token: string): Promise<string> {
    const answer = await asked.get(digestOf(token))?.answer;
    const gap = endpoint() === null || typeof answer !== 'string' ? 'no_endpoint' : answer;
    const cause = `The access token has no claim ${emailClaim}, and ${GAPS[gap]}.`;
    return `${cause} The identity provider has to put ${emailClaim} and ${emailClaim}_verified into access tokens, or to let them ask its userinfo endpoint for the scopes openid and email.`;
  }

  return { emailOf, whyNoEmail };
}

const GAPS: Record<Gap | 'no_endpoint', string> = {
  no_endpoint: 'its issuer names no userinfo endpoint',
  refused:
    'the userinfo endpoint of its issuer refuses it, as it does where a token is for another audience alone (RFC 8707)',
  another_subject: 'the userinfo endpoint of its issuer answers for another subject',
  no_email: 'the userinfo endpoint of its issuer answers without one',
};

function emailAmong(answer: TokenEmail | Gap): TokenEmail | null {
  return typeof answer === 'string' ? null : answer;
}

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}

/**
 * The email in a claim, and whether the provider verified it: null where it does not say. Each claim has a flag of its own,
 * `<claim>_verified`: `email_verified` is about `email` (OpenID Connect Core, 5.1) and says nothing about another address.
 * Some providers send the flag as text.
 */
function emailIn(claims: Record<string, unknown>, claim: string): { email: string; verified: boolean | null } | null {
  const email = claims[claim];
  if (typeof email !== 'string' || email.length > MAX_EMAIL_LENGTH || !/^[^\s\p{Cc}\p{Cs}]+$/u.test(email)) return null;
  const flag = claims[`${claim}_verified`] ?? null;
  return { email, verified: flag === null ? null : flag === true || flag === 'true' };
}
