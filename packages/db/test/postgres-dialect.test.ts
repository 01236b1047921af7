import { type Dialect, Kysely, sql } from 'kysely';
import { Pool } from 'pg';
import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { type PostgresOptions, postgresDialect } from '../src/dialects/postgres.ts';
import { PostgresDriver } from '../src/dialects/postgres-driver.ts';
import {
  CommitOutcomeUnknownError,
  DatabaseUnavailableError,
  DuplicateKeyError,
  SerializationFailureError,
} from '../src/errors.ts';
import { inTransaction } from '../src/transaction.ts';
import { administer } from '../testing/postgres-server.ts';
import { newTestDatabase } from '../testing/test-database.ts';

// Behaviour of both dialects is tested by the suites of the repositories and of the API.

type Things = { things: { id: string; count: number } };
type Opened = { db: Kysely<Things>; url: string };

/** A database with one table `things`, for one test. */
async function opened({ poolSize = 5, dialect = postgresDialect } = {}): Promise<Opened> {
  const { url, remove } = await newTestDatabase('empty');
  const db = new Kysely<Things>({ dialect: dialect({ url, poolSize }) });
  onTestFinished(async () => {
    await db.destroy();
    await remove();
  });
  await db.schema
    .createTable('things')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('count', 'integer', (column) => column.notNull())
    .execute();
  return { db, url };
}

/** Runs a transaction on the table `things`. */
function transaction<T>({ db }: Opened, work: (trx: Kysely<Things>) => Promise<T>): Promise<T> {
  return inTransaction(db as never, work as never);
}

