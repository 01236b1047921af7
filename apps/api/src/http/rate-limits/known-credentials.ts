import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { BoundedMap } from '@quartermaster/db/bounded-map.ts';

/** The most credentials that are remembered. */
const KNOWN = 10_000;

/**
 * Digests of credentials that were valid a while ago, and of some that were refused. The valid ones pass even if their address
 * has used up its limit of refused requests, because one address may have an attacker and many honest callers. The refused ones
 * are not looked up again in that case.
 */
export class KnownCredentials {
  /** The API key's id of each digest; null for a token. */
  readonly #keys = new Map<string, string | null>();
  readonly #digests = new Map<string, string>();
  readonly #refused = new BoundedMap<string, true>(KNOWN);
  readonly #sessionOf: (req: IncomingMessage) => string | undefined;

  /** @param sessionOf the token in the session cookie of the web console */
  constructor(sessionOf: (req: IncomingMessage) => string | undefined) {
    this.#sessionOf = sessionOf;
  }

  /**
   * Remembers a valid credential.
   *
   * @param keyId the id of an API key, which makes remembering a known key cheap; null for others
   */
  remember(req: IncomingMessage, keyId: string | null): void {
    if (keyId !== null && this.#digests.has(keyId)) return;
    const digest = this.#digestOf(req);
    if (digest === null) return;
    this.#refused.delete(digest);
    this.#add(digest, keyId);
  }

  /** Remembers the session that a sign-in has just started. */
  rememberSession(token: string): void {
    this.#add(digestOf({ session: token }), null);
  }

  /** Forgets a credential that was refused. */
  refuse(req: IncomingMessage): void {
    const digest = this.#digestOf(req);
    if (digest === null) return;
    this.#forget(digest);
    this.#refused.set(digest, true);
  }

  has(req: IncomingMessage): boolean {
    const digest = this.#digestOf(req);
    return digest !== null && this.#keys.has(digest);
  }

  /** Whether a request has a credential that was neither valid nor refused before. */
  isNew(req: IncomingMessage): boolean {
    const digest = this.#digestOf(req);
    return digest !== null && !this.#keys.has(digest) && !this.#refused.has(digest);
  }

  /** A digest of the credential alone, because other cookies may change with each request. Null without a credential. */
  #digestOf(req: IncomingMessage): string | null {
    const { authorization, 'x-api-key': key } = req.headers;
    const session = authorization === undefined && key === undefined ? this.#sessionOf(req) : undefined;
    const hasCredential = authorization !== undefined || key !== undefined || session !== undefined;
    return hasCredential ? digestOf({ authorization, key, session }) : null;
  }

  #add(digest: string, keyId: string | null): void {
    if (this.#keys.size >= KNOWN) {
      const [first] = this.#keys.keys();
      if (first !== undefined) this.#forget(first);
    }
    this.#keys.set(digest, keyId);
    if (keyId !== null) this.#digests.set(keyId, digest);
  }

  #forget(digest: string): void {
    const keyId = this.#keys.get(digest);
    if (keyId != null) this.#digests.delete(keyId);
    this.#keys.delete(digest);
  }
}

type Credential = {
  authorization?: string | undefined;
  key?: string | string[] | undefined;
  session?: string | undefined;
};

function digestOf({ authorization, key, session }: Credential): string {
  return createHash('sha256')
    .update(JSON.stringify([authorization ?? null, key ?? null, session ?? null]))
    .digest('base64');
}
