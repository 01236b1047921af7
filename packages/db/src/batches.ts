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
