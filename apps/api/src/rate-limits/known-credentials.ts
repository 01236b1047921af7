import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Credentials that are remembered at a time. */
const KNOWN = 10_000;

/**
 * Credentials that proved good a while ago, by their digests. They are let through where their address has used up its
 * limit of refused ones: behind one address there may be an attacker, and many who are none.
 */
export class KnownCredentials {
  /** Which API key each is; null for a token. */
  readonly #keys = new Map<string, string | null>();
  readonly #digests = new Map<string, string>();

  /** @param keyId of an API key: what is known already costs no digest */
  remember(req: IncomingMessage, keyId: string | null): void {
    if (keyId !== null && this.#digests.has(keyId)) return;
    if (this.#keys.size >= KNOWN) {
      const [first] = this.#keys.keys();
      if (first !== undefined) this.#forget(first);
    }
    const digest = digestOf(req);
    this.#keys.set(digest, keyId);
    if (keyId !== null) this.#digests.set(keyId, digest);
  }

  forget(req: IncomingMessage): void {
    this.#forget(digestOf(req));
  }

  has(req: IncomingMessage): boolean {
    return this.#keys.has(digestOf(req));
  }

  #forget(digest: string): void {
    const keyId = this.#keys.get(digest);
    if (keyId != null) this.#digests.delete(keyId);
    this.#keys.delete(digest);
  }
}

function digestOf({ headers }: IncomingMessage): string {
  const credential = [headers.authorization ?? null, headers['x-api-key'] ?? null];
  return createHash('sha256').update(JSON.stringify(credential)).digest('base64');
}
