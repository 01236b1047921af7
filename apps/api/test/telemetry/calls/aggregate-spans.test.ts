import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { chat, mcpCall, newSpanId, newTraceId, type SpanInput, toolRun } from '../traces/sending.ts';
import { callsTenant } from './calls-tenant.ts';
import { at, outerAndInner } from './timed-spans.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

function agent(name: string): SpanInput {
  return {
    name: `invoke_agent ${name}`,
    kind: 1,
    attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': name },
  };
}

describe('an outer and an inner span of one tool call count once, at the MCP server', () => {
  const orders = [
    ['in one batch', ({ outer, inner }: ReturnType<typeof outerAndInner>) => [[outer, inner]]],
    ['the inner first', ({ outer, inner }: ReturnType<typeof outerAndInner>) => [[inner], [outer]]],
    ['the outer first', ({ outer, inner }: ReturnType<typeof outerAndInner>) => [[outer], [inner]]],
    ['each one twice', ({ outer, inner }: ReturnType<typeof outerAndInner>) => [[outer], [outer, inner], [inner]]],
  ] as const;

  test.each(orders)('%s', async (_, batchesOf) => {
    const tenant = await callsTenant(server);
    for (const batch of batchesOf(outerAndInner())) await tenant.send(batch);
    expect(await tenant.observed()).toEqual({ 'tool echo at mcp.example.com': 1 });
    expect(await tenant.usage()).toEqual({
      'tool echo at mcp.example.com by travel-agent': { calls: 1, errors: 0, tokens: 0, durationUs: 10_000 },
    });
    expect(await tenant.usage('day')).toEqual(await tenant.usage());
  });
});

test.each(['the tool first', 'the model first'])(
  'a tool whose span does not name the vendor that ran it counts at that of the model around it: %s',
  async (order) => {
    const tenant = await callsTenant(server);
    const traceId = newTraceId();
    const model = { ...at(traceId, chat('gpt-5', { 'gen_ai.provider.name': 'openai' }), 0, 30), scope: 'gen_ai' };
    const run = at(traceId, toolRun('web_search', { 'gen_ai.tool.type': 'extension' }), 5, 15);
    const tool = { ...run, scope: 'gen_ai', parentSpanId: model.spanId };
    for (const span of order === 'the tool first' ? [tool, model] : [model, tool]) await tenant.send([span]);
    expect(await tenant.observed()).toEqual({ 'model gpt-5 at openai': 1, 'tool web_search at openai': 1 });
  },
);

// As Docker's MCP gateway (github.com/docker/mcp-gateway, pkg/telemetry/telemetry.go) writes them
test('tools, prompts and resources count at the named MCP server, also if their spans have no method', async () => {
  const tenant = await callsTenant(server);
  const call = (name: string, attributes: Record<string, string>) =>
    at(newTraceId(), { name, attributes: { 'mcp.server.name': 'github', ...attributes } });
  await tenant.send([
    call('mcp.tool.call', { 'mcp.tool.name': 'search_issues' }),
    call('mcp.prompt.get', { 'mcp.prompt.name': 'review' }),
    call('mcp.resource.read', { 'mcp.resource.uri': 'repo://acme/app' }),
  ]);
  expect(await tenant.observed()).toEqual({
    'tool search_issues at github': 1,
    'prompt review at github': 1,
    'resource repo://acme/app at github': 1,
  });
});

test('each search that a vendor ran for one answer counts, however many spans report the answer', async () => {
  const tenant = await callsTenant(server);
  const traceId = newTraceId();
  const search = (id: string) => ({ type: 'server_tool_call', id, name: 'web_search' });
  // The third call is written twice.
  const parts = ['srvtoolu_1', 'srvtoolu_2', 'srvtoolu_3', 'srvtoolu_3'].map(search);
  const answer = {
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts }]),
  };
  const outer = at(traceId, chat('claude-sonnet-5', answer), 0, 30);
  const inner = { ...at(traceId, chat('claude-sonnet-5', answer), 5, 15), parentSpanId: outer.spanId };
  const sums = { errors: 0, tokens: 0 };
  const expectCounts = async (durationUs: number) => {
    expect(await tenant.observed()).toEqual({
      'model claude-sonnet-5 at anthropic': 1,
      'tool web_search at anthropic': 3,
    });
    expect(await tenant.usage()).toEqual({
      'model claude-sonnet-5 at anthropic by travel-agent': { calls: 1, ...sums, durationUs },
      'tool web_search at anthropic by travel-agent': { calls: 3, ...sums, durationUs },
    });
  };
  await tenant.send([outer]);
  await expectCounts(30_000);
  await tenant.send([inner]);
  await expectCounts(10_000);
  await tenant.send([inner, { ...inner, spanId: newSpanId(), parentSpanId: inner.spanId, scope: 'a third one' }]);
  await expectCounts(10_000);
});

