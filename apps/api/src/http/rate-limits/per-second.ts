import { networkOf } from './limits.ts';

const WINDOW_MS = 1000;

/**
 * Counts events of addresses in windows of one second. It is cheap, because one read from a socket may contain thousands of
 * events.
 */
export class PerSecond {
  readonly #limit: number;
  #counts = new Map<string, number>();
  #ends = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Counts an event. @returns whether the address (IPv6: its /64) has exceeded the limit in this window */
  exceeds(address: string): boolean {
    const now = performance.now();
    if (now >= this.#ends) {
      this.#counts = new Map();
      this.#ends = now + WINDOW_MS;
    }
    const network = networkOf(address);
    const count = (this.#counts.get(network) ?? 0) + 1;
    this.#counts.set(network, count);
    return count > this.#limit;
  }
}
