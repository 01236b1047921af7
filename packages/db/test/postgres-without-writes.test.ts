import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { withoutWrites } from '../src/without-writes.ts';
import { temporaryDatabase } from './temporary-database.ts';

/** How many sessions of this database wait for a lock of a table. */
async function waiting(db: Awaited<ReturnType<typeof temporaryDatabase>>): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from pg_locks
    where not granted and locktype = 'relation'
      and database = (select oid from pg_database where datname = current_database())`.execute(db);
  return Number(rows[0]?.count);
}

test('regression: a deadlock with who writes to two tables in another order is no end: the locks are asked for again', async () => {
  const db = await temporaryDatabase();
  const held = Promise.withResolvers<void>();
  // Writes to a table that is locked late, then, while the locks are waited for, to one that is locked early.
  const writing = db.transaction().execute(async (trx) => {
    // Of the two that wait for each other the one that notices first is undone: never this one.
    await sql`set local deadlock_timeout = '60s'`.execute(trx);
    await sql`set local lock_timeout = 0`.execute(trx);
    await sql`delete from audit_unsealed`.execute(trx);
    held.resolve();
    await expect.poll(() => waiting(db), { interval: 10, timeout: 10_000 }).toBe(1);
    await sql`update tenants set display_name = 'written'`.execute(trx);
  });
  await held.promise;
  const read = await withoutWrites(db, async (frozen) => {
    return (await sql<{ one: number }>`select 1 as one`.execute(frozen)).rows;
  });
  await writing;
  expect(read).toEqual([{ one: 1 }]);
});

test('what fails once the locks are had is not done again', async () => {
  const db = await temporaryDatabase();
  let times = 0;
  const failing = withoutWrites(db, async (frozen) => {
    times += 1;
    await sql`do $$ begin raise exception 'undone' using errcode = '40001'; end $$`.execute(frozen);
  });
  await expect(failing).rejects.toMatchObject({ name: 'SerializationFailureError' });
  expect(times).toBe(1);
});
