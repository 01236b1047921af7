import { ApiError } from '../../platform/errors.ts';

/** The bytes that one request holds of the budget. */
export type HeldBytes = {
  /** Counts received bytes. @throws 429 beyond the budget */
  add(bytes: number): void;
  /** Gives all bytes back, at the end of the request. */
  release(): void;
};

/** The least that a request holds, so that the budget also bounds the number of requests in flight. */
const MIN_REQUEST_BYTES = 16 * 1024;

/** The whole budget, as a multiple of the largest body. */
const LARGEST_BODIES = 3;

/**
 * Bounds the memory of bodies as they were sent, in total and for each sender. A sender may hold as much as all senders
 * together leave free (the dynamic thresholds of shared switch buffers). So one sender alone gets half of the budget, and
 * some of it always stays free for others.
 */
export class ByteBudget {
  readonly #budget: number;
  readonly #held = new Map<string, number>();
  #total = 0;

  /** @param largest the largest body, in bytes */
  constructor(largest: number) {
    this.#budget = LARGEST_BODIES * largest;
  }

  /**
   * Starts to count a request.
   *
   * @param sender whose share counts, such as a tenant
   * @throws 429 beyond the budget
   */
  open(sender: string): HeldBytes {
    let heldByBody = 0;
    const add = (bytes: number) => {
      const held = (this.#held.get(sender) ?? 0) + bytes;
      const free = this.#budget - this.#total - bytes;
      if (held > free) throw tooManyBytes();
      this.#held.set(sender, held);
      this.#total += bytes;
      heldByBody += bytes;
    };
    const release = () => {
      const left = (this.#held.get(sender) ?? 0) - heldByBody;
      if (left > 0) this.#held.set(sender, left);
      else this.#held.delete(sender);
      this.#total -= heldByBody;
      heldByBody = 0;
    };
    add(Math.min(MIN_REQUEST_BYTES, this.#budget / 64));
    return { add, release };
  }
}

function tooManyBytes(): ApiError {
  return new ApiError(
    'rate_limited',
    'Too many requests are being read at the moment. Send this request again in a moment.',
    {
      headers: { 'Retry-After': '1' },
    },
  );
}
