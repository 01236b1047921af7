import { openOperatorTask } from '@quartermaster/db/repositories/operator-tasks.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem } from '../endpoints/harness.ts';
import { accountWithKey } from '../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { all, newTraceId, nowInNanoseconds, sendSpans, toolRun } from '../telemetry/traces/sending.ts';
import { atOpenai, newTenant, type Tenant } from './loop-support.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const KIND = 'investigate_blocked_use';
const HOUR_MS = 3600 * 1000;
const DAY_MS = 24 * HOUR_MS;

/** A tenant whose inventory blocks `gpt-x`, a moment ago. */
async function blockingTenant() {
  const tenant = await newTenant(server);
  const { operator: as, path } = tenant;
  const body = { kind: 'model', name: 'gpt-x', status: 'blocked' };
  const item = await server.ok('POST', `${path}/inventory`, { as, body });
  server.travel(1000);
  return { ...tenant, itemPath: `${path}/inventory/${item.id}` };
}

/** Sends a call of a model that begins now, or a while ago. */
function use({ sender }: Tenant, model: string, { agoMs = 0, answeredBy = model } = {}): Promise<void> {
  const start = nowInNanoseconds(server) - BigInt(agoMs) * 1_000_000n;
  const span = atOpenai(model);
  const attributes = { ...span.attributes, 'gen_ai.response.model': answeredBy };
  return sendSpans(server, sender, [{ ...span, start, attributes }]);
}

const tasksOf = async (tenant: Tenant, status = 'open'): Promise<Body[]> =>
  (await tenant.tasks(status)).filter(({ kind }) => kind === KIND);

const blockedObservations = ({ operator: as }: Tenant): Promise<Body[]> =>
  all(server, '/v1/runtime-observations?view=blocked', as);

function complete({ operator: as }: Tenant, { id }: Body): Promise<Body> {
  return server.ok('POST', `/v1/operator/tasks/${id}/complete`, { as, body: { outcome: 'acknowledged' } });
}

describe('a use of what the inventory blocks', () => {
  test('opens one task, however often it is used', async () => {
    const tenant = await blockingTenant();
    await use(tenant, 'gpt-x');
    await use(tenant, 'gpt-x');
    const observation = await tenant.observation('gpt-x');
    expect(observation).toMatchObject({ status: 'resolved', unknown: false, occurrences: 2 });
    const tasks = await tasksOf(tenant);
    expect(tasks).toHaveLength(1);
    expect(tasks[0]).toMatchObject({
      title: 'Agents use the model gpt-x at openai, which is blocked',
      subject: { type: 'runtime_observation', id: observation.id },
      priority: 'high',
      tenantId: tenant.tenantId,
      subTenantId: null,
    });
  });

  test('opens a task if a rejection was applied before', async () => {
    const tenant = await newTenant(server);
    await tenant.see('gpt-x');
    await tenant.review((await tenant.observation('gpt-x')).id, 'rejected');
    server.travel(1000);
    await use(tenant, 'gpt-x');
    await tenant.apply({ kinds: ['block_item'] });
    expect(await tasksOf(tenant)).toEqual([]);
    server.travel(1000);
    await use(tenant, 'gpt-x');
    expect(await tasksOf(tenant)).toHaveLength(1);
  });

  test('opens a task that names the item, if the item covers another name', async () => {
    const tenant = await blockingTenant();
    await use(tenant, 'gpt-x-2026-01-01');
    expect((await tasksOf(tenant)).map(({ title }) => title)).toEqual([
      'Agents use the model gpt-x-2026-01-01 at openai, although the inventory blocks gpt-x',
    ]);
  });

  test('opens a task if a blocked model answered, and none if another one did', async () => {
    const tenant = await blockingTenant();
    await use(tenant, 'alias', { answeredBy: 'gpt-y' });
    expect(await tasksOf(tenant)).toEqual([]);
    await use(tenant, 'alias', { answeredBy: 'gpt-x' });
    const tasks = await tasksOf(tenant);
    expect(tasks.map(({ title }) => title)).toEqual([
      'Agents use the model alias at openai, although the inventory blocks gpt-x',
    ]);
    await complete(tenant, tasks[0]);
    server.travel(2 * DAY_MS);
    await use(tenant, 'alias', { answeredBy: 'gpt-y' });
    expect(await tasksOf(tenant)).toEqual([]);
  });

  test('opens a task for a tool of a server', async () => {
    const tenant = await newTenant(server);
    const { operator: as } = tenant;
    const files = await server.ok('POST', '/v1/providers', { as, body: { name: 'files', kind: 'mcp' } });
    const body = { kind: 'tool', name: 'delete_all', status: 'blocked' };
    await server.ok('POST', `/v1/providers/${files.id}/inventory`, { as, body });
    server.travel(1000);
    const span = toolRun('delete_all', { 'mcp.server.name': 'files' });
    await sendSpans(server, tenant.sender, [{ ...span, start: nowInNanoseconds(server) }]);
    expect((await tasksOf(tenant)).map(({ title }) => title)).toEqual([
      'Agents use the tool delete_all at files, which is blocked',
    ]);
  });

  test('opens a task in the sub-tenant of the account', async () => {
    const tenant = await blockingTenant();
    const sender = await accountWithKey(server, { tenantId: tenant.tenantId, subTenantId: 'eu' }, ['traces:write']);
    await sendSpans(server, sender, [{ ...atOpenai('gpt-x'), start: nowInNanoseconds(server) }]);
    expect(await tasksOf(tenant)).toMatchObject([{ subTenantId: 'eu' }]);
  });
});

