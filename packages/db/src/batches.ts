import { yieldWhenDue } from './loop-turns.ts';

/** Splits items into batches, and yields to the event loop between them when that is due. */
export async function* inBatches<T>(items: readonly T[], size: number): AsyncGenerator<readonly T[], void, undefined> {
  for (let start = 0; start < items.length; start += size) {
    await yieldWhenDue();
    yield items.slice(start, start + size);
  }
}
