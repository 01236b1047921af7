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
  const credential = [headers.authorization ?? null, headers['x-api-key'] ?? null, headers.cookie ?? null];
  return createHash('sha256').update(JSON.stringify(credential)).digest('base64');
}
