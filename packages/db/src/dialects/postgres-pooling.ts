import { type Kysely, sql } from 'kysely';
import { DatabaseUnfitError } from '../errors.ts';

/** How often both connections are checked. A busy pooler may hand out the same server connection by chance. */
const ROUNDS = 20;

/**
 * Refuses a connection pooler that hands out a server connection for one transaction only (PgBouncer: `pool_mode =
 * transaction`). Time limits, advisory locks and prepared statements belong to a session. With such a pooler they would end
 * up on other clients' connections, and requests would fail now and then.
 *
 * Detection: two connections are open at the same time. With a session each, their backends differ and never change.
 *
 * @throws {DatabaseUnfitError} behind such a pooler
 */
export async function refuseTransactionPooling<Tables>(db: Kysely<Tables>): Promise<void> {
  await db.connection().execute(async (first) => {
    const backend = await backendOf(first);
    for (let round = 0; round < ROUNDS; round += 1) {
      await db.transaction().execute(async (second) => {
        // The transaction holds a backend. A pooler most often hands out the one that `first` has just released.
        if ((await backendOf(second)) === backend || (await backendOf(first)) !== backend) throw poolsTransactions();
      });
    }
  });
}

async function backendOf<Tables>(db: Kysely<Tables>): Promise<number> {
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db);
  return rows[0]?.pid ?? 0;
}

function poolsTransactions(): DatabaseUnfitError {
  const what = 'is behind a connection pooler in transaction mode, which breaks sessions';
  return new DatabaseUnfitError(`${what}: set its pool_mode to session, or name PostgreSQL itself`);
}
