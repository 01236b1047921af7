import { sql } from 'kysely';
import type { Database } from './database.ts';
import { isPostgres } from './dialects/postgres.ts';

/**
 * Runs work unless another process is running work of the same name on this database, such as a background job. It uses a
 * Postgres advisory lock, which ends with its connection if the process dies. A SQLite database is served by one
 * process, so the work always runs there.
 *
 * @param work gets the connection that holds the lock. Work that uses this connection takes no second one from the pool.
 * @returns undefined if another process is running it
 */
export async function runInOneProcess<T>(
  db: Database,
  name: string,
  work: (connection: Database) => Promise<T>,
): Promise<T | undefined> {
  if (!isPostgres(db)) return work(db);
  return db.connection().execute(async (connection) => {
    const key = sql`hashtextextended(${name}, 0)`;
    const { rows } = await sql<{ taken: boolean }>`select pg_try_advisory_lock(${key}) as taken`.execute(connection);
    if (rows[0]?.taken !== true) return undefined;
    try {
      return await work(connection);
    } finally {
      await sql`select pg_advisory_unlock(${key})`.execute(connection);
    }
  });
}
