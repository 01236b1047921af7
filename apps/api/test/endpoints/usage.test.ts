import * as contract from '@quartermaster/contracts/usage.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import { pruneObservations } from '../../src/resources/operator-tasks/prune-observations.ts';
import { aggregateRecordCalls } from '../../src/telemetry/ingest/aggregate-records.ts';
import { removeOldUsage } from '../../src/telemetry/usage/retention.ts';
import { accountWithKey, type Place, unique } from '../support/people.ts';
import type { Body } from '../support/server.ts';
import { record } from '../telemetry/calls/records.ts';
import { chat, newSpanId, newTraceId, sendSpans, type SpanInput, toolRun } from '../telemetry/traces/sending.ts';
import { checkCoverageAfterAll, type Endpoints, expectInvalid, expectProblem, serverFor } from './harness.ts';

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor(contract, { QM_MAX_USAGE_SERIES: '40' });
});
checkCoverageAfterAll(() => server);

const HOUR_MS = 3600 * 1000;
const DAY_MS = 24 * HOUR_MS;

/** The beginning of the day before yesterday. */
const dayStart = () => Math.floor(server.services.now().getTime() / DAY_MS) * DAY_MS - 2 * DAY_MS;
const time = (milliseconds: number) => new Date(milliseconds).toISOString();

function model(name: string, at: number, attributes: SpanInput['attributes'] = {}): SpanInput {
  const tokens = { 'gen_ai.usage.input_tokens': 10, 'gen_ai.usage.output_tokens': 5 };
  const span = chat(name, { 'gen_ai.provider.name': 'openai', ...tokens, ...attributes });
  return { ...span, start: BigInt(at) * 1_000_000n, end: BigInt(at + 1500) * 1_000_000n };
}

async function newTenant(place: Partial<Place> = {}) {
  const tenantId = place.tenantId ?? unique('usage');
  const account = await accountWithKey(server, { tenantId, ...place });
  const as = { key: account.key };
  const usage = async (query: Record<string, string | string[]> = {}): Promise<Body[]> => {
    const items: Body[] = [];
    let cursor: string | null = null;
    do {
      const page: Body = await server.ok(
        'GET',
        `/v1/usage?${searchOf({ ...query, ...(cursor !== null && { cursor }) })}`,
        { as },
      );
      items.push(...page.items);
      cursor = page.nextCursor;
    } while (cursor !== null);
    return items;
  };
  return { tenantId, account, as, usage };
}

function searchOf(query: Record<string, string | string[]>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((one): [string, string] => [name, one]),
  );
  return new URLSearchParams(pairs).toString();
}

const sums = ({ calls, errors, inputTokens, outputTokens, durationMs }: Body) => ({
  calls,
  errors,
  inputTokens,
  outputTokens,
  durationMs,
});

/** Three calls of two models on two days, and a tool. */
async function withCalls() {
  const tenant = await newTenant();
  const day = dayStart();
  await sendSpans(server, tenant.as, [
    model('gpt-5', day + HOUR_MS),
    model('GPT-5', day + HOUR_MS + 1000),
    { ...model('gpt-6', day + DAY_MS), failed: true },
    { ...toolRun('search'), start: BigInt(day) * 1_000_000n, end: BigInt(day) * 1_000_000n, service: 'other-agent' },
  ]);
  return { ...tenant, day };
}

test('list_usage adds everything up', async () => {
  const { tenantId, usage } = await withCalls();
  const [all, ...others] = await usage();
  expect(others).toEqual([]);
  expect(all).toEqual({
    tenantId,
    subTenantId: null,
    start: null,
    providerId: null,
    kind: null,
    name: null,
    agent: null,
    account: null,
    calls: 4,
    errors: 1,
    inputTokens: 30,
    outputTokens: 15,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    durationMs: 4500,
    // 20 tokens in and 10 out of gpt-5. Nothing has a price for gpt-6.
    cost: {
      microUsd: 125,
      unpricedCalls: 1,
      prices: [{ source: 'list', id: 'openai/gpt-5', version: expect.any(String) }],
    },
  });
});

