import { sql } from 'kysely';
import type { Database } from './database.ts';
import { isPostgres } from './dialects/postgres.ts';

/**
 * The time by the clock that all processes of a database share, for leases: the server's own on Postgres. On SQLite one
 * process serves the database, and its clock is the one.
 *
 * @param processNow the time by the clock of this process
 */
export async function databaseNow(db: Database, processNow: Date): Promise<Date> {
  return isPostgres(db) ? serverTime(db) : processNow;
}

/**
 * How far the clock of this process is ahead of the database's, in milliseconds; null where they are one.
 *
 * @param processNow reads the clock of this process
 */
export async function clockOffset(db: Database, processNow: () => Date): Promise<number | null> {
  if (!isPostgres(db)) return null;
  const before = processNow().getTime();
  const there = await serverTime(db);
  // The server read its clock at some time in between.
  return (before + processNow().getTime()) / 2 - there.getTime();
}

async function serverTime(db: Database): Promise<Date> {
  const { rows } = await sql<{ ms: number }>`
    select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as ms`.execute(db);
  return new Date(rows[0]?.ms ?? Number.NaN);
}
