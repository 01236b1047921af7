import { yieldWhenDue } from './turns.ts';

/** Splits items into batches, and yields to the event loop between them when that is due. */
export async function* inBatches<T>(items: Iterable<T>, size: number): AsyncGenerator<readonly T[], void, undefined> {
  let batch: T[] = [];
  for (const item of items) {
    if (batch.length === size) {
      await yieldWhenDue();
      yield batch;
      batch = [];
    }
    batch.push(item);
  }
  if (batch.length === 0) return;
  await yieldWhenDue();
  yield batch;
}

const SORTED_AT_ONCE = 1000;

/** The first items in an order. Sorts some at a time, and yields to the event loop between them when that is due. */
export async function firstInOrder<T>(
  items: Iterable<T>,
  count: number,
  isBefore: (a: T, b: T) => boolean,
): Promise<T[]> {
  let first: T[] = [];
  for await (const batch of inBatches(items, SORTED_AT_ONCE)) {
    first = [...first, ...batch].toSorted((a, b) => (isBefore(a, b) ? -1 : 1)).slice(0, count);
  }
  return first;
}
