import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { Kysely, sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openDatabase } from '../src/open-database.ts';
import { sqliteDialect } from '../src/dialects/sqlite.ts';
import { DatabaseUnavailableError, DuplicateKeyError } from '../src/errors.ts';

type Things = { things: { id: string; count: number } };
type Opened = { db: Kysely<Things>; path: string };

/** A database with one table `things`, for one test. */
async function opened(finished: typeof onTestFinished = onTestFinished): Promise<Opened> {
  const folder = await mkdtemp(join(tmpdir(), 'quartermaster-dialect-'));
  const path = join(folder, 'test.db');
  const db = new Kysely<Things>({ dialect: sqliteDialect(path) });
  finished(async () => {
    await db.destroy();
    await rm(folder, { recursive: true });
  });
  await db.schema
    .createTable('things')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('count', 'integer', (column) => column.notNull())
    .execute();
  return { db, path };
}

/** Acts as another process: holds SQLite's write lock until it is told to release it. */
function lockedBy(path: string, finished: typeof onTestFinished = onTestFinished): () => void {
  const other = new SqliteDatabase(path);
  other.exec('begin immediate');
  finished(() => {
    other.close();
  });
  return () => other.exec('rollback');
}

function gate() {
  let open = () => {};
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, passed };
}

const PRAGMAS = { journal_mode: 'wal', synchronous: 2, foreign_keys: 1, secure_delete: 1, timeout: 50 };

test('both connections use WAL, synchronous FULL, foreign keys and a short busy timeout', async () => {
  const { db } = await opened();
  // A raw statement uses the writing connection, a select the reading one.
  const written: Record<string, unknown> = {};
  for (const pragma of ['journal_mode', 'synchronous', 'foreign_keys', 'secure_delete', 'busy_timeout']) {
    const { rows } = await sql<Record<string, unknown>>`pragma ${sql.raw(pragma)}`.execute(db);
    Object.assign(written, rows[0]);
  }
  expect(written).toEqual(PRAGMAS);
  const read: Record<string, unknown> = {};
  for (const pragma of ['journal_mode', 'synchronous', 'foreign_keys', 'secure_delete', 'busy_timeout']) {
    const table = sql<Record<string, unknown>>`(select * from ${sql.raw(`pragma_${pragma}`)})`.as('pragma');
    Object.assign(read, await db.selectFrom(table).selectAll().executeTakeFirstOrThrow());
  }
  expect(read).toEqual(PRAGMAS);
});

test('opening fails if SQLite ignores a pragma', async () => {
  // An in-memory database has no write-ahead log.
  const db = new Kysely<Things>({ dialect: sqliteDialect(':memory:') });
  await expect(db.selectFrom('things').selectAll().execute()).rejects.toThrow(
    "SQLite's journal_mode is memory, not wal",
  );
});

test('a path that cannot be opened fails with DatabaseUnavailableError', async () => {
  const db = new Kysely<Things>({ dialect: sqliteDialect('/proc/none/test.db') });
  await expect(db.selectFrom('things').selectAll().execute()).rejects.toThrow();
  await expect(openDatabase('mysql://localhost/qm', '/')).rejects.toThrow('DATABASE_URL should be sqlite:<path>');
});

test('a read does not wait for an open transaction, and does not see its uncommitted changes', async () => {
  const { db } = await opened();
  const [written, read] = [gate(), gate()];
  const writing = db.transaction().execute(async (trx) => {
    await trx.insertInto('things').values({ id: 'a', count: 1 }).execute();
    expect(await trx.selectFrom('things').selectAll().execute()).toHaveLength(1);
    written.open();
    await read.passed;
  });
  await written.passed;
  expect(await db.selectFrom('things').selectAll().execute()).toEqual([]);
  read.open();
  await writing;
  expect(await db.selectFrom('things').selectAll().execute()).toEqual([{ id: 'a', count: 1 }]);
});

