import { expect, test } from 'vitest';
import { findKnownSpans } from '../src/repositories/known-spans.ts';
import { listSpans } from '../src/repositories/spans.ts';
import { deleteTracesBefore } from '../src/repositories/trace-retention.ts';
import { listTraces } from '../src/repositories/traces.ts';
import { EVERYWHERE } from '../src/tenancy.ts';
import { allSpans, type NewSpan, span, store, storeBatch, TRACE } from './stored-spans.ts';
import { later, NOW, temporaryDatabase } from './temporary-database.ts';

const ACME = { tenantId: 'acme', subTenantId: null };
const SENDER = 'service_account:acme/bot';

/** Ids in an order that differs from that of the start times. */
function spans(count: number, first = 0): NewSpan[] {
  return Array.from({ length: count }, (_, index) => {
    const number = first + index;
    const second = String(Math.floor(number / 1000) % 60).padStart(2, '0');
    const startTime = `2026-03-01T12:00:${second}.${String(number % 1000).padStart(3, '0')}000000Z`;
    return span(((number * 7919) % 1_000_003).toString(16), { name: `span ${number}`, startTime });
  });
}

test('a trace of many requests is merged, and stays as it is: its order, its duplicates, its calls', async () => {
  const db = await temporaryDatabase(ACME);
  const all = spans(150);
  for (const [number, one] of all.entries()) {
    const calls = new Map([[TRACE, Buffer.from(`call ${number}`)]]);
    await storeBatch(db, ACME, { spans: [one], calls }, later(number / 1000));
  }
  const parts = await db.selectFrom('trace_blocks').select('part').orderBy('part').execute();
  expect(parts.length).toBeLessThan(70);
  expect(parts.at(-1)?.part).toBe(`m${'0'.repeat(16)}`);
  const found = await allSpans(db, EVERYWHERE, TRACE, 40);
  expect(found?.map(({ name }) => name)).toEqual(all.map(({ name }) => name));
  expect(await store(db, ACME, all, 10)).toEqual([]);
  const known = (await findKnownSpans(db, ACME, all)).get(TRACE);
  expect(known).toMatchObject({ spanCount: 150, isComplete: true });
  expect(known?.calls.map(({ sender, value }) => `${sender} ${Buffer.from(value).toString()}`)).toEqual(
    all.map((_, number) => `${SENDER} call ${number}`),
  );
  expect([...(known?.spans() ?? [])]).toHaveLength(150);
  expect(known?.find(all[70]?.spanId ?? '')).toMatchObject([{ startTime: all[70]?.startTime, sender: SENDER }]);
  expect(known?.find('f'.repeat(16))).toEqual([]);
  // Retention finds the blocks through the merged index, too.
  for (let more = true; more; ) ({ more } = await deleteTracesBefore(db, [ACME], later(60).toISOString(), 1000, NOW));
  expect(await db.selectFrom('span_blocks').select('id').execute()).toEqual([]);
  expect(await db.selectFrom('trace_blocks').select('part').execute()).toEqual([]);
});

test('of a trace beyond 2,000 spans the spans of a batch are looked up, and nothing is stored twice', async () => {
  const db = await temporaryDatabase(ACME);
  const all = spans(24_000);
  for (let start = 0; start < all.length; start += 2000)
    await store(db, ACME, all.slice(start, start + 2000), start / 1e6);
  const asked = [all[5], all[23_000]].flatMap((one) => one ?? []);
  const known = (await findKnownSpans(db, ACME, asked)).get(TRACE);
  expect(known).toMatchObject({ spanCount: 24_000, isComplete: false, calls: [] });
  expect(asked.map(({ spanId }) => known?.find(spanId).length)).toEqual([1, 1]);
  expect(await store(db, ACME, [...all.slice(0, 900), ...spans(1, 30_000)], 5)).toHaveLength(1);
  const page = await listSpans(db, EVERYWHERE, TRACE, { limit: 3, after: null });
  expect(page?.items.map((one) => (JSON.parse(JSON.stringify(one)) as { name: string }).name)).toEqual([
    'span 0',
    'span 1',
    'span 2',
  ]);
});

test('a trace has at most 100,000 spans; further ones are rejected, and others of the batch are stored', async () => {
  const db = await temporaryDatabase(ACME);
  await store(db, ACME, [span('1')]);
  await db.updateTable('traces').set({ span_count: 99_999 }).execute();
  const other = span('4', { traceId: 'b'.repeat(32) });
  const answer = await storeBatch(db, ACME, { spans: [span('2'), span('3'), other] }, later(1));
  expect(answer).toMatchObject({
    stored: ['2', '4'],
    rejected: 1,
    reasons: ['A trace may have at most 100000 spans.'],
  });
});

