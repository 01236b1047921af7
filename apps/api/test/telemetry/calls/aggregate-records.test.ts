import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { InterpretedRecord } from '../../../src/telemetry/calls/interpreted-record.ts';
import { NOTHING_UNOBSERVED } from '../../../src/governance/observations/admit-sightings.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { chat, newSpanId, newTraceId, toolRun } from '../traces/sending.ts';
import { factsOf } from './facts.ts';
import { type CallsTenant, callsTenant } from './calls-tenant.ts';
import { aggregateRecords, record } from './records.ts';

const MODEL = { vendor: 'openai', model: 'gpt-5', inputTokens: 5, outputTokens: 6 };

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

function aggregate(tenant: CallsTenant, records: InterpretedRecord[], as?: 'one' | 'other') {
  return aggregateRecords(server, tenant, { records, as });
}

const ONCE = { calls: 1, errors: 0, tokens: 11, durationUs: 250_000 };

test('a record of a call is counted in observations and usage', async () => {
  const tenant = await callsTenant(server);
  expect(await aggregate(tenant, [record({ ...MODEL, agent: 'helper' })])).toEqual({
    counted: 1,
    known: 0,
    keys: 1,
    unobserved: NOTHING_UNOBSERVED,
  });
  expect(await tenant.observed()).toEqual({ 'model gpt-5 at openai': 1 });
  expect(await tenant.usage()).toEqual({ 'model gpt-5 at openai by helper': ONCE });
});

test('a record that is sent again counts once, and an equal new record counts as well', async () => {
  const tenant = await callsTenant(server);
  const [one, other] = [record(MODEL), record(MODEL)];
  await aggregate(tenant, [one, one]);
  expect(await aggregate(tenant, [one, other])).toEqual({
    counted: 1,
    known: 1,
    keys: 1,
    unobserved: NOTHING_UNOBSERVED,
  });
  expect(await tenant.observed()).toEqual({ 'model gpt-5 at openai': 2 });
});

test('two tools that the vendor ran for the answer of one record both count', async () => {
  const tenant = await callsTenant(server);
  const answer = record({ ...MODEL, toolRunsAt: 'vendor' });
  const tools = ['web_search', 'code_execution'].map((name) => ({ kind: 'tool' as const, name }));
  const listing = { ...answer, reading: { ...answer.reading, uses: [...answer.reading.uses, ...tools] } };
  await aggregate(tenant, [listing]);
  await aggregate(tenant, [listing]);
  expect(await tenant.observed()).toEqual({
    'model gpt-5 at openai': 1,
    'tool web_search at openai': 1,
    'tool code_execution at openai': 1,
  });
});

test('two records of one call id are one call', async () => {
  const tenant = await callsTenant(server);
  await aggregate(tenant, [record({ ...MODEL, callId: 'resp_1' })]);
  await aggregate(tenant, [record({ ...MODEL, callId: 'resp_1' })]);
  expect(await tenant.observed()).toEqual({ 'model gpt-5 at openai': 1 });
});

test('a record that reports only tokens adds them to usage, and does not count as a call', async () => {
  const tenant = await callsTenant(server);
  const request = record({ vendor: 'openai', model: 'gpt-5' });
  const answer = record(MODEL);
  const tokensOf = { kind: 'model', name: 'gpt-5' } as const;
  const tokens = { ...answer, durationMs: 900, reading: { ...answer.reading, uses: [], tokensOf } };
  await aggregate(tenant, [request, tokens]);
  await aggregate(tenant, [tokens]);
  expect(await tenant.observed()).toEqual({ 'model gpt-5 at openai': 1 });
  expect(await tenant.usage()).toEqual({ 'model gpt-5 at openai by travel-agent': ONCE });
});

