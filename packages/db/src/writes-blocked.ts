import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database } from './database.ts';
import { isPostgres } from './dialects/postgres.ts';
import { SerializationFailureError } from './errors.ts';
import { TABLE_NAMES } from './stored-tables.ts';

/** The most attempts to take the locks. On busy tables, each attempt may run into a deadlock. */
const ATTEMPTS = 10;

/** The longest pause before the second attempt, in milliseconds. Later pauses are longer in proportion. */
const PAUSE_MS = 100;

/**
 * Runs work on a consistent snapshot of a database, while all writes are blocked. Other writers fail as they do on a busy
 * database. Readers are not affected.
 *
 * @throws {DatabaseUnavailableError} if another transaction writes for too long
 */
export async function withWritesBlocked<T>(db: Database, work: (frozen: Database) => Promise<T>): Promise<T> {
  // On SQLite a transaction starts by taking the write lock.
  if (!isPostgres(db)) return db.transaction().execute(work);
  for (let attempt = 1; ; attempt += 1) {
    let begun = false;
    try {
      return await db
        .transaction()
        .setIsolationLevel('repeatable read')
        .execute(async (trx) => {
          // This must be the first statement: the snapshot is taken after the locks are held.
          await sql`lock table ${sql.join(TABLE_NAMES.map((name) => sql.table(name)))} in share mode`.execute(trx);
          await sql`set local idle_in_transaction_session_timeout = 0`.execute(trx);
          begun = true;
          return work(trx);
        });
    } catch (error) {
      // The tables are locked one after the other. A transaction that writes to two of them in another order causes a deadlock.
      if (begun || attempt === ATTEMPTS || !(error instanceof SerializationFailureError)) throw error;
      await sleep(Math.random() * PAUSE_MS * attempt);
    }
  }
}
