import { scaled } from '@quartermaster/db/testing/scale.ts';
import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountWithKey, unique } from '../../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../../support/server.ts';
import { all, chat, newTraceId, sendSpans } from './sending.ts';

/** The spans of a full page: the most that a request may ask for, and fewer on PostgreSQL, where storing them takes long. */
const MOST_SPANS = onPostgres() ? scaled({ usual: 2000, full: 10_000 }) : 10_000;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

async function newSender() {
  const tenantId = unique('waterfall');
  return { tenantId, key: (await accountWithKey(server, { tenantId })).key };
}

test('a waterfall has the fields that a display needs, and no attributes', async () => {
  const as = await newSender();
  const traceId = newTraceId();
  await sendSpans(server, as, [
    { traceId, spanId: 'a1'.repeat(8), name: 'root', service: 'billing', start: 1000n, end: 3_001_000n },
    {
      ...chat('gpt-5', { 'gen_ai.provider.name': 'openai', 'gen_ai.agent.name': 'planner', secretive: 'no' }),
      traceId,
      spanId: 'b2'.repeat(8),
      parentSpanId: 'a1'.repeat(8),
      service: 'billing',
      start: 2000n,
      end: 1_002_000n,
      failed: true,
    },
  ]);
  const { items, nextCursor } = await server.ok('GET', `/v1/traces/${traceId.toUpperCase()}/waterfall`, { as });
  expect(nextCursor).toBeNull();
  expect(items).toEqual([
    {
      spanId: 'a1'.repeat(8),
      parentSpanId: null,
      tenantId: as.tenantId,
      subTenantId: null,
      name: 'root',
      kind: 'client',
      startTime: '1970-01-01T00:00:00.000001000Z',
      durationMs: 3,
      error: false,
      errorType: null,
      serviceName: 'billing',
      genAi: null,
      uses: [],
      conflicting: false,
    },
    {
      spanId: 'b2'.repeat(8),
      parentSpanId: 'a1'.repeat(8),
      tenantId: as.tenantId,
      subTenantId: null,
      name: 'chat gpt-5',
      kind: 'client',
      startTime: '1970-01-01T00:00:00.000002000Z',
      durationMs: 1,
      error: true,
      errorType: null,
      serviceName: 'billing',
      genAi: { operation: 'chat', model: 'gpt-5', agent: 'planner', tool: null },
      // Only a call of the agent itself would be an observation of it.
      uses: [{ kind: 'model', name: 'gpt-5', state: 'unknown', observationId: expect.stringMatching(/^obs_/) }],
      conflicting: false,
    },
  ]);
});

test('each use of a span has its state (declared, unknown or blocked) and the id of its observation', async () => {
  const as = await newSender();
  const { id: provider } = await server.ok('POST', '/v1/providers', {
    as: server.admin,
    body: { name: 'openai', kind: 'llm', baseUrl: 'https://api.openai.com/v1', tenantId: as.tenantId },
  });
  const inventory = `/v1/providers/${provider}/inventory`;
  await server.ok('POST', inventory, { as: server.admin, body: { kind: 'model', name: 'gpt-5' } });
  const { id: item } = await server.ok('POST', inventory, { as: server.admin, body: { kind: 'model', name: 'gpt-4' } });
  await server.ok('PUT', `${inventory}/${item}`, { as: server.admin, body: { status: 'blocked' } });
  const traceId = newTraceId();
  const at = { 'gen_ai.provider.name': 'openai' };
  // The first one is another spelling of the declared model.
  const models = ['openai/gpt-5', 'gpt-4', 'o9-preview'];
  await sendSpans(
    server,
    as,
    models.map((model, index) => ({ ...chat(model, at), traceId, start: BigInt(index + 1) * 1_000_000n })),
  );
  const path = `/v1/traces/${traceId}/waterfall`;
  const { items } = await server.ok('GET', path, { as });
  expect(items.map(({ uses }: Body) => uses.map(({ name, state }: Body) => [name, state]))).toEqual([
    [['openai/gpt-5', 'declared']],
    [['gpt-4', 'blocked']],
    [['o9-preview', 'unknown']],
  ]);
  const observations = await Promise.all(
    items.map(({ uses }: Body) => server.ok('GET', `/v1/runtime-observations/${uses[0].observationId}`, { as })),
  );
  expect(observations.map(({ name, inventoryItemId }) => [name, inventoryItemId !== null])).toEqual([
    ['gpt-5', true],
    ['gpt-4', true],
    ['o9-preview', false],
  ]);
  const reader = await accountWithKey(server, { tenantId: as.tenantId }, ['traces:read']);
  const withoutScope = await server.ok('GET', path, { as: reader });
  expect(withoutScope.items.map(({ uses }: Body) => uses)).toEqual([[], [], []]);
});

