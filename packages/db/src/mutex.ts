import type { Database } from './database.ts';
import { DatabaseUnavailableError } from './errors.ts';

/** How long work waits for the mutex before it is refused, in milliseconds. */
const WAIT_MS = 5000;

/** By database and key: a promise that resolves when the last holder or waiter has finished. */
const lastHolders = new WeakMap<Database, Map<string, Promise<void>>>();

/**
 * Runs work while it holds the mutex of a key. The mutex only covers this process; other processes may run the same work at
 * the same time.
 *
 * @throws {DatabaseUnavailableError} if the mutex is not free in time
 */
export async function withMutex<T>(db: Database, key: string, work: () => Promise<T>): Promise<T> {
  const holders = lastHolders.get(db) ?? new Map<string, Promise<void>>();
  lastHolders.set(db, holders);
  const previous = holders.get(key) ?? Promise.resolve();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const mine = previous.then(() => ended);
  holders.set(key, mine);
  try {
    await withTimeout(previous, WAIT_MS);
    return await work();
  } finally {
    end();
    if (holders.get(key) === mine) holders.delete(key);
  }
}

async function withTimeout(promise: Promise<void>, milliseconds: number): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(() => {
    reject(new DatabaseUnavailableError({ cause: new Error('the mutex was not free in time') }));
  }, milliseconds);
  try {
    await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
