import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Credentials that are remembered at a time. */
const KNOWN = 10_000;

/**
 * Credentials that proved good a while ago, by their digests. They are let through where their address has used up its
 * limit of refused ones: behind one address there may be an attacker, and many who are none.
 */
export class KnownCredentials {
  readonly #digests = new Set<string>();

  remember(req: IncomingMessage): void {
    const digest = digestOf(req);
    this.#digests.delete(digest);
    if (this.#digests.size >= KNOWN) {
      const [first] = this.#digests;
      if (first !== undefined) this.#digests.delete(first);
    }
    this.#digests.add(digest);
  }

  forget(req: IncomingMessage): void {
    this.#digests.delete(digestOf(req));
  }

  has(req: IncomingMessage): boolean {
    return this.#digests.has(digestOf(req));
  }
}

function digestOf({ headers }: IncomingMessage): string {
  const credential = [headers.authorization ?? null, headers['x-api-key'] ?? null];
  return createHash('sha256').update(JSON.stringify(credential)).digest('base64');
}
