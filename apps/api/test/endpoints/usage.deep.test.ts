import { insertSeries } from '@quartermaster/db/repositories/usage-series.ts';
import { expect, test } from 'vitest';
import { partOfLongestTurn } from '../support/cpu-of-turns.ts';
import { accountWithKey, unique } from '../support/people.ts';
import { serverOfTest } from '../support/server.ts';
import { addCalls } from '../support/usage.ts';
import { expectProblem } from './harness.ts';

const HOUR_MS = 3600 * 1000;
const DAY_MS = 24 * HOUR_MS;

const time = (milliseconds: number) => new Date(milliseconds).toISOString();

// Regression: 180,000 sums blocked the event loop for 1.3 to 2.4 s.
test('a query of many hours works in many turns of the event loop', async () => {
  const server = await serverOfTest();
  const tenantId = unique('usage');
  const account = await accountWithKey(server, { tenantId });
  const { db, now } = server.services;
  const subjects = Array.from({ length: 100 }, (_, index) => {
    const name = `model-${index}`;
    return { providerId: 'p', kind: 'model' as const, name, nameKey: name, agent: 'a', account: account.principal };
  });
  // Created in an hour, because housekeeping removes older series that have no sums yet.
  await insertSeries(db, { tenantId, subTenantId: null }, subjects, new Date(now().getTime() + HOUR_MS));
  const series = await db.selectFrom('usage_series').select('id').where('tenant_id', '=', tenantId).execute();
  const end = Math.floor(now().getTime() / HOUR_MS) * HOUR_MS;
  const noParts = { cache_read_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 };
  const times = { first_at: 0, last_at: 0 };
  const counts = { calls: 1, errors: 0, input_tokens: 0, output_tokens: 0, ...noParts, duration_us: 0, ...times };
  for (const { id } of series) {
    const rows = Array.from({ length: 720 }, (_, index) => {
      const start_time = time(end - (index + 1) * HOUR_MS);
      return { tenant_id: tenantId, series_id: id, period: 'hour' as const, start_time, ...counts };
    });
    await db.insertInto('usage_rollups').values(rows).execute();
  }
  const query = new URLSearchParams({
    interval: 'hour',
    from: time(end - 30 * DAY_MS),
    to: time(end),
    group_by: 'name',
    limit: '1',
  }).toString();
  /** The part of the CPU time that the longest turn takes. */
  const part = await partOfLongestTurn(async () => {
    const { items } = await server.ok('GET', `/v1/usage?${query}`, { as: account });
    expect(items).toMatchObject([{ name: 'model-0', start: time(end - 30 * DAY_MS), calls: 1 }]);
  }, 0.3);
  expect(part).toBeLessThan(0.3);
});

test('a large query takes several points of the rate limit', async () => {
  const limited = await serverOfTest({ QM_RATE_LIMITS: 'on', QM_RATE_LIMIT_PRINCIPAL: '20' });
  // Start at the beginning of a minute, so that all requests are in one window.
  limited.freeze();
  const tenantId = unique('usage');
  const { key, principal } = await accountWithKey(limited, { tenantId });
  const subjects = Array.from({ length: 4000 }, (_, index) => {
    const name = `model-${index}`;
    return { providerId: 'p', kind: 'model' as const, name, nameKey: name, agent: 'a', account: principal };
  });
  await addCalls(limited, { tenantId, subTenantId: null }, subjects);
  const list = (query = '') => limited.call('GET', `/v1/usage?limit=1${query}`, { as: { key } });
  // Small queries take one point each.
  for (let index = 0; index < 3; index += 1) expect((await list('&name=model-1')).status).toBe(200);
  // One point and 20 for the series. No points are left for the next query.
  expect((await list()).status).toBe(200);
  expectProblem(await list(), 429, 'rate_limited');
});
