import { setImmediate as yieldToEventLoop } from 'node:timers/promises';

/**
 * Splits items into batches, and yields to the event loop between them. SQLite answers synchronously, so a long loop of
 * statements would otherwise block every other request.
 */
export async function* inBatches<T>(items: readonly T[], size: number): AsyncGenerator<readonly T[], void, undefined> {
  for (let start = 0; start < items.length; start += size) {
    if (start > 0) await yieldToEventLoop();
    yield items.slice(start, start + size);
  }
}
