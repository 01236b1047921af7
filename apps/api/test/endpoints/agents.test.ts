import * as contract from '@quartermaster/contracts/agents.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import { accountWithKey, unique } from '../support/people.ts';
import type { Body } from '../support/server.ts';
import { all, chat, newSpanId, newTraceId, sendSpans, type SpanInput, toolRun } from '../telemetry/traces/sending.ts';
import { checkCoverageAfterAll, type Endpoints, expectInvalid, expectProblem, serverFor } from './harness.ts';

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor(contract);
});
checkCoverageAfterAll(() => server);

const HOUR_MS = 3600 * 1000;

/** The start of the hour some hours after now. */
function hourAfter(hours: number): string {
  const time = Math.floor(server.services.now().getTime() / HOUR_MS) * HOUR_MS;
  return new Date(time + hours * HOUR_MS).toISOString();
}

/** A span of an hour before a time, by default now. */
function recent(span: SpanInput, service: string, now = server.services.now().getTime()): SpanInput {
  const start = BigInt(now - HOUR_MS) * 1_000_000n;
  return { ...span, service, start, end: start + 1_000_000n };
}

/** A tenant in which two services use a provider. Manifests declare one of the services and a third agent. */
async function newTenant() {
  const tenantId = unique('agents');
  const account = await accountWithKey(server, { tenantId });
  const as = { key: account.key };
  const post = (path: string, body: object) => server.ok('POST', path, { as, body });
  const provider = await post('/v1/providers', { name: 'openai', kind: 'llm', tenantId });
  await post(`/v1/providers/${provider.id}/inventory`, { kind: 'model', name: 'gpt-5' });
  await post(`/v1/providers/${provider.id}/inventory`, { kind: 'model', name: 'forbidden', status: 'blocked' });
  const declares = [{ provider: 'openai', kind: 'model', name: 'gpt-5' }];
  const manifest = await post('/v1/manifests', { name: 'billing', kind: 'agent', spec: { declares }, tenantId });
  await post('/v1/manifests', { name: 'planned', kind: 'agent', spec: {}, tenantId });
  const model = (name: string) => chat(name, { 'gen_ai.provider.name': 'openai', 'gen_ai.usage.input_tokens': 7 });
  // One time for all, because lists are sorted by it.
  const now = server.services.now().getTime();
  await sendSpans(server, as, [
    recent(model('gpt-5'), 'billing', now),
    recent(model('gpt-5'), 'billing', now),
    recent({ ...model('o9-preview'), failed: true }, 'billing', now),
    recent(model('forbidden'), 'shadow', now),
    recent(toolRun('search'), 'shadow', now),
  ]);
  return { tenantId, account, as, provider, manifest };
}

