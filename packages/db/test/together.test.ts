import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { preparedStatement, together } from '../src/prepared-statement.ts';
import type { Database } from '../src/database.ts';
import { DuplicateKeyError } from '../src/errors.ts';
import { runForTenant } from '../src/tenant-context.ts';
import { inTransaction } from '../src/transaction.ts';
import { onPostgres } from '../testing/test-database.ts';
import { NOW, temporaryDatabase } from './temporary-database.ts';

const TIMES = { created_at: NOW.toISOString(), updated_at: NOW.toISOString() };

const insertTenant = preparedStatement((db, { id }: { id: string }) =>
  db.insertInto('tenants').values({ id, capture_content: 0, ...TIMES }),
);
const listTenants = preparedStatement((db, { limit }: { limit: number }) =>
  db.selectFrom('tenants').select('id').orderBy('id').limit(limit),
);

async function tenantsOf(db: Database): Promise<string[]> {
  return (await listTenants(db, { limit: 1000 })).map(({ id }) => id);
}

test('statements of a transaction that are started together run in the order in which they were started', async () => {
  const db = await temporaryDatabase();
  const found = await inTransaction(db, (trx) =>
    Promise.all([
      tenantsOf(trx),
      insertTenant(trx, { id: 'a' }),
      tenantsOf(trx),
      insertTenant(trx, { id: 'b' }),
      tenantsOf(trx),
    ]),
  );
  expect(found).toEqual([[], [], ['a'], [], ['a', 'b']]);
});

test('if one of them fails, the transaction fails with its error, and none of them has an effect', async () => {
  const db = await temporaryDatabase();
  await insertTenant(db, { id: 'taken' });
  const failing = inTransaction(db, (trx) =>
    Promise.all([
      insertTenant(trx, { id: 'before' }),
      // The error of the next statement is known sooner.
      later(insertTenant(trx, { id: 'taken' })),
      insertTenant(trx, { id: 'after' }),
      tenantsOf(trx),
    ]),
  );
  await expect(failing).rejects.toThrow(DuplicateKeyError);
  expect(await tenantsOf(db)).toEqual(['taken']);
  await inTransaction(db, (trx) => insertTenant(trx, { id: 'next' }));
  expect(await tenantsOf(db)).toEqual(['next', 'taken']);
});

test('a part that goes on after another one failed ends before the transaction is rolled back', async () => {
  const db = await temporaryDatabase();
  let isOver = false;
  const failing = inTransaction(db, (trx) =>
    together(trx, [
      () => Promise.reject(new Error('the first part failed')),
      async () => {
        await sleep(20);
        await insertTenant(trx, { id: 'late' });
        await sleep(20);
        await insertTenant(trx, { id: 'later' });
        isOver = true;
      },
      () => Promise.reject(new Error('the last part failed')),
    ]),
  );
  await expect(failing).rejects.toThrow('the first part failed');
  // On SQLite it does not begin.
  expect(isOver).toBe(onPostgres());
  expect(await tenantsOf(db)).toEqual([]);
});

test('what is started after the work of a transaction is over is refused', async () => {
  const db = await temporaryDatabase();
  const late: Promise<unknown>[] = [];
  const failing = inTransaction(db, async (trx) => {
    await insertTenant(trx, { id: 'before' });
    const goingOn = async () => {
      for (let count = 0; count < 40; count += 1) {
        late.push(insertTenant(trx, { id: `late-${count}` }).catch((error: unknown) => error));
        await Promise.resolve();
        if (count % 4 === 0) await sleep(1);
      }
    };
    void goingOn();
    throw new Error('the work failed');
  });
  await expect(failing).rejects.toThrow('the work failed');
  await vi.waitFor(() => expect(late).toHaveLength(40), { timeout: 60_000 });
  // The first ones were started before the work was over.
  const outcomes = await Promise.all(late);
  expect(outcomes.slice(5).filter((outcome) => !isRefusal(outcome))).toEqual([]);
  expect(await tenantsOf(db)).toEqual([]);
});

test('a statement that still waits for its turn of the event loop when its transaction ends has no effect', async () => {
  const db = await temporaryDatabase();
  let late: Promise<unknown> = Promise.resolve();
  let isOver = false;
  const turn = { deadline: Number.POSITIVE_INFINITY, isOver: () => isOver, next: () => sleep(1), hold: () => {} };
  const work = async (trx: Database) => {
    await insertTenant(trx, { id: 'before' });
    isOver = true;
    late = insertTenant(trx, { id: 'late' });
    await Promise.all([late, Promise.reject(new Error('the work failed'))]);
  };
  await expect(runForTenant('acme', () => inTransaction(db, work), turn)).rejects.toThrow('the work failed');
  await expect(late).rejects.toThrow('the transaction has ended');
  expect(await tenantsOf(db)).toEqual([]);
});

/** Whether a statement was refused, by the driver while the transaction ends or by Kysely after that. */
function isRefusal(outcome: unknown): boolean {
  if (!(outcome instanceof Error)) return false;
  return ['the transaction has ended', 'Transaction is already rolled back'].includes(outcome.message);
}

/** The same result, some microtasks later. */
async function later<T>(result: Promise<T>): Promise<T> {
  const outcome = await result.then(
    (value) => () => value,
    (error: unknown) => () => {
      throw error;
    },
  );
  for (let count = 0; count < 20; count += 1) await Promise.resolve();
  return outcome();
}