test('list_usage groups by each dimension', async () => {
  const { usage, account } = await withCalls();
  const by = async (...dimensions: string[]) =>
    (await usage({ group_by: dimensions })).map(({ kind, name, agent, account: by_, calls }) => [
      kind,
      name,
      agent,
      by_,
      calls,
    ]);
  expect(await by('kind')).toEqual([
    ['model', null, null, null, 3],
    ['tool', null, null, null, 1],
  ]);
  expect(await by('kind', 'name')).toEqual([
    ['model', 'gpt-5', null, null, 2],
    ['model', 'gpt-6', null, null, 1],
    ['tool', 'search', null, null, 1],
  ]);
  expect(await by('agent', 'account')).toEqual([
    [null, null, 'other-agent', account.principal, 1],
    [null, null, 'travel-agent', account.principal, 3],
  ]);
  const providers = await usage({ group_by: ['provider'] });
  expect(providers.map(({ calls }): number => calls).toSorted((a, b) => a - b)).toEqual([1, 3]);
});

test('list_usage answers by hour and by day', async () => {
  const { usage, day } = await withCalls();
  const range = { from: time(day), to: time(day + 2 * DAY_MS) };
  const starts = async (interval: string) =>
    (await usage({ ...range, interval })).map(({ start, calls }) => [start, calls]);
  expect(await starts('hour')).toEqual([
    [time(day), 1],
    [time(day + HOUR_MS), 2],
    [time(day + DAY_MS), 1],
  ]);
  expect(await starts('day')).toEqual([
    [time(day), 3],
    [time(day + DAY_MS), 1],
  ]);
  // From the middle of a day to the middle of another: hours, and the whole days between them.
  const [some] = await usage({ from: time(day + HOUR_MS), to: time(day + DAY_MS + HOUR_MS) });
  expect(some?.calls).toBe(3);
  const [hours] = await usage({ from: time(day + HOUR_MS), to: time(day + 2 * HOUR_MS) });
  expect(hours?.calls).toBe(2);
});

test('regression: two days in India that follow each other count each call once, and the answer names their range', async () => {
  const { as } = await newTenant();
  const midnight = dayStart() - 5.5 * HOUR_MS;
  const minutes = (count: number) => midnight + DAY_MS + count * 60_000;
  // Around the midnight of India, which is half past an hour of UTC.
  await sendSpans(
    server,
    as,
    [-20, -1, 0, 10, 29, 30].map((count) => model('gpt-5', minutes(count))),
  );
  const read = (from: number, to: number) =>
    server.call('GET', `/v1/usage?${searchOf({ from: time(from), to: time(to) })}`, { as });
  const refused = await read(midnight, minutes(0));
  expectInvalid(refused, { loc: ['query', 'from'], type: 'value_error' });
  expect(refused.body.detail[0].msg).toContain(`a full hour in UTC, such as ${time(midnight - HOUR_MS / 2)}`);
  const days = [midnight, minutes(0), minutes(24 * 60)].map((at) => at + HOUR_MS / 2);
  const calls: number[] = [];
  for (const [from, to] of [days.slice(0, 2), days.slice(1)] as [number, number][]) {
    const { body } = await read(from, to);
    expect(body).toMatchObject({ from: time(from), to: time(to) });
    calls.push(body.items[0].calls);
  }
  expect(calls).toEqual([5, 1]);
});

test('list_usage names the range that it chose', async () => {
  const { as } = await newTenant();
  const { from, to } = await server.ok('GET', '/v1/usage', { as });
  expect(Date.parse(to) % HOUR_MS).toBe(0);
  expect(Date.parse(to) - server.services.now().getTime()).toBeLessThan(HOUR_MS);
  expect(Date.parse(to) - Date.parse(from)).toBe(30 * DAY_MS);
});

test('list_usage filters', async () => {
  const { usage, account } = await withCalls();
  const [provider] = await usage({ group_by: ['provider'], kind: 'model' });
  const callsOf = async (filter: Record<string, string>) => (await usage(filter)).map(({ calls }) => calls);
  expect(await callsOf({ kind: 'tool' })).toEqual([1]);
  expect(await callsOf({ name: 'GPT-5' })).toEqual([2]);
  expect(await callsOf({ agent: 'other-agent' })).toEqual([1]);
  expect(await callsOf({ account: account.principal })).toEqual([4]);
  expect(await callsOf({ provider_id: provider?.providerId })).toEqual([3]);
  expect(await callsOf({ name: 'none' })).toEqual([]);
});

