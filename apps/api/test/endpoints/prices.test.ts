import * as contract from '@quartermaster/contracts/prices.ts';
import { MAX_PRICES } from '@quartermaster/contracts/prices.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import { accountWithKey, unique } from '../support/people.ts';
import type { Body } from '../support/server.ts';
import { chat, sendSpans, type SpanInput, toolRun } from '../telemetry/traces/sending.ts';
import { auditOf, checkCoverageAfterAll, type Endpoints, expectProblem, serverFor } from './harness.ts';

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor(contract);
});
checkCoverageAfterAll(() => server);

const DAY_MS = 24 * 3600 * 1000;
const PRICE = { validFrom: '2020-01-01', inputPrice: 2_000_000, outputPrice: 8_000_000 };

/** Noon of a day before this one. */
const noon = (daysAgo: number) =>
  Math.floor(server.services.now().getTime() / DAY_MS) * DAY_MS - (daysAgo - 0.5) * DAY_MS;
const dateOf = (daysAgo: number) => new Date(noon(daysAgo)).toISOString().slice(0, 10);

type Tokens = { input: number; output?: number; read?: number; write?: number; reasoning?: number };

function call(model: string, { input, output = 0, read, write, reasoning }: Tokens, daysAgo = 1): SpanInput {
  const attributes = {
    'gen_ai.provider.name': 'openai',
    'gen_ai.usage.input_tokens': input,
    'gen_ai.usage.output_tokens': output,
    ...(read !== undefined && { 'gen_ai.usage.cache_read.input_tokens': read }),
    ...(write !== undefined && { 'gen_ai.usage.cache_creation.input_tokens': write }),
    ...(reasoning !== undefined && { 'gen_ai.usage.reasoning.output_tokens': reasoning }),
  };
  const start = BigInt(noon(daysAgo)) * 1_000_000n;
  return { ...chat(model, attributes), start, end: start + 1_000_000n };
}

async function newTenant() {
  const tenantId = unique('prices');
  const { key } = await accountWithKey(server, { tenantId });
  const as = { key };
  const usage = async (query = ''): Promise<Body[]> => (await server.ok('GET', `/v1/usage?${query}`, { as })).items;
  return {
    tenantId,
    as,
    set: (body: object): Promise<Body> => server.ok('POST', '/v1/prices', { as, body: { ...PRICE, ...body } }),
    send: (...spans: SpanInput[]) => sendSpans(server, as, spans),
    usage,
    cost: async () => (await usage())[0]?.cost,
  };
}

const forAll = (body: object): Promise<Body> =>
  server.ok('POST', '/v1/prices', { as: server.admin, body: { ...PRICE, owner: 'platform', ...body } });