describe('no task is opened', () => {
  test('by a use before the block', async () => {
    const tenant = await newTenant(server);
    const { operator: as, path } = tenant;
    await use(tenant, 'gpt-x');
    server.travel(1000);
    const body = { kind: 'model', name: 'gpt-x', status: 'blocked' };
    await server.ok('POST', `${path}/inventory`, { as, body });
    expect((await tenant.observation('gpt-x')).risk.factors.map(({ factor }: Body) => factor)).toContain(
      'blocked_item',
    );
    expect(await tasksOf(tenant)).toEqual([]);
  });

  test('by a span that began before the block, unless it comes more than an hour after it', async () => {
    const tenant = await blockingTenant();
    await use(tenant, 'gpt-x', { agoMs: 10_000 });
    expect(await tasksOf(tenant)).toEqual([]);
    server.travel(HOUR_MS);
    await use(tenant, 'gpt-x', { agoMs: DAY_MS });
    expect(await tasksOf(tenant)).toHaveLength(1);
  });

  test.each(['agent', 'model'])(
    'by the span of the %s around an earlier call, although it comes hours later',
    async (kind) => {
      const tenant = await newTenant(server);
      const { operator: as, path } = tenant;
      const root = { traceId: newTraceId(), spanId: 'a'.repeat(16), start: nowInNanoseconds(server) };
      const { traceId, start } = root;
      await sendSpans(server, tenant.sender, [{ ...atOpenai('gpt-x'), traceId, start, parentSpanId: root.spanId }]);
      server.travel(1000);
      const body = { kind: 'model', name: 'gpt-x', status: 'blocked' };
      await server.ok('POST', `${path}/inventory`, { as, body });
      server.travel(2 * HOUR_MS);
      const attributes = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'planner' };
      const around = kind === 'agent' ? { attributes } : { ...atOpenai('gpt-x'), scope: 'other' };
      await sendSpans(server, tenant.sender, [{ ...around, ...root, end: nowInNanoseconds(server) }]);
      expect(await tenant.observation('gpt-x')).toMatchObject({ occurrences: 1 });
      expect(await tasksOf(tenant)).toEqual([]);
      await use(tenant, 'gpt-x', { agoMs: DAY_MS });
      expect(await tasksOf(tenant)).toHaveLength(1);
    },
  );

  test('by a span that is sent again', async () => {
    const tenant = await blockingTenant();
    const span = {
      ...atOpenai('gpt-x'),
      traceId: newTraceId(),
      spanId: 'a'.repeat(16),
      start: nowInNanoseconds(server),
    };
    await sendSpans(server, tenant.sender, [span]);
    await complete(tenant, (await tasksOf(tenant))[0]);
    server.travel(2 * DAY_MS);
    await sendSpans(server, tenant.sender, [span]);
    expect(await tasksOf(tenant)).toEqual([]);
  });

  test('by a use of what is not blocked', async () => {
    const tenant = await blockingTenant();
    await use(tenant, 'gpt-y');
    expect(await tasksOf(tenant)).toEqual([]);
  });
});

