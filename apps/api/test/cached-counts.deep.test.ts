import { beforeEach, expect, test } from 'vitest';
import { CachedCounts } from '../src/platform/cached-counts.ts';

const LIMIT = { limit: 10, added: 1 };

let time = 0;
let stored = 0;
let reads = 0;
let counts = new CachedCounts(() => new Date(time));

beforeEach(() => {
  [time, stored, reads] = [0, 3, 0];
  counts = new CachedCounts(() => new Date(time));
});

test('writes are added to a count that was read', async () => {
  expect(await usedOf('a')).toBe(3);
  counts.add('a', 2);
  counts.add('a', -1);
  expect(await usedOf('a')).toBe(4);
  expect(reads).toBe(1);
});

test('a count is read again after five seconds', async () => {
  await usedOf('a');
  [stored, time] = [5, 4999];
  expect(await usedOf('a')).toBe(3);
  time = 5000;
  expect(await usedOf('a')).toBe(5);
});

test('regression: a count is read again after the clock was set back', async () => {
  time = 3_600_000;
  await usedOf('a');
  [stored, time] = [5, 0];
  expect(await usedOf('a')).toBe(5);
});

test('a count that leaves no room is read again, because records may have been removed since', async () => {
  await usedOf('a');
  counts.add('a', 6);
  expect(await usedOf('a')).toBe(9);
  counts.add('a', 1);
  stored = 2;
  expect(await usedOf('a')).toBe(2);
  expect(reads).toBe(2);
});

test('at most 10,000 counts are cached, and a new one replaces the oldest', async () => {
  for (let index = 0; index <= 10_000; index += 1) await usedOf(`key ${index}`);
  reads = 0;
  await usedOf('key 1');
  expect(reads).toBe(0);
  await usedOf('key 0');
  expect(reads).toBe(1);
});

async function usedOf(key: string): Promise<number> {
  return counts.usedOf(key, LIMIT, async () => {
    reads += 1;
    return stored;
  });
}
