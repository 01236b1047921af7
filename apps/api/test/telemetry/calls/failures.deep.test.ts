import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { chat, newSpanId, newTraceId, type SpanInput, toolRun } from '../traces/sending.ts';
import { callsTenant, type CallsTenant } from './calls-tenant.ts';
import { aggregateRecords, record } from './records.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

type Ids = { traceId: string; spanId: string };
/** A request, made for the ids of a trace and of the span of the call. */
type Request = (ids: Ids) => (tenant: CallsTenant) => Promise<unknown>;

const spans =
  (...inputs: ((ids: Ids) => SpanInput)[]): Request =>
  (ids) => {
    const made = inputs.map((input) => ({ traceId: ids.traceId, ...input(ids) }));
    return (tenant) => tenant.send(made);
  };

type RecordInput = [facts: Parameters<typeof record>[0], failed: boolean, isInTrace?: boolean];

const records =
  (...inputs: RecordInput[]): Request =>
  (ids) => {
    const made = inputs.map(([facts, failed, isInTrace = true]) => {
      const result = record(facts, { ...(isInTrace && ids), failed });
      const { tool } = facts;
      return tool == null
        ? result
        : { ...result, reading: { ...result.reading, uses: [{ kind: 'tool' as const, name: tool }] } };
    });
    return (tenant) => aggregateRecords(server, tenant, { records: made });
  };

const MODEL = { vendor: 'openai', model: 'gpt-5' };
/** A record that only says that a call failed, as Gemini CLI writes it. */
const failureOfModel = (ids: Partial<Ids>) => {
  const made = record(MODEL, { ...ids, failed: true });
  return { ...made, reading: { ...made.reading, uses: [], failureOf: { kind: 'model', name: MODEL.model } as const } };
};
const failureRecord: Request = (ids) => {
  const made = failureOfModel(ids);
  return (tenant) => aggregateRecords(server, tenant, { records: [made] });
};
const modelSpan =
  (failed: boolean, attributes: SpanInput['attributes'] = {}) =>
  (ids: Ids) => ({
    ...chat('gpt-5', { 'gen_ai.provider.name': 'openai', ...attributes }),
    ...ids,
    failed,
  });
const TOOL = { operation: 'execute_tool', tool: 'Read', toolRunsAt: 'agent', callId: 'toolu_1' } as const;
const toolSpan = (failed: boolean) => (ids: Ids) => ({
  ...toolRun('Read', { 'gen_ai.tool.call.id': 'toolu_1' }),
  ...ids,
  failed,
});
const executionSpan = ({ spanId }: Ids) => ({
  name: 'claude_code.tool.execution',
  scope: 'com.anthropic.claude_code.tracing',
  parentSpanId: spanId,
  spanId: `${spanId.slice(1)}0`,
  failed: true,
  attributes: { tool_use_id: 'toolu_1' },
});
const claudeToolSpan = (ids: Ids) => ({
  name: 'claude_code.tool',
  scope: 'com.anthropic.claude_code.tracing',
  attributes: { tool_name: 'Read', tool_use_id: 'toolu_1' },
  ...ids,
});
const rejectionSpan = (ids: Ids) => ({
  ...executionSpan(ids),
  name: 'claude_code.tool.blocked_on_user',
  failed: false,
  attributes: { tool_use_id: 'toolu_1', decision: 'reject' },
});
const wrapperSpan = (failed: boolean) => (ids: Ids) => ({
  ...modelSpan(failed)(ids),
  spanId: `${ids.spanId.slice(1)}1`,
  name: 'outer',
});
const spanBelow = (ids: Ids) => ({
  ...modelSpan(true)(ids),
  spanId: `${ids.spanId.slice(1)}2`,
  parentSpanId: ids.spanId,
});
const innerSpan = (failed: boolean) => (ids: Ids) => ({
  ...modelSpan(failed)(ids),
  parentSpanId: `${ids.spanId.slice(1)}1`,
});