describe('a block that begins again after the task was cancelled', () => {
  test('opens another task if a more specific item had lifted the block', async () => {
    const tenant = await blockingTenant();
    const { operator: as, path } = tenant;
    await use(tenant, 'gpt-x-2026-01-01');
    const body = { kind: 'model', name: 'gpt-x-2026-01-01' };
    const lifting = await server.ok('POST', `${path}/inventory`, { as, body });
    expect(await tasksOf(tenant)).toEqual([]);
    await server.ok('DELETE', `${path}/inventory/${lifting.id}`, { as });
    server.travel(1000);
    await use(tenant, 'gpt-x-2026-01-01');
    expect(await tasksOf(tenant)).toHaveLength(1);
  });

  test('opens another task if an alias of the provider was missing', async () => {
    const tenant = await newTenant(server);
    const { operator: as } = tenant;
    const body = { name: 'proxy', kind: 'llm', baseUrl: 'https://proxy.example.com', aliases: ['acme'] };
    const { id } = await server.ok('POST', '/v1/providers', { as, body });
    const item = { kind: 'model', name: 'gpt-x', status: 'blocked' };
    await server.ok('POST', `/v1/providers/${id}/inventory`, { as, body: item });
    server.travel(1000);
    const { attributes } = atOpenai('acme/gpt-x');
    const send = () =>
      sendSpans(server, tenant.sender, [
        { start: nowInNanoseconds(server), attributes: { ...attributes, 'server.address': 'proxy.example.com' } },
      ]);
    await send();
    expect(await tasksOf(tenant)).toHaveLength(1);
    await server.ok('PUT', `/v1/providers/${id}`, { as, body: { aliases: [] } });
    expect(await tasksOf(tenant)).toEqual([]);
    await server.ok('PUT', `/v1/providers/${id}`, { as, body: { aliases: ['acme'] } });
    await send();
    expect(await tasksOf(tenant)).toHaveLength(1);
  });
});

test('a task that a person cancelled stays closed for a day', async () => {
  const tenant = await blockingTenant();
  await use(tenant, 'gpt-x');
  const [task] = await tasksOf(tenant);
  await server.ok('POST', `/v1/operator/tasks/${task.id}/cancel`, { as: tenant.operator, body: {} });
  server.travel(DAY_MS - 60_000);
  await use(tenant, 'gpt-x');
  expect(await tasksOf(tenant)).toEqual([]);
  server.travel(120_000);
  await use(tenant, 'gpt-x');
  expect(await tasksOf(tenant)).toHaveLength(1);
});

test.each(['open', 'claimed'])('a rename that merges two observations keeps the task that is %s', async (status) => {
  const tenant = await newTenant(server);
  const { operator: as } = tenant;
  const body = { name: 'oai', kind: 'llm', baseUrl: 'https://proxy.example.com' };
  const { id } = await server.ok('POST', '/v1/providers', { as, body });
  const item = { kind: 'model', name: 'gpt-x', status: 'blocked' };
  await server.ok('POST', `/v1/providers/${id}/inventory`, { as, body: item });
  server.travel(1000);
  for (const model of ['acme/gpt-x', 'gpt-x']) {
    const { attributes } = atOpenai(model);
    const atProxy = { ...attributes, 'server.address': 'proxy.example.com' };
    await sendSpans(server, tenant.sender, [{ start: nowInNanoseconds(server), attributes: atProxy }]);
  }
  const [task] = await tasksOf(tenant);
  if (status === 'claimed') await server.ok('POST', `/v1/operator/tasks/${task.id}/claim`, { as, body: {} });
  // A review makes it the one that stays.
  await tenant.review((await tenant.observation('acme/gpt-x')).id, 'ignored');
  await server.ok('PUT', `/v1/providers/${id}`, { as, body: { name: 'acme' } });
  const [merged, ...others] = await blockedObservations(tenant);
  expect(others).toEqual([]);
  expect(merged).toMatchObject({ status: 'ignored', occurrences: 2 });
  expect(await tasksOf(tenant, status)).toMatchObject([{ id: task.id, subject: { id: merged.id } }]);
});

