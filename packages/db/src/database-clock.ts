import { sql } from 'kysely';
import type { Database } from './database.ts';
import { isPostgres } from './dialects/postgres.ts';

/**
 * The current time by the clock that all processes of a database share. Leases are compared with it. On Postgres that is the
 * server's clock. A SQLite database is served by one process, so its own clock is used.
 *
 * @param processNow the time by the clock of this process
 */
export async function databaseNow(db: Database, processNow: Date): Promise<Date> {
  return isPostgres(db) ? serverTime(db) : processNow;
}

/**
 * How far the clock of this process is ahead of the database's, in milliseconds. Null if both use the same clock.
 *
 * @param processNow reads the clock of this process
 */
export async function clockOffset(db: Database, processNow: () => Date): Promise<number | null> {
  if (!isPostgres(db)) return null;
  const before = processNow().getTime();
  const there = await serverTime(db);
  // The server read its clock between our two readings, so their middle is the best estimate of that time.
  return (before + processNow().getTime()) / 2 - there.getTime();
}

async function serverTime(db: Database): Promise<Date> {
  const { rows } = await sql<{ ms: number }>`
    select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as ms`.execute(db);
  return new Date(rows[0]?.ms ?? Number.NaN);
}
