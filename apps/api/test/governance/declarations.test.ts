import { afterAll, beforeAll, expect, test } from 'vitest';
import { removeOldTraces } from '../../src/telemetry/trace-retention.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { chat, newTraceId, sendSpans } from '../telemetry/traces/sending.ts';
import { newTenant } from './loop-support.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

test('adopting a discovered provider removes its factor from the risk of its observations', async () => {
  const { operator: as, sender, observation } = await newTenant(server);
  await sendSpans(server, sender, [chat('model-1', { 'gen_ai.provider.name': 'newcomer' })]);
  const found = await observation('model-1');
  expect(found.risk).toMatchObject({ level: 'high' });
  await server.ok('PUT', `/v1/providers/${found.providerId}`, { as, body: { status: 'active' } });
  const { level, factors } = (await observation('model-1')).risk;
  expect([level, factors.map(({ factor }: { factor: string }) => factor)]).toEqual(['medium', ['unknown_item']]);
});

test('deleting a provider keeps the reviews, and opens no task that could not be closed', async () => {
  const { path, operator: as, see, observation, tasks } = await newTenant(server);
  await server.ok('POST', `${path}/inventory`, { as, body: { kind: 'model', name: 'known' } });
  await see('known');
  expect(await observation('known')).toMatchObject({ unknown: false, status: 'resolved' });
  await server.ok('DELETE', path, { as });
  expect(await observation('known')).toMatchObject({ status: 'resolved' });
  expect(await tasks()).toEqual([]);
});

// Regression: names with invisible characters or a wildcard came unchanged into reviews, inventories and grants.
test('invisible characters in the names of models, tools and services are escaped wherever people decide about them', async () => {
  const { operator: as, sender, see, observation, recommendations, apply, items } = await newTenant(server);
  for (const model of ['gpt-5', 'gpt\u200b-5', '*']) await see(model);
  const visible = ['\\u{2a}', 'gpt-5', 'gpt\\u{200b}-5'];
  for (const name of visible) expect(await observation(name)).toMatchObject({ unknown: true, occurrences: 1 });
  await apply({ recommendationIds: (await recommendations()).map(({ id }) => id) });
  expect(new Set((await items()).map(({ name }) => name))).toEqual(new Set(visible));

  const attributes = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'se\u202earch' };
  await sendSpans(server, sender, [{ service: 'open\u200bai', attributes }]);
  const { providerId } = await observation('se\\u{202e}arch');
  expect(await server.ok('GET', `/v1/providers/${providerId}`, { as })).toMatchObject({ name: 'open\\u{200b}ai' });
});

test('the recommendation, the dry run and the change agree for a retired item', async () => {
  const { path, operator: as, see, recommendations, apply } = await newTenant(server);
  const body = { kind: 'model', name: 'retired-1', status: 'retired' };
  const item = await server.ok('POST', `${path}/inventory`, { as, body });
  await see('retired-1');
  const [recommendation] = await recommendations();
  const change = { target: { type: 'inventory_item', id: item.id }, before: { status: 'retired' } };
  expect(recommendation.change).toMatchObject(change);
  const dry = await apply({ recommendationIds: [recommendation.id], dryRun: true });
  const applied = await apply({ recommendationIds: [recommendation.id] });
  expect(dry.applied[0].change).toEqual(recommendation.change);
  expect(applied.applied[0].change).toEqual(recommendation.change);
});

test('traces are removed after their tenant’s retention without a new span; other tenants’ traces stay', async () => {
  const [short, long] = [await newTenant(server), await newTenant(server)];
  const body = { settings: { spanRetentionDays: 30 } };
  await server.ok('PUT', `/v1/tenants/${short.tenantId}`, { as: server.admin, body });
  const traceIds = [newTraceId(), newTraceId()] as const;
  for (const [index, { sender }] of [short, long].entries()) {
    await sendSpans(server, sender, [{ traceId: traceIds[index] ?? '', name: 'kept for a while' }]);
  }
  const statuses = () =>
    Promise.all(
      traceIds.map(async (id) => (await server.call('GET', `/v1/traces/${id}/spans`, { as: server.admin })).status),
    );
  server.travel(29 * 86_400_000);
  expect([await removeOldTraces(server.services), await statuses()]).toEqual([0, [200, 200]]);
  server.travel(2 * 86_400_000);
  expect([await removeOldTraces(server.services), await statuses()]).toEqual([1, [404, 200]]);
});