test('tokens that are reported before the first call at their provider are tokens of that provider', async () => {
  const tenant = await callsTenant(server);
  const answer = record(MODEL);
  const tokensOf = { kind: 'model', name: 'gpt-5' } as const;
  await aggregate(tenant, [{ ...answer, durationMs: 900, reading: { ...answer.reading, uses: [], tokensOf } }]);
  expect(await tenant.observed()).toEqual({});
  await aggregate(tenant, [record({ vendor: 'openai', model: 'gpt-5' })]);
  expect(await tenant.observed()).toEqual({ 'model gpt-5 at openai': 1 });
  expect(await tenant.usage()).toEqual({ 'model gpt-5 at openai by travel-agent': ONCE });
  const adoptions = await server.ok('GET', `/v1/recommendations?kind=adopt_provider&tenant_id=${tenant.tenantId}`, {
    as: server.admin,
  });
  expect(adoptions.items).toMatchObject([{ status: 'open' }]);
});

describe('a call that a record says was rejected does not count', () => {
  const facts = { operation: 'execute_tool', tool: 'deploy', callId: 'call_1' };
  const use = { kind: 'tool', name: 'deploy' } as const;
  const rejection = () => {
    const result = record(facts);
    return { ...result, reading: { ...result.reading, rejected: use } };
  };

  test('when another record reports it', async () => {
    const tenant = await callsTenant(server);
    const result = record(facts);
    const reported = { ...result, reading: { ...result.reading, uses: [use] } };
    await aggregate(tenant, [rejection(), reported]);
    await aggregate(tenant, [reported]);
    expect(await tenant.observed()).toEqual({});
    await aggregate(tenant, [{ ...reported, reading: { ...reported.reading, facts: factsOf({ tool: 'deploy' }) } }]);
    expect(await tenant.observed()).toEqual({ 'tool deploy at travel-agent': 1 });
  });

  test('but every other call in its span does, if it has no call id', async () => {
    const tenant = await callsTenant(server);
    const [traceId, parentSpanId] = [newTraceId(), newSpanId()];
    const { reading, ...rest } = rejection();
    const inParent = { ...rest, traceId, spanId: parentSpanId };
    await aggregate(tenant, [{ ...inParent, reading: { ...reading, facts: factsOf({ ...facts, callId: null }) } }]);
    await tenant.send([{ ...toolRun('deploy'), traceId, parentSpanId }]);
    expect(await tenant.observed()).toEqual({ 'tool deploy at travel-agent': 1 });
  });

  test('when a span reports it', async () => {
    const tenant = await callsTenant(server);
    await aggregate(tenant, [rejection()]);
    await tenant.send([toolRun('deploy', { 'gen_ai.tool.call.id': 'call_1' })]);
    expect(await tenant.observed()).toEqual({});
  });
});

test('the same call id of another sender is another call', async () => {
  const tenant = await callsTenant(server);
  await aggregate(tenant, [record({ ...MODEL, callId: 'resp_1' })]);
  await aggregate(tenant, [record({ ...MODEL, callId: 'resp_1' })], 'other');
  expect(await tenant.observed()).toEqual({ 'model gpt-5 at openai': 2 });
});

