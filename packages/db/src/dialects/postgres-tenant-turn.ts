import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { tenantKey } from '../tenant-context.ts';

/** How long a write waits for its tenant's turn before it is refused, in milliseconds. */
const TURN_WAIT_MS = 10_000;

function lockOf(tenantId: string): bigint {
  return createHash('sha256')
    .update(`turn of ${tenantKey(tenantId)}`)
    .digest()
    .readBigInt64BE();
}

/**
 * Runs work while no other process runs such work for the same tenant. The turn is an advisory lock of the session, taken
 * before a transaction begins: waiting inside one would leave it with an old snapshot, and its commit would fail. The lock
 * ends with its connection.
 *
 * @param work gets the connection that holds the lock
 * @throws {DatabaseUnavailableError} if the turn does not come in time
 */
export function withTenantTurn<T>(
  db: Database,
  tenantId: string,
  work: (connection: Database) => Promise<T>,
): Promise<T> {
  const lock = lockOf(tenantId);
  return db.connection().execute(async (connection) => {
    await takeTurn(connection, lock);
    try {
      return await work(connection);
    } finally {
      await endTurn(connection, lock);
    }
  });
}

async function takeTurn(connection: Database, lock: bigint): Promise<void> {
  const { rows } = await sql<{ taken: boolean }>`select pg_try_advisory_lock(${lock}) as taken`.execute(connection);
  if (rows[0]?.taken === true) return;
  await connection.transaction().execute(async (trx) => {
    await sql`set local lock_timeout = ${sql.lit(TURN_WAIT_MS)}`.execute(trx);
    // The lock belongs to the session and outlives this transaction.
    await sql`select pg_advisory_lock(${lock})`.execute(trx);
  });
}

/** Never fails. If the server cannot be told, the connection must not go back into the pool with the lock. */
async function endTurn(connection: Database, lock: bigint): Promise<void> {
  try {
    await sql`select pg_advisory_unlock(${lock})`.execute(connection);
  } catch {
    await sql`select pg_terminate_backend(pg_backend_pid())`.execute(connection).catch(() => {});
  }
}
