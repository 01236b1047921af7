import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { Database } from '../src/database.ts';
import {
  deleteOldestCalls,
  findTelemetryCalls,
  insertTelemetryCalls,
  listCallCounts,
} from '../src/repositories/telemetry-calls.ts';
import { later, temporaryDatabase } from './temporary-database.ts';

const ACME = { tenantId: 'acme', subTenantId: null };
const [BUSY, QUIET] = ['service_account:acme/busy', 'service_account:acme/quiet'];

function insert(db: Database, sender: string, keys: readonly string[], seconds = 0): Promise<number> {
  const calls = keys.map((key) => ({ key, recordKey: null, countedCall: null }));
  return insertTelemetryCalls(db, ACME, { calls, signal: 'log', sender }, later(seconds));
}

async function storedKeys(db: Database): Promise<string[]> {
  const rows = await db.selectFrom('telemetry_calls').select('call_key').orderBy('call_key').execute();
  return rows.map(({ call_key }) => call_key);
}

async function counts(db: Database): Promise<number[]> {
  return (await listCallCounts(db, ACME)).map(({ calls }) => calls).toSorted((a, b) => a - b);
}

test('the keys of each sender are counted once, and no longer when they are removed', async () => {
  const db = await temporaryDatabase(ACME);
  expect(await insert(db, BUSY, ['a', 'b', 'c'])).toBe(3);
  expect(await insert(db, BUSY, ['b', 'c', 'd'], 1)).toBe(1);
  expect(await insert(db, QUIET, ['d', 'x'])).toBe(1);
  expect(await counts(db)).toEqual([1, 4]);
  const busy = (await listCallCounts(db, ACME)).find(({ calls }) => calls === 4);
  const ofBusy = { tenantId: 'acme', sender: busy?.sender ?? '' };
  expect(await deleteOldestCalls(db, { ...ofBusy, before: later(0).toISOString(), limit: 10 })).toBe(0);
  expect(await deleteOldestCalls(db, { ...ofBusy, before: later(1).toISOString(), limit: 2 })).toBe(2);
  expect(await counts(db)).toEqual([1, 2]);
  expect(await deleteOldestCalls(db, { ...ofBusy, before: null, limit: 10 })).toBe(2);
  expect(await counts(db)).toEqual([1]);
  expect(await storedKeys(db)).toEqual(['x']);
});

test('a sender with 500,000 keys displaces its own oldest ones', async () => {
  const db = await temporaryDatabase(ACME);
  await insert(db, QUIET, ['quiet']);
  await insert(db, BUSY, ['a', 'b', 'c'], 1);
  await sql`update telemetry_call_counts set calls = 499999 where calls = 3`.execute(db);
  await insert(db, BUSY, ['d'], 2);
  expect(await storedKeys(db)).toEqual(['a', 'b', 'c', 'd', 'quiet']);
  await insert(db, BUSY, ['e', 'f'], 3);
  expect(await storedKeys(db)).toEqual(['c', 'd', 'e', 'f', 'quiet']);
  expect(await counts(db)).toEqual([1, 500_000]);
  expect([...(await findTelemetryCalls(db, ACME, ['a', 'f'])).keys()]).toEqual(['f']);
  const many = Array.from({ length: 1200 }, (_, index) => `g${index}`);
  await insert(db, BUSY, many, 4);
  // There are only 1,204, since the count was set by hand: 1,200 are removed, in several steps.
  expect(await storedKeys(db)).toEqual([...Array.from({ length: 4 }, () => expect.stringMatching(/^g/)), 'quiet']);
  expect(await counts(db)).toEqual([1, 500_000]);
});