describe('the cost of usage', () => {
  test('is computed from the list prices, with cached tokens at their own price', async () => {
    const { send, usage } = await newTenant();
    await send(call('gpt-5', { input: 1_000_000, output: 100_000, read: 400_000, reasoning: 60_000 }));
    // $1.25, $0.125 for cached, and $10 for a million tokens.
    const [all] = await usage();
    expect(all).toMatchObject({ cacheReadTokens: 400_000, cacheWriteTokens: 0, reasoningTokens: 60_000 });
    expect(all?.['cost']).toEqual({
      microUsd: 750_000 + 50_000 + 1_000_000,
      unpricedCalls: 0,
      prices: [{ source: 'list', id: 'openai/gpt-5', version: expect.stringMatching(/^\d+\.\d+\.\d+$/) }],
    });
  });

  test('is null without model calls, and says how many calls have no price', async () => {
    const { send, usage } = await newTenant();
    await send(toolRun('search'), call('o9-preview', { input: 10 }), call('gpt-5', { input: 0 }));
    const rows = await usage('group_by=kind&group_by=name');
    expect(rows.map(({ name, cost }) => [name, cost])).toEqual([
      ['gpt-5', { microUsd: null, unpricedCalls: 1, prices: [] }],
      ['o9-preview', { microUsd: null, unpricedCalls: 1, prices: [] }],
      ['search', null],
    ]);
    expect(await usage()).toMatchObject([{ cost: { microUsd: null, unpricedCalls: 2 } }]);
  });

  test('is rounded once, after everything is added up', async () => {
    const { set, send, cost, usage } = await newTenant();
    await set({ modelPattern: '*', inputPrice: 400_000 });
    await send(...['a', 'b', 'c', 'd', 'e'].map((name) => call(name, { input: 1 })));
    expect(await usage('group_by=name')).toMatchObject(Array.from({ length: 5 }, () => ({ cost: { microUsd: 0 } })));
    expect(await cost()).toMatchObject({ microUsd: 2, unpricedCalls: 0 });
  });

  test('has the price of each day', async () => {
    const { set, send, cost, usage } = await newTenant();
    const first = await set({ modelPattern: 'own-model', inputPrice: 1_000_000 });
    const second = await set({ modelPattern: 'OWN-model', validFrom: dateOf(2), inputPrice: 3_000_000 });
    await send(call('own-model', { input: 1_000_000 }, 3), call('own-model', { input: 1_000_000 }, 2));
    expect(await cost()).toMatchObject({ microUsd: 4_000_000, prices: [{ id: first.id }, { id: second.id }] });
    const days = (await usage('interval=day')).map((row) => row['cost'].microUsd);
    expect(days).toEqual([1_000_000, 3_000_000]);
    const hours = (await usage('interval=hour&from=' + dateOf(4) + 'T00:00:00Z')).map((row) => row['cost'].microUsd);
    expect(hours).toEqual([1_000_000, 3_000_000]);
  });

  test('prefers the tenant’s price to the platform’s, that to the list’s, and the more specific pattern', async () => {
    const { set, send, cost } = await newTenant();
    const name = unique('gpt-5');
    await send(call(name, { input: 1_000_000 }));
    const amount = async () => (await cost())?.microUsd;
    const broad = await forAll({ modelPattern: `${name.slice(0, -1)}*`, inputPrice: 10 });
    expect(await amount()).toBe(10);
    const exact = await forAll({ modelPattern: name, inputPrice: 20 });
    expect(await amount()).toBe(20);
    const own = await set({ modelPattern: 'gpt-*', inputPrice: 30 });
    expect(await cost()).toMatchObject({ microUsd: 30, prices: [{ source: 'tenant', id: own.id, version: null }] });
    await set({ modelPattern: name, validFrom: '2999-01-01', inputPrice: 40 });
    expect(await amount()).toBe(30);
    for (const { id } of [broad, exact]) await server.ok('DELETE', `/v1/prices/${id}`, { as: server.admin });
    expect(await amount()).toBe(30);
  });

  test('has prices of its own for tokens that a cache reads and writes', async () => {
    const { set, send, cost } = await newTenant();
    await set({ modelPattern: 'm', inputPrice: 100, outputPrice: 0, cacheReadPrice: 10, cacheWritePrice: 200 });
    await send(call('m', { input: 6_000_000, output: 1_000_000, read: 1_000_000, write: 2_000_000 }));
    expect(await cost()).toMatchObject({ microUsd: 300 + 10 + 400 });
  });

  test('regression: sorts usage and agents, the highest first, page by page, and calls without a price after all others', async () => {
    const { set, send, as } = await newTenant();
    await set({ modelPattern: 'free', inputPrice: 0, outputPrice: 0 });
    const spans = [
      // Few expensive tokens, many cheap ones, many that cost nothing, and more that have no price.
      call('gpt-5', { input: 1000, output: 1000 }),
      call('gpt-5-nano', { input: 3000 }),
      call('free', { input: 9000 }),
      ...[1, 2].map(() => call('o9-preview', { input: 90_000 })),
      toolRun('search'),
    ];
    const agents = ['expensive', 'cheap', 'free', 'unpriced', 'unpriced', 'tools'];
    await send(...spans.map((span, index) => ({ ...span, service: agents[index] ?? '' })));
    const listed = async (path: string) => {
      const items: Body[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const page: Body = await server.ok('GET', `${path}${cursor === '' ? '' : `&cursor=${cursor}`}`, { as });
        items.push(...page['items']);
        cursor = page['nextCursor'];
      }
      return items;
    };
    for (const limit of [1, 2, 100]) {
      const usage = await listed(`/v1/usage?group_by=name&sort=cost&limit=${limit}`);
      expect(usage.map(({ name, cost }) => [name, cost?.microUsd ?? null, cost?.unpricedCalls ?? null])).toEqual([
        ['gpt-5', 11_250, 0],
        ['gpt-5-nano', 150, 0],
        ['free', 0, 0],
        ['o9-preview', null, 2],
        ['search', null, null],
      ]);
      const byAgent = await listed(`/v1/usage?group_by=agent&sort=cost&limit=${limit}`);
      const found = await listed(`/v1/agents?sort=cost&limit=${limit}`);
      const names = ['expensive', 'cheap', 'free', 'unpriced', 'tools'];
      expect([byAgent.map(({ agent }) => agent), found.map(({ name }) => name)]).toEqual([names, names]);
    }
  });

  test('is on agents, their uses, and the graph', async () => {
    const { send, as } = await newTenant();
    await send({ ...call('gpt-5', { input: 1_000_000 }), service: 'billing' });
    const { items } = await server.ok('GET', '/v1/agents', { as });
    expect(items).toMatchObject([{ usage: { cost: { microUsd: 1_250_000 } } }]);
    const { uses, usage } = await server.ok('GET', `/v1/agents/${items[0].id}`, { as });
    expect([usage, ...uses]).toMatchObject([{ cost: { microUsd: 1_250_000 } }, { cost: { microUsd: 1_250_000 } }]);
    const graph = await server.ok('GET', '/v1/graph', { as });
    for (const nodes of [graph.agents, graph.providers, graph.items, graph.edges]) {
      expect(nodes).toMatchObject([{ cost: { microUsd: 1_250_000, unpricedCalls: 0 } }]);
    }
  });
});

