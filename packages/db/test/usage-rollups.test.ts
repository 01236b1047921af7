import { expect, test } from 'vitest';
import { addToRollups, readRollups, type Rollup, type UsageSums } from '../src/repositories/usage-rollups.ts';
import { temporaryDatabase } from './temporary-database.ts';

const ACME = { tenantId: 'acme', subTenantId: null };
const HOUR = '2026-03-01T12:00:00.000Z';
const NOTHING: UsageSums = { calls: 0, errors: 0, inputTokens: 0, outputTokens: 0, durationUs: 0 };
const LARGEST = 9e14;

/** The sums of one hour after the additions. */
async function sumsAfter(...additions: Partial<UsageSums>[]) {
  const db = await temporaryDatabase(ACME);
  for (const addition of additions) {
    const rollup: Rollup = { ...NOTHING, ...addition, seriesId: 'use_1', period: 'hour', startTime: HOUR };
    await addToRollups(db, ACME, [rollup]);
  }
  const range = { period: 'hour', from: HOUR, to: '2026-03-01T13:00:00.000Z', each: 'period' } as const;
  const rows = await readRollups(db, ACME, ['use_1'], range);
  return rows.map(({ calls, errors, inputTokens, outputTokens, durationUs }) => {
    return { calls, errors, inputTokens, outputTokens, durationUs };
  });
}

test('regression: a sum that reached its upper limit does not fall below 0', async () => {
  const week = 7 * 24 * 3600 * 1e6;
  const all = { calls: 2000, durationUs: 2000 * week };
  expect(await sumsAfter(all)).toEqual([{ ...NOTHING, calls: 2000, durationUs: LARGEST }]);
  expect(await sumsAfter(all, { durationUs: -all.durationUs })).toEqual([{ ...NOTHING, calls: 2000 }]);
  expect(await sumsAfter(all, { calls: -2000, durationUs: -all.durationUs })).toEqual([]);
});

test('regression: a subtraction from sums that do not exist adds nothing below 0', async () => {
  expect(await sumsAfter({ calls: -1, durationUs: -1000 })).toEqual([]);
  expect(await sumsAfter({ errors: -1 })).toEqual([]);
  expect(await sumsAfter({ calls: -1, inputTokens: 5 })).toEqual([{ ...NOTHING, inputTokens: 5 }]);
  expect(await sumsAfter({ calls: 1, errors: 1 }, { calls: -3, errors: -1 })).toEqual([]);
});

test('a row of which only errors or durations are taken back to 0 is deleted', async () => {
  expect(await sumsAfter({ errors: 1 }, { errors: -1 })).toEqual([]);
  expect(await sumsAfter({ durationUs: 7 }, { durationUs: -7 })).toEqual([]);
});
