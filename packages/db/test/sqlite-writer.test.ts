import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import SqliteDatabase from 'better-sqlite3';
import { Kysely, sql } from 'kysely';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { sqliteDialect } from '../src/dialects/sqlite.ts';
import { isNearPause, noteRequest } from '../src/delay-budget.ts';
import { DatabaseUnavailableError, DuplicateKeyError } from '../src/errors.ts';
import { beginRequest, givesWay } from '../src/giving-way.ts';
import { endTurn, noteLoopTime } from '../src/loop-time.ts';
import { runForTenant } from '../src/tenant-context.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { countTurns } from './count-turns.ts';

let clock = 0;

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

/** A tenant `heavy` that has worked for half a second, and a request of a tenant `light`. */
function heavyBesideLight(db: Kysely<Things>) {
  // Later than everything in earlier tests.
  let now = (clock += 1_000_000);
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  noteLoopTime('heavy');
  now += 500;
  endTurn();
  const order: string[] = [];
  const write = async (tenant: string, id: string) => {
    await runForTenant(tenant, () => insert(db, id));
    order.push(id);
  };
  const pass = (milliseconds: number) => {
    now += milliseconds;
    givesWay('heavy');
  };
  const end = beginRequest('light');
  onTestFinished(() => end());
  return { order, write, pass, end };
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

test('writes of one tenant are committed together for 30 ms, as long as no other tenant waits', async () => {
  const { db, others } = await opened();
  const other = others();
  const committedCounts: number[] = [];
  // Later than everything in earlier tests, in which this tenant may have worked for long.
  let now = (clock += 1_000_000);
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  const write = async (tenant: string, id: string) => {
    await runForTenant(tenant, () =>
      db.transaction().execute(async (trx) => {
        now += 6;
        await trx.insertInto('things').values({ id, count: 0 }).execute();
      }),
    );
    committedCounts.push(idsIn(other).length);
  };
  await Promise.all(Array.from({ length: 14 }, (_, index) => write('acme', `acme-${index}`)));
  expect(committedCounts).toEqual([...Array(6).fill(6), ...Array(6).fill(12), 14, 14]);
  committedCounts.length = 0;
  const ids = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth'];
  await Promise.all(ids.map((id) => write(id === 'third' ? 'beta' : 'acme', id)));
  expect(committedCounts).toEqual([16, 16, 18, 18, 20, 20]);
});

test('a long transaction yields between its statements, so that other work goes on', async () => {
  const { db } = await opened();
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  const { turns, stop } = countTurns();
  await db.transaction().execute(async (trx) => {
    const before = turns();
    for (let index = 0; index < 30; index += 1) {
      await trx
        .insertInto('things')
        .values({ id: `${index}`, count: 0 })
        .execute();
      now += 4;
    }
    // 120 ms of statements, at most 12 in a turn.
    expect(turns() - before).toBeGreaterThanOrEqual(9);
  });
  stop();
});

test('a transaction for which another tenant waits counts as a delay, and one for which no other tenant waits does not', async () => {
  const { db } = await opened();
  let now = 0;
  let cpuTime = 0;
  let isStopped = false;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  vi.spyOn(process, 'threadCpuUsage').mockImplementation(() => ({ user: cpuTime * 1000, system: 0 }));
  const write = (tenant: string, id: string, milliseconds: number) =>
    runForTenant(tenant, () =>
      db.transaction().execute(async (trx) => {
        await trx.insertInto('things').values({ id, count: 0 }).execute();
        for (let spent = 0; spent < milliseconds; spent += 8) {
          now += 8;
          if (!isStopped) cpuTime += 8;
          await trx.selectFrom('things').select('id').executeTakeFirst();
        }
      }),
    );
  for (const tenant of ['slow', 'beta', 'slow']) noteRequest(tenant);
  await write('slow', 'alone', 80);
  expect(isNearPause('slow')).toBe(false);
  await Promise.all([write('slow', 'first', 80), write('slow', 'second', 0)]);
  expect(isNearPause('slow')).toBe(false);
  // Meanwhile the system runs other programs.
  isStopped = true;
  await Promise.all([write('slow', 'third', 800), write('beta', 'waiting', 0)]);
  expect(isNearPause('slow')).toBe(false);
  isStopped = false;
  await Promise.all([write('slow', 'fourth', 80), write('beta', 'waiting too', 0)]);
  expect(isNearPause('slow')).toBe(true);
  expect(isNearPause('beta')).toBe(false);
});

test('transactions of a heavy tenant wait for those of a light request, and keep their order', async () => {
  const { db } = await opened();
  const { order, write, pass } = heavyBesideLight(db);
  // The connection is free, and none of the heavy tenant takes it.
  const heavy = ['heavy-1', 'heavy-2', 'heavy-3'].map((id) => write('heavy', id));
  await sleep(5);
  await write('light', 'light');
  expect(order).toEqual(['light']);
  // It has waited for long enough.
  for (let count = 0; count < 400; count += 1) pass(1);
  await Promise.all([...heavy, write('heavy', 'heavy-4')]);
  expect(order).toEqual(['light', 'heavy-1', 'heavy-2', 'heavy-3', 'heavy-4']);
});

test('a transaction gives way for two seconds at most, so that it is not refused after five', async () => {
  const { db } = await opened();
  const { order, write, pass } = heavyBesideLight(db);
  const heavy = write('heavy', 'heavy');
  await sleep(5);
  pass(1400);
  // The tenants go on as before, so it still has a reason to wait.
  for (const tenant of ['heavy', 'light']) {
    noteLoopTime(tenant);
    pass(tenant === 'heavy' ? 500 : 80);
    endTurn();
  }
  expect(givesWay('heavy')).toBe(true);
  await sleep(5);
  expect(order).toEqual([]);
  pass(50);
  expect(givesWay('heavy')).toBe(true);
  await heavy;
});

test('a transaction of a light tenant is committed before one of a heavy tenant begins', async () => {
  const { db, others } = await opened();
  const other = others();
  const { end } = heavyBesideLight(db);
  end();
  const light = runForTenant('light', () => insert(db, 'light'));
  const seen = await runForTenant('heavy', () => db.transaction().execute(async () => idsIn(other)));
  expect(seen).toEqual(['light']);
  await light;
});

test('after a database is closed, transactions that gave way do not use it: they wait until they are refused', async () => {
  const { db } = await opened();
  const { write, end } = heavyBesideLight(db);
  let isAnswered = false;
  const answer = () => {
    isAnswered = true;
  };
  void write('heavy', 'refused').then(answer, answer);
  await sleep(5);
  await db.destroy();
  end();
  await sleep(10);
  expect(isAnswered).toBe(false);
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
