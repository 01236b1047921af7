import { BoundedMap } from './bounded-map.ts';

/** A sum of milliseconds of which older ones count less: about a third after a second, a twentieth after three. */
export class DecayingSum {
  #milliseconds = 0;
  #at = 0;

  /** The sum now. About 1,000 for something that works all the time. */
  get value(): number {
    // The clock of a test may go back.
    const passed = Math.max(0, performance.now() - this.#at);
    return this.#milliseconds * Math.exp(-passed / 1000);
  }

  add(milliseconds: number): void {
    this.#milliseconds = this.value + milliseconds;
    this.#at = performance.now();
  }
}

/** A {@link DecayingSum} for each tenant. */
export class DecayingSums {
  readonly #sums: BoundedMap<string, DecayingSum>;

  /** @param maxTenants the most tenants that are remembered */
  constructor(maxTenants: number) {
    this.#sums = new BoundedMap(maxTenants);
  }

  of(tenant: string): number {
    return this.#sums.get(tenant)?.value ?? 0;
  }

  add(tenant: string, milliseconds: number): void {
    const sum = this.#sums.get(tenant) ?? new DecayingSum();
    sum.add(milliseconds);
    this.#sums.set(tenant, sum);
  }
}
