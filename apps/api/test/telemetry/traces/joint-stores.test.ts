import { randomBytes } from 'node:crypto';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountWithKey, unique } from '../../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../../support/server.ts';
import { chat, exportRequest, newSpanId, newTraceId, type SpanInput } from './sending.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const REQUESTS = 24;
const KIB = 1024;

async function newSender() {
  const tenantId = unique('tenant');
  const created = await server.ok('POST', '/v1/tenants', { as: server.admin, body: { id: tenantId } });
  const { key } = await accountWithKey(server, { tenantId }, ['traces:write']);
  const send = (...spans: SpanInput[]) =>
    server.call('POST', '/v1/traces', { as: { key }, body: exportRequest(spans) }) as Promise<Body>;
  const occurrences = async () => {
    const { items } = await server.ok('GET', `/v1/runtime-observations?tenant_id=${tenantId}`, { as: server.admin });
    return items.map(({ occurrences: count }: Body) => count);
  };
  const { db } = server.services;
  const blocks = () => db.selectFrom('span_blocks').where('tenant_id', '=', tenantId).select('span_count').execute();
  const spanIds = async (traceId: string): Promise<string[]> => {
    const path = `/v1/traces/${traceId}/spans?tenant_id=${tenantId}`;
    const answer = await server.call('GET', path, { as: server.admin });
    return answer.status === 404 ? [] : answer.body.items.map(({ spanId }: Body) => spanId);
  };
  return { tenantId, created, send, occurrences, blocks, spanIds };
}

const spanOf = (more: Partial<SpanInput> = {}): SpanInput => ({
  ...chat('gpt-5', { 'gen_ai.provider.name': 'openai' }),
  traceId: newTraceId(),
  spanId: newSpanId(),
  ...more,
});

test('requests that arrive while spans of their account are stored share the next transaction, and each span is stored once', async () => {
  const { tenantId, send, occurrences, blocks } = await newSender();
  const again = spanOf();
  await send(again);
  const sent = Array.from({ length: REQUESTS }, () => spanOf());
  const answers: Promise<Body>[] = [];
  // The first request waits for this transaction, and as many others as may run.
  await inTransaction(
    server.services.db,
    async () => {
      // Each is sent twice at the same time, and one was stored before.
      answers.push(...[again, ...sent, ...sent].map((span) => send(span)));
      await expect.poll(() => server.services.scheduler.active).toBeGreaterThanOrEqual(4);
    },
    { lockTenant: tenantId },
  );
  for (const answer of answers) expect(await answer).toMatchObject({ status: 200, body: {} });
  expect(await occurrences()).toEqual([REQUESTS + 1]);
  const stored = await blocks();
  expect(stored.reduce((sum, { span_count }) => sum + span_count, 0)).toBe(REQUESTS + 1);
  expect(stored.length).toBeLessThan(REQUESTS);
});

test('a span that is rejected is reported to the request that has it', async () => {
  const { send, spanIds } = await newSender();
  const [traceId, spanId] = [newTraceId(), newSpanId()];
  for (let count = 0; count < 4; count += 1) await send(spanOf({ traceId, spanId, name: `variant ${count}` }));
  const [good, bad] = [newSpanId(), spanOf({ traceId, spanId, name: 'one too many' })];
  const [, first, mixed, last] = await Promise.all([
    send(spanOf()),
    send(spanOf({ traceId, spanId: good })),
    send(bad, spanOf({ traceId })),
    send(spanOf({ traceId })),
  ]);
  const errorMessage = 'A sender may report at most 4 different spans with one id.';
  expect([first?.body, last?.body]).toEqual([{}, {}]);
  expect(mixed?.body).toEqual({ partialSuccess: { rejectedSpans: '1', errorMessage } });
  expect(await spanIds(traceId)).toHaveLength(4 + 3);
});

test('when there is no room for all of them, those are stored that there is room for', async () => {
  const { tenantId, send, spanIds } = await newSender();
  await server.ok('PUT', `/v1/tenants/${tenantId}`, { as: server.admin, body: { settings: { captureContent: true } } });
  await send(spanOf());
  const { storedBytes } = await server.ok('GET', `/v1/tenants/${tenantId}/usage`, { as: server.admin });
  const limits = { storedBytes: storedBytes.used + 40 * KIB };
  await server.ok('PUT', `/v1/tenants/${tenantId}/limits`, { as: server.admin, body: limits });
  const sent = Array.from({ length: REQUESTS }, () => {
    const notes = Array.from({ length: 8 }, (_, index) => [`note_${index}`, randomBytes(KIB / 2).toString('hex')]);
    return spanOf({ attributes: Object.fromEntries(notes) });
  });
  const answers = await Promise.all(sent.map((span) => send(span)));
  const statuses = answers.map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([200, 409]));
  for (const [index, { traceId = '' }] of sent.entries()) {
    expect(await spanIds(traceId)).toHaveLength(statuses[index] === 200 ? 1 : 0);
  }
});
