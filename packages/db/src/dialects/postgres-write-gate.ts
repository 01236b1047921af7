import type { Database } from '../database.ts';
import { isTenantKey, runAsGateHolder, tenantKey } from '../tenant-context.ts';
import { releaseLock, lockOf, takeLock } from './postgres-session-lock.ts';

/**
 * Write gates are readers-writer locks, made of advisory locks. Each serializable transaction holds one gate shared: the gate of
 * its tenant, or the common gate for work that may touch several tenants, such as that of platform administrators and of the
 * service itself. A transaction of one tenant that failed too often takes both gates exclusively. Then no other transaction
 * can change the records of its tenant, while other tenants go on. The locks end with their connection.
 */

/** The gate of work that does not belong to one tenant. */
const COMMON = 'several tenants';

/** How long the exclusive holder waits for running transactions, in milliseconds. */
const EXCLUSIVE_WAIT_MS = 15_000;

function lockOfGate(gate: string): bigint {
  return lockOf(`write gate of ${gate}`);
}

/**
 * An SQL expression that takes a gate shared until the transaction ends. It never waits, because the statement takes the
 * transaction's snapshot, which would be old after a wait. It is false as soon as another session waits for the exclusive lock.
 */
export function enterGateSql(caller: string | null): string {
  const gate = caller !== null && isTenantKey(caller) ? caller : COMMON;
  return `pg_try_advisory_xact_lock_shared(${lockOfGate(gate)})`;
}

/**
 * Runs work while no other serializable transaction can change the tenant's records.
 *
 * @param work gets the connection that holds the locks
 * @throws {DatabaseUnavailableError} if the running transactions do not end in time
 */
export function withGateClosed<T>(
  db: Database,
  tenantId: string,
  work: (connection: Database) => Promise<T>,
): Promise<T> {
  // The common gate comes last: it is held for the shortest time, and the fixed order prevents deadlocks.
  const locks = [tenantKey(tenantId), COMMON].map(lockOfGate);
  return db.connection().execute(async (connection) => {
    const held: bigint[] = [];
    try {
      for (const lock of locks) {
        await takeLock(connection, lock, EXCLUSIVE_WAIT_MS);
        held.push(lock);
      }
      return await runAsGateHolder(() => work(connection));
    } finally {
      for (const lock of held.toReversed()) await releaseLock(connection, lock);
    }
  });
}
