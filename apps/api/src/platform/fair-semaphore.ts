/** The amount that one request holds of a semaphore. */
export type Permit = {
  /** Reduces the amount that is held to `amount`. */
  shrink(amount: number): void;
  /** Gives everything back. May be called several times. */
  release(): void;
  /** Whether a request of another tenant waits, although it is within that tenant's limit. */
  isWanted(): boolean;
};

type Waiter = { amount: number; resume: () => void };

type SemaphoreOptions = {
  /** How much all requests may hold, in any unit. */
  total: number;
  /** How much the requests of one tenant may hold. */
  perTenant: number;
  /** The error of a request that has waited until its deadline. */
  tooBusy: () => Error;
};

/**
 * A weighted semaphore that bounds a resource, such as the memory of requests. Requests that do not fit wait. Tenants take turns
 * (round robin), so the queue of one tenant does not delay the others.
 */
export class FairSemaphore {
  readonly #options: SemaphoreOptions;
  readonly #held = new Map<string, number>();
  readonly #waiting = new Map<string, Waiter[]>();
  #total = 0;

  constructor(options: SemaphoreOptions) {
    this.#options = options;
  }

  /** The amount that all requests hold. */
  get held(): number {
    return this.#total;
  }

  /**
   * Waits until the amount is free.
   *
   * @param amount is reduced to what one tenant may hold, if it is more
   * @param deadline in milliseconds of `performance.now()`
   * @throws the error of `tooBusy`, if the amount is not free at the deadline
   */
  async acquire(tenant: string, amount: number, deadline: number): Promise<Permit> {
    const { perTenant, tooBusy } = this.#options;
    let granted = Math.min(amount, perTenant);
    if (this.#waiting.has(tenant) || this.#isContended() || !this.#fits(tenant, granted)) {
      await new Promise<void>((resolve, reject) => {
        const queue = this.#waiting.get(tenant) ?? [];
        this.#waiting.set(tenant, queue);
        const timer = setTimeout(() => {
          queue.splice(queue.indexOf(waiter), 1);
          if (queue.length === 0) this.#waiting.delete(tenant);
          this.#resumeWaiters();
          reject(tooBusy());
        }, deadline - performance.now());
        const resume = () => {
          clearTimeout(timer);
          resolve();
        };
        const waiter = { amount: granted, resume };
        queue.push(waiter);
      });
    } else {
      this.#add(tenant, granted);
    }
    const shrink = (left: number) => {
      if (left >= granted) return;
      this.#add(tenant, left - granted);
      granted = left;
      this.#resumeWaiters();
    };
    return { shrink, release: () => shrink(0), isWanted: () => this.#isContended(tenant) };
  }

  /**
   * Whether a request waits because the whole semaphore is taken, and not only because of its tenant's limit. New requests then
   * queue behind the waiting request. Otherwise smaller requests could overtake it forever.
   *
   * @param except requests of this tenant do not count
   */
  #isContended(except?: string): boolean {
    for (const [tenant, [next]] of this.#waiting) {
      if (tenant !== except && next !== undefined && this.#isWithinTenantLimit(tenant, next.amount)) return true;
    }
    return false;
  }

  #isWithinTenantLimit(tenant: string, amount: number): boolean {
    return (this.#held.get(tenant) ?? 0) + amount <= this.#options.perTenant;
  }

  #fits(tenant: string, amount: number): boolean {
    return this.#total + amount <= this.#options.total && this.#isWithinTenantLimit(tenant, amount);
  }

  #add(tenant: string, amount: number): void {
    const held = (this.#held.get(tenant) ?? 0) + amount;
    if (held > 0) this.#held.set(tenant, held);
    else this.#held.delete(tenant);
    this.#total += amount;
  }

  /** Resumes the waiting requests that fit now. A tenant goes to the end of the round after each of its requests. */
  #resumeWaiters(): void {
    for (let isResumed = true; isResumed; ) {
      isResumed = false;
      for (const [tenant, queue] of this.#waiting) {
        const [next] = queue;
        if (next === undefined) continue;
        if (this.#fits(tenant, next.amount)) {
          queue.shift();
          this.#waiting.delete(tenant);
          if (queue.length > 0) this.#waiting.set(tenant, queue);
          this.#add(tenant, next.amount);
          next.resume();
          isResumed = true;
          break;
        }
        // Too little is free for this request, so no other may overtake it. A tenant at its own limit delays no other tenant.
        if (this.#isWithinTenantLimit(tenant, next.amount)) break;
      }
    }
  }
}