describe('a blocked model that answered', () => {
  const answeredBy = (model: string) => ({ ...atOpenai('alias').attributes, 'gen_ai.response.model': model });
  const others = Array.from({ length: 60 }, (_, index) => `gpt-${index}`);
  const isBlockedUse = async (tenant: Tenant) => {
    const { risk } = await tenant.observation('alias');
    return risk.factors.some(({ factor }: Body) => factor === 'blocked_item');
  };

  test('stays in the risk and in the evidence when 60 other models answered before', async () => {
    const tenant = await blockingTenant();
    for (const model of [...others, 'gpt-x', 'gpt-1']) await use(tenant, 'alias', { answeredBy: model });
    expect(await isBlockedUse(tenant)).toBe(true);
    expect(await blockedObservations(tenant)).toHaveLength(1);
    const { responseModels } = (await tenant.observation('alias')).evidence;
    expect(responseModels).toHaveLength(50);
    expect(responseModels).toContain('gpt-x');
  });

  test('is found behind 60 other models of one batch', async () => {
    const tenant = await blockingTenant();
    const start = nowInNanoseconds(server);
    const calls = [...others, 'gpt-x'].map((model) => ({ start, attributes: answeredBy(model) }));
    await sendSpans(server, tenant.sender, calls);
    expect(await isBlockedUse(tenant)).toBe(true);
    expect(await tasksOf(tenant)).toHaveLength(1);
  });

  test('is named once in the risk, however often it answered', async () => {
    const tenant = await blockingTenant();
    for (let times = 0; times < 3; times += 1) await use(tenant, 'alias', { answeredBy: 'gpt-x' });
    const { risk } = await tenant.observation('alias');
    expect(risk.factors.find(({ factor }: Body) => factor === 'blocked_item').reason).toBe(
      'The inventory blocks gpt-x, but calls were answered by gpt-x.',
    );
  });

  test('is found beside observations whose evidence is older than the models that answered', async () => {
    const tenant = await newTenant(server);
    await use(tenant, 'older');
    await use(tenant, 'alias', { answeredBy: 'gpt-x' });
    const { db } = server.services;
    const { id } = await tenant.observation('older');
    const former = JSON.stringify({ serviceNames: [], serverAddresses: [], operations: [], accounts: [], errors: 0 });
    await db.updateTable('runtime_observations').set({ evidence: former }).where('id', '=', id).execute();
    const { operator: as, path } = tenant;
    await server.ok('POST', `${path}/inventory`, { as, body: { kind: 'model', name: 'gpt-x', status: 'blocked' } });
    expect(await isBlockedUse(tenant)).toBe(true);
  });
});

describe('a finished task', () => {
  test('stays closed for a day, and a later use opens another one', async () => {
    const tenant = await blockingTenant();
    await use(tenant, 'gpt-x');
    await complete(tenant, (await tasksOf(tenant))[0]);
    server.travel(DAY_MS - 60_000);
    await use(tenant, 'gpt-x');
    expect(await tasksOf(tenant)).toEqual([]);
    server.travel(120_000);
    await use(tenant, 'gpt-x');
    expect(await tasksOf(tenant)).toHaveLength(1);
  });

  test('does not keep a new block quiet', async () => {
    const tenant = await blockingTenant();
    const { operator: as, itemPath } = tenant;
    await use(tenant, 'gpt-x');
    await complete(tenant, (await tasksOf(tenant))[0]);
    for (const status of ['available', 'blocked']) {
      server.travel(1000);
      await server.ok('PUT', itemPath, { as, body: { status } });
    }
    server.travel(1000);
    await use(tenant, 'gpt-x');
    expect(await tasksOf(tenant)).toHaveLength(1);
  });
});

