import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** The most credentials that are remembered. */
const KNOWN = 10_000;

/**
 * Digests of credentials that were valid a while ago. They pass even if their address has used up its limit of refused
 * requests, because one address may have an attacker and many honest callers.
 */
export class KnownCredentials {
  /** The API key's id of each digest; null for a token. */
  readonly #keys = new Map<string, string | null>();
  readonly #digests = new Map<string, string>();
  readonly #sessionOf: (req: IncomingMessage) => string | undefined;

  /** @param sessionOf the token in the session cookie of the web console */
  constructor(sessionOf: (req: IncomingMessage) => string | undefined) {
    this.#sessionOf = sessionOf;
  }

  /** @param keyId of an API key: what is known already costs no digest */
  remember(req: IncomingMessage, keyId: string | null): void {
    if (keyId !== null && this.#digests.has(keyId)) return;
    if (this.#keys.size >= KNOWN) {
      const [first] = this.#keys.keys();
      if (first !== undefined) this.#forget(first);
    }
    const digest = this.#digestOf(req);
    this.#keys.set(digest, keyId);
    if (keyId !== null) this.#digests.set(keyId, digest);
  }

  forget(req: IncomingMessage): void {
    this.#forget(this.#digestOf(req));
  }

  has(req: IncomingMessage): boolean {
    return this.#keys.has(this.#digestOf(req));
  }

  /** Of what authenticates the request alone: other cookies may change with each request. */
  #digestOf(req: IncomingMessage): string {
    const { authorization = null, 'x-api-key': key = null } = req.headers;
    const session = authorization === null && key === null ? this.#sessionOf(req) : undefined;
    return createHash('sha256')
      .update(JSON.stringify([authorization, key, session ?? null]))
      .digest('base64');
  }

  #forget(digest: string): void {
    const keyId = this.#keys.get(digest);
    if (keyId != null) this.#digests.delete(keyId);
    this.#keys.delete(digest);
  }
}
