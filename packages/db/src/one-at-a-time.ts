import type { Database } from './database.ts';
import { DatabaseUnavailableError } from './errors.ts';

/** How long work waits for its turn before it is refused, in milliseconds. */
const WAIT_MS = 5000;

/** The end of the last work of each key, by database. */
const lastTurns = new WeakMap<Database, Map<string, Promise<void>>>();

/**
 * Runs work of one key one after the other within this process: a mutex for each key. Other processes may run the same work
 * meanwhile.
 *
 * @throws {DatabaseUnavailableError} if its turn does not come in time
 */
export async function oneAtATime<T>(db: Database, key: string, work: () => Promise<T>): Promise<T> {
  const turns = lastTurns.get(db) ?? new Map<string, Promise<void>>();
  lastTurns.set(db, turns);
  const before = turns.get(key) ?? Promise.resolve();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const mine = before.then(() => ended);
  turns.set(key, mine);
  try {
    await within(before, WAIT_MS);
    return await work();
  } finally {
    end();
    if (turns.get(key) === mine) turns.delete(key);
  }
}

async function within(promise: Promise<void>, milliseconds: number): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(() => {
    reject(new DatabaseUnavailableError({ cause: new Error('its turn did not come in time') }));
  }, milliseconds);
  try {
    await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
