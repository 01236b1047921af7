import { inTransaction } from '@quartermaster/db/transaction.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CallSpan } from '../../../src/telemetry/calls/call-span.ts';
import type { InterpretedSpan } from '../../../src/telemetry/calls/interpreted-span.ts';
import { replaceRecords } from '../../../src/telemetry/calls/replace-records.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { removeOldCalls } from '../../../src/telemetry/usage/retention.ts';
import { chat, newSpanId, newTraceId, type SpanInput, toolRun } from '../traces/sending.ts';
import { type CallsTenant, callsTenant } from './calls-tenant.ts';
import { factsOf } from './facts.ts';
import { aggregateRecords, record } from './records.ts';
import { span as callSpan, use } from './spans.ts';

const CALL = { vendor: 'openai', model: 'gpt-5', callId: 'resp_1' };
const OF_VENDOR = { 'gen_ai.provider.name': 'openai', 'gen_ai.response.id': 'resp_1' };

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

type Ids = { traceId: string; spanId: string };
type Request = (tenant: CallsTenant, ids: Ids) => Promise<unknown>;

const sendsRecord =
  (...[facts, rest]: Parameters<typeof record>): Request =>
  (tenant, ids) => {
    const { tool } = facts;
    const made = record(facts, { ...ids, ...rest });
    const uses = tool == null ? made.reading.uses : [{ kind: 'tool' as const, name: tool }];
    return aggregateRecords(server, tenant, { records: [{ ...made, reading: { ...made.reading, uses } }] });
  };

const sendsSpans =
  (...spans: SpanInput[]): Request =>
  (tenant, ids) =>
    tenant.send(spans.map((span) => ({ ...span, ...ids, ...(span.spanId !== undefined && { spanId: span.spanId }) })));

/** What a tenant counts after the requests. */
async function counted(...requests: Request[]) {
  const tenant = await callsTenant(server);
  const ids = { traceId: newTraceId(), spanId: newSpanId() };
  for (const request of requests) await request(tenant, ids);
  return { observed: await tenant.observed(), usage: withoutZeros(await tenant.usage()) };
}

/** Without the sums from which everything was taken back. */
function withoutZeros<Sums extends Record<string, number>>(usage: Record<string, Sums>): Record<string, Sums> {
  return Object.fromEntries(Object.entries(usage).filter(([, sums]) => Object.values(sums).some((sum) => sum !== 0)));
}

describe.each([
  ['the record first', (...requests: Request[]) => requests],
  ['the span first', (...requests: Request[]) => requests.toReversed()],
])('what spans and records report counts as the spans report it, %s', (_name, inOrder) => {
  test('with the name, the agent and the duration of the span', async () => {
    const ofRecord = sendsRecord({ ...CALL, responseModel: 'gpt-5-2026-01-01', agent: 'cli' });
    const span = chat('gpt-5-2026-01-01', { ...OF_VENDOR, 'gen_ai.agent.name': 'planner' });
    const tokens = { 'gen_ai.usage.input_tokens': 5, 'gen_ai.usage.output_tokens': 7 };
    const requests = inOrder(ofRecord, sendsSpans({ ...span, attributes: { ...span.attributes, ...tokens } }));
    expect(await counted(...requests)).toEqual({
      observed: { 'model gpt-5-2026-01-01 at openai': 1 },
      usage: {
        'model gpt-5-2026-01-01 at openai by planner': { calls: 1, errors: 0, tokens: 12, durationUs: 1000 },
      },
    });
  });

  test('with the failure that only the record reports, at the agent of the span', async () => {
    const requests = inOrder(
      sendsRecord({ ...CALL, agent: 'cli' }, { failed: true }),
      sendsSpans(chat('gpt-5', { ...OF_VENDOR, 'gen_ai.agent.name': 'planner' })),
    );
    expect(await counted(...requests)).toEqual({
      observed: { 'model gpt-5 at openai': 1 },
      usage: { 'model gpt-5 at openai by planner': { calls: 1, errors: 1, tokens: 0, durationUs: 1000 } },
    });
  });

  test.each(['in one request', 'in two requests'])('once, if two spans report the call %s', async (how) => {
    const span = chat('gpt-5', OF_VENDOR);
    const inner = { ...span, name: 'inner', scope: 'other', spanId: newSpanId() };
    const sent = how === 'in one request' ? [sendsSpans(span, inner)] : [sendsSpans(span), sendsSpans(inner)];
    const { observed, usage } = await counted(...inOrder(sendsRecord(CALL), ...sent));
    expect(observed).toEqual({ 'model gpt-5 at openai': 1 });
    expect(Object.values(usage).map(({ calls }) => calls)).toEqual([1]);
  });
});