test('list_usage answers pages that fit together', async () => {
  const { usage, as } = await withCalls();
  const query = { interval: 'hour', group_by: ['kind', 'name'], from: time(dayStart()) };
  const whole = await usage(query);
  expect(whole).toHaveLength(3);
  expect(await usage({ ...query, limit: '1' })).toEqual(whole);
  const page = await server.ok('GET', `/v1/usage?${searchOf({ ...query, limit: '2' })}`, { as });
  const other = searchOf({ ...query, interval: 'day', cursor: page.nextCursor });
  expectInvalid(await server.call('GET', `/v1/usage?${other}`, { as }), {
    loc: ['query', 'cursor'],
    type: 'value_error',
  });
});

test('list_usage answers the records with the most first, also page by page', async () => {
  const { usage, as } = await newTenant();
  const at = dayStart();
  const tokens = (input: number) => ({ 'gen_ai.usage.input_tokens': input, 'gen_ai.usage.output_tokens': 1 });
  await sendSpans(server, as, [
    ...Array.from({ length: 3 }, () => model('often', at, tokens(1))),
    model('large', at, tokens(1000)),
    model('also-large', at, tokens(1000)),
    { ...model('failing', at + DAY_MS, tokens(2)), failed: true },
  ]);
  const names = async (query: Record<string, string>) =>
    (await usage({ group_by: ['name'], ...query })).map(({ name }) => name);
  for (const limit of ['1', '2', '100']) {
    expect(await names({ limit, sort: 'tokens' })).toEqual(['also-large', 'large', 'often', 'failing']);
    expect(await names({ limit, sort: 'calls' })).toEqual(['often', 'also-large', 'failing', 'large']);
    expect(await names({ limit, sort: 'errors' })).toEqual(['failing', 'also-large', 'large', 'often']);
    const byDay = { limit, interval: 'day', from: time(at) };
    expect(await names({ ...byDay, sort: 'errors' })).toEqual(['failing', 'also-large', 'large', 'often']);
    expect(await names(byDay)).toEqual(['also-large', 'large', 'often', 'failing']);
  }
});

