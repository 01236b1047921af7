import { sql } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { together } from '../src/concurrent-statements.ts';
import { type Database, openDatabase } from '../src/database.ts';
import { multiRowStatement } from '../src/multi-row-statement.ts';
import { inTransaction } from '../src/transaction.ts';
import { newTestDatabase } from '../testing/test-database.ts';
import { startPooler } from './pooler.ts';
import { NOW } from './temporary-database.ts';

/** How long what a client sends takes to the server, in milliseconds. */
const DISTANCE_MS = 40;

const SHARED = { time: NOW.toISOString() };

const insertTenants = multiRowStatement((db, rows: readonly { id: string }[], { time }: typeof SHARED) =>
  db
    .insertInto('tenants')
    .values(rows.map(({ id }) => ({ id, capture_content: 0, created_at: time, updated_at: time }))),
);

async function distantDatabase(): Promise<Database> {
  const { url, remove } = await newTestDatabase('migrated');
  const pooler = await startPooler(url, 'session', { delayMs: DISTANCE_MS });
  const db = await openDatabase(pooler.url, '/');
  onTestFinished(async () => {
    await db.destroy();
    pooler.close();
    await remove();
  });
  await sql`select 1`.execute(db);
  return db;
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

async function countTenants(db: Database): Promise<number> {
  return (await db.selectFrom('tenants').select('id').execute()).length;
}

test('statements of a transaction that are started together are sent together', async () => {
  const db = await distantDatabase();
  await inTransaction(db, async (trx) => {
    const insert = (id: string) => insertTenants(trx, [{ id }], SHARED);
    const one = await timeOf(() => insert('one'));
    const ids = Array.from({ length: 12 }, (_, index) => `t${index}`);
    const all = ids.map((id) => () => insert(id));
    expect(await timeOf(() => together(trx, all))).toBeLessThan(one * 4);
  });
  expect(await countTenants(db)).toBe(13);
});

test('the parts of a statement over many rows are sent together in a transaction', async () => {
  const db = await distantDatabase();
  // 64 + 32 + 16 + 8 + 4 + 2 + 1
  const rows = Array.from({ length: 127 }, (_, index) => ({ id: `t${index}` }));
  await inTransaction(db, async (trx) => {
    const one = await timeOf(() => insertTenants(trx, [{ id: 'one' }], SHARED));
    expect(await timeOf(() => insertTenants(trx, rows, SHARED))).toBeLessThan(one * 4);
  });
  expect(await countTenants(db)).toBe(128);
});
