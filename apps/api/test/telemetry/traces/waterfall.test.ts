import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountWithKey, unique } from '../../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../../support/server.ts';
import { all, chat, newTraceId, sendSpans } from './sending.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

async function newSender() {
  return { key: (await accountWithKey(server, { tenantId: unique('waterfall') })).key };
}

test('a waterfall has what a span is shown by, and no attributes', async () => {
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
      name: 'root',
      kind: 'client',
      startTime: '1970-01-01T00:00:00.000001000Z',
      durationMs: 3,
      error: false,
      serviceName: 'billing',
      genAi: null,
      conflicting: false,
    },
    {
      spanId: 'b2'.repeat(8),
      parentSpanId: 'a1'.repeat(8),
      name: 'chat gpt-5',
      kind: 'client',
      startTime: '1970-01-01T00:00:00.000002000Z',
      durationMs: 1,
      error: true,
      serviceName: 'billing',
      genAi: { operation: 'chat', model: 'gpt-5', agent: 'planner', tool: null },
      conflicting: false,
    },
  ]);
});

test('10,000 spans come in one answer, in their order; more come with a cursor', async () => {
  const as = await newSender();
  const traceId = newTraceId();
  const total = 10_050;
  const spans = Array.from({ length: total }, (_, index) => ({
    traceId,
    spanId: (index + 1).toString(16).padStart(16, '0'),
    name: `span ${index}`,
    start: BigInt(index) * 1_000_000n,
    attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-5', padding: 'x'.repeat(100) },
  }));
  for (let start = 0; start < total; start += 2000) await sendSpans(server, as, spans.slice(start, start + 2000));
  const answered = await server.call('GET', `/v1/traces/${traceId}/waterfall`, { as });
  expect(answered.body.items).toHaveLength(10_000);
  expect(answered.text.length).toBeLessThan(5 * 1024 * 1024);
  const names = (items: Body[]) => items.map(({ name }) => name);
  expect(names(answered.body.items)).toEqual(spans.slice(0, 10_000).map(({ name }) => name));
  const rest = await server.ok('GET', `/v1/traces/${traceId}/waterfall?cursor=${answered.body.nextCursor}`, { as });
  expect(names(rest.items)).toEqual(spans.slice(10_000).map(({ name }) => name));
  const paged = await all(server, `/v1/traces/${traceId}/waterfall?limit=4000`, as);
  expect(names(paged)).toEqual(spans.map(({ name }) => name));
});

test('a waterfall of another tenant, or of no trace, is 404', async () => {
  const [as, other] = [await newSender(), await newSender()];
  const traceId = newTraceId();
  await sendSpans(server, as, [{ traceId }]);
  for (const path of [`/v1/traces/${traceId}/waterfall`, `/v1/traces/${newTraceId()}/waterfall`]) {
    const answered = await server.call('GET', path, { as: other });
    expect([answered.status, answered.body.code]).toEqual([404, 'trace_not_found']);
  }
});
