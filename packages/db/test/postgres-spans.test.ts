import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { Database } from '../src/database.ts';
import { createSpanPartitions, dropEmptyPartitions } from '../src/dialects/postgres-spans.ts';
import { DatabaseUnavailableError } from '../src/errors.ts';
import { deleteTracesBefore } from '../src/repositories/trace-retention.ts';
import type { TenantPlace } from '../src/tenancy.ts';
import { span, store } from './stored-spans.ts';
import { later, NOW, temporaryDatabase } from './temporary-database.ts';

const ACME = { tenantId: 'acme', subTenantId: null };
const OTHER = { tenantId: 'other', subTenantId: null };
const KEEPER = { tenantId: 'keeper', subTenantId: null };
const DAY = 24 * 3600;

/** Stores a trace of one span. */
async function storeTrace(db: Database, place: TenantPlace, traceId: string, seconds: number): Promise<void> {
  await store(db, place, [span('1', { traceId: traceId.padStart(32, '0') })], seconds);
}

/** The number of rows in each partition of these tests' days. Partitions of other days are ignored. */
async function rowsByDay(db: Database): Promise<Record<string, number>> {
  const { rows } = await sql<{ partition: string; rows: number }>`
    select tableoid::regclass::text as partition, count(*) as rows from span_blocks group by 1 order by 1`.execute(db);
  return Object.fromEntries(rows.map(({ partition, rows }) => [partition, rows]));
}

