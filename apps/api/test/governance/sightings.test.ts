import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountWithKey } from '../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { all, chat, newTraceId, nowInNanoseconds, sendSpans, toolRun } from '../telemetry/traces/sending.ts';
import { atOpenai, newTenant, type Tenant } from './loop-support.ts';

const DAY_MS = 24 * 3600 * 1000;

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

/** Sends a span that begins now, according to the clock of the service. */
function seeNow(tenant: Tenant, model: string): Promise<void> {
  const start = nowInNanoseconds(server);
  return sendSpans(server, tenant.sender, [{ ...atOpenai(model), start }]);
}

function factorsOf(observation: Body): string[] {
  return observation.risk.factors.map(({ factor }: Body) => factor);
}

describe('a reviewed observation that is seen again', () => {
  test('rejected: it opens again with high risk, a recommended block and a task of high priority', async () => {
    const tenant = await newTenant(server);
    await seeNow(tenant, 'gpt-5');
    const { id } = await tenant.observation('gpt-5');
    await tenant.review(id, 'rejected', tenant.operator, 'not approved by legal');
    server.travel(1000);
    await seeNow(tenant, 'gpt-5');
    const observation = await tenant.observation('gpt-5');
    expect(observation).toMatchObject({
      status: 'open',
      occurrences: 2,
      review: { decision: 'rejected', note: 'not approved by legal' },
      risk: { level: 'high' },
    });
    expect(factorsOf(observation)).toEqual(['rejected_again', 'unknown_item']);
    expect(observation.risk.factors[0].reason).toContain(tenant.operator.principal);
    expect(await tenant.recommendations()).toMatchObject([
      {
        kind: 'block_item',
        observationIds: [id],
        change: { before: null, after: { kind: 'model', name: 'gpt-5', status: 'blocked' } },
      },
    ]);
    expect(await tenant.tasks()).toMatchObject([{ kind: 'review_observation', priority: 'high' }]);
  });

  test('rejected: a late span from before the rejection changes nothing', async () => {
    const tenant = await newTenant(server);
    await seeNow(tenant, 'gpt-5');
    const { id } = await tenant.observation('gpt-5');
    server.travel(1000);
    await tenant.review(id, 'rejected');
    await tenant.see('gpt-5');
    expect(await tenant.observation('gpt-5')).toMatchObject({ status: 'rejected', occurrences: 2 });
    expect([await tenant.recommendations(), await tenant.tasks()]).toEqual([[], []]);
  });

  test('rejected: the span of an agent that ends hours later is no new use of what it called before', async () => {
    const tenant = await newTenant(server);
    const root = { traceId: newTraceId(), spanId: 'a'.repeat(16), start: nowInNanoseconds(server) };
    const { traceId, start } = root;
    await sendSpans(server, tenant.sender, [{ ...atOpenai('gpt-5'), traceId, start, parentSpanId: root.spanId }]);
    await tenant.review((await tenant.observation('gpt-5')).id, 'rejected');
    server.travel(DAY_MS);
    const attributes = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'planner' };
    await sendSpans(server, tenant.sender, [{ ...root, attributes, end: nowInNanoseconds(server) }]);
    expect(await tenant.observation('gpt-5')).toMatchObject({ status: 'rejected', occurrences: 1 });
    expect(await tenant.recommendations()).toEqual([]);
  });

  test('rejected: a sender cannot hide it with old start times', async () => {
    const tenant = await newTenant(server);
    await seeNow(tenant, 'gpt-5');
    const { id } = await tenant.observation('gpt-5');
    await tenant.review(id, 'rejected');
    server.travel(DAY_MS);
    // `see` sends spans with start times years ago.
    await tenant.see('gpt-5');
    expect(await tenant.observation('gpt-5')).toMatchObject({ status: 'open', risk: { level: 'high' } });
  });

  test('open: a cancelled review task is opened again a day later if it is still used', async () => {
    const tenant = await newTenant(server);
    await seeNow(tenant, 'gpt-5');
    const [task] = await tenant.tasks();
    await server.ok('POST', `/v1/operator/tasks/${task.id}/cancel`, { as: tenant.operator });
    await seeNow(tenant, 'gpt-5');
    expect(await tenant.tasks()).toEqual([]);
    server.travel(DAY_MS);
    await seeNow(tenant, 'gpt-5');
    expect(await tenant.tasks()).toMatchObject([{ kind: 'review_observation', subject: task.subject }]);
  });

  test('rejected twice: the block stays recommended, and the task is finished', async () => {
    const { tenant, id } = await rejectedAgain();
    const [before] = await tenant.recommendations();
    await tenant.review(id, 'rejected');
    expect(await tenant.observation('gpt-5')).toMatchObject({ status: 'rejected' });
    expect(await tenant.recommendations()).toMatchObject([{ id: before.id, kind: 'block_item', status: 'open' }]);
    expect(await tenant.tasks()).toEqual([]);
  });

  test('rejected, then approved: the block is superseded, and registering is recommended', async () => {
    const { tenant, id } = await rejectedAgain();
    await tenant.review(id, 'approved');
    expect(await tenant.recommendations()).toMatchObject([{ kind: 'register_item' }]);
    expect(await tenant.recommendations('superseded')).toMatchObject([{ kind: 'block_item' }]);
    expect(factorsOf(await tenant.observation('gpt-5'))).not.toContain('rejected_again');
  });

  test('an undo reopens only what its own apply superseded, not a block that an approval superseded before', async () => {
    const { tenant, id } = await rejectedAgain();
    await tenant.review(id, 'approved');
    const superseded = await tenant.recommendations('superseded');
    expect(superseded).toMatchObject([{ kind: 'block_item' }]);
    server.travel(1000);
    const [registered] = (await tenant.apply()).applied;
    server.travel(1000);
    await server.ok('POST', `/v1/recommendations/${registered.id}/undo`, { as: tenant.operator });
    expect(await tenant.recommendations('superseded')).toEqual(superseded);
    expect(await tenant.recommendations()).toMatchObject([{ id: registered.id, kind: 'register_item' }]);
  });

  test('rejected and blocked: it is known, stays rejected, and has a high risk and a task while it is used', async () => {
    const { tenant, id } = await rejectedAgain();
    await tenant.apply();
    expect(await tenant.items()).toMatchObject([{ name: 'gpt-5', status: 'blocked', source: 'recommendation' }]);
    expect(await tenant.observation('gpt-5')).toMatchObject({ status: 'resolved', unknown: false });
    server.travel(1000);
    await seeNow(tenant, 'gpt-5');
    const observation = await tenant.observation('gpt-5');
    expect(observation).toMatchObject({ id, status: 'resolved', occurrences: 3, risk: { level: 'high' } });
    expect(factorsOf(observation)).toEqual(['blocked_item']);
    expect(await tenant.recommendations()).toEqual([]);
    expect(await tenant.tasks()).toMatchObject([{ kind: 'investigate_blocked_use', subject: { id } }]);
  });

  test.each(['approved', 'ignored'])('%s: stays as it is', async (decision) => {
    const tenant = await newTenant(server);
    await seeNow(tenant, 'gpt-5');
    const { id } = await tenant.observation('gpt-5');
    await tenant.review(id, decision);
    const open = await tenant.recommendations();
    server.travel(1000);
    await seeNow(tenant, 'gpt-5');
    expect(await tenant.observation('gpt-5')).toMatchObject({ status: decision, occurrences: 2 });
    expect(await tenant.recommendations()).toEqual(open);
    expect(await tenant.tasks()).toEqual([]);
  });

  async function rejectedAgain(): Promise<{ tenant: Tenant; id: string }> {
    const tenant = await newTenant(server);
    await seeNow(tenant, 'gpt-5');
    const { id } = await tenant.observation('gpt-5');
    await tenant.review(id, 'rejected');
    server.travel(1000);
    await seeNow(tenant, 'gpt-5');
    return { tenant, id };
  }
});