test.each(['first', 'last'])(
  'VoltAgent: tokens are counted from the span of the agent, which comes %s',
  async (order) => {
    const tenant = await callsTenant(server);
    const traceId = newTraceId();
    const scope = '@voltagent/core';
    const tokens = { 'usage.prompt_tokens': 84, 'usage.completion_tokens': 32 };
    const root = {
      ...at(
        traceId,
        { name: 'planner', kind: 1, attributes: { 'entity.name': 'planner', 'ai.model.name': 'gpt-5', ...tokens } },
        0,
        90,
      ),
      scope,
    };
    const lastRequest = { 'llm.usage.prompt_tokens': 21, 'llm.usage.completion_tokens': 8 };
    const call = {
      ...at(traceId, {
        name: 'llm:generateText',
        attributes: { 'span.type': 'llm', 'llm.model': 'gpt-5', ...lastRequest },
      }),
      scope,
      parentSpanId: root.spanId,
    };
    for (const span of order === 'first' ? [root, call] : [call, root]) await tenant.send([span]);
    await tenant.send([root]);
    const usage = await tenant.usage();
    const [model] = Object.keys(usage).filter((subject) => subject.startsWith('model'));
    expect(model).toMatch(/^model gpt-5 at .* by planner$/);
    expect(usage[model ?? '']).toEqual({ calls: 1, errors: 0, tokens: 116, durationUs: 10_000 });
    expect(Object.entries(await tenant.observed()).filter(([subject]) => subject.startsWith('model'))).toEqual([
      [expect.stringContaining('model gpt-5 at'), 1],
    ]);
  },
);

test('tokens of calls that no span reports are in the usage, and nothing is observed', async () => {
  const tenant = await callsTenant(server);
  const attributes = { 'entity.name': 'planner', 'ai.model.name': 'gpt-5', 'usage.prompt_tokens': 84 };
  await tenant.send([{ ...at(newTraceId(), { name: 'planner', kind: 1, attributes }), scope: '@voltagent/core' }]);
  expect(Object.keys(await tenant.observed())).toEqual(['agent planner at travel-agent']);
  const sums = Object.entries(await tenant.usage()).filter(([subject]) => subject.startsWith('model'));
  expect(sums.map(([, { calls, tokens }]) => [calls, tokens])).toEqual([[0, 84]]);
});

test('an observation that drops to 0 disappears with its task, its recommendations and its discovered provider', async () => {
  const tenant = await callsTenant(server);
  const { outer, inner } = outerAndInner();
  const { db } = server.services;
  const tenantColumns = { tenant_id: tenant.tenantId };
  const openTasks = async () => {
    const tasks = db.selectFrom('operator_tasks').select('title').where('tenant_id', '=', tenantColumns.tenant_id);
    return (await tasks.where('status', '=', 'open').execute()).map(({ title }) => title).toSorted();
  };
  const openRecommendations = async () => {
    const all = db
      .selectFrom('recommendations')
      .select(['kind', 'subject'])
      .where('tenant_id', '=', tenantColumns.tenant_id);
    return (await all.where('status', '=', 'open').orderBy('kind').execute()).map(
      (one) => `${one.kind} ${one.subject}`,
    );
  };
  await tenant.send([outer]);
  expect(await tenant.observed()).toEqual({ 'tool echo at travel-agent': 1 });
  expect(await openRecommendations()).toEqual(['adopt_provider provider', 'register_item tool:echo']);
  await tenant.send([inner]);
  expect(await tenant.observed()).toEqual({ 'tool echo at mcp.example.com': 1 });
  expect(await openRecommendations()).toEqual(['adopt_provider provider', 'register_item tool:echo']);
  expect(await openTasks()).toHaveLength(2);
  const tasks = await openTasks();
  expect(tasks.every((title) => title.includes('mcp.example.com'))).toBe(true);
  const counter = await db
    .selectFrom('tenants')
    .select('observation_count')
    .where('id', '=', tenant.tenantId)
    .execute();
  expect(counter).toEqual([{ observation_count: 1 }]);
  // The service is discovered again through its own call.
  await tenant.send([at(newTraceId(), toolRun('local'))]);
  expect(await tenant.observed()).toEqual({ 'tool echo at mcp.example.com': 1, 'tool local at travel-agent': 1 });
});