/** Ends the other sessions that match a condition on pg_stat_activity. Returns how many. */
async function terminate({ url }: Opened, condition: string): Promise<number> {
  const rows = await administer(
    url,
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and (${condition})`,
  );
  return rows.length;
}

test('text is compared bytewise, even if the database has another collation', async () => {
  const { db } = await opened();
  const sorted = await sql<{ word: string }>`
    select word from (values ('a'), ('B'), ('_')) as words(word) order by word`.execute(db);
  expect(sorted.rows.map(({ word }) => word)).toEqual(['_', 'a', 'B']);
  const ids = ['a', 'B', '_', 'Z', 'é', '1'];
  await db
    .insertInto('things')
    .values(ids.map((id) => ({ id, count: 1 })))
    .execute();
  const rows = await db.selectFrom('things').select('id').orderBy('id').execute();
  expect(rows.map(({ id }) => id)).toEqual(ids.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
});

test('integers have 64 bits; counts and sums are numbers, and a value beyond 2^53 is refused', async () => {
  const { db } = await opened();
  await db
    .insertInto('things')
    .values([
      { id: 'a', count: 2 ** 40 },
      { id: 'b', count: 2 ** 40 },
    ])
    .execute();
  const counted = db.selectFrom('things').select((eb) => [eb.fn.countAll().as('rows'), eb.fn.sum('count').as('sum')]);
  expect(await counted.executeTakeFirstOrThrow()).toEqual({ rows: 2, sum: 2 ** 41 });
  await expect(sql`select 9007199254740993::bigint as big`.execute(db)).rejects.toThrow(RangeError);
  // The connection still works.
  expect(await counted.executeTakeFirstOrThrow()).toMatchObject({ rows: 2 });
});

test.each<[string, unknown]>([
  ['undefined', undefined],
  ['an object', { a: 1 }],
  ['a list', [1]],
  ['a date', new Date()],
])('%s is refused as a bound value', async (_, value) => {
  const { db } = await opened();
  await expect(sql`insert into things values (${value}, 1)`.execute(db)).rejects.toThrow(TypeError);
  expect(await db.selectFrom('things').selectAll().execute()).toEqual([]);
});

test('booleans are bound as the integers that columns have', async () => {
  const { db } = await opened();
  await sql`insert into things values ('true', ${true}), ('false', ${false})`.execute(db);
  expect(await db.selectFrom('things').selectAll().orderBy('count').execute()).toEqual([
    { id: 'false', count: 0 },
    { id: 'true', count: 1 },
  ]);
});

test('a duplicate key fails with DuplicateKeyError, with its cause; other constraint violations keep their error', async () => {
  const { db } = await opened();
  const insert = () => db.insertInto('things').values({ id: 'a', count: 1 }).execute();
  await insert();
  const error: unknown = await insert().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(DuplicateKeyError);
  expect((error as Error).cause).toMatchObject({ code: '23505' });
  await expect(sql`insert into things values ('c', null)`.execute(db)).rejects.toMatchObject({ code: '23502' });
});

test('none of 100 concurrent read-then-write increments is lost, because conflicting work is repeated', async () => {
  const here = await opened();
  await here.db.insertInto('things').values({ id: 'a', count: 0 }).execute();
  let runs = 0;
  const increment = () =>
    transaction(here, async (trx) => {
      runs += 1;
      const { count } = await trx.selectFrom('things').select('count').executeTakeFirstOrThrow();
      await trx
        .updateTable('things')
        .set({ count: count + 1 })
        .execute();
    });
  // Not all at the same time, since the number of retries is limited.
  for (let round = 0; round < 20; round += 1) await Promise.all(Array.from({ length: 5 }, increment));
  expect(await here.db.selectFrom('things').select('count').execute()).toEqual([{ count: 100 }]);
  expect(runs).toBeGreaterThan(100);
});

// Reads by a key, as the service does. Postgres may miss the conflict if an index that was always empty is scanned.
test('write skew is prevented: two transactions that read the same rows and write different ones do not both commit', async () => {
  const here = await opened();
  const add = (id: string) =>
    transaction(here, async (trx) => {
      const { rows } = await trx
        .selectFrom('things')
        .select((eb) => eb.fn.countAll<number>().as('rows'))
        .where('id', '>=', 'thing-')
        .executeTakeFirstOrThrow();
      if (rows === 0) await trx.insertInto('things').values({ id, count: 1 }).execute();
    });
  const left: number[] = [];
  for (let round = 0; round < 50; round += 1) {
    await sql`truncate things`.execute(here.db);
    await Promise.all(['thing-a', 'thing-b', 'thing-c', 'thing-d'].map(add));
    left.push((await here.db.selectFrom('things').select('id').execute()).length);
  }
  expect(left).toEqual(left.map(() => 1));
});

test('work is repeated if a key was free when it looked, but taken when it wrote', async () => {
  const here = await opened();
  await sql`create table numbers (number bigint primary key)`.execute(here.db);
  const next = () =>
    transaction(here, async (trx) => {
      const { rows } = await sql<{ next: number }>`select coalesce(max(number), 0) + 1 as next from numbers`.execute(
        trx,
      );
      await sql`insert into numbers values (${rows[0]?.next})`.execute(trx);
      return rows[0]?.next;
    });
  const numbers = await Promise.all(Array.from({ length: 5 }, next));
  expect(new Set(numbers)).toEqual(new Set([1, 2, 3, 4, 5]));
});

test('work that conflicts each time fails with DatabaseUnavailableError, and is rolled back', async () => {
  const here = await opened();
  // No pauses between the attempts, which are random parts of a limit.
  const random = vi.spyOn(Math, 'random').mockReturnValue(0);
  onTestFinished(() => random.mockRestore());
  await here.db.insertInto('things').values({ id: 'a', count: 0 }).execute();
  let runs = 0;
  const unlucky = transaction(here, async (trx) => {
    runs += 1;
    await trx.selectFrom('things').selectAll().execute();
    await here.db
      .updateTable('things')
      .set((eb) => ({ count: eb('count', '+', 1) }))
      .execute();
    await trx.updateTable('things').set({ count: -1 }).execute();
  });
  const error: unknown = await unlucky.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(SerializationFailureError);
  expect(error).toBeInstanceOf(DatabaseUnavailableError);
  expect(runs).toBe(20);
  expect(await here.db.selectFrom('things').select('count').execute()).toEqual([{ count: 20 }]);
});

test('work is repeated after a deadlock', async () => {
  const here = await opened();
  await here.db
    .insertInto('things')
    .values([
      { id: 'a', count: 0 },
      { id: 'b', count: 0 },
    ])
    .execute();
  const both = (ids: string[]) =>
    transaction(here, async (trx) => {
      for (const id of ids) {
        await trx
          .updateTable('things')
          .set((eb) => ({ count: eb('count', '+', 1) }))
          .where('id', '=', id)
          .execute();
      }
    });
  await Promise.all(Array.from({ length: 4 }, (_, index) => both(index % 2 === 0 ? ['a', 'b'] : ['b', 'a'])));
  expect(await here.db.selectFrom('things').select('count').execute()).toEqual([{ count: 4 }, { count: 4 }]);
});

test('a nested transaction is part of the outer one, and its failure fails both', async () => {
  const here = await opened();
  let outer = 0;
  let inner = 0;
  await transaction(here, async (trx) => {
    outer += 1;
    await trx.insertInto('things').values({ id: 'outer', count: 1 }).execute();
    await inTransaction(trx as never, async () => {
      inner += 1;
      await trx.insertInto('things').values({ id: 'inner', count: 1 }).execute();
      if (inner === 1) throw new SerializationFailureError({ cause: new Error('once') });
    });
  });
  expect([outer, inner]).toEqual([2, 2]);
  expect(await here.db.selectFrom('things').selectAll().execute()).toHaveLength(2);
});

test('if the work catches a database error, the transaction fails instead of committing nothing', async () => {
  const here = await opened();
  await here.db.insertInto('things').values({ id: 'a', count: 1 }).execute();
  const surviving = transaction(here, async (trx) => {
    await trx.insertInto('things').values({ id: 'b', count: 1 }).execute();
    await trx
      .insertInto('things')
      .values({ id: 'a', count: 1 })
      .execute()
      .catch(() => {});
    return 'done';
  });
  await expect(surviving).rejects.toThrow(DuplicateKeyError);
  expect(await here.db.selectFrom('things').select('id').execute()).toEqual([{ id: 'a' }]);
});

test('a connection that ends inside a transaction: it fails as unavailable, is rolled back, and the next one works', async () => {
  const here = await opened();
  const cut = transaction(here, async (trx) => {
    await trx.insertInto('things').values({ id: 'a', count: 1 }).execute();
    expect(await terminate(here, `state = 'idle in transaction'`)).toBe(1);
    await trx.insertInto('things').values({ id: 'b', count: 1 }).execute();
  });
  const error: unknown = await cut.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(DatabaseUnavailableError);
  expect(error).not.toBeInstanceOf(CommitOutcomeUnknownError);
  expect(await here.db.selectFrom('things').selectAll().execute()).toEqual([]);
});

test('a connection that is lost during the commit: the outcome is unknown, and the work is not repeated', async () => {
  const here = await opened();
  // A deferred constraint whose check takes long.
  await sql`create function wait() returns trigger language plpgsql as
    $$ begin perform pg_sleep(20); return new; end $$`.execute(here.db);
  await sql`create constraint trigger slow after insert on things deferrable initially deferred
    for each row execute function wait()`.execute(here.db);
  let runs = 0;
  const lost = transaction(here, async (trx) => {
    runs += 1;
    await trx.insertInto('things').values({ id: 'a', count: 1 }).execute();
  });
  lost.catch(() => {});
  await expect.poll(() => terminate(here, `state = 'active' and query = 'commit'`)).toBe(1);
  await expect(lost).rejects.toThrow(CommitOutcomeUnknownError);
  expect(runs).toBe(1);
});

test('a connection that is lost during a single write: the outcome is unknown', async () => {
  const here = await opened();
  const lost = sql`insert into things select 'a', 1 from pg_sleep(20)`.execute(here.db);
  lost.catch(() => {});
  await expect.poll(() => terminate(here, `state = 'active' and query like 'insert into things%'`)).toBe(1);
  await expect(lost).rejects.toThrow(CommitOutcomeUnknownError);
  const read = here.db.selectFrom(sql<{ slept: string }>`pg_sleep(20)`.as('sleep')).selectAll().execute();
  read.catch(() => {});
  await expect.poll(() => terminate(here, `state = 'active' and query like 'select * from pg_sleep%'`)).toBe(1);
  const error: unknown = await read.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(DatabaseUnavailableError);
  expect(error).not.toBeInstanceOf(CommitOutcomeUnknownError);
});

test('idle connections that end are replaced', async () => {
  const here = await opened();
  const read = () => here.db.selectFrom('things').selectAll().execute();
  await Promise.all([read(), read(), read()]);
  expect(await terminate(here, 'true')).toBeGreaterThan(0);
  await expect.poll(() => read().catch(() => 'away')).toEqual([]);
});

test('a session has time limits for statements, locks and idle transactions', async () => {
  const { db } = await opened();
  const names = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'application_name'];
  const { rows } = await sql<{ name: string; setting: string }>`
    select name, setting from pg_settings where name in (${sql.join(names)})`.execute(db);
  expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).toEqual({
    statement_timeout: '30000',
    lock_timeout: '5000',
    idle_in_transaction_session_timeout: '15000',
    application_name: 'quartermaster',
  });
});

test.each<[string, string]>([
  ['a statement that takes too long', 'set local statement_timeout = 50; select pg_sleep(5)'],
  ['a read-only session', 'set transaction read only; create table other (id bigint)'],
])('%s is an unavailable database', async (_, statements) => {
  const here = await opened();
  const [first = '', second = ''] = statements.split('; ');
  const run = here.db.transaction().execute(async (trx) => {
    await sql.raw(first).execute(trx);
    await sql.raw(second).execute(trx);
  });
  await expect(run).rejects.toThrow(DatabaseUnavailableError);
});

/** The dialect, but a statement waits for a connection for a shorter time than the 5 s of the service. */
function impatientDialect({ url, poolSize }: PostgresOptions): Dialect {
  // The database is removed while the last connections close, and its server ends them.
  const open = (max: number) => new Pool({ connectionString: url, max }).on('error', () => {});
  return {
    ...postgresDialect({ url, poolSize }),
    createDriver: () => new PostgresDriver({ open, poolSize, waitMs: 300 }),
  };
}

test('a pool without a free connection refuses after a timeout, and works again when one is released', async () => {
  const here = await opened({ poolSize: 1, dialect: impatientDialect });
  const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = here.db.transaction().execute(async () => {
    begun.resolve();
    await end.promise;
  });
  await begun.promise;
  const read = () => here.db.selectFrom('things').selectAll().execute();
  await expect(read()).rejects.toThrow(DatabaseUnavailableError);
  end.resolve();
  await holding;
  expect(await read()).toEqual([]);
});

test.each([
  ['a port on which nothing listens', 'postgres://nobody:hunter2@127.0.0.1:1/none'],
  ['a host that does not exist', 'postgres://nobody:hunter2@nowhere.invalid/none'],
])('where %s the database is unavailable, and no error tells the password', async (_, url) => {
  const db = new Kysely<Things>({ dialect: postgresDialect({ url, poolSize: 1 }) });
  onTestFinished(() => db.destroy());
  const error: unknown = await db
    .selectFrom('things')
    .selectAll()
    .execute()
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(DatabaseUnavailableError);
  expect(JSON.stringify(error, Object.getOwnPropertyNames(error)) + String((error as Error).cause)).not.toContain(
    'hunter2',
  );
});

test('streaming is refused', async () => {
  const { db } = await opened();
  await expect(db.selectFrom('things').selectAll().stream().next()).rejects.toThrow('page through the rows');
});

test('the global parsers of pg are not changed', async () => {
  const template = inject('template');
  if (template.dialect !== 'postgres') throw new Error('this suite is about Postgres');
  expect(await administer(template.serverUrl, 'select 1::bigint as one')).toEqual([{ one: '1' }]);
});

test('repeated statements are prepared once for each connection, up to a limit', async () => {
  const { db } = await opened({ poolSize: 1 });
  const prepared = async () => {
    const { rows } = await sql<{
      name: string;
    }>`select name from pg_prepared_statements where name like 'qm_%'`.execute(db);
    return rows.length;
  };
  const read = (number: number) =>
    db
      .selectFrom('things')
      .select(sql<string>`id`.as(`c${number}`))
      .execute();
  await read(1);
  await read(1);
  expect(await prepared()).toBe(0);
  for (let time = 0; time < 5; time += 1) await read(1);
  expect(await prepared()).toBe(1);
  for (let number = 2; number <= 520; number += 1) for (let time = 0; time < 3; time += 1) await read(number);
  expect(await prepared()).toBe(500);
});

test('prepared statements survive a change of their table', async () => {
  const here = await opened({ poolSize: 2 });
  const read = () => here.db.selectFrom('things').selectAll().execute();
  const write = (id: string) =>
    transaction(here, (trx) => trx.insertInto('things').values({ id, count: 1 }).returningAll().execute());
  for (const id of ['a', 'b', 'c', 'd']) await write(id);
  for (let time = 0; time < 4; time += 1) await Promise.all([read(), read()]);
  await administer(here.url, 'alter table things add column more text');
  expect(await read()).toHaveLength(4);
  expect(await write('e')).toEqual([{ id: 'e', count: 1, more: null }]);
  expect(await Promise.all([read(), read()])).toMatchObject([{ length: 5 }, { length: 5 }]);
});
