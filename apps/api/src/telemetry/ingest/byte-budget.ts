import { ApiError } from '../../errors.ts';

/** Bytes of bodies that one request holds. */
export type HeldBytes = {
  /** Counts bytes that came in or were decompressed. @throws 429 beyond the budget */
  add(bytes: number): void;
  /** Gives all of them back, at the end of the request. */
  release(): void;
};

/**
 * Bounds the bodies that are in memory at once, for each sender and in all: a few kilobytes of gzip become 64 MB, and
 * hundreds of requests come in at once.
 */
export class ByteBudget {
  readonly #most: number;
  readonly #mostOfSender: number;
  readonly #held = new Map<string, number>();
  #total = 0;

  /** @param largest the largest body; a sender may have two of them in memory, and all together four */
  constructor(largest: number) {
    this.#mostOfSender = 2 * largest;
    this.#most = 4 * largest;
  }

  /** @param sender who shares a part of the budget: a tenant */
  open(sender: string): HeldBytes {
    let own = 0;
    return {
      add: (bytes) => {
        const held = (this.#held.get(sender) ?? 0) + bytes;
        if (held > this.#mostOfSender || this.#total + bytes > this.#most) throw tooMuchAtOnce();
        this.#held.set(sender, held);
        this.#total += bytes;
        own += bytes;
      },
      release: () => {
        const left = (this.#held.get(sender) ?? 0) - own;
        if (left > 0) this.#held.set(sender, left);
        else this.#held.delete(sender);
        this.#total -= own;
        own = 0;
      },
    };
  }
}

function tooMuchAtOnce(): ApiError {
  return new ApiError('rate_limited', 'Too many large requests are in memory. Send this one again in a moment.', {
    headers: { 'Retry-After': '1' },
  });
}
