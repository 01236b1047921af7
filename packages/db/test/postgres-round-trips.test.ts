import { sql } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { multiRowStatement, together } from '../src/prepared-statement.ts';
import type { Database } from '../src/database.ts';
import { openDatabase } from '../src/open-database.ts';
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

type Work = (round: number) => Promise<unknown>;

/** How much longer one thing takes than another: the shortest time of each, of more rounds while that is `most` or more. */
async function ratioOf(many: Work, one: Work, most: number): Promise<number> {
  let [ofMany, ofOne] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round === 0 || (round < 10 && ofMany >= ofOne * most); round += 1) {
    ofOne = Math.min(ofOne, await timeOf(() => one(round)));
    ofMany = Math.min(ofMany, await timeOf(() => many(round)));
  }
  return ofMany / ofOne;
}

async function countTenants(db: Database): Promise<number> {
  return (await db.selectFrom('tenants').select('id').execute()).length;
}

test('statements of a transaction that are started together are sent together', async () => {
  const db = await distantDatabase();
  await inTransaction(db, async (trx) => {
    const insert = (id: string) => insertTenants(trx, [{ id }], SHARED);
    const all = (round: number) => Array.from({ length: 12 }, (_, index) => () => insert(`t${round}-${index}`));
    const one = (round: number) => insert(`one-${round}`);
    expect(await ratioOf((round) => together(trx, all(round)), one, 4)).toBeLessThan(4);
  });
  expect(await countTenants(db)).toBeGreaterThanOrEqual(13);
});

test('the parts of a statement over many rows are sent together in a transaction', async () => {
  const db = await distantDatabase();
  // 64 + 32 + 16 + 8 + 4 + 2 + 1
  const rows = Array.from({ length: 127 }, (_, index) => ({ id: `t${index}` }));
  await inTransaction(db, async (trx) => {
    const rowsOf = (round: number) => rows.map(({ id }) => ({ id: `${id}-${round}` }));
    const all = (round: number) => insertTenants(trx, rowsOf(round), SHARED);
    const one = (round: number) => insertTenants(trx, [{ id: `one-${round}` }], SHARED);
    expect(await ratioOf(all, one, 4)).toBeLessThan(4);
  });
  expect(await countTenants(db)).toBeGreaterThanOrEqual(128);
});
