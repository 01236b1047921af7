import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { withWritesBlocked } from '../src/writes-blocked.ts';
import { temporaryDatabase } from './temporary-database.ts';

/** The number of sessions of this database that wait for a table lock. */
async function waiting(db: Awaited<ReturnType<typeof temporaryDatabase>>): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from pg_locks
    where not granted and locktype = 'relation'
      and database = (select oid from pg_database where datname = current_database())`.execute(db);
  return Number(rows[0]?.count);
}

test('regression: after a deadlock with a transaction that writes to two tables in another order, the locks are taken again', async () => {
  const db = await temporaryDatabase();
  const held = Promise.withResolvers<void>();
  // Writes to a table that is locked late, and then, during the wait for the locks, to one that is locked early.
  const writing = db.transaction().execute(async (trx) => {
    // Postgres rolls back the session that detects the deadlock first. With this setting, it is never this one.
    await sql`set local deadlock_timeout = '60s'`.execute(trx);
    await sql`set local lock_timeout = 0`.execute(trx);
    await sql`delete from audit_unsealed`.execute(trx);
    held.resolve();
    await expect.poll(() => waiting(db), { interval: 10 }).toBe(1);
    await sql`update tenants set display_name = 'written'`.execute(trx);
  });
  await held.promise;
  const read = await db.connection().execute(async (connection) => {
    // Postgres looks for a deadlock once. On a busy machine the other session may not wait yet after the usual second.
    await sql`set deadlock_timeout = '3s'`.execute(connection);
    return withWritesBlocked(connection, async (frozen) => {
      return (await sql<{ one: number }>`select 1 as one`.execute(frozen)).rows;
    });
  });
  await writing;
  expect(read).toEqual([{ one: 1 }]);
});

test('work that fails after the locks are held is not repeated', async () => {
  const db = await temporaryDatabase();
  let times = 0;
  const failing = withWritesBlocked(db, async (frozen) => {
    times += 1;
    await sql`do $$ begin raise exception 'undone' using errcode = '40001'; end $$`.execute(frozen);
  });
  await expect(failing).rejects.toMatchObject({ name: 'SerializationFailureError' });
  expect(times).toBe(1);
});