const ID = { callId: 'resp_1' };
const SPAN_ID = { 'gen_ai.response.id': 'resp_1' };

/** The requests of one or two calls, and how many calls and failures are counted, in any order. */
const CASES: [name: string, requests: Request[], calls: number, errors: number][] = [
  ['only the span says so', [spans(modelSpan(true)), records([MODEL, false])], 1, 1],
  ['only the record says so', [spans(modelSpan(false)), records([MODEL, true])], 1, 1],
  ['both say so', [spans(modelSpan(true)), records([MODEL, true])], 1, 1],
  [
    'only the span says so, and both have a call id',
    [spans(modelSpan(true, SPAN_ID)), records([{ ...MODEL, ...ID }, false])],
    1,
    1,
  ],
  [
    'only the record says so, and both have a call id',
    [spans(modelSpan(false, SPAN_ID)), records([{ ...MODEL, ...ID }, true])],
    1,
    1,
  ],
  [
    'only one of two records says so',
    [records([{ ...MODEL, ...ID }, true]), records([{ ...MODEL, ...ID }, false])],
    1,
    1,
  ],
  [
    'two records and the span say so',
    [records([{ ...MODEL, ...ID }, true]), records([{ ...MODEL, ...ID }, true]), spans(modelSpan(true, SPAN_ID))],
    1,
    1,
  ],
  [
    'two spans of the call and the record say so',
    [spans(wrapperSpan(true)), spans(innerSpan(true)), records([MODEL, true])],
    1,
    1,
  ],
  [
    'the span and a record with nothing else say so',
    [spans(modelSpan(true)), records([MODEL, false]), failureRecord],
    1,
    1,
  ],
  ['the span and the record in its parent say so', [spans(spanBelow), records([MODEL, true])], 1, 1],
  ['only the span inside a tool call says so', [spans(toolSpan(false)), spans(executionSpan)], 1, 1],
  [
    'the span inside a tool call and the record say so',
    [spans(toolSpan(false)), spans(executionSpan), records([TOOL, true])],
    1,
    1,
  ],
  [
    'the span inside a tool call and the record say so, and the record has no trace',
    [spans(claudeToolSpan), spans(executionSpan), records([TOOL, true, false])],
    1,
    1,
  ],
  [
    'two attempts failed, and so did the span around them',
    [
      spans(modelSpan(true)),
      records([{ ...MODEL, callId: 'attempt 1' }, true]),
      records([{ ...MODEL, callId: 'attempt 2' }, true]),
    ],
    2,
    2,
  ],
  [
    'the first of two attempts failed',
    [spans(modelSpan(false)), records([{ ...MODEL, callId: 'attempt 1' }, true]), records([MODEL, false])],
    2,
    1,
  ],
];

describe('a failure counts once, in any order and if each request is sent twice', () => {
  test.each(CASES)('%s', async (_, requests, calls, errors) => {
    for (const order of permutations(requests)) {
      const tenant = await callsTenant(server);
      const ids = { traceId: newTraceId(), spanId: newSpanId() };
      const made = new Map(requests.map((request) => [request, request(ids)]));
      for (const request of order) {
        await made.get(request)?.(tenant);
        await made.get(request)?.(tenant);
      }
      // The order is in the assertion, so that a failed one names it.
      const position = order.map((request) => requests.indexOf(request));
      const sums = Object.values(await tenant.usage());
      const observed = await tenant.observations();
      expect([position, sum(sums.map((one) => one.calls)), sum(sums.map((one) => one.errors))]).toEqual([
        position,
        calls,
        errors,
      ]);
      expect([sum(observed.map((one) => one.occurrences)), sum(observed.map((one) => one.evidence.errors))]).toEqual([
        calls,
        errors,
      ]);
    }
  });
});