describe('calls with the same id of one agent are all counted', () => {
  const tool = (name: string, facts: Parameters<typeof factsOf>[0] = {}, rest: Partial<InterpretedRecord> = {}) => {
    const result = record({ operation: 'execute_tool', tool: name, callId: 'call_0', ...facts }, rest);
    return { ...result, reading: { ...result.reading, uses: [{ kind: 'tool' as const, name }] } };
  };

  test('two tools, in one conversation or without one', async () => {
    const tenant = await callsTenant(server);
    await aggregate(tenant, [tool('shell'), tool('danger_tool')]);
    const inConversation = { conversationId: 'c' };
    await aggregate(tenant, [tool('read', inConversation)]);
    await aggregate(tenant, [tool('write', inConversation), tool('read', inConversation)]);
    expect(await tenant.observed()).toEqual({
      'tool shell at travel-agent': 1,
      'tool danger_tool at travel-agent': 1,
      'tool read at travel-agent': 1,
      'tool write at travel-agent': 1,
    });
  });

  test('two conversations, or two traces', async () => {
    const tenant = await callsTenant(server);
    await aggregate(tenant, [tool('shell', { conversationId: 'one' }), tool('shell', { conversationId: 'two' })]);
    const inTrace = () => tool('danger_tool', {}, { traceId: newTraceId(), spanId: newSpanId() });
    await aggregate(tenant, [inTrace()]);
    await aggregate(tenant, [inTrace()]);
    expect(await tenant.observed()).toEqual({
      'tool shell at travel-agent': 2,
      'tool danger_tool at travel-agent': 2,
    });
  });

  test('one call whose record says only the conversation, and whose span says only the trace', async () => {
    const tenant = await callsTenant(server);
    await aggregate(tenant, [tool('mcp__everything__echo', { conversationId: 'one', toolServer: 'everything' })]);
    const fields = {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'echo',
      'gen_ai.tool.call.id': 'call_0',
    };
    await tenant.send([{ name: 'execute_tool echo', attributes: fields }]);
    const counts = Object.values(await tenant.observed());
    expect(counts).toEqual([1]);
  });

  test.each(['record', 'span'])('two models, the %s first', async (first) => {
    const tenant = await callsTenant(server);
    const ids = { traceId: newTraceId(), spanId: newSpanId() };
    const span = chat('gpt-4o', { 'gen_ai.provider.name': 'openai', 'gen_ai.response.id': 'resp_1' });
    const steps = [
      () => aggregate(tenant, [record({ ...MODEL, callId: 'resp_1' }, ids), record(MODEL, ids)]),
      () => tenant.send([{ ...span, ...ids }]),
    ];
    for (const step of first === 'record' ? steps : steps.toReversed()) await step();
    expect(await tenant.observed()).toEqual({ 'model gpt-4o at openai': 1, 'model gpt-5 at openai': 2 });
  });
});

