import * as contract from '@quartermaster/contracts/graph.ts';
import { beforeAll, expect, test } from 'vitest';
import { accountWithKey, unique } from '../support/people.ts';
import type { Body } from '../support/server.ts';
import { chat, sendSpans, type SpanInput, toolRun } from '../telemetry/traces/sending.ts';
import { checkCoverageAfterAll, type Endpoints, expectInvalid, serverFor } from './harness.ts';

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor(contract);
});
checkCoverageAfterAll(() => server);

const HOUR_MS = 3600 * 1000;

function recent(span: SpanInput, service: string): SpanInput {
  const start = BigInt(server.services.now().getTime() - HOUR_MS) * 1_000_000n;
  return { ...span, service, start, end: start + 1_000_000n };
}

async function newTenant() {
  const tenantId = unique('graph');
  const as = { key: (await accountWithKey(server, { tenantId })).key };
  const provider = await server.ok('POST', '/v1/providers', { as, body: { name: 'openai', kind: 'llm', tenantId } });
  const inventory = `/v1/providers/${provider.id}/inventory`;
  await server.ok('POST', inventory, { as, body: { kind: 'model', name: 'gpt-5' } });
  await server.ok('POST', inventory, { as, body: { kind: 'model', name: 'forbidden', status: 'blocked' } });
  const model = (name: string) => chat(name, { 'gen_ai.provider.name': 'openai' });
  await sendSpans(server, as, [
    recent(model('gpt-5'), 'billing'),
    recent(model('GPT-5'), 'billing'),
    recent(model('gpt-5'), 'support'),
    recent({ ...model('forbidden'), failed: true }, 'support'),
    recent(toolRun('search'), 'support'),
  ]);
  return { tenantId, as, provider };
}

test('get_graph answers agents, providers and items, and the number of calls between them', async () => {
  const { as, tenantId, provider } = await newTenant();
  const graph = await server.ok('GET', '/v1/graph', { as });
  expect(graph.agents).toMatchObject([
    { tenantId, name: 'support', calls: 3, errors: 1 },
    { tenantId, name: 'billing', calls: 2, errors: 0 },
  ]);
  const openai = graph.providers.find(({ id }: Body) => id === provider.id);
  expect(openai).toMatchObject({ name: 'openai', kind: 'llm', status: 'active', calls: 4, errors: 1 });
  const items = graph.items.map(({ name, kind, state, calls }: Body) => [name, kind, state, calls]);
  expect(items.toSorted()).toEqual([
    ['forbidden', 'model', 'blocked', 1],
    ['gpt-5', 'model', 'declared', 3],
    ['search', 'tool', 'unknown', 1],
  ]);
  for (const item of graph.items) expect(item.observationIds).toHaveLength(1);
  const [first] = graph.edges;
  expect(first).toMatchObject({ agent: 'billing', providerId: provider.id, kind: 'model', name: 'gpt-5', calls: 2 });
  expect(graph.edges).toHaveLength(4);
  expect(graph).toMatchObject({ omittedEdges: 0, omittedCalls: 0 });
});

test('get_graph is bounded: it keeps the edges with the most calls, and their nodes', async () => {
  const { as } = await newTenant();
  const graph = await server.ok('GET', '/v1/graph?max_edges=1', { as });
  expect(graph.edges).toMatchObject([{ agent: 'billing', name: 'gpt-5' }]);
  expect(graph).toMatchObject({ omittedEdges: 3, omittedCalls: 3 });
  expect(graph.agents.map(({ name }: Body) => name)).toEqual(['billing']);
  expect(graph.items).toHaveLength(1);
});

test('get_graph filters by agent, provider, kind and time', async () => {
  const { as, provider } = await newTenant();
  const edges = async (query: string) =>
    (await server.ok('GET', `/v1/graph?${query}`, { as })).edges.map(({ agent, name }: Body) => `${agent} ${name}`);
  expect((await edges('agent=support&kind=tool')).toSorted()).toEqual(['support search']);
  expect(await edges(`provider_id=${provider.id}&agent=billing`)).toEqual(['billing gpt-5']);
  const before = `${new Date(server.services.now().getTime() - 24 * HOUR_MS).toISOString().slice(0, 13)}:00:00Z`;
  expect(await edges(`to=${before}`)).toEqual([]);
  const answered = await server.call('GET', `/v1/graph?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z`, { as });
  expectInvalid(answered, { loc: ['query', 'from'], type: 'value_error' });
});

test('get_graph shows only the tenant of the caller', async () => {
  await newTenant();
  const tenantId = unique('graph');
  const as = { key: (await accountWithKey(server, { tenantId })).key };
  const graph = await server.ok('GET', '/v1/graph', { as });
  expect([graph.agents, graph.providers, graph.items, graph.edges]).toEqual([[], [], [], []]);
});

test('get_graph shows observations and providers only to callers who may read them', async () => {
  const { tenantId } = await newTenant();
  const as = await accountWithKey(server, { tenantId }, ['usage:read']);
  const { items, providers, edges } = await server.ok('GET', '/v1/graph', { as });
  expect(edges).toHaveLength(4);
  expect(items.map(({ observationIds, state }: Body) => [observationIds, state])).toEqual(
    items.map(() => [[], 'unknown']),
  );
  for (const provider of providers) expect(provider).toMatchObject({ name: null, kind: null, status: null });
});

test.each([
  ['ends between two hours', 'to=9999-12-31T23:59:59.999Z'],
  ['begins before the year 0000', 'to=0000-01-01T00:00:00Z'],
])('get_graph answers 422 for a range that %s', async (_what, search) => {
  const { as } = await newTenant();
  const answered = await server.call('GET', `/v1/graph?${search}`, { as });
  expectInvalid(answered, { loc: ['query', 'to'], type: 'value_error' });
});