describe('variants of a model’s name', () => {
  test('in case and with the provider in front are one observation', async () => {
    const tenant = await newTenant(server);
    for (const name of ['GPT-5', 'gpt-5', 'openai/gpt-5', 'OpenAI/GPT-5']) await tenant.see(name);
    const observations = await all(server, `${tenant.path}/observations`, tenant.operator);
    expect(observations).toMatchObject([{ name: 'GPT-5', occurrences: 4 }]);
    expect(observations[0].evidence.names).toEqual(['GPT-5', 'gpt-5', 'openai/gpt-5', 'OpenAI/GPT-5']);
  });

  test('names that only look alike are separate observations', async () => {
    const tenant = await newTenant(server);
    const names = [
      'gpt-5',
      'gpt-5-mini',
      'gpt-5-2026-01-01',
      'azure/gpt-5',
      'meta/gpt-5',
      'ft:gpt-5:acme',
      'openai/',
      '/gpt-5',
    ];
    for (const name of names) await tenant.see(name);
    const observations = await all(server, `${tenant.path}/observations`, tenant.operator);
    expect(observations.map(({ name }): string => name).toSorted()).toEqual(names.toSorted());
  });

  test('other names of the provider in front are removed, and tool names must match exactly', async () => {
    const tenant = await newTenant(server);
    const body = { name: 'gcp.vertex_ai', kind: 'llm' };
    const { id } = await server.ok('POST', '/v1/providers', { as: tenant.operator, body });
    const tools = await server.ok('POST', '/v1/providers', {
      as: tenant.operator,
      body: { name: 'tools', kind: 'mcp', baseUrl: 'https://tools.example.com' },
    });
    const at = { 'gen_ai.provider.name': 'gcp.vertex_ai' };
    await sendSpans(server, tenant.sender, [
      ...['vertex_ai/gemini-3', 'google/gemini-3', 'Gemini-3'].map((model) => chat(model, at)),
      ...['find', 'Find', 'tools/find'].map((tool) => toolRun(tool, { 'server.address': 'tools.example.com' })),
    ]);
    const observedAt = async (providerId: string) => {
      const observations = await all(server, `/v1/providers/${providerId}/observations`, tenant.operator);
      return observations.map(({ kind, name, occurrences }) => `${kind} ${name} x${occurrences}`).toSorted();
    };
    expect(await observedAt(id)).toEqual(['model gemini-3 x3']);
    expect(await observedAt(tools.id)).toEqual(['tool Find x1', 'tool find x1', 'tool tools/find x1']);
  });

  test('a block of one blocks them all, and an item or a manifest declares them all', async () => {
    const tenant = await newTenant(server);
    const as = tenant.operator;
    const item = await server.ok('POST', `${tenant.path}/inventory`, {
      as,
      body: { kind: 'model', name: 'gpt-5', status: 'blocked' },
    });
    const again = await server.call('POST', `${tenant.path}/inventory`, {
      as,
      body: { kind: 'model', name: 'OpenAI/GPT-5' },
    });
    expect([again.status, again.body.code]).toEqual([409, 'name_taken']);
    await tenant.see('openai/GPT-5');
    expect(await tenant.observation('GPT-5')).toMatchObject({ inventoryItemId: item.id, risk: { level: 'high' } });

    const declares = [{ provider: 'openai', kind: 'model', name: 'OpenAI/GPT-6' }];
    await server.ok('POST', '/v1/manifests', { as, body: { name: 'agents', kind: 'agent', spec: { declares } } });
    await tenant.see('gpt-6');
    expect(await tenant.observation('gpt-6')).toMatchObject({ unknown: false });
  });
});

