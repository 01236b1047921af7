import type { Database } from './database.ts';
import { isPostgres } from './dialects/postgres.ts';
import { DatabaseUnavailableError } from './errors.ts';

/** How long work waits for its turn before it is refused, in milliseconds: as long as writes on SQLite do. */
const WAIT_MS = 5000;

/** Who had the last turn, by database and key. */
const lastTurns = new WeakMap<Database, Map<string, Promise<void>>>();

/**
 * Runs work of one key one after the other within this process. Only so that transactions that would always get in each
 * other's way are not all done several times: other processes may run the same work meanwhile. On SQLite writes come one
 * after the other anyway.
 *
 * @throws {DatabaseUnavailableError} where its turn does not come in time
 */
export async function inTurn<T>(db: Database, key: string, work: () => Promise<T>): Promise<T> {
  return isPostgres(db) ? oneAtATime(db, key, work) : work();
}

/**
 * The same on any database: for work that is dear to the process itself.
 *
 * @throws {DatabaseUnavailableError} where its turn does not come in time
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
