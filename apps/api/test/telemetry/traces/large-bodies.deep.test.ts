import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newTenant } from '../../governance/loop-support.ts';
import { accountWithKey } from '../../support/people.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { all, chat, exportRequest, newSpanId, newTraceId, type SpanInput } from './sending.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const SPANS = 1200;
const LARGE = 1024 * 1024;

/** Spans of one trace, with a text that is truncated before it is stored. */
function spansOf(traceId: string, padding: number): SpanInput[] {
  return Array.from({ length: SPANS }, (_, index) => ({
    ...chat(`model-${index % 7}`, { 'gen_ai.provider.name': 'openai', 'app.note': 'x'.repeat(padding) }),
    traceId,
    spanId: newSpanId(),
  }));
}

test('a large request, read in a worker thread, is stored and aggregated like a small one', async () => {
  const [large, small] = [await newTenant(server), await newTenant(server)];
  const traceId = newTraceId();
  const spans = spansOf(traceId, 1000);
  const body = JSON.stringify(exportRequest(spans));
  expect(body.length).toBeGreaterThan(LARGE);
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
  const answered = await server.call('POST', '/v1/traces', { as: large.sender, raw: gzipSync(body), headers });
  expect([answered.status, answered.body]).toEqual([200, {}]);
  for (let start = 0; start < SPANS; start += 100) {
    const part = JSON.stringify(exportRequest(spans.slice(start, start + 100)));
    expect(part.length).toBeLessThan(LARGE);
    await server.call('POST', '/v1/traces', {
      as: small.sender,
      raw: part,
      headers: { 'content-type': 'application/json' },
    });
  }
  const seen = await Promise.all(
    [large, small].map(async ({ operator }) => {
      const stored = await all(server, `/v1/traces/${traceId}/spans`, operator);
      const observed = await all(server, '/v1/runtime-observations?limit=100', operator);
      return {
        spans: stored
          .map(({ spanId, attributes, genAi }) => ({ spanId, attributes, genAi }))
          .toSorted((a, b) => (a.spanId < b.spanId ? -1 : 1)),
        observed: observed.map(({ name, occurrences }) => `${name} ${occurrences}`).toSorted(),
      };
    }),
  );
  expect(seen[0]?.spans).toHaveLength(SPANS);
  expect(seen[0]).toEqual(seen[1]);
});

test('of concurrent large requests the invalid ones are refused, and the others are stored', async () => {
  const tenant = await newTenant(server);
  const traceIds = [newTraceId(), newTraceId()];
  const bodies = [
    JSON.stringify(exportRequest(spansOf(traceIds[0] ?? '', 1000))),
    `${JSON.stringify(exportRequest(spansOf(newTraceId(), 1000)))}]`,
    JSON.stringify(exportRequest(spansOf(traceIds[1] ?? '', 1000))),
  ];
  const headers = { 'content-type': 'application/json' };
  const answers = await Promise.all(
    bodies.map((raw) => server.call('POST', '/v1/traces', { as: tenant.sender, raw, headers })),
  );
  expect(answers.map(({ status }) => status)).toEqual([200, 400, 200]);
  expect(answers[1]?.body.message).toBe('The body is not JSON.');
  const traces = await all(server, '/v1/traces', tenant.operator);
  expect(traces.map(({ traceId, spanCount }): string => `${traceId} ${spanCount}`).toSorted()).toEqual(
    traceIds.map((traceId) => `${traceId} ${SPANS}`).toSorted(),
  );
});

test('content of a large request is stored only if the tenant captures content', async () => {
  const tenant = await newTenant(server);
  const sender = await accountWithKey(server, { tenantId: tenant.tenantId }, ['traces:write']);
  const send = async (traceId: string) => {
    const spans = spansOf(traceId, 1000).map((span) => ({
      ...span,
      attributes: { ...span.attributes, 'gen_ai.input.messages': 'what was asked' },
    }));
    await server.ok('POST', '/v1/traces', { as: sender, body: exportRequest(spans) });
    const [first] = await all(server, `/v1/traces/${traceId}/spans`, tenant.operator);
    return first.attributes['gen_ai.input.messages'];
  };
  expect(await send(newTraceId())).toBeUndefined();
  const body = { settings: { captureContent: true } };
  await server.ok('PUT', `/v1/tenants/${tenant.tenantId}`, { as: server.admin, body });
  expect(await send(newTraceId())).toBe('what was asked');
});