describe('what only the record knows stays, if the span comes later', () => {
  test.each(['in one request', 'in two requests'])('a failure that a second record reports %s', async (how) => {
    const tenant = await callsTenant(server);
    const ids = { traceId: newTraceId(), spanId: newSpanId() };
    const call = { ...CALL, agent: 'cli' };
    const records = [record(call, ids), record(call, { ...ids, failed: true }), record(call, { ...ids, failed: true })];
    const requests = how === 'in one request' ? [records] : records.map((one) => [one]);
    for (const request of requests) await aggregateRecords(server, tenant, { records: request });
    const failed = { calls: 1, errors: 1, tokens: 0 };
    expect(await tenant.usage()).toEqual({ 'model gpt-5 at openai by cli': { ...failed, durationUs: 250_000 } });
    await tenant.send([{ ...chat('gpt-5', { ...OF_VENDOR, 'gen_ai.agent.name': 'planner' }), ...ids }]);
    await aggregateRecords(server, tenant, { records });
    expect(withoutZeros(await tenant.usage())).toEqual({
      'model gpt-5 at openai by planner': { ...failed, durationUs: 1000 },
    });
  });

  test('its tokens', async () => {
    const { usage } = await counted(
      sendsRecord({ ...CALL, inputTokens: 5, outputTokens: 6 }),
      sendsSpans(chat('gpt-5', { ...OF_VENDOR, 'gen_ai.usage.input_tokens': 4 })),
    );
    expect(usage).toEqual({
      'model gpt-5 at openai by travel-agent': { calls: 1, errors: 0, tokens: 10, durationUs: 1000 },
    });
  });

  test('the failure of one use, and not of the others', async () => {
    const facts = { operation: 'execute_tool', tool: 'web_search', toolRunsAt: 'vendor' as const, vendor: 'openai' };
    const answer = [{ type: 'web_search_call', id: 'ws_1', status: 'completed' }];
    const span = chat('gpt-5', { ...OF_VENDOR, 'gen_ai.output.messages': JSON.stringify([{ parts: answer }]) });
    const { usage } = await counted(sendsRecord({ ...facts, callId: null }, { failed: true }), sendsSpans(span));
    const counts = Object.entries(usage).map(([name, { calls, errors }]) => [name, { calls, errors }]);
    expect(Object.fromEntries(counts)).toEqual({
      'tool web_search at openai by travel-agent': { calls: 1, errors: 1 },
      'model gpt-5 at openai by travel-agent': { calls: 1, errors: 0 },
    });
  });

  test('the server of its tool', async () => {
    const facts = { operation: 'execute_tool', tool: 'mcp__weather__forecast', callId: 'call_1' };
    const { observed } = await counted(
      sendsRecord({ ...facts, toolServer: 'weather' }),
      sendsSpans(toolRun('forecast', { 'gen_ai.tool.call.id': 'call_1' })),
    );
    expect(observed).toEqual({ 'tool forecast at weather': 1 });
  });
});

test('a record is replaced once, however often it and its span are sent', async () => {
  const ofRecord = record(CALL);
  const sends: Request = (tenant) => aggregateRecords(server, tenant, { records: [ofRecord] });
  const span = sendsSpans(chat('gpt-5', OF_VENDOR));
  const { observed } = await counted(sends, span, sends, span, sends);
  expect(observed).toEqual({ 'model gpt-5 at openai': 1 });
});

test('a span replaces no record of another sender', async () => {
  const span = sendsSpans(chat('gpt-5', OF_VENDOR));
  const ofOther: Request = (tenant, ids) =>
    aggregateRecords(server, tenant, { records: [record(CALL, ids)], as: 'other' });
  expect((await counted(ofOther, span)).observed).toEqual({ 'model gpt-5 at openai': 2 });
});

// The oldest keys of the whole tenant were removed. So one account could make the calls of all others count twice.
test('keys that a tenant has too many of are removed from the account with the most, so calls of others still count once', async () => {
  const tenant = await callsTenant(server);
  const ids = { traceId: newTraceId(), spanId: newSpanId() };
  await aggregateRecords(server, tenant, { records: [record(CALL, ids)], as: 'other' });
  const flood = ['resp_2', 'resp_3', 'resp_4'].map((callId) => record({ ...CALL, callId }, ids));
  await aggregateRecords(server, tenant, { records: flood });
  const { db } = server.services;
  const counts = () =>
    db.selectFrom('telemetry_call_counts').select('calls').where('tenant_id', '=', tenant.tenantId).orderBy('calls');
  expect(await counts().execute()).toEqual([{ calls: 2 }, { calls: 6 }]);
  const ofFlood = db.updateTable('telemetry_call_counts').where('tenant_id', '=', tenant.tenantId);
  await ofFlood.set({ calls: 1_000_002 }).where('calls', '=', 6).execute();
  expect(await removeOldCalls(server.services)).toBe(4);
  expect(await counts().execute()).toEqual([{ calls: 2 }, { calls: 999_998 }]);
  await tenant.send([{ ...chat('gpt-5', OF_VENDOR), ...ids }], 'other');
  expect(await tenant.observed()).toEqual({ 'model gpt-5 at openai': 4 });
});

