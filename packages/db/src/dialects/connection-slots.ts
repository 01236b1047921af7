import { DatabaseUnavailableError } from '../errors.ts';
import { FairQueue } from '../fair-queue.ts';

export type SlotLimits = {
  /** Connections in all. */
  slots: number;
  /** How long a request waits for one, in milliseconds. */
  waitMs: number;
};

/** Some work opens a second connection while it holds one: with fewer it would wait for itself. */
const LEAST_OF_TENANT = 2;

/** How many connections one tenant may hold of a pool: half of them. */
function slotsOfTenant(slots: number): number {
  return Math.max(LEAST_OF_TENANT, Math.floor(slots / 2));
}

/**
 * Permissions to hold a connection of a pool. One tenant has at most half of them, so that its blocked statements do not
 * stop the others. Those who wait are served in turn by tenant.
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
   * Waits for a permission.
   *
   * @returns what gives it back
   * @throws {DatabaseUnavailableError} where none came free in time, or too many of the tenant wait
   */
  async acquire(tenant: string | null): Promise<() => void> {
    if (this.#free > 0 && this.#isAllowed(tenant)) this.#take(tenant);
    else await this.#wait(tenant);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#giveBack(tenant);
    };
  }

  #wait(tenant: string | null): Promise<void> {
    return new Promise((resolve, reject) => {
      const turn = () => {
        clearTimeout(timer);
        this.#take(tenant);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#queue.remove(tenant, turn);
        reject(unavailable('no connection was free in time'));
      }, this.#limits.waitMs);
      if (this.#queue.push(tenant, turn)) return;
      clearTimeout(timer);
      reject(unavailable('too many statements of the tenant wait for a connection'));
    });
  }

  #isAllowed = (tenant: string | null): boolean =>
    tenant === null || (this.#held.get(tenant) ?? 0) < slotsOfTenant(this.#limits.slots);

  #take(tenant: string | null): void {
    this.#free -= 1;
    this.#held.set(tenant, (this.#held.get(tenant) ?? 0) + 1);
  }

  #giveBack(tenant: string | null): void {
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