test('a page ends when it has 8 MiB, and the next one goes on', async () => {
  const db = await temporaryDatabase(ACME);
  const large = spans(300).map((one, index) => ({ ...one, resource: { text: String(index % 3).repeat(60_000) } }));
  await store(db, ACME, large);
  const first = await listSpans(db, EVERYWHERE, TRACE, { limit: 1000, after: null });
  expect(first?.items.length).toBeGreaterThan(100);
  expect(first?.items.length).toBeLessThan(150);
  expect((await allSpans(db, EVERYWHERE))?.map(({ name }) => name)).toEqual(large.map(({ name }) => name));
});

test('a page reads a bounded number of bytes, however large the blocks are that its spans share with other traces', async () => {
  const db = await temporaryDatabase(ACME);
  const filling = { text: 'x'.repeat(1_000_000) };
  const traces = Array.from({ length: 40 }, (_, index) => [
    span(String(index + 10), { name: `span ${index}` }),
    span('1', { traceId: index.toString(16).padStart(32, '0'), attributes: filling }),
  ]);
  for (const [index, batch] of traces.entries()) await store(db, ACME, batch, index);
  const first = await listSpans(db, EVERYWHERE, TRACE, { limit: 1000, after: null });
  expect(first?.items.length).toBeGreaterThan(20);
  expect(first?.items.length).toBeLessThan(40);
  expect(await allSpans(db, EVERYWHERE)).toHaveLength(40);
});

test('a trace in more than 50 places is answered in groups of places, whole', async () => {
  const places = Array.from({ length: 60 }, (_, index) => ({ tenantId: 'acme', subTenantId: `team-${index + 10}` }));
  const db = await temporaryDatabase(ACME, ...places);
  for (const place of places) await store(db, place, [span('1'), span('2', { name: place.subTenantId })]);
  const found = await allSpans(db, EVERYWHERE, TRACE, 7);
  expect(new Set(found?.map(({ subTenantId, spanId }) => `${subTenantId} ${spanId}`)).size).toBe(120);
  expect(await allSpans(db, [{ tenantId: 'acme', subTenantId: 'team-12' }])).toHaveLength(2);
  expect(await allSpans(db, [{ tenantId: null, subTenantId: 'team-12' }])).toHaveLength(2);
  expect(await allSpans(db, [{ tenantId: 'other', subTenantId: null }])).toBeUndefined();
});

test('traces are found by their duration, errors, names and time', async () => {
  const db = await temporaryDatabase(ACME);
  const genAi = { operation: 'chat', provider: null, model: 'gpt-5', agent: null, tool: null };
  const said = { ...genAi, conversationId: null, inputTokens: null, outputTokens: null };
  const [a, b] = ['a'.repeat(32), 'b'.repeat(32)];
  await store(db, ACME, [span('1', { traceId: a, genAi: said })]);
  const slow = { endTime: '2026-03-01T12:00:05.000000000Z', status: { code: 'error' as const, message: null } };
  await store(db, ACME, [span('1', { traceId: b, ...slow })], 60);
  const found = async (filter: Parameters<typeof listTraces>[2]) => {
    const { items } = await listTraces(db, [ACME], filter, { limit: 10, after: null });
    return items.map(({ traceId, durationMs }) => `${traceId[0]} ${durationMs}`);
  };
  expect(await found({})).toEqual(['b 5000', 'a 1000']);
  expect(await found({ model: 'gpt-5' })).toEqual(['a 1000']);
  expect(await found({ model: 'gpt' })).toEqual([]);
  expect(await found({ errorsOnly: true })).toEqual(['b 5000']);
  expect(await found({ errorsOnly: false, minDurationMs: 1000 })).toEqual(['b 5000', 'a 1000']);
  expect(await found({ minDurationMs: 1001 })).toEqual(['b 5000']);
  expect(await found({ createdAfter: later(30).toISOString() })).toEqual(['b 5000']);
  expect(await found({ createdBefore: later(30).toISOString() })).toEqual(['a 1000']);
  // A later block adds its names.
  await store(db, ACME, [span('2', { traceId: b, genAi: said })], 61);
  expect(await found({ model: 'gpt-5' })).toEqual(['b 5000', 'a 1000']);
});