describe('set_price', () => {
  test('sets a price, replaces the one of the same pattern and day, and records what changed', async () => {
    const { tenantId, as, set } = await newTenant();
    const price = await set({ modelPattern: 'gpt-5*' });
    expect(price).toMatchObject({ tenantId, modelPattern: 'gpt-5*', cacheReadPrice: null, cacheWritePrice: null });
    const replaced = await set({ modelPattern: 'GPT-5*', inputPrice: 7 });
    expect(replaced).toMatchObject({ id: price.id, createdAt: price.createdAt, inputPrice: 7 });
    expect(await set({ modelPattern: 'GPT-5*', inputPrice: 7 })).toEqual(replaced);
    const events = await auditOf(server, { target_id: price.id });
    expect(events.map(({ operation, changedFields }: Body) => [operation, changedFields])).toEqual([
      ['set_price', ['inputPrice', 'modelPattern']],
      ['set_price', expect.arrayContaining(['inputPrice', 'validFrom'])],
    ]);
    expect((await server.ok('GET', '/v1/prices', { as })).items).toEqual([replaced]);
  });

  test('lets only platform administrators set a price for all tenants', async () => {
    const { as } = await newTenant();
    const body = { ...PRICE, modelPattern: 'x', owner: 'platform' };
    expectProblem(await server.call('POST', '/v1/prices', { as, body }), 403, 'platform_administrator_required');
  });

  test('refuses more prices than a tenant may set', async () => {
    const { as, set } = await newTenant();
    for (let count = 0; count < MAX_PRICES; count += 1) await set({ modelPattern: `model-${count}` });
    const body = { ...PRICE, modelPattern: 'one more' };
    expectProblem(await server.call('POST', '/v1/prices', { as, body }), 409, 'price_limit_reached');
    await set({ modelPattern: 'model-0', inputPrice: 1 });
  });

  test.each([
    ['validFrom', { validFrom: '2026-02-30' }],
    ['inputPrice', { inputPrice: 0.5 }],
    ['outputPrice', { outputPrice: -1 }],
    ['modelPattern', { modelPattern: ' gpt' }],
    ['modelPattern', { modelPattern: 'gp\u200bt' }],
  ])('is 422 for a wrong %s', async (field, wrong) => {
    const { as } = await newTenant();
    const body = { ...PRICE, modelPattern: 'gpt-5', ...wrong };
    const answered = await server.call('POST', '/v1/prices', { as, body });
    expect([answered.status, answered.body.detail.map(({ loc }: Body) => loc)]).toEqual([422, [['body', field]]]);
  });
});

test('list_prices lists the prices of the tenant and of the platform, and no others', async () => {
  const [mine, other] = [await newTenant(), await newTenant()];
  const ofPlatform = await forAll({ modelPattern: unique('model') });
  const own = await mine.set({ modelPattern: 'a' });
  const foreign = await other.set({ modelPattern: 'a' });
  const ids = (await server.ok('GET', '/v1/prices?limit=100', { as: mine.as })).items.map(({ id }: Body) => id);
  expect(ids).toEqual(expect.arrayContaining([own.id, ofPlatform.id]));
  expect(ids).not.toContain(foreign.id);
  const first = await server.ok('GET', '/v1/prices?limit=1', { as: mine.as });
  expect(first.items).toMatchObject([{ id: own.id }]);
  const next = await server.ok('GET', `/v1/prices?limit=1&cursor=${first.nextCursor}`, { as: mine.as });
  expect(next.items).toMatchObject([{ id: ofPlatform.id, tenantId: null }]);
});

describe('delete_price', () => {
  test('deletes a price once', async () => {
    const { as, set } = await newTenant();
    const price = await set({ modelPattern: 'a' });
    expect(await server.ok('DELETE', `/v1/prices/${price.id}`, { as })).toEqual(price);
    expectProblem(await server.call('DELETE', `/v1/prices/${price.id}`, { as }), 404, 'price_not_found');
  });

  test('lets only platform administrators delete a price for all tenants', async () => {
    const { as } = await newTenant();
    const { id } = await forAll({ modelPattern: unique('model') });
    expectProblem(await server.call('DELETE', `/v1/prices/${id}`, { as }), 403, 'platform_administrator_required');
    await server.ok('DELETE', `/v1/prices/${id}`, { as: server.admin });
  });
});