describe('a call that spans and records report counts once', () => {
  const span = (ids: { traceId: string; spanId: string }) => ({
    ...chat('gpt-5', { 'gen_ai.provider.name': 'openai', 'gen_ai.response.id': 'resp_1' }),
    ...ids,
  });
  const newIds = () => ({ traceId: newTraceId(), spanId: newSpanId() });

  test('by the span that the record was written in, the record first', async () => {
    const tenant = await callsTenant(server);
    const ids = newIds();
    await aggregate(tenant, [record(MODEL, ids)]);
    await tenant.send([span(ids)]);
    expect(await tenant.observed()).toEqual({ 'model gpt-5 at openai': 1 });
    expect(await tenant.usage()).toEqual({ 'model gpt-5 at openai by travel-agent': { ...ONCE, durationUs: 1000 } });
  });

  test('by the span that the record was written in, the span first', async () => {
    const tenant = await callsTenant(server);
    const ids = newIds();
    await tenant.send([span(ids)]);
    expect(await aggregate(tenant, [record(MODEL, ids)])).toEqual({
      counted: 0,
      known: 1,
      keys: 0,
      unobserved: NOTHING_UNOBSERVED,
    });
    expect(await tenant.observed()).toEqual({ 'model gpt-5 at openai': 1 });
  });

  test('by the call id of a span in the same trace', async () => {
    const tenant = await callsTenant(server);
    const ids = newIds();
    await tenant.send([span(ids)]);
    const inTrace = { traceId: ids.traceId, spanId: newSpanId() };
    await aggregate(tenant, [record({ ...MODEL, callId: 'resp_1' }, inTrace)]);
    expect(await tenant.observed()).toEqual({ 'model gpt-5 at openai': 1 });
  });

  test('by the span that the record was written in, if it is a failed call of a tool, and the span does not tell that', async () => {
    const tenant = await callsTenant(server);
    const ids = newIds();
    await tenant.send([{ ...toolRun('deploy'), ...ids }]);
    const failed = record({ operation: 'execute_tool', tool: 'deploy', callId: 'call_1' }, { ...ids, failed: true });
    const use = { kind: 'tool', name: 'deploy' } as const;
    await aggregate(tenant, [{ ...failed, reading: { ...failed.reading, uses: [use] } }]);
    expect(await tenant.observed()).toEqual({ 'tool deploy at travel-agent': 1 });
  });

  test('by the span that the record was written in, whose outer span came before both', async () => {
    const tenant = await callsTenant(server);
    const [outer, inner] = [newIds(), newIds()];
    const { traceId } = outer;
    await tenant.send([span(outer)]);
    await aggregate(tenant, [record(MODEL, { traceId, spanId: inner.spanId })]);
    await tenant.send([{ ...span({ traceId, spanId: inner.spanId }), parentSpanId: outer.spanId, name: 'inner' }]);
    expect(await tenant.observed()).toEqual({ 'model gpt-5 at openai': 1 });
    expect((await tenant.usage())['model gpt-5 at openai by travel-agent']?.calls).toBe(1);
  });

  describe('where the record was written in the parent of the span', () => {
    const EXECUTES = { 'gen_ai.operation.name': 'execute_tool' };
    const toolSpan = (parent: { traceId: string; spanId: string }, name: string) => ({
      name: 'tool_call',
      traceId: parent.traceId,
      spanId: newSpanId(),
      parentSpanId: parent.spanId,
      attributes: { ...EXECUTES, 'gen_ai.tool.name': name },
    });
    const toolRecord = (parent: { traceId: string; spanId: string }, name: string) => {
      const result = record({ operation: 'execute_tool', tool: name }, parent);
      return { ...result, reading: { ...result.reading, uses: [{ kind: 'tool' as const, name }] } };
    };
    const TWICE = { 'tool echo at travel-agent': 2, 'tool sum at travel-agent': 1 };

    test('the records first', async () => {
      const [tenant, parent] = [await callsTenant(server), newIds()];
      await aggregate(tenant, [toolRecord(parent, 'echo'), toolRecord(parent, 'echo'), toolRecord(parent, 'sum')]);
      await tenant.send([toolSpan(parent, 'echo')]);
      await tenant.send([toolSpan(parent, 'sum'), toolSpan(parent, 'echo')]);
      expect(await tenant.observed()).toEqual(TWICE);
    });

    test('the spans first', async () => {
      const [tenant, parent] = [await callsTenant(server), newIds()];
      await tenant.send([toolSpan(parent, 'echo'), toolSpan(parent, 'sum'), toolSpan(parent, 'echo')]);
      const [echo, sum] = [toolRecord(parent, 'echo'), toolRecord(parent, 'sum')];
      await aggregate(tenant, [echo, sum]);
      await aggregate(tenant, [echo, toolRecord(parent, 'echo')]);
      expect(await tenant.observed()).toEqual(TWICE);
    });

    test.each([
      ['the records first', true],
      ['the spans first', false],
    ])('a call that failed early has a record only, %s', async (_order, isRecordFirst) => {
      const [tenant, parent] = [await callsTenant(server), newIds()];
      const sendSpan = () => tenant.send([toolSpan(parent, 'echo')]);
      if (!isRecordFirst) await sendSpan();
      await aggregate(tenant, [toolRecord(parent, 'echo'), toolRecord(parent, 'echo')]);
      if (isRecordFirst) await sendSpan();
      expect(await tenant.observed()).toEqual({ 'tool echo at travel-agent': 2 });
    });

    test('a span after a call that both signals reported is another call', async () => {
      const [tenant, parent] = [await callsTenant(server), newIds()];
      await tenant.send([toolSpan(parent, 'echo')]);
      await aggregate(tenant, [toolRecord(parent, 'echo')]);
      await tenant.send([toolSpan(parent, 'echo')]);
      expect(await tenant.observed()).toEqual({ 'tool echo at travel-agent': 2 });
    });
  });

  test('a record in a span of another kind counts as its own call', async () => {
    const tenant = await callsTenant(server);
    const ids = newIds();
    await aggregate(tenant, [record(MODEL, ids), record(MODEL, ids)]);
    await tenant.send([{ ...ids, name: 'interaction' }]);
    expect(await tenant.observed()).toEqual({ 'model gpt-5 at openai': 2 });
  });
});