test('a call is stored only where a span can replace it', async () => {
  const tenant = await callsTenant(server);
  const tokens = record({ ...CALL, callId: null });
  const tokensOf = { kind: 'model', name: 'gpt-5' } as const;
  const inSpan = { traceId: newTraceId(), spanId: newSpanId() };
  const records = [
    record(CALL),
    record({ ...CALL, callId: null }, inSpan),
    record({ ...CALL, callId: null }),
    { ...tokens, reading: { ...tokens.reading, uses: [], tokensOf } },
  ];
  await aggregateRecords(server, tenant, { records });
  const rows = await server.services.db
    .selectFrom('telemetry_calls')
    .select(['call_key', 'record_key', 'counted_call'])
    .where('tenant_id', '=', tenant.tenantId)
    .execute();
  expect(rows.filter(({ counted_call }) => counted_call !== null)).toHaveLength(2);
  expect(rows.filter(({ record_key }) => record_key === null)).toHaveLength(2);
});

describe('a blocked model is noticed', () => {
  const OPENAI = { kind: 'llm', name: 'openai', baseUrl: 'https://api.openai.com/v1' };

  /** What is observed of blocked models after the requests, at a provider that declares `allowed` and blocks `gpt-5-2026-01-01`. */
  async function blockedAfter(allowed: string, requests: Request[]) {
    const tenant = await callsTenant(server);
    const operator = { as: server.admin };
    const { tenantId } = tenant;
    const provider = await server.ok('POST', '/v1/providers', { ...operator, body: { ...OPENAI, tenantId } });
    const path = `/v1/providers/${provider.id}/inventory`;
    for (const [name, status] of [
      [allowed, 'available'],
      ['gpt-5-2026-01-01', 'blocked'],
    ]) {
      await server.ok('POST', path, { ...operator, body: { kind: 'model', name, status } });
    }
    const ids = { traceId: newTraceId(), spanId: newSpanId() };
    for (const request of requests) await request(tenant, ids);
    const observations = await tenant.observations();
    const isBlocked = observations.filter(({ risk }) => risk.factors.some(({ factor }) => factor === 'blocked_item'));
    return isBlocked.map(({ name, occurrences }) => [name, occurrences]);
  }

  test.each([
    ['the record first', (requests: Request[]) => requests],
    ['the span first', (requests: Request[]) => requests.toReversed()],
  ])('if only the span names it, %s', async (_name, inOrder) => {
    const ofRecord = sendsRecord({ vendor: 'openai', model: 'gpt-5', serverAddress: 'api.openai.com' });
    const span = sendsSpans(chat('gpt-5-2026-01-01', { 'gen_ai.provider.name': 'openai' }));
    expect(await blockedAfter('gpt-5', inOrder([ofRecord, span]))).toEqual([['gpt-5-2026-01-01', 1]]);
  });

  test.each([
    ['the record first', (requests: Request[]) => requests],
    ['the span first', (requests: Request[]) => requests.toReversed()],
  ])('if only the record says that it answered, %s', async (_name, inOrder) => {
    const facts = { vendor: 'openai', model: 'prod-alias', responseModel: 'gpt-5-2026-01-01' };
    const span = sendsSpans(chat('prod-alias', { 'gen_ai.provider.name': 'openai' }));
    expect(await blockedAfter('prod-alias', inOrder([sendsRecord(facts), span]))).toEqual([['prod-alias', 1]]);
  });

  test('in a trace with more spans than are resolved together', async () => {
    const filler = Array.from({ length: 4200 }, () => ({ name: 'filler' }));
    const parent = newSpanId();
    const below = (model: string) => ({
      ...chat(model, { 'gen_ai.provider.name': 'openai' }),
      parentSpanId: parent,
      spanId: newSpanId(),
    });
    const fillers = filler.map((span) => ({ ...span, spanId: newSpanId() }));
    const requests = [
      sendsSpans(below('gpt-5')),
      sendsRecord({ vendor: 'openai', model: 'gpt-5' }, { spanId: parent }),
      sendsSpans(...fillers),
      sendsSpans(below('gpt-5-2026-01-01')),
    ];
    expect(await blockedAfter('gpt-5', requests)).toEqual([['gpt-5-2026-01-01', 1]]);
  });
});

test('the stored spans of a trace are read once for a batch, whatever the number of parents with records', async () => {
  const tenant = await callsTenant(server);
  const [traceId, parents] = [newTraceId(), [newSpanId(), newSpanId(), newSpanId()]];
  const below = { vendor: 'openai', model: 'gpt-5' };
  await aggregateRecords(server, tenant, { records: parents.map((spanId) => record(below, { traceId, spanId })) });
  const spans = parents.map((parent, index) => {
    const call = callSpan(`${index}`, use('model', 'gpt-5'), { parent }).span as CallSpan;
    const { spanId, parentSpanId } = call;
    const span: InterpretedSpan = { ...call, traceId, spanId, parentSpanId, dialect: null, facts: factsOf(below) };
    return { span, call };
  });
  let reads = 0;
  const earlierOf = () => {
    reads += 1;
    return [];
  };
  const batch = { spans, earlierOf, sender: tenant.accounts.one };
  const { db, now } = server.services;
  const { removed } = await inTransaction(db, (trx) => replaceRecords(trx, tenant.place, batch, now()));
  expect(removed.map(({ call, by }) => [call.name, by])).toEqual(parents.map(() => ['gpt-5', -1]));
  expect(reads).toBe(1);
});
