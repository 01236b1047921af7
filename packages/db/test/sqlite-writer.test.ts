import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { Kysely, sql } from 'kysely';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { sqliteDialect } from '../src/dialects/sqlite.ts';
import { DatabaseUnavailableError, DuplicateKeyError } from '../src/errors.ts';
import { runForTenant } from '../src/tenant-context.ts';
import { inTransaction } from '../src/transaction.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';

type Things = { things: { id: string; count: number }; parts: { thing: string } };
// A group is also committed when it is old. With a fake clock it does not age on a slow machine.
beforeEach(() => {
  vi.spyOn(performance, 'now').mockReturnValue(0);
});
afterEach(() => {
  vi.restoreAllMocks();
});

type Opened = { db: Kysely<Things>; others: () => SqliteDatabase.Database };

/** A database with things and parts. A part without a thing makes the commit fail (deferred foreign key). */
async function opened(): Promise<Opened> {
  const folder = await temporaryFolder('quartermaster-writer-');
  const path = join(folder, 'test.db');
  const db = new Kysely<Things>({ dialect: sqliteDialect(path) });
  const connections: SqliteDatabase.Database[] = [];
  onTestFinished(async () => {
    for (const connection of connections) connection.close();
    await db.destroy();
    await rm(folder, { recursive: true });
  });
  await sql`create table things (id text primary key, count integer not null)`.execute(db);
  await sql`create table parts (thing text references things (id) deferrable initially deferred)`.execute(db);
  return {
    db,
    others: () => {
      const connection = new SqliteDatabase(path);
      connections.push(connection);
      return connection;
    },
  };
}

function insert(db: Kysely<Things>, id: string): Promise<unknown> {
  return db.transaction().execute((trx) => trx.insertInto('things').values({ id, count: 0 }).execute());
}

const idsIn = (db: SqliteDatabase.Database) => db.prepare('select id from things order by id').pluck().all();

test('concurrent transactions are committed together, and resolve after the commit', async () => {
  const { db, others } = await opened();
  const other = others();
  const committedCounts: number[] = [];
  const ids = Array.from({ length: 20 }, (_, index) => `together-${index}`);
  await Promise.all(ids.map((id) => insert(db, id).then(() => committedCounts.push(idsIn(other).length))));
  // The first one that resolves finds the writes of all.
  expect(committedCounts).toEqual(ids.map(() => 20));
});

test('no transaction resolves before the commit', async () => {
  const { db, others } = await opened();
  const other = others();
  let committedCounts = false;
  const first = insert(db, 'first').then(() => {
    committedCounts = true;
  });
  let seenWithin = 0;
  const second = db.transaction().execute(async (trx) => {
    // The first transaction is done and in the same group. Nothing is on the disk while this one works.
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    seenWithin = (await trx.selectFrom('things').select('id').execute()).length;
    expect(committedCounts).toBe(false);
    expect(idsIn(other)).toEqual([]);
    await trx.insertInto('things').values({ id: 'second', count: seenWithin }).execute();
  });
  await Promise.all([first, second]);
  expect(seenWithin).toBe(1);
  expect(idsIn(other)).toEqual(['first', 'second']);
});

test('a rollback of one transaction does not affect the others of its group', async () => {
  const { db, others } = await opened();
  const results = await Promise.allSettled([
    insert(db, 'a'),
    insert(db, 'a'),
    db.transaction().execute(async (trx) => {
      await trx.insertInto('things').values({ id: 'b', count: 0 }).execute();
      throw new Error('undo it');
    }),
    insert(db, 'c'),
    db.insertInto('things').values({ id: 'a', count: 1 }).execute(),
    db.insertInto('things').values({ id: 'd', count: 1 }).execute(),
  ]);
  expect(results.map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'rejected',
    'fulfilled',
    'rejected',
    'fulfilled',
  ]);
  expect(results[1]).toMatchObject({ reason: expect.any(DuplicateKeyError) });
  expect(results[2]).toMatchObject({ reason: { message: 'undo it' } });
  expect(idsIn(others())).toEqual(['a', 'c', 'd']);
});