test('a reviewed observation is not removed at 0 occurrences', async () => {
  const tenant = await callsTenant(server);
  const { outer, inner } = outerAndInner();
  await tenant.send([outer]);
  const [observation] = await tenant.observations();
  const path = `/v1/runtime-observations/${observation?.id}/review`;
  await server.ok('POST', path, { as: server.admin, body: { decision: 'ignored' } });
  await tenant.send([inner]);
  expect(await tenant.observed()).toEqual({ 'tool echo at mcp.example.com': 1, 'tool echo at travel-agent': 0 });
});

test('a call moves to its agent when the agent’s span comes last', async () => {
  const tenant = await callsTenant(server);
  const traceId = newTraceId();
  const root = at(traceId, agent('planner'), 0, 100);
  const between = { ...at(traceId, { name: 'step', kind: 1 }), parentSpanId: root.spanId };
  const call = {
    ...at(traceId, chat('gpt-5', { 'gen_ai.provider.name': 'openai', 'gen_ai.usage.input_tokens': 7 }), 10, 20),
    parentSpanId: between.spanId,
  };
  await tenant.send([call]);
  expect(Object.keys(await tenant.usage())).toEqual(['model gpt-5 at openai by travel-agent']);
  await tenant.send([root]);
  expect(Object.keys(await tenant.usage())).toContain('model gpt-5 at openai by travel-agent');
  // Now the chain of parents is complete.
  await tenant.send([between]);
  expect(await tenant.usage()).toEqual({
    'agent planner at travel-agent by travel-agent': { calls: 1, errors: 0, tokens: 0, durationUs: 100_000 },
    'model gpt-5 at openai by planner': { calls: 1, errors: 0, tokens: 7, durationUs: 10_000 },
  });
  expect(await tenant.observed()).toEqual({ 'agent planner at travel-agent': 1, 'model gpt-5 at openai': 1 });
});

test('spans of one sender do not change what another sender reported', async () => {
  const tenant = await callsTenant(server);
  const { outer, inner } = outerAndInner();
  await tenant.send([outer]);
  await tenant.send([inner], 'other');
  expect(await tenant.observed()).toEqual({ 'tool echo at mcp.example.com': 1, 'tool echo at travel-agent': 1 });
  await tenant.send([{ ...outer, attributes: {} }], 'other');
  expect(await tenant.observed()).toEqual({ 'tool echo at mcp.example.com': 1, 'tool echo at travel-agent': 1 });
});

test('evidence has every spelling of the name in the spans of a call', async () => {
  const tenant = await callsTenant(server);
  const traceId = newTraceId();
  const outer = at(traceId, toolRun('mcp__everything__get_sum'), 0, 30);
  const inner = {
    ...at(traceId, mcpCall('get-sum', { 'server.address': 'mcp.example.com' })),
    parentSpanId: outer.spanId,
  };
  await tenant.send([inner]);
  await tenant.send([outer]);
  const [observation, ...others] = await tenant.observations();
  expect(others).toEqual([]);
  expect(observation).toMatchObject({ name: 'get-sum', occurrences: 1, lastSpanId: inner.spanId });
  expect(observation?.evidence.names).toEqual(['get-sum', 'mcp__everything__get_sum']);
});

test('errors and tokens move with a call', async () => {
  const tenant = await callsTenant(server);
  const traceId = newTraceId();
  const outer = at(traceId, chat('gpt-5', { 'gen_ai.provider.name': 'openai' }), 0, 30);
  const inner = {
    ...at(traceId, chat('gpt-5', { 'gen_ai.provider.name': 'openai', 'gen_ai.usage.output_tokens': 3 }), 5, 10),
    parentSpanId: outer.spanId,
    failed: true,
  };
  await tenant.send([outer]);
  await tenant.send([inner]);
  expect(await tenant.usage()).toEqual({
    'model gpt-5 at openai by travel-agent': { calls: 1, errors: 1, tokens: 3, durationUs: 5000 },
  });
  const [observation] = await tenant.observations();
  expect(observation?.evidence.errors).toBe(1);
});

test('regression: two agents of one service are counted separately', async () => {
  const tenant = await callsTenant(server);
  await tenant.send([at(newTraceId(), agent('planner')), at(newTraceId(), agent('writer'))]);
  expect(await tenant.observed()).toEqual({ 'agent planner at travel-agent': 1, 'agent writer at travel-agent': 1 });
});
