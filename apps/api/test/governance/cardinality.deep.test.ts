import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../support/server.ts';
import { all, chat, nowInNanoseconds, sendSpans, toolRun } from '../telemetry/traces/sending.ts';
import { atOpenai, newTenant, type Tenant } from './loop-support.ts';

/** The share of one account: half of the tenant's limit. */
const SHARE = 20;
const LIMIT = 2 * SHARE;
const DAY_MS = 24 * 3600 * 1000;

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ QM_MAX_OBSERVATIONS: String(LIMIT) });
});
afterAll(() => server.stop());

/** The current time, as spans write it. */
const nanoseconds = () => nowInNanoseconds(server);

async function unobserved(): Promise<number> {
  const { values } = await server.services.metrics.unobserved.get();
  return values.reduce((sum, { value }) => sum + value, 0);
}

function tools(prefix: string, count: number) {
  return Array.from({ length: count }, (_, index) => toolRun(`${prefix}-${index}`));
}

test('calls beyond an account’s share of observations are counted, open one task, and are stored as spans', async () => {
  const tenant = await newTenant(server);
  const before = await unobserved();
  await sendSpans(server, tenant.sender, tools('known', SHARE));
  expect(await unobserved()).toBe(before);
  await sendSpans(server, tenant.sender, [...tools('more', 50), ...tools('known', SHARE)]);
  await sendSpans(server, tenant.sender, [chat('gpt-5', { 'gen_ai.provider.name': 'nobody' })]);
  const observations = await all(server, '/v1/runtime-observations?limit=100', tenant.operator);
  expect(observations).toHaveLength(SHARE);
  expect(observations.every(({ name, occurrences }) => name.startsWith('known') && occurrences === 2)).toBe(true);
  expect(await unobserved()).toBe(before + 51);
  const providers = await all(server, '/v1/providers', tenant.operator);
  expect(providers.map(({ name }): string => name).toSorted()).toEqual(['openai', 'travel-agent']);
  const limitTasks = (await tenant.tasks()).filter(({ kind }) => kind === 'review_cardinality');
  expect(limitTasks).toMatchObject([
    { subject: { type: 'tenant', id: tenant.tenantId }, priority: 'high', subTenantId: null },
  ]);
  expect(limitTasks[0]?.title).toContain(`The service account ${tenant.sender.id} reached its share`);

  // Other tenants are not affected.
  const other = await newTenant(server);
  await other.see('gpt-5');
  expect(await other.observation('gpt-5')).toBeDefined();
});

test('regression: providers beyond the tenant’s limit are not discovered; their calls are counted and stored as spans', async () => {
  const tenant = await newTenant(server);
  const names = async () => {
    const providers = await all(server, '/v1/providers', tenant.operator);
    return providers.map(({ name }): string => name).toSorted();
  };
  const of = (provider: string) => chat('gpt-5', { 'gen_ai.provider.name': provider });
  await server.ok('PUT', `/v1/tenants/${tenant.tenantId}/limits`, { as: server.admin, body: { providers: 5 } });
  const before = await unobserved();
  await sendSpans(server, tenant.sender, ['a', 'b', 'c', 'd'].map(of));
  expect(await names()).toEqual(['a', 'b', 'openai']);
  expect(await unobserved()).toBe(before + 2);
  await sendSpans(server, tenant.sender, ['e', 'a', 'openai'].map(of));
  expect(await names()).toEqual(['a', 'b', 'openai']);
  expect(await unobserved()).toBe(before + 3);
  const observations = await all(server, '/v1/runtime-observations?limit=100', tenant.operator);
  expect(observations.map(({ occurrences }) => String(occurrences)).toSorted()).toEqual(['1', '1', '2']);
  const traces = await all(server, '/v1/traces?limit=100', tenant.operator);
  expect(traces.map(({ spanCount }) => String(spanCount)).toSorted()).toEqual(['3', '4']);
  const [limitTasks] = (await tenant.tasks()).filter(({ kind }) => kind === 'review_cardinality');
  expect(limitTasks?.title).toContain("its share of the tenant's limit of 5 providers");
});

test('the task opens again a day after it was acknowledged, and pruning makes room', async () => {
  const tenant = await newTenant(server);
  const task = async () => (await tenant.tasks()).find(({ kind }) => kind === 'review_cardinality');
  const complete = async (outcome: string) =>
    server.ok('POST', `/v1/operator/tasks/${(await task())?.id}/complete`, { as: tenant.operator, body: { outcome } });
  await tenant.see('gpt-5');
  await sendSpans(server, tenant.sender, tools('flood', SHARE));
  await complete('acknowledged');
  await sendSpans(server, tenant.sender, tools('more', 1));
  expect(await task()).toBeUndefined();
  server.travel(DAY_MS);
  await sendSpans(server, tenant.sender, tools('more', 1));

  const kept = (await all(server, '/v1/runtime-observations?name=flood-3', tenant.operator))[0];
  await tenant.review(kept.id, 'rejected');
  await complete('pruned');
  const left = await all(server, '/v1/runtime-observations?limit=100', tenant.operator);
  expect(left.map(({ name }): string => name)).toEqual(['flood-3']);
  expect((await tenant.tasks()).filter(({ kind }) => kind === 'review_observation')).toEqual([]);
  await sendSpans(server, tenant.sender, tools('new', SHARE));
  expect(await all(server, '/v1/runtime-observations?limit=100', tenant.operator)).toHaveLength(SHARE);
});

