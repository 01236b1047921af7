import { hash } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from '../database.ts';

/** The advisory lock key of a name. */
export function lockOf(name: string): bigint {
  return hash('sha256', name, 'buffer').readBigInt64BE();
}

/**
 * Takes an advisory lock for the session of a connection. It is held until {@link releaseLock}, or until the connection ends.
 *
 * @param waitMs how long to wait for the lock
 * @throws {DatabaseUnavailableError} if the lock is not free in time
 */
export async function takeLock(connection: Database, lock: bigint, waitMs: number): Promise<void> {
  const { rows } = await sql<{ taken: boolean }>`select pg_try_advisory_lock(${lock}) as taken`.execute(connection);
  if (rows[0]?.taken === true) return;
  await connection.transaction().execute(async (trx) => {
    await sql`set local lock_timeout = ${sql.lit(waitMs)}`.execute(trx);
    // The lock belongs to the session and outlives this transaction.
    await sql`select pg_advisory_lock(${lock})`.execute(trx);
  });
}

/** Never fails. If the unlock fails, it ends the session, because the connection must not return to the pool with the lock. */
export async function releaseLock(connection: Database, lock: bigint): Promise<void> {
  try {
    await sql`select pg_advisory_unlock(${lock})`.execute(connection);
  } catch {
    await sql`select pg_terminate_backend(pg_backend_pid())`.execute(connection).catch(() => {});
  }
}
