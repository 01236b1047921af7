import { BoundedMap } from '@quartermaster/db/bounded-map.ts';
import { isRecent } from './is-recent.ts';

/** How long a count is used before it is read again, in milliseconds. */
const CACHED_MS = 5000;

/** Counts in the cache. */
const MAX_CACHED = 10_000;

/**
 * Counts of records for limits. A count is read from the database and cached for some seconds. Writes of this process are added
 * to the cached count, so that few writes have to count records. Writes of other processes in that time are missing in it, and
 * so are concurrent transactions on PostgreSQL that were not committed. A limit may be exceeded by these writes. Nothing is
 * refused because of an old count.
 */
export class CachedCounts {
  readonly #counts = new BoundedMap<string, { used: number; readAt: number }>(MAX_CACHED);
  readonly #now: () => Date;

  constructor(now: () => Date) {
    this.#now = now;
  }

  /**
   * The count of `key`. It is read again if it is old, or if it leaves no room for `added` more.
   *
   * @param read counts the records in the database
   */
  async usedOf(
    key: string,
    { limit, added }: { limit: number; added: number },
    read: () => Promise<number>,
  ): Promise<number> {
    const time = this.#now();
    const cached = this.#counts.get(key);
    if (cached && isRecent(cached.readAt, CACHED_MS, time) && cached.used + added <= limit) return cached.used;
    const used = await read();
    this.#counts.set(key, { used, readAt: time.getTime() });
    return used;
  }

  /** Adds what a write has added, or subtracts what it has removed. */
  add(key: string, difference: number): void {
    const cached = this.#counts.get(key);
    if (cached) cached.used += difference;
  }

  delete(key: string): void {
    this.#counts.delete(key);
  }
}