describe('list_usage refuses', () => {
  test.each([
    [{ from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' }, ['query', 'from'], 'value_error'],
    [{ from: '2026-01-01T00:00:00Z', to: '2026-03-01T00:00:00Z', interval: 'hour' }, ['query', 'from'], 'value_error'],
    [{ from: '2000-01-01T00:00:00Z', to: '2026-03-01T00:00:00Z' }, ['query', 'from'], 'value_error'],
    [{ from: '2026-01-01T18:30:00Z', to: '2026-01-02T19:00:00Z' }, ['query', 'from'], 'value_error'],
    [{ from: '2026-01-01T18:00:00Z', to: '2026-01-02T18:59:59.999Z' }, ['query', 'to'], 'value_error'],
    [{ from: '2026-01-01T01:00:00Z', interval: 'day' }, ['query', 'from'], 'value_error'],
    [{ to: '2026-01-02T00:00:00+05:30', interval: 'day' }, ['query', 'to'], 'value_error'],
    [{ group_by: 'colour' }, ['query', 'group_by', 0], 'enum'],
    [{ interval: 'week' }, ['query', 'interval'], 'enum'],
    [{ sort: 'name' }, ['query', 'sort'], 'enum'],
    [{ limit: '1001' }, ['query', 'limit'], 'less_than_equal'],
  ] as const)('%j', async (query, loc, type) => {
    const answered = await server.call('GET', `/v1/usage?${searchOf(query)}`, { as: server.admin });
    expectInvalid(answered, { loc: [...loc], type });
  });
});

test('a caller sees the usage of the places in reach', async () => {
  const tenantId = unique('usage');
  const whole = await newTenant({ tenantId });
  const eu = await newTenant({ tenantId, subTenantId: 'eu' });
  const us = await newTenant({ tenantId, subTenantId: 'us' });
  const stranger = await newTenant();
  const at = dayStart();
  await sendSpans(server, eu.as, [model('gpt-5', at)]);
  await sendSpans(server, us.as, [model('gpt-5', at), model('gpt-5', at)]);
  const bySubTenant = { group_by: ['sub_tenant'] };
  const seen = (items: Body[]) => items.map(({ subTenantId, calls }) => [subTenantId, calls]);
  expect(seen(await whole.usage(bySubTenant))).toEqual([
    ['eu', 1],
    ['us', 2],
  ]);
  expect(seen(await whole.usage({ ...bySubTenant, sub_tenant_id: 'us' }))).toEqual([['us', 2]]);
  expect(seen(await eu.usage(bySubTenant))).toEqual([['eu', 1]]);
  expect(await stranger.usage(bySubTenant)).toEqual([]);
  const named = await server.call('GET', `/v1/usage?tenant_id=${tenantId}`, { as: stranger.as });
  expectProblem(named, 403, 'tenant_forbidden');
});

test('names beyond an account’s share are added up as other, and do not affect other accounts', async () => {
  const tenantId = unique('usage');
  const [noisy, quiet] = [await newTenant({ tenantId }), await newTenant({ tenantId })];
  const at = dayStart();
  await sendSpans(
    server,
    noisy.as,
    Array.from({ length: 100 }, (_, index) => model(`junk-${index}`, at)),
  );
  await sendSpans(server, quiet.as, [model('gpt-5', at)]);
  const byName = await noisy.usage({ group_by: ['name', 'agent'] });
  expect(byName.reduce((sum, { calls }) => sum + calls, 0)).toBe(101);
  expect(byName.find(({ name, agent }) => name === 'other' && agent === 'other')?.calls).toBe(80);
  expect(byName.find(({ name }) => name === 'gpt-5')?.calls).toBe(1);
  // Known names are still counted separately.
  await sendSpans(server, noisy.as, [model('junk-0', at)]);
  expect((await noisy.usage({ name: 'junk-0' })).map(sums)).toMatchObject([{ calls: 2 }]);
});

test('usage is removed after the tenant’s retention', async () => {
  const { tenantId, usage, as } = await withCalls();
  const old = dayStart() - 20 * DAY_MS;
  await sendSpans(server, as, [model('gpt-4', old)]);
  const from = { from: time(old) };
  expect((await usage(from)).map(({ calls }) => calls)).toEqual([5]);
  await server.ok('PUT', `/v1/tenants/${tenantId}`, {
    as: server.admin,
    body: { settings: { usageRetentionDays: 10 } },
  });
  await removeOldUsage(server.services);
  expect((await usage({ ...from, group_by: ['name'] })).map(({ name }) => name)).toEqual(['gpt-5', 'gpt-6', 'search']);
  const series = server.services.db.selectFrom('usage_series').select('name').where('tenant_id', '=', tenantId);
  expect((await series.execute()).map(({ name }) => name)).not.toContain('gpt-4');
  // A span that is older than the retention counts in the hour of its arrival.
  await sendSpans(server, as, [model('gpt-3', old)]);
  const [late] = await usage({ name: 'gpt-3', interval: 'hour' });
  expect(late?.calls).toBe(1);
});

test('the usage of models follows a provider that is renamed', async () => {
  const { usage, as } = await newTenant();
  const body = { name: 'oai', kind: 'llm' };
  const provider = await server.ok('POST', '/v1/providers', { as, body });
  const at = dayStart();
  const vendor = { 'gen_ai.provider.name': 'oai' };
  await sendSpans(server, as, [model('gpt-5', at, vendor), model('acme/gpt-5', at, vendor)]);
  expect((await usage({ group_by: ['name'] })).map(({ name }) => name)).toEqual(['acme/gpt-5', 'gpt-5']);
  await server.ok('PUT', `/v1/providers/${provider.id}`, { as, body: { name: 'acme' } });
  expect((await usage({ group_by: ['name'] })).map(({ name, calls }) => [name, calls])).toEqual([['gpt-5', 2]]);
});

test('usage of pruned names is added up as other', async () => {
  const { tenantId, usage, as } = await newTenant();
  const at = dayStart();
  await sendSpans(server, as, [model('junk', at), model('junk', at + HOUR_MS), model('more-junk', at)]);
  const before = await usage();
  const { db, now } = server.services;
  await db.transaction().execute((trx) => pruneObservations(trx, () => {}, tenantId, now()));
  const storedSums = db.selectFrom('usage_rollups').select('start_time').where('tenant_id', '=', tenantId);
  const expectSums = async (stored: number) => {
    expect(await usage()).toEqual(before);
    expect((await usage({ group_by: ['name'] })).map(({ name, calls }) => [name, calls])).toEqual([['other', 3]]);
    const byHour = await usage({ from: time(at), to: time(at + DAY_MS), interval: 'hour' });
    expect(byHour.map(({ calls }) => calls)).toEqual([2, 1]);
    expect(await storedSums.execute()).toHaveLength(stored);
  };
  // Two hours and a day of `other`, and what the two names had.
  await expectSums(3 + 3 + 2);
  await removeOldUsage(server.services);
  await expectSums(3);
});

describe.each(['a log record', 'a span around it'])('a call that is reported first by %s', (first) => {
  /** Reports a call of the model m-1 at `newvendor`. @returns the span that shows later that it was a call of m-1-2026-01-01 */
  async function reportCall({ tenantId, account, as }: Awaited<ReturnType<typeof newTenant>>) {
    const ids = { traceId: newTraceId(), spanId: newSpanId() };
    const vendor = { 'gen_ai.provider.name': 'newvendor' };
    const { db, tenantLimits, now } = server.services;
    const place = { tenantId, subTenantId: null };
    if (first === 'a log record') {
      const records = [record({ model: 'm-1', vendor: 'newvendor' }, { ...ids, time: time(dayStart()) })];
      const limits = { observations: 1000, tenantLimits, usageSeries: 40, usageRetentionDays: 400 };
      const batch = { records, sender: account.principal, limits };
      await inTransaction(db, (trx) => aggregateRecordCalls(trx, place, batch, now()));
    } else await sendSpans(server, as, [{ ...model('m-1', dayStart(), vendor), ...ids }]);
    const inner = { traceId: ids.traceId, parentSpanId: ids.spanId, name: 'inner' };
    return { ...model('m-1-2026-01-01', dayStart(), vendor), ...(first === 'a log record' ? ids : inner) };
  }

  test('regression: is taken back from the series of its provider, if that was deleted since then', async () => {
    const tenant = await newTenant();
    const correction = await reportCall(tenant);
    const [former] = await tenant.usage({ group_by: ['name', 'provider'] });
    expect(former).toMatchObject({ name: 'm-1', calls: 1 });
    await server.ok('DELETE', `/v1/providers/${former?.providerId}`, { as: tenant.as });
    await sendSpans(server, tenant.as, [correction]);
    const all = await tenant.usage({ group_by: ['name', 'provider'] });
    expect(all).toMatchObject([{ name: 'm-1-2026-01-01', calls: 1 }]);
    expect(all[0]?.providerId).not.toBe(former?.providerId);
    expect(await seriesOf(tenant.tenantId)).toEqual(['m-1', 'm-1-2026-01-01']);
  });

  test('is taken back from the series `other`, if its own was pruned since then', async () => {
    const tenant = await newTenant();
    const correction = await reportCall(tenant);
    const { db, now } = server.services;
    await db.transaction().execute((trx) => pruneObservations(trx, () => {}, tenant.tenantId, now()));
    expect(await tenant.usage({ group_by: ['name'] })).toMatchObject([{ name: 'other', calls: 1 }]);
    await sendSpans(server, tenant.as, [correction]);
    expect(await tenant.usage({ group_by: ['name'] })).toMatchObject([{ name: 'm-1-2026-01-01', calls: 1 }]);
    expect(await seriesOf(tenant.tenantId)).toEqual(['m-1-2026-01-01', 'other']);
  });

  test('is taken back from the series without a provider, if that was beyond the tenant’s limit', async () => {
    const tenant = await newTenant();
    const limit = (providers: number) =>
      server.ok('PUT', `/v1/tenants/${tenant.tenantId}/limits`, { as: server.admin, body: { providers } });
    await limit(0);
    const correction = await reportCall(tenant);
    expect(await tenant.usage({ group_by: ['name', 'provider'] })).toMatchObject([{ name: 'm-1', calls: 1 }]);
    await limit(10);
    await sendSpans(server, tenant.as, [correction]);
    expect(await tenant.usage({ group_by: ['name'] })).toMatchObject([{ name: 'm-1-2026-01-01', calls: 1 }]);
    expect(await seriesOf(tenant.tenantId)).toEqual(['m-1', 'm-1-2026-01-01']);
  });
});

async function seriesOf(tenantId: string): Promise<string[]> {
  const { db } = server.services;
  const series = await db.selectFrom('usage_series').select('name').where('tenant_id', '=', tenantId).execute();
  return series.map(({ name }) => name).toSorted();
}