test('a rejected call whose span failed does not count, nor does its failure', async () => {
  const tenant = await callsTenant(server);
  const rejection = record({ ...TOOL });
  const rejected = { kind: 'tool', name: 'Read' } as const;
  await aggregateRecords(server, tenant, { records: [{ ...rejection, reading: { ...rejection.reading, rejected } }] });
  await tenant.send([toolSpan(true)({ traceId: newTraceId(), spanId: newSpanId() })]);
  expect(await tenant.usage()).toEqual({});
});

test.each([true, false])(
  'nor does the failure of a record after the spans of a rejected call, in a trace: %s',
  async (isInTrace) => {
    const tenant = await callsTenant(server);
    const ids = { traceId: newTraceId(), spanId: newSpanId() };
    const requests = [spans(claudeToolSpan, rejectionSpan), records([TOOL, true, isInTrace])];
    for (const request of requests.map((one) => one(ids))) await request(tenant);
    expect(await tenant.usage()).toEqual({});
  },
);

test('a record that says nothing but the failure adds it to the call of its span, once, and counts no call', async () => {
  const tenant = await callsTenant(server);
  const ids = { traceId: newTraceId(), spanId: newSpanId() };
  const retry = { ...ids, spanId: newSpanId() };
  const failure = failureOfModel(ids);
  await aggregateRecords(server, tenant, { records: [failureOfModel(ids), failureOfModel({})] });
  expect(await tenant.usage()).toEqual({});
  const calls = [
    record(MODEL, ids),
    failure,
    record(MODEL, retry),
    failureOfModel({}),
    failureOfModel({ ...ids, spanId: newSpanId() }),
  ];
  await aggregateRecords(server, tenant, { records: calls });
  await aggregateRecords(server, tenant, { records: [failure] });
  const sums = Object.values(await tenant.usage());
  expect([sum(sums.map((one) => one.calls)), sum(sums.map((one) => one.errors))]).toEqual([2, 1]);
});

test('a failure alone is not counted at a provider that has no calls', async () => {
  const tenant = await callsTenant(server);
  const call = { model: 'nova', callId: 'resp_1' };
  await aggregateRecords(server, tenant, { records: [record({ ...call, vendor: 'openai' })] });
  // As a former version stored it: then the failure counts by itself.
  const callsOfTenant = server.services.db.updateTable('telemetry_calls').where('tenant_id', '=', tenant.tenantId);
  await callsOfTenant.set({ record_key: null, counted_call: null }).execute();
  await aggregateRecords(server, tenant, { records: [record({ ...call, vendor: 'groq' }, { failed: true })] });
  expect(Object.keys(await tenant.usage())).toEqual(['model nova at openai by travel-agent']);
});

test('a failure that only a log record reports counts, also if the tenant has no room for the provider of its call', async () => {
  const tenant = await callsTenant(server);
  await server.ok('PUT', `/v1/tenants/${tenant.tenantId}/limits`, { as: server.admin, body: { providers: 0 } });
  const ids = { traceId: newTraceId(), spanId: newSpanId() };
  await tenant.send([modelSpan(false)(ids)]);
  await aggregateRecords(server, tenant, { records: [record(MODEL, { ...ids, failed: true })] });
  const sums = Object.values(await tenant.usage());
  expect(sums.map(({ calls, errors }) => [calls, errors])).toEqual([[1, 1]]);
});

test('the failure of another sender does not count for a call', async () => {
  const tenant = await callsTenant(server);
  const ids = { traceId: newTraceId(), spanId: newSpanId() };
  await tenant.send([modelSpan(false)(ids)]);
  await aggregateRecords(server, tenant, { records: [record(MODEL, { ...ids, failed: true })], as: 'other' });
  const sums = Object.values(await tenant.usage());
  expect([sum(sums.map((one) => one.calls)), sum(sums.map((one) => one.errors))]).toEqual([2, 1]);
});

function permutations<Item>(items: readonly Item[]): Item[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap((item, index) => permutations(items.toSpliced(index, 1)).map((rest) => [item, ...rest]));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
