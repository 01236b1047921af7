import { perDatabase } from './per-database.ts';

/** The most decompressed bytes that are kept. */
const MAX_BYTES = 16 * 1024 * 1024;

/** The cache is emptied when nothing was added for this time, so that content does not stay in memory. In milliseconds. */
const IDLE_MS = 10_000;

/**
 * Decompressed blocks that the next page of a trace probably needs. The pages of a trace are read one after the other, and spans
 * of one block are often on several pages. Without the cache, every page of a trace in 200 blocks decompresses all of them.
 *
 * Blocks never change, so no entry is ever outdated. A removed block may stay in the cache, but is not read: the index of the
 * trace decides which blocks are read.
 */
export class BlockCache {
  readonly #bodies = new Map<string, Buffer>();
  #bytes = 0;
  #timer: NodeJS.Timeout | null = null;

  get(key: string): Buffer | undefined {
    return this.#bodies.get(key);
  }

  add(key: string, body: Buffer): void {
    if (body.length > MAX_BYTES || this.#bodies.has(key)) return;
    this.#bodies.set(key, body);
    this.#bytes += body.length;
    // Drops the oldest blocks first, because the pages of a trace need its blocks for a short time only.
    for (const [oldest, { length }] of this.#bodies) {
      if (this.#bytes <= MAX_BYTES) break;
      this.#bodies.delete(oldest);
      this.#bytes -= length;
    }
    if (this.#timer) this.#timer.refresh();
    else this.#timer = setTimeout(() => this.#clear(), IDLE_MS).unref();
  }

  #clear(): void {
    this.#bodies.clear();
    this.#bytes = 0;
    this.#timer = null;
  }
}

export const blockCacheOf = perDatabase(() => new BlockCache());
