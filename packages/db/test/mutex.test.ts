import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Database } from '../src/database.ts';
import { DatabaseUnavailableError } from '../src/errors.ts';
import { withMutex } from '../src/mutex.ts';

// Only the identity of the database object matters.
const db = {} as Database;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('runs work of one key sequentially and of different keys concurrently, and continues after a failure', async () => {
  const running = { now: 0, most: 0 };
  const work = async () => {
    running.now += 1;
    running.most = Math.max(running.most, running.now);
    await Promise.resolve();
    running.now -= 1;
  };
  const failing = withMutex(db, 'a', async () => {
    await work();
    throw new Error('on purpose');
  });
  const others = Array.from({ length: 20 }, () => withMutex(db, 'a', work));
  let beside = false;
  await withMutex(db, 'b', async () => {
    beside = true;
  });
  expect(beside).toBe(true);
  await expect(failing).rejects.toThrow('on purpose');
  await Promise.all(others);
  expect(running.most).toBe(1);
});

test('refuses work that waits too long, and does not delay the work after it', async () => {
  const end = Promise.withResolvers<void>();
  const holding = withMutex(db, 'a', () => end.promise);
  const refused = withMutex(db, 'a', async () => 'never').catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(5000);
  expect(await refused).toBeInstanceOf(DatabaseUnavailableError);
  const next = withMutex(db, 'a', async () => 'next');
  end.resolve();
  expect(await next).toBe('next');
  await holding;
});