describe('an open task is cancelled', () => {
  const ways: Record<string, (tenant: Awaited<ReturnType<typeof blockingTenant>>) => Promise<unknown>> = {
    'if the block ends': ({ operator: as, itemPath }) =>
      server.ok('PUT', itemPath, { as, body: { status: 'available' } }),
    'if the item is deleted': ({ operator: as, itemPath }) => server.ok('DELETE', itemPath, { as }),
    'if the provider is deleted': ({ operator: as, path }) => server.ok('DELETE', path, { as }),
  };
  test.each(Object.entries(ways))('%s', async (_, end) => {
    const tenant = await blockingTenant();
    await use(tenant, 'gpt-x');
    expect(await tasksOf(tenant)).toHaveLength(1);
    await end(tenant);
    expect(await tasksOf(tenant)).toEqual([]);
    expect(await tasksOf(tenant, 'cancelled')).toHaveLength(1);
  });

  test('and not if the block changes in another way', async () => {
    const tenant = await blockingTenant();
    const { operator: as, itemPath } = tenant;
    await use(tenant, 'gpt-x');
    await server.ok('PUT', itemPath, { as, body: { description: 'Too expensive.' } });
    expect(await tasksOf(tenant)).toHaveLength(1);
  });

  test('if its observation is pruned', async () => {
    const tenant = await blockingTenant();
    const { tenantId, operator: as } = tenant;
    await use(tenant, 'alias', { answeredBy: 'gpt-x' });
    const prune = { kind: 'review_cardinality', subject: { type: 'tenant', id: tenantId } } as const;
    const { db, now } = server.services;
    await openOperatorTask(db, { tenantId, subTenantId: null }, { ...prune, title: 'full', priority: 'high' }, now());
    const full = (await tenant.tasks()).find(({ kind }) => kind === 'review_cardinality');
    await server.ok('POST', `/v1/operator/tasks/${full?.id}/complete`, { as, body: { outcome: 'pruned' } });
    expect(await tenant.observation('alias')).toBeUndefined();
    expect(await tasksOf(tenant)).toEqual([]);
    expect(await tasksOf(tenant, 'cancelled')).toHaveLength(1);
  });

  test('if its calls turn out to be those of another subject', async () => {
    const tenant = await blockingTenant();
    const { operator: as } = tenant;
    const proxy = { name: 'proxy', kind: 'llm', baseUrl: 'https://proxy.example.com' };
    await server.ok('POST', '/v1/providers', { as, body: proxy });
    const span = { ...atOpenai('gpt-x'), traceId: newTraceId(), start: nowInNanoseconds(server) };
    const inner = { ...span, spanId: 'b'.repeat(16), parentSpanId: 'a'.repeat(16), scope: 'other' };
    await sendSpans(server, tenant.sender, [{ ...span, spanId: 'a'.repeat(16) }]);
    expect(await tasksOf(tenant)).toHaveLength(1);
    const attributes = { ...span.attributes, 'server.address': 'proxy.example.com' };
    await sendSpans(server, tenant.sender, [{ ...inner, attributes }]);
    expect(await tenant.observation('gpt-x')).toMatchObject({ unknown: true });
    expect(await tasksOf(tenant)).toEqual([]);
    expect(await tasksOf(tenant, 'cancelled')).toHaveLength(1);
  });
});

test('without runtime_observations:review it cannot be completed', async () => {
  const tenant = await blockingTenant();
  await use(tenant, 'gpt-x');
  const [task] = await tasksOf(tenant);
  const place = { tenantId: tenant.tenantId };
  const as = await accountWithKey(server, place, ['operator_tasks:write', 'operator_tasks:read']);
  const refused = await server.call('POST', `/v1/operator/tasks/${task.id}/complete`, {
    as,
    body: { outcome: 'acknowledged' },
  });
  expectProblem(refused, 403, 'scope_missing');
  expect(await complete(tenant, task)).toMatchObject({ status: 'succeeded', outcome: 'acknowledged' });
});

test('regression: the use of a disabled provider counts as a blocked use, until the provider is active again', async () => {
  const tenant = await newTenant(server);
  const { operator: as, path } = tenant;
  await server.ok('POST', `${path}/inventory`, { as, body: { kind: 'model', name: 'gpt-x' } });
  await use(tenant, 'gpt-x');
  const risk = async () => (await tenant.observation('gpt-x')).risk;
  expect(await risk()).toEqual({ level: 'low', factors: [] });
  expect(await blockedObservations(tenant)).toEqual([]);
  await server.ok('PUT', path, { as, body: { status: 'disabled' } });
  const reason = 'The provider openai is disabled, but agents use it.';
  const high = { level: 'high', factors: [{ factor: 'disabled_provider', reason }] };
  expect(await risk()).toEqual(high);
  expect(await blockedObservations(tenant)).toHaveLength(1);
  // The use was before.
  expect(await tasksOf(tenant)).toEqual([]);
  server.travel(1000);
  await use(tenant, 'gpt-x');
  expect(await risk()).toEqual(high);
  const title = 'Agents use the model gpt-x at openai, which is disabled';
  expect(await tasksOf(tenant)).toMatchObject([{ title, priority: 'high' }]);
  await server.ok('PUT', path, { as, body: { status: 'active' } });
  expect(await risk()).toEqual({ level: 'low', factors: [] });
  expect(await tasksOf(tenant)).toEqual([]);
  expect(await tasksOf(tenant, 'cancelled')).toHaveLength(1);
});
