import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { isTenantKey, runHoldingGate, tenantKey } from '../tenant-context.ts';

/**
 * Write gates are advisory locks. Each serializable transaction holds one of them shared: the gate of its tenant, or the
 * common one of all work that may touch several tenants, such as that of platform administrators and of the service
 * itself. A transaction of one tenant that failed too often takes both exclusively: then nothing is under way that could
 * change the records of its tenant, and other tenants go on. The locks end with their connection.
 */

/** The gate of work that is not of one tenant. */
const COMMON = 'several tenants';

/** How long the exclusive holder waits for the transactions that are under way, in milliseconds. */
const EXCLUSIVE_WAIT_MS = 15_000;

function lockOf(gate: string): bigint {
  return createHash('sha256').update(`write gate of ${gate}`).digest().readBigInt64BE();
}

/**
 * The expression that takes a gate shared, until the transaction ends. It never waits: a snapshot is taken with it, and
 * would be old after a wait. It answers false as soon as somebody waits for the exclusive lock.
 */
export function enterGate(caller: string | null): string {
  const gate = caller !== null && isTenantKey(caller) ? caller : COMMON;
  return `pg_try_advisory_xact_lock_shared(${lockOf(gate)})`;
}

/**
 * Runs work while no serializable transaction is under way that could change the tenant's records.
 *
 * @param work gets the connection that holds the locks
 * @throws {DatabaseUnavailableError} where the transactions under way did not end in time
 */
export function withGateClosed<T>(
  db: Database,
  tenantId: string,
  work: (connection: Database) => Promise<T>,
): Promise<T> {
  // The common gate last: it is held for the shortest time, and two tenants that take it wait for each other in one order.
  const locks = [tenantKey(tenantId), COMMON].map(lockOf);
  return db.connection().execute(async (connection) => {
    const held: bigint[] = [];
    try {
      for (const lock of locks) {
        await takeExclusive(connection, lock);
        held.push(lock);
      }
      return await runHoldingGate(() => work(connection));
    } finally {
      for (const lock of held.toReversed()) await giveBack(connection, lock);
    }
  });
}

async function takeExclusive(connection: Database, lock: bigint): Promise<void> {
  await connection.transaction().execute(async (trx) => {
    await sql`set local lock_timeout = ${sql.lit(EXCLUSIVE_WAIT_MS)}`.execute(trx);
    // The lock of the session stays when this transaction ends.
    await sql`select pg_advisory_lock(${lock})`.execute(trx);
  });
}

/** Never fails: where the server cannot be told, the connection must not go back into the pool with the lock. */
async function giveBack(connection: Database, lock: bigint): Promise<void> {
  try {
    await sql`select pg_advisory_unlock(${lock})`.execute(connection);
  } catch {
    await sql`select pg_terminate_backend(pg_backend_pid())`.execute(connection).catch(() => {});
  }
}
