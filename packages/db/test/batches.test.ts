import { describe, expect, test, vi } from 'vitest';
import { inBatches } from '../src/batches.ts';
import { runForTenant, type Turn } from '../src/tenant-context.ts';
import { yieldWhenDue } from '../src/turns.ts';

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

describe('yieldWhenDue', () => {
  const turnOf = (isOver: boolean) => ({
    deadline: 0,
    isOver: () => isOver,
    next: vi.fn<Turn['next']>(async () => {}),
    hold: () => {},
  });

  test('does not yield before the turn of the request is over', async () => {
    const turn = turnOf(false);
    expect(await turnsDuring(() => runForTenant('acme', yieldWhenDue, turn))).toBe(0);
    expect(turn.next).not.toHaveBeenCalled();
  });

  test('waits for the next turn of the request when its turn is over', async () => {
    const turn = turnOf(true);
    await runForTenant('acme', yieldWhenDue, turn);
    expect(turn.next).toHaveBeenCalledExactlyOnceWith(false);
  });

  test('yields each time for work without a turn', async () => {
    const turns = await turnsDuring(async () => {
      for (let i = 0; i < 10; i += 1) await yieldWhenDue();
    });
    expect(turns).toBeGreaterThanOrEqual(9);
  });
});

test('inBatches splits items, the last batch may be shorter', async () => {
  const batches: (readonly number[])[] = [];
  for await (const batch of inBatches([1, 2, 3, 4, 5], 2)) batches.push(batch);
  expect(batches).toEqual([[1, 2], [3, 4], [5]]);
});

test('inBatches yields between batches', async () => {
  const turns = await turnsDuring(async () => {
    for await (const _ of inBatches([1, 2, 3, 4], 1));
  });
  expect(turns).toBeGreaterThanOrEqual(3);
});
