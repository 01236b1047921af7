import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from './database.ts';
import { isPostgres } from './dialects/postgres.ts';
import { DuplicateKeyError, SerializationFailureError } from './errors.ts';

/** How often work is tried, and for how long, in milliseconds, a further try is begun. */
const ATTEMPTS = 12;
const RETRYING_MS = 8000;

/** The longest pause before the second try, and before any, in milliseconds. */
const FIRST_PAUSE_MS = 8;
const LONGEST_PAUSE_MS = 400;

/**
 * Runs work in a transaction: all of it, or nothing. Within a transaction it becomes part of that one, so that a whole
 * operation can be made one with what surrounds it.
 *
 * What the work reads has not changed when it commits, as if one transaction ran after the other. On SQLite that is so;
 * on Postgres they run side by side, SERIALIZABLE, and the work is done anew where another came in between. So it has
 * to be repeatable: it changes nothing but the database, and lets errors of the database pass.
 *
 * @throws {DatabaseUnavailableError} where others came in between each time
 * @throws {CommitOutcomeUnknownError} where the connection was lost at the end: never tried again here
 */
export async function inTransaction<T>(db: Database, work: (trx: Database) => Promise<T>): Promise<T> {
  if (db.isTransaction) return work(db);
  const transaction = db.transaction().setIsolationLevel('serializable');
  const lastStart = performance.now() + RETRYING_MS;
  let duplicates = 0;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await attempted(transaction, work);
    } catch (error) {
      if (error instanceof DuplicateKeyError) duplicates += 1;
      // A key may be taken by who came in between, where the work looked before and found it free. It looks again, once.
      const raced = error instanceof DuplicateKeyError && duplicates === 1 && isPostgres(db);
      if (!raced && !(error instanceof SerializationFailureError)) throw error;
      if (attempt === ATTEMPTS || performance.now() > lastStart) throw error;
      await sleep(Math.random() * Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS));
    }
  }
}

/** What waits for the end of transactions that are open. */
const waiting = new WeakMap<Database, (() => void)[]>();

/**
 * Has something done when the transaction has ended, whether it was committed or not: what is kept of the database in
 * memory changes no earlier. At once where there is no transaction.
 */
export function whenEnded(db: Database, then: () => void): void {
  if (!db.isTransaction) then();
  else waiting.set(db, [...(waiting.get(db) ?? []), then]);
}

async function attempted<T>(
  transaction: { execute: <R>(work: (trx: Database) => Promise<R>) => Promise<R> },
  work: (trx: Database) => Promise<T>,
): Promise<T> {
  let opened: Database | undefined;
  try {
    return await transaction.execute((trx) => {
      opened = trx;
      return work(trx);
    });
  } finally {
    for (const then of (opened && waiting.get(opened)) ?? []) then();
  }
}