test('the provider in a span decides the state of a use; without a provider the worst state of all providers counts', async () => {
  const as = await newSender();
  const { id: provider } = await server.ok('POST', '/v1/providers', {
    as: server.admin,
    body: { name: 'openai', kind: 'llm', baseUrl: 'https://api.openai.com/v1', tenantId: as.tenantId },
  });
  await server.ok('POST', `/v1/providers/${provider}/inventory`, {
    as: server.admin,
    body: { kind: 'model', name: 'gpt-5' },
  });
  const traceId = newTraceId();
  const names = ['openai', 'mistral_ai', null];
  await sendSpans(
    server,
    as,
    names.map((name, index) => ({
      ...chat('gpt-5', name === null ? {} : { 'gen_ai.provider.name': name }),
      traceId,
      start: BigInt(index + 1) * 1_000_000n,
    })),
  );
  const { items } = await server.ok('GET', `/v1/traces/${traceId}/waterfall`, { as });
  expect(items.map(({ uses }: Body) => uses.map(({ state }: Body) => state))).toEqual([
    ['declared'],
    ['unknown'],
    ['unknown'],
  ]);
});

test('list_trace_spans filters by span id', async () => {
  const as = await newSender();
  const traceId = newTraceId();
  const spans = ['a1', 'b2', 'c3'].map((id, index) => ({ traceId, spanId: id.repeat(8), name: `span ${index}` }));
  await sendSpans(server, as, spans);
  const path = `/v1/traces/${traceId}/spans`;
  const names = async (spanId: string) =>
    (await server.ok('GET', `${path}?span_id=${spanId}`, { as })).items.map(({ name }: Body) => name);
  expect(await names('B2'.repeat(8))).toEqual(['span 1']);
  expect(await names('d4'.repeat(8))).toEqual([]);
  expect((await server.call('GET', `${path}?span_id=b2`, { as })).status).toBe(422);
});

test('one page has up to 10,000 spans in order, and a cursor for more', async () => {
  const as = await newSender();
  const traceId = newTraceId();
  const total = MOST_SPANS + 50;
  const spans = Array.from({ length: total }, (_, index) => ({
    traceId,
    spanId: (index + 1).toString(16).padStart(16, '0'),
    name: `span ${index}`,
    start: BigInt(index) * 1_000_000n,
    attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-5', padding: 'x'.repeat(100) },
  }));
  for (let start = 0; start < total; start += 2000) await sendSpans(server, as, spans.slice(start, start + 2000));
  const limit = MOST_SPANS === 10_000 ? '' : `?limit=${MOST_SPANS}`;
  const answered = await server.call('GET', `/v1/traces/${traceId}/waterfall${limit}`, { as });
  expect(answered.body.items).toHaveLength(MOST_SPANS);
  expect(answered.text.length).toBeLessThan(5 * 1024 * 1024);
  const names = (items: Body[]) => items.map(({ name }) => name);
  expect(names(answered.body.items)).toEqual(spans.slice(0, MOST_SPANS).map(({ name }) => name));
  const rest = await server.ok('GET', `/v1/traces/${traceId}/waterfall?cursor=${answered.body.nextCursor}`, { as });
  expect(names(rest.items)).toEqual(spans.slice(MOST_SPANS).map(({ name }) => name));
  const page = await server.ok('GET', `/v1/traces/${traceId}/waterfall?limit=1700`, { as });
  expect(page.items).toHaveLength(1700);
  const paged = await all(server, `/v1/traces/${traceId}/waterfall?limit=${MOST_SPANS * 0.4}`, as);
  expect(names(paged)).toEqual(spans.map(({ name }) => name));
});

test('the waterfall of a missing trace, or of another tenant’s, is 404', async () => {
  const [as, other] = [await newSender(), await newSender()];
  const traceId = newTraceId();
  await sendSpans(server, as, [{ traceId }]);
  for (const path of [`/v1/traces/${traceId}/waterfall`, `/v1/traces/${newTraceId()}/waterfall`]) {
    const answered = await server.call('GET', path, { as: other });
    expect([answered.status, answered.body.code]).toEqual([404, 'trace_not_found']);
  }
});