/** Completes the task about the reached limit. */
async function prune({ operator: as, tasks }: Tenant): Promise<void> {
  const task = (await tasks()).find(({ kind }) => kind === 'review_cardinality');
  await server.ok('POST', `/v1/operator/tasks/${task?.id}/complete`, { as, body: { outcome: 'pruned' } });
}

test('after a flood at a declared provider, pruning lets new subjects be observed again', async () => {
  const tenant = await newTenant(server);
  const { operator: as, path } = tenant;
  for (const name of ['declared', 'retired']) {
    const status = name === 'retired' ? 'retired' : 'available';
    await server.ok('POST', `${path}/inventory`, { as, body: { kind: 'model', name, status } });
  }
  const kept = ['declared', 'allowed', 'ignored', 'refused'];
  await sendSpans(server, tenant.sender, kept.map(atOpenai));
  await tenant.review((await tenant.observation('allowed')).id, 'approved');
  await tenant.review((await tenant.observation('ignored')).id, 'ignored');
  const refused = await tenant.observation('refused');
  await tenant.review(refused.id, 'rejected');
  server.travel(1000);
  // Open again after a rejection. A sender cannot undo that review.
  await sendSpans(server, tenant.sender, [{ ...atOpenai('refused'), start: nanoseconds() }, atOpenai('retired')]);
  await sendSpans(
    server,
    tenant.sender,
    Array.from({ length: LIMIT }, (_, index) => atOpenai(`flood-${index}`)),
  );
  await tenant.see('really-bad');
  expect(await tenant.observation('really-bad')).toBeUndefined();

  await prune(tenant);
  const left = await all(server, '/v1/runtime-observations?limit=100', as);
  expect(left.map(({ name }): string => name).toSorted()).toEqual(kept.toSorted());
  expect((await tenant.observation('refused')).status).toBe('open');
  const open = (await tenant.recommendations()).map(({ kind, change }) => `${kind} ${change.after.name}`);
  expect(open.toSorted()).toEqual(['block_item refused', 'register_item allowed']);
  expect((await server.ok('GET', path, { as })).status).toBe('active');
  await tenant.see('really-bad');
  expect(await tenant.observation('really-bad')).toMatchObject({ unknown: true, status: 'open' });
});

test('pruning removes only discovered providers to which no person added anything', async () => {
  const tenant = await newTenant(server);
  const { operator: as } = tenant;
  const names = ['bare', 'credential', 'gateway', 'gateway-gone', 'inventory', 'schedule', 'url'];
  const flood = Array.from({ length: SHARE }, (_, index) => `m-${index}`);
  const spans = [...names.map((provider) => [provider, 'm']), ...flood.map((model) => ['bare', model])];
  await sendSpans(
    server,
    tenant.sender,
    spans.map(([provider = '', model = '']) => chat(model, { 'gen_ai.provider.name': provider })),
  );
  const discovered = await all(server, '/v1/providers?status=discovered', as);
  const path = (name: string) => `/v1/providers/${discovered.find((one) => one.name === name)?.id}`;
  const idOf = (name: string) => discovered.find((one) => one.name === name)?.id;
  const gateway = (name: string) =>
    server.ok('POST', '/v1/gateways', { as, body: { name, providerIds: [idOf(name)] } });
  await server.ok('PUT', `${path('credential')}/credential`, { as, body: { secret: 'abcdefghij' } });
  const item = { kind: 'model', name: 'later', status: 'blocked' };
  await server.ok('POST', `${path('inventory')}/inventory`, { as, body: item });
  await server.ok('PUT', path('schedule'), { as, body: { syncIntervalSeconds: 600 } });
  await server.ok('PUT', path('url'), { as, body: { baseUrl: 'https://vendor.example/v1' } });
  const { id: edge } = await gateway('gateway');
  const { id: gone } = await gateway('gateway-gone');
  await server.ok('DELETE', `/v1/gateways/${gone}`, { as });

  await prune(tenant);
  expect(await all(server, '/v1/runtime-observations?limit=100', as)).toEqual([]);
  const left = await all(server, '/v1/providers?status=discovered', as);
  expect(left.map(({ name }): string => name).toSorted()).toEqual([
    'credential',
    'gateway',
    'inventory',
    'schedule',
    'url',
  ]);
  expect((await all(server, `${path('inventory')}/inventory`, as)).map(({ status }) => status)).toEqual(['blocked']);
  expect((await server.ok('GET', `/v1/gateways/${edge}`, { as })).providerIds).toEqual([idOf('gateway')]);
  const secrets = { kind: 'provider_secret', tenantId: tenant.tenantId };
  const { items } = await server.ok('POST', '/v1/credentials/search', { as, body: secrets });
  expect(items).toMatchObject([{ status: 'active', revokedAt: null }]);
  // The remaining providers still have a task. The removed ones have none, and an audit event.
  const adopting = (await tenant.tasks()).filter(({ kind }) => kind === 'adopt_provider');
  expect(new Set(adopting.map(({ subject }) => subject.id))).toEqual(new Set(left.map(({ id }) => id)));
  for (const { id } of left) {
    const open = await all(server, `/v1/providers/${id}/recommendations?status=open`, as);
    expect(open.map(({ kind }) => kind)).toEqual(['adopt_provider']);
  }
  const ended = await all(server, `/v1/audit-events?target_id=${idOf('bare')}`, as);
  expect(ended.filter(({ operation }) => operation === 'complete_operator_task')).toMatchObject([
    { target: { type: 'provider' }, changedFields: ['status'] },
  ]);
});
