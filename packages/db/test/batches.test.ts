import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { inBatches } from '../src/batches.ts';
import { yieldWhenDue } from '../src/loop-turns.ts';

/** Counts the turns of the event loop while `work` runs. */
async function turnsDuring(work: () => Promise<void>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = () => {
    if (isOver) return;
    turns += 1;
    setImmediate(count);
  };
  // A turn that other work has begun is not counted.
  await new Promise<void>((resolve) => {
    setImmediate(resolve);
  });
  setImmediate(count);
  await work();
  isOver = true;
  return turns;
}

// The clock is a variable, because other processes may stop this one for longer than a turn.
let time = 0;
beforeEach(() => {
  vi.spyOn(performance, 'now').mockImplementation(() => time);
});
afterEach(() => {
  vi.restoreAllMocks();
});

function workFor(milliseconds: number): void {
  time += milliseconds;
}

describe('yieldWhenDue', () => {
  test('does not yield while the turn is short', async () => {
    const turns = await turnsDuring(async () => {
      for (let i = 0; i < 1000; i += 1) await yieldWhenDue();
    });
    expect(turns).toBe(0);
  });

  test('yields each time that the turn has worked for 10 ms', async () => {
    const turns = await turnsDuring(async () => {
      for (let i = 0; i < 10; i += 1) {
        await yieldWhenDue();
        workFor(11);
      }
    });
    expect(turns).toBeGreaterThanOrEqual(8);
    expect(turns).toBeLessThanOrEqual(10);
  });
});

test('inBatches splits items, the last batch may be shorter', async () => {
  const batches: (readonly number[])[] = [];
  for await (const batch of inBatches([1, 2, 3, 4, 5], 2)) batches.push(batch);
  expect(batches).toEqual([[1, 2], [3, 4], [5]]);
});

test('inBatches yields between slow batches', async () => {
  const turns = await turnsDuring(async () => {
    for await (const _ of inBatches([1, 2, 3, 4], 1)) workFor(11);
  });
  expect(turns).toBeGreaterThanOrEqual(2);
});
