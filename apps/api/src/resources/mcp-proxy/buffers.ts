import { ApiError } from '../../platform/errors.ts';

const MEGABYTE = 1024 * 1024;

/** Memory for messages and lists that are held whole, of all tenants together, in bytes. */
const BUDGET = 128 * MEGABYTE;

/** What each tenant may hold in any case: one message or list of the largest size. */
const ALWAYS = 8 * MEGABYTE;

/** The bytes that one request holds. */
export type Held = {
  /** Adds bytes, or takes some back. @throws ApiError 429 beyond the budget */
  add: (bytes: number) => void;
  /** Takes everything back, for good. */
  release: () => void;
};

/**
 * Bounds the memory of messages and lists that wait for a slow client or server. A tenant may hold as much as all tenants together leave
 * free, so that none of them can use up the memory of the process.
 */
export class Buffers {
  readonly #held = new Map<string, number>();
  #total = 0;

  hold(tenantId: string): Held {
    let own = 0;
    let isOver = false;
    const count = (bytes: number) => {
      own += bytes;
      this.#total += bytes;
      const held = (this.#held.get(tenantId) ?? 0) + bytes;
      if (held > 0) this.#held.set(tenantId, held);
      else this.#held.delete(tenantId);
    };
    return {
      release: () => {
        isOver = true;
        count(-own);
      },
      add: (bytes) => {
        if (isOver) return;
        const after = (this.#held.get(tenantId) ?? 0) + bytes;
        if (bytes > 0 && after > ALWAYS && after > BUDGET - this.#total - bytes) throw tooMany();
        count(bytes);
      },
    };
  }
}

function tooMany(): ApiError {
  const detail = 'The sessions of the tenant have too many large messages under way. Wait for some of them.';
  return new ApiError('rate_limited', detail, { headers: { 'Retry-After': '1' } });
}
