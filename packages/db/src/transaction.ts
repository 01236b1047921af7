import type { Database } from './database.ts';

/**
 * Runs work in a transaction: all of it, or nothing. Within a transaction it becomes part of that one, so that a whole
 * operation can be made one with what surrounds it.
 */
export function inTransaction<T>(db: Database, work: (trx: Database) => Promise<T>): Promise<T> {
  return db.isTransaction ? work(db) : db.transaction().execute(work);
}
