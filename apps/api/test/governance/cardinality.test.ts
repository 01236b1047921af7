import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../support/server.ts';
import { all, chat, sendSpans, toolRun } from '../traces/sending.ts';
import { newTenant } from './loop-support.ts';

const LIMIT = 20;
const DAY_MS = 24 * 3600 * 1000;

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ QM_MAX_OBSERVATIONS: String(LIMIT) });
});
afterAll(() => server.stop());

async function unobserved(): Promise<number> {
  const { values } = await server.services.metrics.unobserved.get();
  return values[0]?.value ?? 0;
}

function tools(prefix: string, count: number) {
  return Array.from({ length: count }, (_, index) => toolRun(`${prefix}-${index}`));
}

test('a tenant has as many observations as it may: the rest is counted, asked about once, and stored as spans', async () => {
  const tenant = await newTenant(server);
  const before = await unobserved();
  await sendSpans(server, tenant.sender, tools('known', LIMIT));
  expect(await unobserved()).toBe(before);
  await sendSpans(server, tenant.sender, [...tools('more', 50), ...tools('known', LIMIT)]);
  await sendSpans(server, tenant.sender, [chat('gpt-5', { 'gen_ai.provider.name': 'nobody' })]);
  const observations = await all(server, '/v1/runtime-observations?limit=100', tenant.operator);
  expect(observations).toHaveLength(LIMIT);
  expect(observations.every(({ name, occurrences }) => name.startsWith('known') && occurrences === 2)).toBe(true);
  expect(await unobserved()).toBe(before + 51);
  const providers = await all(server, '/v1/providers', tenant.operator);
  expect(providers.map(({ name }): string => name).toSorted()).toEqual(['openai', 'travel-agent']);
  const asked = (await tenant.tasks()).filter(({ kind }) => kind === 'review_cardinality');
  expect(asked).toMatchObject([
    { subject: { type: 'tenant', id: tenant.tenantId }, priority: 'high', subTenantId: null },
  ]);

  // Whoever else the server serves is not touched by it.
  const other = await newTenant(server);
  await other.see('gpt-5');
  expect(await other.observation('gpt-5')).toBeDefined();
});

test('looked at, it is asked about again a day later, and pruned, there is room again', async () => {
  const tenant = await newTenant(server);
  const task = async () => (await tenant.tasks()).find(({ kind }) => kind === 'review_cardinality');
  const complete = async (outcome: string) =>
    server.ok('POST', `/v1/operator/tasks/${(await task())?.id}/complete`, { as: tenant.operator, body: { outcome } });
  await tenant.see('gpt-5');
  await sendSpans(server, tenant.sender, tools('flood', LIMIT));
  await complete('acknowledged');
  await sendSpans(server, tenant.sender, tools('more', 1));
  expect(await task()).toBeUndefined();
  server.travel(DAY_MS);
  await sendSpans(server, tenant.sender, tools('more', 1));

  const kept = (await all(server, '/v1/runtime-observations?name=flood-3', tenant.operator))[0];
  await tenant.review(kept.id, 'rejected');
  await complete('pruned');
  const left = await all(server, '/v1/runtime-observations?limit=100', tenant.operator);
  expect(left.map(({ name }): string => name).toSorted()).toEqual(['flood-3', 'gpt-5']);
  const reviews = (await tenant.tasks()).filter(({ kind }) => kind === 'review_observation');
  expect(reviews.map(({ subject }) => subject.id)).toEqual([(await tenant.observation('gpt-5')).id]);
  await sendSpans(server, tenant.sender, tools('new', LIMIT));
  expect(await all(server, '/v1/runtime-observations?limit=100', tenant.operator)).toHaveLength(LIMIT);
});
