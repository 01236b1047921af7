import { sql } from 'kysely';
import type { Database } from './database.ts';
import { isPostgres } from './dialects/postgres.ts';

/**
 * Runs work unless another process is running work of this name on the same database: so that of several one keeps house,
 * whichever comes first. Who holds the lock and dies lets go of it with its connection. On SQLite writes come one after
 * the other anyway.
 *
 * @returns undefined where another process is at it
 */
export async function exclusively<T>(db: Database, name: string, work: () => Promise<T>): Promise<T | undefined> {
  if (!isPostgres(db)) return work();
  return db.connection().execute(async (connection) => {
    const key = sql`hashtextextended(${name}, 0)`;
    const { rows } = await sql<{ taken: boolean }>`select pg_try_advisory_lock(${key}) as taken`.execute(connection);
    if (rows[0]?.taken !== true) return undefined;
    try {
      return await work();
    } finally {
      await sql`select pg_advisory_unlock(${key})`.execute(connection);
    }
  });
}
