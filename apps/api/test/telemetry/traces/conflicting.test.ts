import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountWithKey, unique } from '../../support/people.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { all, chat, exportRequest, newSpanId, newTraceId, sendSpans } from './sending.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

/** Two accounts of one tenant. */
async function twoSenders() {
  const tenantId = unique('conflicting');
  const scopes = ['traces:read', 'traces:write', 'runtime_observations:read'] as const;
  return [
    await accountWithKey(server, { tenantId }, [...scopes]),
    await accountWithKey(server, { tenantId }, [...scopes]),
  ] as const;
}

test('an empty span of one account does not hide a span with the same id of another: both are returned and aggregated', async () => {
  const [attacker, agent] = await twoSenders();
  const ids = { traceId: newTraceId(), spanId: newSpanId() };
  await sendSpans(server, attacker, [{ ...ids, name: '' }]);
  const real = { ...chat('gpt-5', { 'gen_ai.provider.name': 'openai' }), ...ids };
  // A retry changes nothing.
  await sendSpans(server, agent, [real]);
  await sendSpans(server, agent, [real]);
  const { items } = await server.ok('GET', `/v1/traces/${ids.traceId}/spans`, { as: agent });
  expect(items).toHaveLength(2);
  expect(items).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ genAi: null, receivedFrom: attacker.principal, conflicting: true }),
      expect.objectContaining({ name: 'chat gpt-5', receivedFrom: agent.principal, conflicting: true }),
    ]),
  );
  const observations = await all(server, '/v1/runtime-observations', agent);
  expect(observations).toMatchObject([{ kind: 'model', name: 'gpt-5', occurrences: 1 }]);
});

test('two accounts that report the same span are both counted', async () => {
  const senders = await twoSenders();
  const span = { ...chat('gpt-5', { 'gen_ai.provider.name': 'openai' }), traceId: newTraceId(), spanId: newSpanId() };
  for (const sender of senders) await sendSpans(server, sender, [span]);
  const observations = await all(server, '/v1/runtime-observations', senders[0]);
  expect(observations).toMatchObject([{ occurrences: 2 }]);
  const { items } = await server.ok('GET', '/v1/traces', { as: senders[0] });
  expect(items).toMatchObject([{ spanCount: 2, models: ['gpt-5'], services: ['travel-agent'] }]);
});

test('different spans with the same id beyond the fourth are rejected, with a reason', async () => {
  const [sender] = await twoSenders();
  const ids = { traceId: newTraceId(), spanId: newSpanId() };
  const spans = Array.from({ length: 6 }, (_, index) => ({ ...ids, ...chat(`model-${index}`) }));
  const answer = await server.ok('POST', '/v1/traces', { as: sender, body: exportRequest(spans) });
  expect(answer).toEqual({
    partialSuccess: {
      rejectedSpans: '2',
      errorMessage: 'A sender may report at most 4 different spans with one id.',
    },
  });
});

test('traces can be filtered by their contents', async () => {
  const [sender] = await twoSenders();
  const [a, b] = [newTraceId(), newTraceId()];
  await sendSpans(server, sender, [{ ...chat('gpt-5'), traceId: a, service: 'billing' }]);
  await sendSpans(server, sender, [
    { ...chat('o9'), traceId: b, failed: true, start: 1_700_000_000_000_000_000n, end: 1_700_000_002_000_000_000n },
  ]);
  const listed = async (query: string) =>
    (await all(server, `/v1/traces?${query}`, sender)).map(({ traceId }): string => traceId);
  expect(await listed('model=gpt-5')).toEqual([a]);
  expect(await listed('model=gpt')).toEqual([]);
  expect(await listed('service=billing')).toEqual([a]);
  expect(await listed('errors_only=true')).toEqual([b]);
  expect(await listed('min_duration_ms=2000')).toEqual([b]);
  expect(await listed('tool=search&agent=x')).toEqual([]);
  // Regression: a trace also names the agents that only the spans of calls name.
  await sendSpans(server, sender, [{ ...chat('gpt-5', { 'gen_ai.agent.name': 'planner' }), traceId: a }]);
  expect(await listed('agent=planner')).toEqual([a]);
  expect(await listed(`created_before=${encodeURIComponent(new Date(0).toISOString())}`)).toEqual([]);
});