describe('list_agents', () => {
  test('lists declared and observed agents with their usage', async () => {
    const { as, account, manifest } = await newTenant();
    const { items } = await server.ok('GET', '/v1/agents', { as });
    expect(items.map(({ name, declared }: Body) => [name, declared])).toEqual([
      ['billing', true],
      ['planned', true],
      ['shadow', false],
    ]);
    const [billing, planned, shadow] = items;
    expect(billing).toMatchObject({
      manifestId: manifest.id,
      accounts: [account.principal],
      firstSeenAt: expect.any(String),
      lastSeenAt: expect.any(String),
      usage: { calls: 3, errors: 1, inputTokens: 21, outputTokens: 0, cost: expect.anything() },
    });
    expect(planned).toMatchObject({ firstSeenAt: null, lastSeenAt: null, accounts: [], usage: { calls: 0 } });
    expect(shadow).toMatchObject({ manifestId: null, usage: { calls: 2 } });
  });

  test('regression: the risk of an agent is that of its worst use, and not of its own observation alone', async () => {
    const { as, provider } = await newTenant();
    const attributes = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'shadow' };
    await sendSpans(server, as, [recent({ name: 'invoke_agent shadow', kind: 1, attributes }, 'shadow')]);
    const risks = async () => {
      const items: Body[] = (await server.ok('GET', '/v1/agents', { as })).items;
      return Object.fromEntries(items.map(({ name, risk }) => [name, risk]));
    };
    const { billing, planned, shadow } = await risks();
    expect(shadow.level).toBe('high');
    expect(shadow.causes).toContainEqual(
      expect.objectContaining({
        providerId: provider.id,
        kind: 'model',
        name: 'forbidden',
        factors: expect.arrayContaining([expect.objectContaining({ factor: 'blocked_item' })]),
      }),
    );
    // Another agent of the same place uses the blocked model.
    expect(billing).toMatchObject({ level: 'medium', causes: [{ name: 'o9-preview' }] });
    expect(planned).toBeNull();
    const [{ id }] = (await server.ok('GET', '/v1/agents?text=shadow', { as })).items;
    expect((await server.ok('GET', `/v1/agents/${id}`, { as })).risk).toEqual(shadow);
    // The use stays, whatever time range is read.
    const outside = `from=${hourAfter(2)}&to=${hourAfter(3)}&text=shadow`;
    expect((await server.ok('GET', `/v1/agents?${outside}`, { as })).items).toMatchObject([
      { usage: { calls: 0 }, risk: { level: 'high' } },
    ]);
    // A block that is decided later counts at once.
    const body = { kind: 'model', name: 'o9-preview', status: 'blocked' };
    await server.ok('POST', `/v1/providers/${provider.id}/inventory`, { as, body });
    expect((await risks())['billing']).toMatchObject({ level: 'high', causes: [{ name: 'o9-preview' }] });
  });

  test('the risk of an agent comes from uses in its own sub-tenant alone', async () => {
    const { tenantId, as } = await newTenant();
    const place = { tenantId, subTenantId: 'east' };
    const east = { key: (await accountWithKey(server, place)).key };
    await sendSpans(server, east, [recent(chat('gpt-5', { 'gen_ai.provider.name': 'openai' }), 'shadow')]);
    const found = (await all(server, '/v1/agents?text=shadow', as)).map(({ subTenantId, risk }) => [
      subTenantId,
      risk.causes.some(({ name }: Body) => name === 'forbidden'),
    ]);
    expect(found).toEqual([
      [null, true],
      ['east', false],
    ]);
  });

  test('lists an agent that was reported as such, with its observation', async () => {
    const { as } = await newTenant();
    const attributes = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'planner' };
    await sendSpans(server, as, [recent({ name: 'invoke_agent planner', kind: 1, attributes }, 'travel')]);
    const { items } = await server.ok('GET', '/v1/agents?text=PLANNER', { as });
    expect(items).toMatchObject([
      { name: 'planner', declared: false, observations: [{ unknown: true, status: 'open' }] },
    ]);
  });

  test('regression: an agent is first and last seen when a call of it began, to the millisecond, and not when late spans were received', async () => {
    const { as } = await newTenant();
    const day = new Date(server.services.now().getTime() - 30 * 24 * HOUR_MS).toISOString().slice(0, 10);
    const exact = `${day}T10:20:00.000Z`;
    const start = BigInt(Date.parse(exact)) * 1_000_000n;
    const at = (span: SpanInput, minutes = 0) => {
      const begun = start + BigInt(minutes) * 60_000_000_000n;
      return { ...span, service: 'late', start: begun, end: begun + 1_000_000n };
    };
    const call = chat('gpt-5', { 'gen_ai.provider.name': 'openai' });
    await sendSpans(server, as, [at(call, 17), at(call)]);
    await sendSpans(server, as, [at(call, 5), at(call, 25)]);
    const late = async () => (await server.ok('GET', '/v1/agents?text=late', { as })).items;
    const last = `${day}T10:45:00.000Z`;
    expect(await late()).toMatchObject([{ name: 'late', firstSeenAt: exact, lastSeenAt: last }]);
    const attributes = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'late' };
    await sendSpans(server, as, [at({ name: 'invoke_agent late', kind: 1, attributes })]);
    expect(await late()).toMatchObject([{ name: 'late', firstSeenAt: exact, lastSeenAt: last }]);
  });

  test('regression: an agent cannot hide by calling itself other, the name of the sum of all agents beyond the limit', async () => {
    const { as } = await newTenant();
    const model = chat('gpt-5', { 'gen_ai.provider.name': 'openai', 'gen_ai.agent.name': 'other' });
    await sendSpans(server, as, [recent(model, 'billing')]);
    const { items } = await server.ok('GET', '/v1/agents?text=other', { as });
    expect(items).toMatchObject([{ name: 'other', usage: { calls: 1 } }]);
    const detail = await server.ok('GET', `/v1/agents/${items[0].id}`, { as });
    expect(detail.uses).toMatchObject([{ name: 'gpt-5', calls: 1 }]);
  });

  test('regression: an agent whose calls later spans moved to another agent is not listed any more', async () => {
    const { as } = await newTenant();
    const [traceId, agentId] = [newTraceId(), newSpanId()];
    const model = chat('gpt-5', { 'gen_ai.provider.name': 'openai', 'gen_ai.agent.name': 'helper' });
    await sendSpans(server, as, [{ ...recent(model, 'billing'), traceId, parentSpanId: agentId }]);
    const helper = async (): Promise<Body[]> => (await server.ok('GET', '/v1/agents?text=helper', { as })).items;
    const [{ id }] = (await helper()) as [Body];
    const attributes = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'planner' };
    const around = recent({ name: 'invoke_agent planner', kind: 1, attributes }, 'billing');
    await sendSpans(server, as, [{ ...around, traceId, spanId: agentId }]);
    expect(await helper()).toEqual([]);
    expectProblem(await server.call('GET', `/v1/agents/${id}`, { as }), 404, 'agent_not_found');
  });

  test('filters by declaration and by text, and pages', async () => {
    const { as } = await newTenant();
    const names = async (query: string) => (await all(server, `/v1/agents?${query}`, as)).map(({ name }) => name);
    expect(await names('declared=true')).toEqual(['billing', 'planned']);
    expect(await names('declared=false')).toEqual(['shadow']);
    expect(await names('text=ILL')).toEqual(['billing']);
    expect(await names('limit=1')).toEqual(['billing', 'planned', 'shadow']);
  });

  test('sorts by last sight, calls, errors and tokens, the largest first, page by page', async () => {
    const { as } = await newTenant();
    const now = BigInt(server.services.now().getTime()) * 1_000_000n;
    const thinking = chat('gpt-5', { 'gen_ai.provider.name': 'openai', 'gen_ai.usage.output_tokens': 1000 });
    await sendSpans(server, as, [{ ...thinking, service: 'thinker', failed: true, start: now, end: now + 1n }]);
    const names = async (query: string) => (await all(server, `/v1/agents?${query}`, as)).map(({ name }) => name);
    const orders = {
      name: ['billing', 'planned', 'shadow', 'thinker'],
      last_seen_at: ['thinker', 'billing', 'shadow', 'planned'],
      calls: ['billing', 'shadow', 'thinker', 'planned'],
      errors: ['billing', 'thinker', 'planned', 'shadow'],
      tokens: ['thinker', 'billing', 'shadow', 'planned'],
    };
    for (const [sort, expected] of Object.entries(orders)) {
      for (const limit of [1, 3, 100]) expect(await names(`sort=${sort}&limit=${limit}`), sort).toEqual(expected);
    }
    expect(await names('sort=tokens&declared=true')).toEqual(['billing', 'planned']);
    // Usage outside of the time range does not count.
    const [from, to] = [hourAfter(2), hourAfter(3)];
    expect(await names(`sort=tokens&from=${from}&to=${to}`)).toEqual(orders.name);
  });

  test('cannot be sorted by usage if there is too much of it, unless a filter leaves less', async () => {
    const { tenantId, as } = await newTenant();
    const { db } = server.services;
    const series = db.selectFrom('usage_series').selectAll().where('tenant_id', '=', tenantId);
    const row = await series.executeTakeFirstOrThrow();
    for (let from = 0; from < 10_000; from += 1000) {
      const copies = Array.from({ length: 1000 }, (_, index) => {
        const id = `${row.id}-${from + index}`;
        return { ...row, id, series_key: id, agent: 'busy' };
      });
      await db.insertInto('usage_series').values(copies).execute();
    }
    const list = (query: string) => server.call('GET', `/v1/agents?${query}`, { as });
    expectInvalid(await list('sort=tokens'), { loc: ['query', 'sort'], type: 'value_error' });
    expect((await list('sort=tokens&text=BILL')).body.items).toMatchObject([{ name: 'billing' }]);
    expect((await list('sort=name')).status).toBe(200);
  });

  test('counts only usage in the time range', async () => {
    const { as } = await newTenant();
    const [from, to] = [hourAfter(-48), hourAfter(-24)];
    const { items, ...range } = await server.ok('GET', `/v1/agents?from=${from}&to=${to}&text=billing`, { as });
    expect(items).toMatchObject([{ usage: { calls: 0 }, lastSeenAt: expect.any(String) }]);
    expect(range).toEqual({ from, to, nextCursor: null });
    const detail = await server.ok('GET', `/v1/agents/${items[0].id}?from=${from}&to=${to}`, { as });
    expect(detail).toMatchObject({ from, to, usage: { calls: 0 } });
    const half = await server.call('GET', `/v1/agents?from=${from.replace(':00:', ':30:')}&to=${to}`, { as });
    expectInvalid(half, { loc: ['query', 'from'], type: 'value_error' });
    const wrong = await server.call('GET', `/v1/agents?from=${to}&to=${from}`, { as });
    expectInvalid(wrong, { loc: ['query', 'from'], type: 'value_error' });
  });

  test('distinguishes agents of sub-tenants, and shows a sub-tenant only its own', async () => {
    const tenantId = unique('agents');
    const keyOf = async (place: { tenantId: string; subTenantId?: string }) => ({
      key: (await accountWithKey(server, place)).key,
    });
    const [one, other] = [
      await keyOf({ tenantId, subTenantId: 'one' }),
      await keyOf({ tenantId, subTenantId: 'other' }),
    ];
    const whole = await keyOf({ tenantId });
    await server.ok('POST', '/v1/manifests', {
      as: whole,
      body: { name: 'shared', kind: 'agent', spec: {}, tenantId },
    });
    for (const as of [one, other]) await sendSpans(server, as, [recent(chat('m'), 'shared')]);
    const places = async (as: { key: string }) =>
      (await all(server, '/v1/agents?text=shared', as)).map(({ subTenantId, declared, manifestId, usage }) => [
        subTenantId,
        declared,
        manifestId !== null,
        usage.calls,
      ]);
    expect(await places(whole)).toEqual([
      [null, true, true, 0],
      ['one', true, true, 1],
      ['other', true, true, 1],
    ]);
    // It is declared by a manifest of the whole tenant, which the sub-tenant cannot see.
    expect(await places(one)).toEqual([['one', true, false, 1]]);
  });
});

