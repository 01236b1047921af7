import { inTransaction } from '@quartermaster/db/transaction.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { foldReadings, type ToldRecord } from '../../../src/telemetry/calls/fold-readings.ts';
import { NOTHING_UNOBSERVED } from '../../../src/runtime-observations/within-limits.ts';
import { unique } from '../../support/people.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { chat, newSpanId, newTraceId } from '../traces/sending.ts';
import { factsOf } from './facts.ts';
import { foldingTenant } from './folding.ts';

const MODEL = { vendor: 'openai', model: 'gpt-5', inputTokens: 5, outputTokens: 6 };

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

type Tenant = Awaited<ReturnType<typeof foldingTenant>>;

function record(facts: Parameters<typeof factsOf>[0], rest: Partial<ToldRecord> = {}): ToldRecord {
  const model = facts.model ?? null;
  return {
    reading: {
      dialect: 'claude-code',
      facts: factsOf(facts),
      uses: model === null ? [] : [{ kind: 'model', name: model }],
    },
    serviceName: 'travel-agent',
    time: '2026-11-22T10:00:01.000000000Z',
    durationMs: 250,
    failed: false,
    traceId: null,
    spanId: null,
    digest: unique('record'),
    ...rest,
  };
}

function fold({ place, limits, accounts }: Tenant, records: ToldRecord[], as: 'one' | 'other' = 'one') {
  const sender = accounts[as];
  const { db, now } = server.services;
  return inTransaction(db, (trx) => foldReadings(trx, place, { records, sender, limits }, now()));
}

const ONCE = { calls: 1, errors: 0, tokens: 11, durationUs: 250_000 };

test('a record of a call is counted in observations and usage', async () => {
  const tenant = await foldingTenant(server);
  expect(await fold(tenant, [record({ ...MODEL, agent: 'helper' })])).toEqual({
    counted: 1,
    known: 0,
    unobserved: NOTHING_UNOBSERVED,
  });
  expect(await tenant.observed()).toEqual({ 'model gpt-5 at openai': 1 });
  expect(await tenant.usage()).toEqual({ 'model gpt-5 at openai by helper': ONCE });
});

test('a record that is sent again counts once, and another one like it counts', async () => {
  const tenant = await foldingTenant(server);
  const [one, other] = [record(MODEL), record(MODEL)];
  await fold(tenant, [one, one]);
  expect(await fold(tenant, [one, other])).toEqual({ counted: 1, known: 1, unobserved: NOTHING_UNOBSERVED });
  expect(await tenant.observed()).toEqual({ 'model gpt-5 at openai': 2 });
});

test('two records of one call id are one call', async () => {
  const tenant = await foldingTenant(server);
  await fold(tenant, [record({ ...MODEL, callId: 'resp_1' })]);
  await fold(tenant, [record({ ...MODEL, callId: 'resp_1' })]);
  expect(await tenant.observed()).toEqual({ 'model gpt-5 at openai': 1 });
});

test('the same call id of another sender is another call', async () => {
  const tenant = await foldingTenant(server);
  await fold(tenant, [record({ ...MODEL, callId: 'resp_1' })]);
  await fold(tenant, [record({ ...MODEL, callId: 'resp_1' })], 'other');
  expect(await tenant.observed()).toEqual({ 'model gpt-5 at openai': 2 });
});

describe('a call that spans and records tell of counts once', () => {
  const span = (ids: { traceId: string; spanId: string }) => ({
    ...chat('gpt-5', { 'gen_ai.provider.name': 'openai', 'gen_ai.response.id': 'resp_1' }),
    ...ids,
  });
  const newIds = () => ({ traceId: newTraceId(), spanId: newSpanId() });

  test('by the span that the record was written in, the record first', async () => {
    const tenant = await foldingTenant(server);
    const ids = newIds();
    await fold(tenant, [record(MODEL, ids)]);
    await tenant.send([span(ids)]);
    expect(await tenant.observed()).toEqual({ 'model gpt-5 at openai': 1 });
    expect(await tenant.usage()).toEqual({ 'model gpt-5 at openai by travel-agent': ONCE });
  });

  test('by the span that the record was written in, the span first', async () => {
    const tenant = await foldingTenant(server);
    const ids = newIds();
    await tenant.send([span(ids)]);
    expect(await fold(tenant, [record(MODEL, ids)])).toEqual({ counted: 0, known: 1, unobserved: NOTHING_UNOBSERVED });
    expect(await tenant.observed()).toEqual({ 'model gpt-5 at openai': 1 });
  });

  test('by the call id of a span in the same trace', async () => {
    const tenant = await foldingTenant(server);
    const ids = newIds();
    await tenant.send([span(ids)]);
    const inTrace = { traceId: ids.traceId, spanId: newSpanId() };
    await fold(tenant, [record({ ...MODEL, callId: 'resp_1' }, inTrace)]);
    expect(await tenant.observed()).toEqual({ 'model gpt-5 at openai': 1 });
  });

  test('by the span that the record was written in, whose outer span came before both', async () => {
    const tenant = await foldingTenant(server);
    const [outer, inner] = [newIds(), newIds()];
    const { traceId } = outer;
    await tenant.send([span(outer)]);
    await fold(tenant, [record(MODEL, { traceId, spanId: inner.spanId })]);
    await tenant.send([{ ...span({ traceId, spanId: inner.spanId }), parentSpanId: outer.spanId, name: 'inner' }]);
    expect(await tenant.observed()).toEqual({ 'model gpt-5 at openai': 1 });
    expect((await tenant.usage())['model gpt-5 at openai by travel-agent']?.calls).toBe(1);
  });

  test('not where the record was written in a span of something else', async () => {
    const tenant = await foldingTenant(server);
    const ids = newIds();
    await fold(tenant, [record(MODEL, ids), record(MODEL, ids)]);
    await tenant.send([{ ...ids, name: 'interaction' }]);
    expect(await tenant.observed()).toEqual({ 'model gpt-5 at openai': 2 });
  });
});