describe('risk', () => {
  test('the first use of a provider by an account counts for a week, if others used it before', async () => {
    const tenant = await newTenant(server);
    await seeNow(tenant, 'gpt-5');
    expect(factorsOf(await tenant.observation('gpt-5'))).toEqual(['unknown_item']);
    server.travel(1000);
    const newcomer = await accountWithKey(server, { tenantId: tenant.tenantId }, ['traces:write']);
    await seeNow({ ...tenant, sender: newcomer }, 'gpt-5');
    const observation = await tenant.observation('gpt-5');
    expect(factorsOf(observation)).toEqual(['unknown_item', 'first_use']);
    expect(observation.risk.factors[1].reason).toContain(newcomer.principal);
    server.travel(8 * DAY_MS);
    await seeNow(tenant, 'gpt-5');
    expect(factorsOf(await tenant.observation('gpt-5'))).toEqual(['unknown_item']);
  });

  test('the eleventh account is listed like the second', async () => {
    const tenant = await newTenant(server);
    const senders = [];
    for (let index = 0; index < 11; index += 1) {
      senders.push(await accountWithKey(server, { tenantId: tenant.tenantId }, ['traces:write']));
    }
    for (const sender of senders.slice(0, 10)) await tenant.see('gpt-5', sender);
    server.travel(30 * DAY_MS);
    const late = senders[10];
    await tenant.see('gpt-5', late);
    await tenant.see('gpt-5', senders[0]);
    const observation = await tenant.observation('gpt-5');
    expect(factorsOf(observation)).toContain('first_use');
    expect(observation.evidence.accounts).toContain(late?.principal);
  });

  test('failed calls and a foreign address are risk factors with their reasons', async () => {
    const tenant = await newTenant(server);
    await server.ok('POST', `${tenant.path}/inventory`, {
      as: tenant.operator,
      body: { kind: 'model', name: 'gpt-5' },
    });
    await tenant.see('gpt-5');
    expect(await tenant.observation('gpt-5')).toMatchObject({ risk: { level: 'low', factors: [] } });
    await sendSpans(server, tenant.sender, [
      { ...chat('gpt-5', { 'server.address': 'api.openai.com' }), failed: true },
    ]);
    expect((await tenant.observation('gpt-5')).risk).toEqual({
      level: 'low',
      factors: [{ factor: 'call_errors', reason: '1 of its calls ended in an error.' }],
    });
    await server.ok('PUT', tenant.path, { as: tenant.operator, body: { baseUrl: 'https://llm.example.com/v1' } });
    const { risk } = await tenant.observation('gpt-5');
    expect(risk).toMatchObject({ level: 'high', factors: [{ factor: 'foreign_address' }, { factor: 'call_errors' }] });
    expect(risk.factors[0].reason).toContain('api.openai.com');
  });
});