test('transactions run one after the other, so what they read does not change before they write', async () => {
  const { db } = await opened();
  await db.insertInto('things').values({ id: 'a', count: 0 }).execute();
  const increment = () =>
    db.transaction().execute(async (trx) => {
      const { count } = await trx.selectFrom('things').select('count').executeTakeFirstOrThrow();
      await new Promise((resolve) => setImmediate(resolve));
      await trx
        .updateTable('things')
        .set({ count: count + 1 })
        .execute();
    });
  await Promise.all(Array.from({ length: 100 }, increment));
  expect(await db.selectFrom('things').select('count').execute()).toEqual([{ count: 100 }]);
});

test('a transaction that throws is rolled back, and the next one runs', async () => {
  const { db } = await opened();
  const failing = db.transaction().execute(async (trx) => {
    await trx.insertInto('things').values({ id: 'a', count: 1 }).execute();
    throw new Error('on purpose');
  });
  const next = db.insertInto('things').values({ id: 'b', count: 2 }).execute();
  await expect(failing).rejects.toThrow('on purpose');
  await next;
  expect(await db.selectFrom('things').select('id').execute()).toEqual([{ id: 'b' }]);
});

test('a transaction whose commit fails is rolled back', async () => {
  const { db } = await opened();
  await sql`create table parts (thing text references things (id) deferrable initially deferred)`.execute(db);
  const failing = db.transaction().execute(async (trx) => {
    await trx.insertInto('things').values({ id: 'a', count: 1 }).execute();
    await sql`insert into parts values ('none')`.execute(trx);
  });
  await expect(failing).rejects.toThrow('FOREIGN KEY');
  await db.insertInto('things').values({ id: 'b', count: 2 }).execute();
  expect(await db.selectFrom('things').select('id').execute()).toEqual([{ id: 'b' }]);
});

test('binding undefined fails instead of storing null', async () => {
  const { db } = await opened();
  await expect(sql`insert into things values (${undefined}, 1)`.execute(db)).rejects.toThrow(TypeError);
  await expect(
    db
      .selectFrom('things')
      .selectAll()
      .where('id', '=', undefined as never)
      .execute(),
  ).rejects.toThrow();
  expect(await db.selectFrom('things').selectAll().execute()).toEqual([]);
});

test('a duplicate key fails with DuplicateKeyError, with its cause', async () => {
  const { db } = await opened();
  const insert = () => db.insertInto('things').values({ id: 'a', count: 1 }).execute();
  await insert();
  const error: unknown = await insert().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(DuplicateKeyError);
  expect((error as Error).cause).toMatchObject({ code: 'SQLITE_CONSTRAINT_PRIMARYKEY' });
  await sql`create unique index by_count on things (count)`.execute(db);
  await expect(db.insertInto('things').values({ id: 'b', count: 1 }).execute()).rejects.toBeInstanceOf(
    DuplicateKeyError,
  );
  // Violations of other constraints are bugs, and keep their error.
  const none = sql`insert into things values ('c', null)`.execute(db);
  await expect(none).rejects.toMatchObject({ code: 'SQLITE_CONSTRAINT_NOTNULL' });
});

// This test and the next one wait until a write gives up, and do so at the same time. Each has its own database.
test.concurrent('a write fails with DatabaseUnavailableError while another process holds the lock, and reads work', async ({
  onTestFinished: finished,
}) => {
  const { db, path } = await opened(finished);
  const release = lockedBy(path, finished);
  const write = () => db.insertInto('things').values({ id: 'a', count: 1 }).execute();
  await expect(write()).rejects.toBeInstanceOf(DatabaseUnavailableError);
  expect(await db.selectFrom('things').selectAll().execute()).toEqual([]);
  release();
  await write();
});

