import { getHeapSpaceStatistics } from 'node:v8';
import { expect, test } from 'vitest';
import { releaseStartupMemory } from '../src/server/release-startup-memory.ts';

function youngBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.physical_space_size ?? 0;
}

test('releases the memory that loading modules used, and does not expose gc to other code', async () => {
  // Objects that survive a collection make the space for young objects grow.
  let kept: object[] = [];
  for (let round = 0; youngBytes() < 12e6; round += 1) {
    if (round % 8 === 0) kept = [];
    kept.push(Array.from({ length: 20_000 }, (_, index) => ({ index, round })));
  }
  const before = youngBytes();
  kept = [];
  releaseStartupMemory();
  await expect.poll(youngBytes).toBeLessThan(before / 2);
  expect('gc' in globalThis).toBe(false);
});
