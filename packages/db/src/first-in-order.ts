import { inBatches } from './batches.ts';

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