test.concurrent('a lock that is never released ends in DatabaseUnavailableError, and the next transaction runs', async ({
  onTestFinished: finished,
}) => {
  const { db, path } = await opened(finished);
  const release = lockedBy(path, finished);
  const insert = () =>
    db.transaction().execute((trx) => trx.insertInto('things').values({ id: 'a', count: 1 }).execute());
  await expect(insert()).rejects.toBeInstanceOf(DatabaseUnavailableError);
  release();
  await insert();
});

test('a transaction that waits for the lock does not block the event loop', async () => {
  const { db, path } = await opened();
  const release = lockedBy(path);
  const waiting = db.transaction().execute((trx) => trx.insertInto('things').values({ id: 'a', count: 1 }).execute());
  for (let reads = 0; reads < 20; reads += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    expect(await db.selectFrom('things').selectAll().execute()).toEqual([]);
  }
  release();
  await waiting;
  expect(await db.selectFrom('things').select('id').execute()).toEqual([{ id: 'a' }]);
});

test('a failed migration is rolled back', async () => {
  const { db } = await opened();
  const migrations = {
    '0001-good': { up: (on: Kysely<unknown>) => on.schema.createTable('kept').addColumn('id', 'text').execute() },
    '0002-bad': {
      async up(on: Kysely<unknown>) {
        await on.schema.createTable('half').addColumn('id', 'text').execute();
        await sql`insert into things values ('half', 1)`.execute(on);
        throw new Error('on purpose');
      },
    },
  };
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  const { error } = await migrator.migrateToLatest();
  expect(error).toMatchObject({ message: 'on purpose' });
  const { rows } = await sql<{ name: string }>`select name from sqlite_master where type = 'table'`.execute(db);
  expect(rows.map(({ name }) => name)).not.toContain('half');
  expect(await db.selectFrom('things').selectAll().execute()).toEqual([]);
});

test('prepared statements are cached, up to a limit', async () => {
  const { db } = await opened();
  const prepare = vi.spyOn(SqliteDatabase.prototype, 'prepare');
  onTestFinished(() => prepare.mockRestore());
  const select = (number: number) =>
    db
      .selectFrom('things')
      .select(sql<string>`id`.as(`c${number}`))
      .execute();
  await select(1);
  await select(1);
  expect(prepare).toHaveBeenCalledTimes(1);
  for (let number = 2; number <= 501; number += 1) await select(number);
  expect(prepare).toHaveBeenCalledTimes(501);
  await select(501);
  // The oldest of the 500 that are kept.
  await select(2);
  expect(prepare).toHaveBeenCalledTimes(501);
  // The only one that was evicted.
  await select(1);
  expect(prepare).toHaveBeenCalledTimes(502);
});

test('streaming is refused, since a statement held open across awaits would block the connection', async () => {
  const { db } = await opened();
  const stream = db.selectFrom('things').selectAll().stream();
  await expect(stream.next()).rejects.toThrow('page through the rows');
});

test('no value is written so that SQLite’s planner looks at it, which would prepare the statement anew for each value', async () => {
  const { db } = await opened();
  const { sql: text } = db.selectFrom('things').selectAll().where('id', '=', 'one').limit(5).compile();
  expect(text).toBe('select * from "things" where "id" = +? limit +? + 0');
});

test.for([['007'], [' 7 '], [''], [null], [0.5], [-1], [2 ** 53 - 1], [Buffer.from('7\u0000\u00ff')]])(
  'a query returns the value %j as it was given',
  async ([value]) => {
    const { db } = await opened();
    const { rows } = await sql<{ value: unknown }>`select ${value} as value from (select 1)`.execute(db);
    expect(rows).toEqual([{ value }]);
  },
);

test('a limit counts rows', async () => {
  const { db } = await opened();
  const rows = ['one', 'two', 'three'].map((id, count) => ({ id, count }));
  await db.insertInto('things').values(rows).execute();
  const query = db.selectFrom('things').select('count').orderBy('count');
  expect(await query.limit(2).execute()).toEqual([{ count: 0 }, { count: 1 }]);
  expect(await query.limit(1).offset(2).execute()).toEqual([{ count: 2 }]);
});