test('a rollback of the first transaction does not affect the others of its group', async () => {
  const { db, others } = await opened();
  const undone = db.transaction().execute(async (trx) => {
    await trx.insertInto('things').values({ id: 'a', count: 0 }).execute();
    throw new Error('undo it');
  });
  const results = await Promise.allSettled([undone, insert(db, 'a'), insert(db, 'b')]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
  expect(idsIn(others())).toEqual(['a', 'b']);
});

test('if the commit fails, all transactions of the group fail, even one that failed because of another’s write; the next works', async () => {
  const { db, others } = await opened();
  const breaking = db.transaction().execute((trx) => trx.insertInto('parts').values({ thing: 'none' }).execute());
  const results = await Promise.allSettled([insert(db, 'a'), breaking, insert(db, 'a'), insert(db, 'b')]);
  for (const result of results) {
    expect(result).toMatchObject({ status: 'rejected', reason: expect.any(DatabaseUnavailableError) });
  }
  expect(idsIn(others())).toEqual([]);
  await insert(db, 'c');
  expect(idsIn(others())).toEqual(['c']);
});

test('if SQLite rolls back everything, finished transactions of the group fail, and so do further statements of the open one', async () => {
  const { db, others } = await opened();
  await sql`create trigger full before insert on things when new.id = 'full'
    begin select raise(rollback, 'disk full'); end`.execute(db);
  const surviving = () =>
    db.transaction().execute(async (trx) => {
      await trx
        .insertInto('things')
        .values({ id: 'full', count: 0 })
        .execute()
        .catch(() => {});
      // SQLite is in no transaction now. This statement must not run as a separate transaction.
      await trx.insertInto('things').values({ id: 'stray', count: 0 }).execute();
    });
  const results = await Promise.allSettled([insert(db, 'a'), surviving(), insert(db, 'b')]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
  for (const result of results.slice(0, 2)) {
    expect(result).toMatchObject({ reason: expect.any(DatabaseUnavailableError) });
  }
  expect(idsIn(others())).toEqual(['b']);
});

test('a group is committed at 64 transactions, or after 10 ms, even if more are waiting', async () => {
  const { db, others } = await opened();
  const other = others();
  const committedCounts: number[] = [];
  const together = (prefix: string, count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, index) =>
        insert(db, `${prefix}-${index}`).then(() => committedCounts.push(idsIn(other).length)),
      ),
    );
  await together('many', 150);
  expect(committedCounts).toEqual([...Array(64).fill(64), ...Array(64).fill(128), ...Array(22).fill(150)]);
  committedCounts.length = 0;
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  const slowly = async (id: string) => {
    await db.transaction().execute(async (trx) => {
      now += 6;
      await trx.insertInto('things').values({ id, count: 0 }).execute();
    });
    committedCounts.push(idsIn(other).length);
  };
  await Promise.all(Array.from({ length: 6 }, (_, index) => slowly(`old-${index}`)));
  expect(committedCounts).toEqual([152, 152, 154, 154, 156, 156]);
});

test('a transaction yields between two statements when its turn is over, and others wait for it', async () => {
  const { db } = await opened();
  const yields: boolean[] = [];
  const turn = {
    deadline: Number.POSITIVE_INFINITY,
    isOver: () => yields.length < 3,
    next: async (isUrgent: boolean) => void yields.push(isUrgent),
    hold: () => {},
  };
  const write = () => inTransaction(db as never, async (trx) => void (await sql`select 1`.execute(trx)));
  await runForTenant('acme', write, turn);
  expect(yields).toContain(true);
});

test('a write is refused after the deadline of its request, if it has waited for a second', async () => {
  const { db } = await opened();
  const { promise, resolve } = Promise.withResolvers<void>();
  const first = db.transaction().execute(() => promise);
  const turn = { deadline: 0, isOver: () => false, next: async () => {}, hold: () => {} };
  await expect(runForTenant('acme', () => insert(db, 'late'), turn)).rejects.toThrow(DatabaseUnavailableError);
  resolve();
  await first;
});

test('regression: a tenant with many waiting writes delays another tenant’s write by one write', async () => {
  const { db } = await opened();
  const order: string[] = [];
  const write = (tenant: string, id: string) => runForTenant(tenant, () => insert(db, id)).then(() => order.push(id));
  // The first one runs at once; all others wait.
  const writes = Array.from({ length: 50 }, (_, index) => write('acme', `acme-${index}`));
  writes.push(write('beta', 'beta-0'), write('gamma', 'gamma-0'), write('beta', 'beta-1'));
  await Promise.all(writes);
  expect(order).toHaveLength(53);
  expect(order.slice(0, 7)).toEqual(['acme-0', 'acme-1', 'beta-0', 'gamma-0', 'acme-2', 'beta-1', 'acme-3']);
});

test('a tenant with too many waiting writes is refused, and other tenants are not', async () => {
  const { db } = await opened();
  const write = (tenant: string, id: string) => runForTenant(tenant, () => insert(db, id));
  const flood = Promise.allSettled(Array.from({ length: 1100 }, (_, index) => write('acme', `acme-${index}`)));
  await write('beta', 'beta-0');
  const outcomes = await flood;
  const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
  expect(refused.length).toBeGreaterThanOrEqual(90);
  expect(refused.every((reason) => reason instanceof DatabaseUnavailableError)).toBe(true);
});
