import { ApiError } from '../../errors.ts';

/** A part of a room that one request takes. */
export type Place = {
  /** Gives a part of it back: the request needs no more than `amount`. */
  shrink(amount: number): void;
  /** Gives all of it back. */
  leave(): void;
};

type Waiter = { amount: number; enter: () => void };

type RoomOptions = {
  /** How much all requests may take, in any unit. */
  total: number;
  /** How much those of one tenant may take. */
  ofTenant: number;
  /** The longest wait, in milliseconds. */
  maxWaitMs: number;
};

/**
 * A semaphore for memory: a request waits until there is room for what it unpacks and reads. Tenants enter by turns
 * (round robin), so that the queue of one does not delay the others.
 */
export class Room {
  readonly #options: RoomOptions;
  readonly #taken = new Map<string, number>();
  readonly #waiting = new Map<string, Waiter[]>();
  #total = 0;

  constructor(options: RoomOptions) {
    this.#options = options;
  }

  /** Amounts that were taken in all. */
  get taken(): number {
    return this.#total;
  }

  /**
   * Waits until there is room.
   *
   * @param amount counts as what one tenant may take, where it is more
   * @throws 429 where the wait is too long
   */
  async enter(tenant: string, amount: number): Promise<Place> {
    const { ofTenant, maxWaitMs } = this.#options;
    let own = Math.min(amount, ofTenant);
    if (this.#waiting.has(tenant) || this.#isFull() || !this.#fits(tenant, own)) {
      await new Promise<void>((resolve, reject) => {
        const queue = this.#waiting.get(tenant) ?? [];
        this.#waiting.set(tenant, queue);
        const timer = setTimeout(() => {
          queue.splice(queue.indexOf(waiter), 1);
          if (queue.length === 0) this.#waiting.delete(tenant);
          this.#admit();
          reject(tooBusy());
        }, maxWaitMs);
        const enter = () => {
          clearTimeout(timer);
          resolve();
        };
        const waiter = { amount: own, enter };
        queue.push(waiter);
      });
    } else {
      this.#take(tenant, own);
    }
    const shrink = (left: number) => {
      if (left >= own) return;
      this.#take(tenant, left - own);
      own = left;
      this.#admit();
    };
    return { shrink, leave: () => shrink(0) };
  }

  /** Whether a request waits for the room and not for its tenant's share. Smaller ones must not pass it for ever. */
  #isFull(): boolean {
    for (const [tenant, [next]] of this.#waiting) {
      if (next !== undefined && this.#isWithinShare(tenant, next.amount)) return true;
    }
    return false;
  }

  #isWithinShare(tenant: string, amount: number): boolean {
    return (this.#taken.get(tenant) ?? 0) + amount <= this.#options.ofTenant;
  }

  #fits(tenant: string, amount: number): boolean {
    return this.#total + amount <= this.#options.total && this.#isWithinShare(tenant, amount);
  }

  #take(tenant: string, amount: number): void {
    const taken = (this.#taken.get(tenant) ?? 0) + amount;
    if (taken > 0) this.#taken.set(tenant, taken);
    else this.#taken.delete(tenant);
    this.#total += amount;
  }

  /** Lets in the requests that fit. A tenant goes to the end of the line with each entry. */
  #admit(): void {
    for (let admitted = true; admitted; ) {
      admitted = false;
      for (const [tenant, queue] of this.#waiting) {
        const [next] = queue;
        if (next === undefined) continue;
        if (this.#fits(tenant, next.amount)) {
          queue.shift();
          this.#waiting.delete(tenant);
          if (queue.length > 0) this.#waiting.set(tenant, queue);
          this.#take(tenant, next.amount);
          next.enter();
          admitted = true;
          break;
        }
        // The room is full for this one. One that waits for its tenant's share delays no other tenant.
        if (this.#isWithinShare(tenant, next.amount)) break;
      }
    }
  }
}

function tooBusy(): ApiError {
  return new ApiError('rate_limited', 'Too much telemetry is being read. Send this again in a moment.', {
    headers: { 'Retry-After': '1' },
  });
}
