import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database } from './database.ts';
import { isPostgres } from './dialects/postgres.ts';
import { SerializationFailureError } from './errors.ts';
import { TABLE_NAMES } from './stored-tables.ts';

/** How often the locks are asked for. Whose tables are busy may stand in each other's way each time. */
const ATTEMPTS = 10;

/** The longest pause before the second attempt; before later ones it is longer, in milliseconds. */
const PAUSE_MS = 100;

/**
 * Reads a database in one moment of it, while nobody can write to it: of the whole time that the work takes. Who tries is
 * refused as where the database is busy. Who reads is not held up.
 *
 * @throws {DatabaseUnavailableError} where somebody else writes for too long
 */
export async function withoutWrites<T>(db: Database, work: (frozen: Database) => Promise<T>): Promise<T> {
  // SQLite's transactions begin by taking the only place of a writer.
  if (!isPostgres(db)) return db.transaction().execute(work);
  for (let attempt = 1; ; attempt += 1) {
    let begun = false;
    try {
      return await db
        .transaction()
        .setIsolationLevel('repeatable read')
        .execute(async (trx) => {
          // First of all: what is seen is what stands there when the locks are had.
          await sql`lock table ${sql.join(TABLE_NAMES.map((name) => sql.table(name)))} in share mode`.execute(trx);
          await sql`set local idle_in_transaction_session_timeout = 0`.execute(trx);
          begun = true;
          return work(trx);
        });
    } catch (error) {
      // The tables are locked one after the other: who writes to two of them in another order waits for this, and this for them.
      if (begun || attempt === ATTEMPTS || !(error instanceof SerializationFailureError)) throw error;
      await sleep(Math.random() * PAUSE_MS * attempt);
    }
  }
}