describe('get_agent', () => {
  const agentOf = async (as: { key: string }, name: string) =>
    (await server.ok('GET', `/v1/agents?text=${name}`, { as })).items[0];

  test('shows what it used, its state (declared, unknown or blocked), and the account', async () => {
    const { as, account, provider } = await newTenant();
    const billing = await agentOf(as, 'billing');
    const detail = await server.ok('GET', `/v1/agents/${billing.id}`, { as });
    expect(detail).toMatchObject({ ...billing, omittedUses: 0 });
    expect(detail.uses).toMatchObject([
      {
        providerId: provider.id,
        providerName: 'openai',
        kind: 'model',
        name: 'gpt-5',
        state: 'declared',
        accounts: [account.principal],
        calls: 2,
        errors: 0,
        inputTokens: 14,
        observationId: expect.any(String),
      },
      { name: 'o9-preview', state: 'unknown', calls: 1, errors: 1 },
    ]);
    expect(detail.declares).toEqual([{ provider: 'openai', kind: 'model', name: 'gpt-5' }]);
    const shadow = await agentOf(as, 'shadow');
    const { uses } = await server.ok('GET', `/v1/agents/${shadow.id}`, { as });
    expect(uses.map(({ name, state }: Body) => [name, state]).toSorted()).toEqual([
      ['forbidden', 'blocked'],
      ['search', 'unknown'],
    ]);
  });

  test.each(['agt_', 'agt_bm9uZQ', 'none', 'agt_W10'])('is 404 for the id %s', async (id) => {
    const { as } = await newTenant();
    expectProblem(await server.call('GET', `/v1/agents/${id}`, { as }), 404, 'agent_not_found');
  });

  test('is 404 in another tenant', async () => {
    const { as } = await newTenant();
    const other = await newTenant();
    const billing = await agentOf(as, 'billing');
    expectProblem(await server.call('GET', `/v1/agents/${billing.id}`, { as: other.as }), 404, 'agent_not_found');
  });
});

test('get_agent shows a manifest and the names of providers only to callers who may read them', async () => {
  const { tenantId } = await newTenant();
  const as = await accountWithKey(server, { tenantId }, ['runtime_observations:read']);
  const { items } = await server.ok('GET', '/v1/agents', { as });
  expect(items[0]).toMatchObject({ name: 'billing', declared: true, manifestId: null });
  const agent = await server.ok('GET', `/v1/agents/${items[0].id}`, { as });
  expect(agent).toMatchObject({ manifestId: null, declares: [] });
  expect(agent.uses.map(({ providerName }: Body) => providerName)).toEqual(agent.uses.map(() => null));
  expect(agent.uses.length).toBeGreaterThan(0);
});