async function partitions(db: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select inhrelid::regclass::text as name from pg_inherits where inhparent = 'span_blocks'::regclass order by 1`.execute(
    db,
  );
  return rows.map(({ name }) => name).filter((name) => name.startsWith('span_blocks_202603'));
}

/**
 * Waits until so many connections wait for a lock while `making` creates partitions. It also returns if `making` ended: it
 * only waits a short time for its locks, so on a busy machine it may have given up before this saw it wait.
 */
async function waitsFor(db: Database, count: number, making: Promise<unknown>): Promise<void> {
  const waiting = sql<{ count: number }>`select count(*)::int as count from pg_stat_activity
    where wait_event_type = 'Lock' and datname = current_database()`;
  let ended = false;
  void making.then(() => {
    ended = true;
  });
  const isReached = async () => ended || ((await waiting.execute(db)).rows[0]?.count ?? 0) >= count;
  await expect.poll(isReached, { interval: 5 }).toBe(true);
}

test('the partitions of today and the next week are created once, whichever process is first', async () => {
  const db = await temporaryDatabase();
  await Promise.all([createSpanPartitions(db, NOW), createSpanPartitions(db, NOW), createSpanPartitions(db, NOW)]);
  await createSpanPartitions(db, NOW);
  expect(await partitions(db)).toEqual(Array.from({ length: 8 }, (_, day) => `span_blocks_2026030${day + 1}`));
});

test('rows that were inserted before the partition of their day was created move to it', async () => {
  const db = await temporaryDatabase(ACME);
  await storeTrace(db, ACME, 'a', 0);
  await storeTrace(db, ACME, 'b', DAY);
  expect(await rowsByDay(db)).toEqual({ span_blocks_rest: 2 });
  await createSpanPartitions(db, NOW);
  expect(await rowsByDay(db)).toEqual({ span_blocks_20260301: 1, span_blocks_20260302: 1 });
});

test('rows that are inserted while the partition of their day is created move to it', async () => {
  const db = await temporaryDatabase(ACME);
  // A busy machine may need several attempts.
  for (let attempt = 1; (await partitions(db)).length === 0; attempt += 1) {
    let making: Promise<unknown> = Promise.resolve();
    await db.transaction().execute(async (trx) => {
      await storeTrace(trx, ACME, String(attempt), 0);
      making = createSpanPartitions(db, NOW).catch((error: unknown) => error);
      await waitsFor(db, 1, making);
    });
    const error = await making;
    if (error !== undefined) expect(error).toBeInstanceOf(DatabaseUnavailableError);
    if (attempt === 20) throw new Error('the days were not made');
  }
  const rows = await rowsByDay(db);
  expect(Object.keys(rows)).toEqual(['span_blocks_20260301']);
});

test('regression: a reader that waits while a partition is created sees the rows that moved to it', async () => {
  const db = await temporaryDatabase(ACME);
  await storeTrace(db, ACME, 'a', 0);
  // A busy machine may need several attempts.
  for (let attempt = 1; (await partitions(db)).length === 0; attempt += 1) {
    if (attempt === 20) throw new Error('the days were not made');
    let making: Promise<unknown> = Promise.resolve();
    let reading: Promise<unknown[]> = Promise.resolve([]);
    await db.transaction().execute(async (trx) => {
      await sql`select from span_blocks_rest`.execute(trx);
      making = createSpanPartitions(db, NOW).catch((error: unknown) => error);
      await waitsFor(db, 1, making);
      reading = db.selectFrom('span_blocks').select('id').execute();
      await waitsFor(db, 2, making);
    });
    const error = await making;
    if (error !== undefined) expect(error).toBeInstanceOf(DatabaseUnavailableError);
    expect(await reading).toHaveLength(1);
  }
  expect(await rowsByDay(db)).toEqual({ span_blocks_20260301: 1 });
});

test('the partition of a day without traces is dropped; on a day that one tenant keeps, blocks of other tenants are deleted', async () => {
  const db = await temporaryDatabase(ACME, OTHER, KEEPER);
  await createSpanPartitions(db, NOW);
  for (const [day, places] of [[ACME, OTHER], [ACME, KEEPER], [ACME]].entries()) {
    for (const [index, place] of places.entries()) await storeTrace(db, place, `${day}${index}`, day * DAY);
  }
  const end = later(10 * DAY);
  // No trace is deleted yet.
  expect(await dropEmptyPartitions(db, end)).toBe(5);
  expect(await rowsByDay(db)).toEqual({ span_blocks_20260301: 2, span_blocks_20260302: 2, span_blocks_20260303: 1 });
  for (const place of [ACME, OTHER]) {
    await deleteTracesBefore(db, [place], later(2 * DAY).toISOString(), 100, NOW);
  }
  expect(await dropEmptyPartitions(db, end)).toBe(1);
  expect(await partitions(db)).toEqual(['span_blocks_20260302', 'span_blocks_20260303']);
  expect(await rowsByDay(db)).toEqual({ span_blocks_20260302: 1, span_blocks_20260303: 1 });
});

test('a trace that continues keeps its own blocks of old days, but no other blocks of its tenant', async () => {
  const db = await temporaryDatabase(ACME);
  await createSpanPartitions(db, NOW);
  await storeTrace(db, ACME, 'a', 0);
  await storeTrace(db, ACME, 'b', 0);
  await sql`update traces set updated_at = ${later(9 * DAY).toISOString()} where trace_id like '%a'`.execute(db);
  expect(await deleteTracesBefore(db, [ACME], later(7 * DAY).toISOString(), 100, NOW)).toMatchObject({ traces: 1 });
  await dropEmptyPartitions(db, later(10 * DAY));
  expect(await rowsByDay(db)).toEqual({ span_blocks_20260301: 1 });
});

test('the partitions of today, and of days that may be today by another clock, are kept', async () => {
  const db = await temporaryDatabase(ACME);
  await createSpanPartitions(db, NOW);
  await dropEmptyPartitions(db, later(12.5 * 3600));
  expect(await partitions(db)).toContain('span_blocks_20260301');
  await dropEmptyPartitions(db, later(13.5 * 3600));
  expect(await partitions(db)).not.toContain('span_blocks_20260301');
});

test('a partition with a long-running reader is skipped until the next run, and does not block other queries', async () => {
  const db = await temporaryDatabase(ACME);
  await createSpanPartitions(db, NOW);
  const [reading, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const reader = db.transaction().execute(async (trx) => {
    await trx.selectFrom('span_blocks').selectAll().execute();
    reading.resolve();
    await done.promise;
  });
  await reading.promise;
  expect(await dropEmptyPartitions(db, later(10 * DAY))).toBeLessThan(8);
  done.resolve();
  await reader;
  await dropEmptyPartitions(db, later(10 * DAY));
  expect(await partitions(db)).toEqual([]);
});

test('reading blocks only scans the partitions of their days', async () => {
  const db = await temporaryDatabase(ACME);
  await createSpanPartitions(db, NOW);
  const { rows } = await sql<Record<string, string>>`
    explain select id, body from span_blocks where tenant_id = 'acme' and sub_tenant_id = '' and id in ('x', 'y')
    and created_at in ('2026-03-02T01:00:00.000Z', '2026-03-02T02:00:00.000Z')`.execute(db);
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).toContain('span_blocks_20260302');
  expect(plan).not.toContain('span_blocks_20260303');
  expect(plan).not.toContain('span_blocks_rest');
});
