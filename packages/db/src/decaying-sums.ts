import { BoundedMap } from './bounded-map.ts';

/** Sums of milliseconds by tenant, of which older ones count less: about a third after a second, a twentieth after three. */
export class DecayingSums {
  readonly #sums: BoundedMap<string, { milliseconds: number; at: number }>;

  /** @param maxTenants the most tenants that are remembered */
  constructor(maxTenants: number) {
    this.#sums = new BoundedMap(maxTenants);
  }

  /** The sum of a tenant now. For one that is always at it, about 1,000. */
  of(tenant: string): number {
    const sum = this.#sums.get(tenant);
    return sum === undefined ? 0 : sum.milliseconds * Math.exp((sum.at - performance.now()) / 1000);
  }

  add(tenant: string, milliseconds: number): void {
    this.#sums.set(tenant, { milliseconds: this.of(tenant) + milliseconds, at: performance.now() });
  }
}
