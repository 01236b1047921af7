import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long one turn of the event loop may work through a loop of statements, in milliseconds. */
const TURN_MS = 10;

/** When the loop of the current turn began its work; null before it did. */
let turnBegan: number | null = null;

/**
 * Yields to the event loop if the current turn has worked for {@link TURN_MS}. SQLite answers synchronously, so a long loop of
 * statements would otherwise block every other request. A loop in a transaction should not yield more often than that: it holds
 * the writing connection, and each time it waits for the work of all other requests that are ready.
 */
export async function yieldWhenDue(): Promise<void> {
  if (turnBegan !== null && performance.now() - turnBegan >= TURN_MS) await nextTurn();
  if (turnBegan !== null) return;
  turnBegan = performance.now();
  setImmediate(() => {
    turnBegan = null;
  });
}

/** Splits items into batches, and yields to the event loop between them when that is due. */
export async function* inBatches<T>(items: readonly T[], size: number): AsyncGenerator<readonly T[], void, undefined> {
  for (let start = 0; start < items.length; start += size) {
    await yieldWhenDue();
    yield items.slice(start, start + size);
  }
}
