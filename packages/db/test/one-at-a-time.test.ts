import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Database } from '../src/database.ts';
import { DatabaseUnavailableError } from '../src/errors.ts';
import { oneAtATime } from '../src/one-at-a-time.ts';

// Only the identity of the database counts.
const db = {} as Database;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('runs work of one key one after the other, work of other keys beside it, and goes on after a failure', async () => {
  const running = { now: 0, most: 0 };
  const work = async () => {
    running.now += 1;
    running.most = Math.max(running.most, running.now);
    await Promise.resolve();
    running.now -= 1;
  };
  const failing = oneAtATime(db, 'a', async () => {
    await work();
    throw new Error('on purpose');
  });
  const others = Array.from({ length: 20 }, () => oneAtATime(db, 'a', work));
  let beside = false;
  await oneAtATime(db, 'b', async () => {
    beside = true;
  });
  expect(beside).toBe(true);
  await expect(failing).rejects.toThrow('on purpose');
  await Promise.all(others);
  expect(running.most).toBe(1);
});

test('refuses work that waits too long for its turn, and does not hold up the work after it', async () => {
  const end = Promise.withResolvers<void>();
  const holding = oneAtATime(db, 'a', () => end.promise);
  const refused = oneAtATime(db, 'a', async () => 'never').catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(5000);
  expect(await refused).toBeInstanceOf(DatabaseUnavailableError);
  const next = oneAtATime(db, 'a', async () => 'next');
  end.resolve();
  expect(await next).toBe('next');
  await holding;
});
