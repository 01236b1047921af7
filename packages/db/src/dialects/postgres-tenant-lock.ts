import type { Database } from '../database.ts';
import { tenantKey } from '../tenant-context.ts';
import { releaseLock, lockOf, takeLock } from './postgres-session-lock.ts';

/** How long a write waits for its tenant's lock before it is refused, in milliseconds. */
const LOCK_WAIT_MS = 10_000;

/**
 * Runs work while no other process runs such work for the same tenant. It uses a session-level advisory lock, which the server
 * releases when the connection ends. The lock is taken before a transaction begins. A transaction that waited for the lock would
 * have an old snapshot, and its commit would fail.
 *
 * @param work gets the connection that holds the lock
 * @throws {DatabaseUnavailableError} if the lock is not free in time
 */
export function withTenantLock<T>(
  db: Database,
  tenantId: string,
  work: (connection: Database) => Promise<T>,
): Promise<T> {
  const lock = lockOf(`turn of ${tenantKey(tenantId)}`);
  return db.connection().execute(async (connection) => {
    await takeLock(connection, lock, LOCK_WAIT_MS);
    try {
      return await work(connection);
    } finally {
      await releaseLock(connection, lock);
    }
  });
}
