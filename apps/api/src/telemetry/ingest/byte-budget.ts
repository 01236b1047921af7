import { ApiError } from '../../errors.ts';

/** Bytes of bodies that one request holds. */
export type HeldBytes = {
  /** Counts bytes that came in. @throws 429 beyond the budget */
  add(bytes: number): void;
  /** Gives all of them back, at the end of the request. */
  release(): void;
};

/** A request holds as many bytes at the least, so that the budget bounds the number of requests in flight, too. */
const REQUEST_BYTES = 16 * 1024;

/** The whole budget, in largest bodies. */
const LARGEST_BODIES = 3;

/**
 * Bounds the bodies that are in memory as they came in, in all and for each sender. A sender may hold as much as all
 * senders leave free (the dynamic threshold of shared switch buffers): one sender alone gets half of the budget, and
 * whatever some hold, there is room for another's.
 */
export class ByteBudget {
  readonly #most: number;
  readonly #held = new Map<string, number>();
  #total = 0;

  /** @param largest the largest body, in bytes */
  constructor(largest: number) {
    this.#most = LARGEST_BODIES * largest;
  }

  /**
   * @param sender who shares a part of the budget: a tenant
   * @throws 429 beyond the budget
   */
  open(sender: string): HeldBytes {
    let own = 0;
    const add = (bytes: number) => {
      const held = (this.#held.get(sender) ?? 0) + bytes;
      const free = this.#most - this.#total - bytes;
      if (held > free) throw tooMuchAtOnce();
      this.#held.set(sender, held);
      this.#total += bytes;
      own += bytes;
    };
    const release = () => {
      const left = (this.#held.get(sender) ?? 0) - own;
      if (left > 0) this.#held.set(sender, left);
      else this.#held.delete(sender);
      this.#total -= own;
      own = 0;
    };
    add(Math.min(REQUEST_BYTES, this.#most / 64));
    return { add, release };
  }
}

function tooMuchAtOnce(): ApiError {
  return new ApiError('rate_limited', 'Too many requests are in memory. Send this one again in a moment.', {
    headers: { 'Retry-After': '1' },
  });
}
