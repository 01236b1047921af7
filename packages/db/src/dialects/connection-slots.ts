import { DatabaseUnavailableError } from '../errors.ts';
import { FairQueue } from '../fair-queue.ts';
import { waitMsLeft } from '../turns.ts';

export type SlotLimits = {
  /** Connections in total. */
  slots: number;
  /** How long a statement waits for a slot, in milliseconds. */
  waitMs: number;
};

/** Some work opens a second connection while it holds one. With fewer slots it would wait for itself. */
const MIN_SLOTS_OF_TENANT = 2;

/** The most connections of a pool that one tenant may hold: half of them. */
function maxSlotsOfTenant(slots: number): number {
  return Math.max(MIN_SLOTS_OF_TENANT, Math.floor(slots / 2));
}

/**
 * A fair semaphore for the connections of a pool. One tenant holds at most half of the slots, so that its blocked statements do
 * not block other tenants. Waiting tenants are served round robin.
 */
export class ConnectionSlots {
  readonly #limits: SlotLimits;
  readonly #queue = new FairQueue<() => void>();
  readonly #held = new Map<string | null, number>();
  #free: number;

  constructor(limits: SlotLimits) {
    this.#limits = limits;
    this.#free = limits.slots;
  }

  /**
   * Waits for a slot.
   *
   * @returns a function that releases it; further calls do nothing
   * @throws {DatabaseUnavailableError} if none was free in time, or too many statements of the tenant are waiting
   */
  async acquire(tenant: string | null): Promise<() => void> {
    if (this.#free > 0 && this.#isAllowed(tenant)) this.#take(tenant);
    else await this.#wait(tenant);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#release(tenant);
    };
  }

  #wait(tenant: string | null): Promise<void> {
    return new Promise((resolve, reject) => {
      const proceed = () => {
        clearTimeout(timer);
        this.#take(tenant);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#queue.remove(tenant, proceed);
        reject(unavailable('no connection was free in time'));
      }, waitMsLeft(this.#limits.waitMs));
      if (this.#queue.push(tenant, proceed)) return;
      clearTimeout(timer);
      reject(unavailable('too many statements of the tenant wait for a connection'));
    });
  }

  #isAllowed = (tenant: string | null): boolean =>
    tenant === null || (this.#held.get(tenant) ?? 0) < maxSlotsOfTenant(this.#limits.slots);

  #take(tenant: string | null): void {
    this.#free -= 1;
    this.#held.set(tenant, (this.#held.get(tenant) ?? 0) + 1);
  }

  #release(tenant: string | null): void {
    this.#free += 1;
    const held = (this.#held.get(tenant) ?? 0) - 1;
    if (held > 0) this.#held.set(tenant, held);
    else this.#held.delete(tenant);
    this.#queue.shift(this.#isAllowed)?.();
  }
}

function unavailable(reason: string): DatabaseUnavailableError {
  return new DatabaseUnavailableError({ cause: new Error(reason) });
}
