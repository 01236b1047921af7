import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '../src/database.ts';
import { openDatabase } from '../src/open-database.ts';
import { withTenantLock } from '../src/dialects/postgres-tenant-lock.ts';
import { inTransaction } from '../src/transaction.ts';
import { newTestDatabase } from '../testing/test-database.ts';

/** Two connection pools on one server, like those of two processes. */
let one: Database;
let two: Database;
let remove: () => Promise<void>;

beforeAll(async () => {
  const database = await newTestDatabase('empty');
  ({ remove } = database);
  one = await openDatabase(database.url, '/');
  two = await openDatabase(database.url, '/');
  await sql`create table counters (tenant text primary key, value integer not null)`.execute(one);
  await sql`insert into counters values ('acme', 0), ('other', 0), ('failing', 0)`.execute(one);
});
afterAll(async () => {
  await one.destroy();
  await two.destroy();
  await remove();
});

/** Increments a counter with a read and a write, so that concurrent calls conflict. @returns the number of attempts */
async function count(db: Database, tenant: string, options: { lockTenant?: string }): Promise<number> {
  let tries = 0;
  await inTransaction(
    db,
    async (trx) => {
      tries += 1;
      const { rows } = await sql<{ value: number }>`select value from counters where tenant = ${tenant}`.execute(trx);
      await sql`update counters set value = ${(rows[0]?.value ?? 0) + 1} where tenant = ${tenant}`.execute(trx);
    },
    options,
  );
  return tries;
}

test('transactions that take the lock of a tenant never conflict, also across processes', async () => {
  const counting = Array.from({ length: 60 }, (_, index) =>
    count(index % 2 === 0 ? one : two, 'acme', { lockTenant: 'acme' }),
  );
  const tries = await Promise.all(counting);
  expect(tries.filter((each) => each > 1)).toEqual([]);
  const { rows } = await sql`select value from counters where tenant = 'acme'`.execute(one);
  expect(rows).toEqual([{ value: 60 }]);
});

test('another tenant does not wait for the lock', async () => {
  await withTenantLock(one, 'acme', async () => {
    expect(await count(two, 'other', { lockTenant: 'other' })).toBe(1);
  });
});

test('the lock is released when the work fails', async () => {
  const failing = withTenantLock(one, 'failing', () => Promise.reject(new Error('on purpose')));
  await expect(failing).rejects.toThrow('on purpose');
  expect(await count(two, 'failing', { lockTenant: 'failing' })).toBe(1);
});
