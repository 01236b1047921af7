import { execFile } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import SqliteDatabase from 'better-sqlite3';
import { Kysely, sql } from 'kysely';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { sqliteDialect } from '../src/dialects/sqlite.ts';
import { CHECKPOINT_PAGES, SqliteCheckpoints } from '../src/dialects/sqlite-checkpoints.ts';
import { SqliteHandle } from '../src/dialects/sqlite-handle.ts';
import { TRUNCATE_LOG } from '../src/dialects/sqlite-writer.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';

const PAGE_BYTES = 4096;

afterEach(() => {
  vi.restoreAllMocks();
});

type Things = { things: { id: number; text: string } };

async function opened() {
  const folder = await temporaryFolder('quartermaster-checkpoints-');
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'test.db');
  const db = new Kysely<Things>({ dialect: sqliteDialect(path) });
  await sql`create table things (id integer primary key, text text not null)`.execute(db);
  let rows = 0;
  return {
    db,
    path,
    /** One transaction that puts more than so many pages into the log. */
    write: (pages: number) =>
      db.transaction().execute(async (trx) => {
        for (let page = 0; page < pages; page += 1) {
          rows += 1;
          await trx
            .insertInto('things')
            .values({ id: rows, text: 'x'.repeat(PAGE_BYTES) })
            .execute();
        }
      }),
  };
}

/** How many pages are in the log, and how many of them also in the database file. */
async function logOf(db: Kysely<Things>): Promise<{ log: number; checkpointed: number }> {
  const { rows } = await sql<{ log: number; checkpointed: number }>`pragma wal_checkpoint(noop)`.execute(db);
  return rows[0] ?? { log: Number.NaN, checkpointed: Number.NaN };
}

async function isCopied(db: Kysely<Things>): Promise<boolean> {
  const { log, checkpointed } = await logOf(db);
  return checkpointed === log;
}

test('a commit does not copy the pages of a long log itself; a thread does soon after', async () => {
  const { db, write } = await opened();
  await write(CHECKPOINT_PAGES);
  // The thread takes longer to start than this.
  expect(await logOf(db)).toMatchObject({ checkpointed: 0 });
  await expect.poll(() => isCopied(db)).toBe(true);
  await db.destroy();
});

test('the log begins again once its pages are copied, so it does not grow while writes go on', async () => {
  const { db, path, write } = await opened();
  for (let count = 0; count < 5; count += 1) {
    await write(CHECKPOINT_PAGES);
    await expect.poll(() => isCopied(db)).toBe(true);
  }
  // A row takes two pages.
  expect(statSync(`${path}-wal`).size).toBeLessThan(4 * CHECKPOINT_PAGES * PAGE_BYTES);
  await db.destroy();
});

test('while a reader needs the log, a checkpoint is tried again only once the log has grown by as much again', async () => {
  const { db, path, write } = await opened();
  const reader = new SqliteDatabase(path);
  reader.exec('begin');
  reader.prepare('select count(*) from things').get();
  const orders = vi.spyOn(Worker.prototype, 'postMessage');
  await write(CHECKPOINT_PAGES);
  for (let count = 0; count < 20; count += 1) {
    await write(1);
    await sleep(10);
  }
  expect(orders).toHaveBeenCalledTimes(1);
  await write(CHECKPOINT_PAGES);
  // On a busy machine the first attempt may end only now. Then the next commit orders the second one.
  const ordersAfterCommit = async () => {
    await write(1);
    return orders.mock.calls.length;
  };
  await expect.poll(ordersAfterCommit).toBe(2);
  reader.close();
  await db.destroy();
});

test('a commit does not fail if the length of the log is unknown afterwards', async () => {
  const { path, db } = await opened();
  const handle = new SqliteHandle(path);
  handle.close();
  expect(handle.pagesToCheckpoint()).toBeNull();
  new SqliteCheckpoints(path).afterCommit(handle);
  await db.destroy();
});

test('a thread that fails is not started again', async () => {
  const { path, db, write } = await opened();
  const handle = new SqliteHandle(path);
  const checkpoints = new SqliteCheckpoints(`${path}-none`);
  await write(CHECKPOINT_PAGES);
  const orders = vi.spyOn(Worker.prototype, 'postMessage');
  checkpoints.afterCommit(handle);
  await checkpoints.close();
  await write(CHECKPOINT_PAGES);
  orders.mockClear();
  checkpoints.afterCommit(handle);
  expect(orders).not.toHaveBeenCalled();
  handle.close();
  await db.destroy();
});

test('without a thread a commit succeeds, and the connection is free for the next one', async () => {
  const { db, write } = await opened();
  vi.spyOn(Worker.prototype, 'postMessage').mockImplementation(() => {
    throw new Error('no thread');
  });
  await write(CHECKPOINT_PAGES);
  await db.insertInto('things').values({ id: 1_000_000, text: 'x' }).execute();
  await write(1);
  vi.restoreAllMocks();
  await db.destroy();
});

test('the log can be truncated while the thread works', async () => {
  const { db, write } = await opened();
  for (let count = 0; count < 5; count += 1) {
    await write(CHECKPOINT_PAGES);
    const { rows } = await sql`${sql.raw(TRUNCATE_LOG)}`.execute(db);
    expect(rows).toMatchObject([{ busy: 0 }]);
  }
  await db.destroy();
});

/** A program that makes the log long in a process of its own. @param end its last statement */
async function runProgram(path: string, end: string): Promise<string> {
  const program = `
    import { setTimeout as sleep } from 'node:timers/promises';
    import { Kysely, sql } from 'kysely';
    import { sqliteDialect } from ${JSON.stringify(import.meta.resolve('../src/dialects/sqlite.ts'))};
    const db = new Kysely({ dialect: sqliteDialect(${JSON.stringify(path)}) });
    const row = sql\`insert into things (text) values (\${'x'.repeat(${PAGE_BYTES})})\`;
    await db.transaction().execute(async (trx) => {
      for (let page = 0; page < ${CHECKPOINT_PAGES}; page += 1) await row.execute(trx);
    });
    ${end}
    console.log('done');`;
  const options = { cwd: import.meta.dirname, timeout: 120_000 };
  return (await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], options)).stdout;
}

test('the thread does not keep a process alive that has not closed its database', async () => {
  const { path, db } = await opened();
  // A thread that has answered is awake.
  const end = `
    const log = sql\`pragma wal_checkpoint(noop)\`;
    for (let copied = 0; copied === 0; copied = (await log.execute(db)).rows[0].checkpointed) await sleep(10);
    await sleep(100);`;
  expect(await runProgram(path, end)).toBe('done\n');
  await db.destroy();
});

test('a process that closes its database, and has nothing else to do, does not end before it is closed', async () => {
  const { path, db } = await opened();
  await db.destroy();
  expect(await runProgram(path, 'await db.destroy();')).toBe('done\n');
  expect(existsSync(`${path}-wal`)).toBe(false);
});

test('a database that is closed during a checkpoint has no log and all rows', async () => {
  const { db, path, write } = await opened();
  await write(CHECKPOINT_PAGES);
  await db.destroy();
  expect(existsSync(`${path}-wal`)).toBe(false);
  const again = new Kysely<Things>({ dialect: sqliteDialect(path) });
  const { count } = await again
    .selectFrom('things')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  expect(count).toBe(CHECKPOINT_PAGES);
  await again.destroy();
});
