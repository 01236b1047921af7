import { expect, test } from 'vitest';
import type { Database } from '../src/database.ts';
import { LOWEST_SPAN_ID, mergedName, senderDigestOf } from '../src/merged-part.ts';
import { findKnownSpans } from '../src/repositories/known-spans.ts';
import { listSpans } from '../src/repositories/spans.ts';
import { deleteTracesBefore } from '../src/repositories/trace-retention.ts';
import { listTraces } from '../src/repositories/traces.ts';
import { spanIndexWriter } from '../src/span-index.ts';
import { EVERYWHERE } from '../src/tenancy.ts';
import { allSpans, type NewSpan, span, store, storeBatch, TRACE } from './stored-spans.ts';
import { later, NOW, temporaryDatabase } from './temporary-database.ts';

const ACME = { tenantId: 'acme', subTenantId: null };
const SENDER = 'service_account:acme/bot';

/** Ids whose order differs from that of the start times. */
function spans(count: number, first = 0): NewSpan[] {
  return Array.from({ length: count }, (_, index) => {
    const number = first + index;
    const second = String(Math.floor(number / 1000) % 60).padStart(2, '0');
    const startTime = `2026-03-01T12:00:${second}.${String(number % 1000).padStart(3, '0')}000000Z`;
    return span(((number * 7919) % 1_000_003).toString(16), { name: `span ${number}`, startTime });
  });
}

/** Adds merged index rows of a sender to a trace, without blocks. */
async function fillTrace(db: Database, sender: string, count: number, traceId = TRACE): Promise<void> {
  const senderDigest = senderDigestOf(sender);
  const placed = Array.from({ length: count }, (_, number) => ({
    spanId: (0xf000_0000 + number).toString(16).padStart(16, '0'),
    parentSpanId: null,
    startTime: '2026-03-01T12:00:00.000000000Z',
    digest: number.toString(16).padStart(16, '0'),
    offset: 0,
    length: 0,
    isVariant: false,
  }));
  const part = mergedName({ senderDigest, from: LOWEST_SPAN_ID, count });
  const row = { tenant_id: ACME.tenantId, sub_tenant_id: '', trace_id: traceId, part, calls: null };
  const spansOfRow = spanIndexWriter({ id: 'B'.repeat(26), sender })(placed);
  await db
    .insertInto('trace_blocks')
    .values({ ...row, spans: spansOfRow })
    .execute();
  await db
    .updateTable('traces')
    .set((eb) => ({ span_count: eb('span_count', '+', count) }))
    .where('trace_id', '=', traceId)
    .execute();
}

test('merging the index of a trace of many requests keeps its order, duplicates and calls', async () => {
  const db = await temporaryDatabase(ACME);
  const all = spans(150);
  for (const [number, one] of all.entries()) {
    const calls = new Map([[TRACE, Buffer.from(`call ${number}`)]]);
    await storeBatch(db, ACME, { spans: [one], calls }, later(number / 1000));
  }
  const parts = await db.selectFrom('trace_blocks').select('part').orderBy('part').execute();
  expect(parts.length).toBeLessThan(70);
  expect(parts.at(-1)?.part).toMatch(/^m[0-9a-f]{32}0{16}000000[0-9a-f]{2}$/);
  const found = await allSpans(db, EVERYWHERE, TRACE, 40);
  expect(found?.map(({ name }) => name)).toEqual(all.map(({ name }) => name));
  expect(await store(db, ACME, all, 10)).toEqual([]);
  const known = (await findKnownSpans(db, ACME, { spans: all, sender: SENDER })).get(TRACE);
  expect(known).toMatchObject({ spanCount: 150, isComplete: true });
  expect(known?.calls.map(({ sender, value }) => `${sender} ${Buffer.from(value).toString()}`)).toEqual(
    all.map((_, number) => `${SENDER} call ${number}`),
  );
  expect([...(known?.spans() ?? [])]).toHaveLength(150);
  expect(known?.find(all[70]?.spanId ?? '')).toMatchObject([{ startTime: all[70]?.startTime, sender: SENDER }]);
  expect(known?.find('f'.repeat(16))).toEqual([]);
  // Retention also finds the blocks through the merged index.
  for (let more = true; more; ) ({ more } = await deleteTracesBefore(db, [ACME], later(60).toISOString(), 1000, NOW));
  expect(await db.selectFrom('span_blocks').select('id').execute()).toEqual([]);
  expect(await db.selectFrom('trace_blocks').select('part').execute()).toEqual([]);
});

test('in a trace with more than 4,000 spans, duplicates are still recognised', async () => {
  const db = await temporaryDatabase(ACME);
  const all = spans(24_000);
  for (let start = 0; start < all.length; start += 2000)
    await store(db, ACME, all.slice(start, start + 2000), start / 1e6);
  const asked = [all[5], all[23_000]].flatMap((one) => one ?? []);
  const known = (await findKnownSpans(db, ACME, { spans: asked, sender: SENDER })).get(TRACE);
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

test('the calls of a sender in a trace are not read if they exceed 2 MiB together', async () => {
  const db = await temporaryDatabase(ACME);
  const isComplete = async () => {
    const known = await findKnownSpans(db, ACME, { spans: [span('9')], sender: SENDER });
    return known.get(TRACE)?.isComplete;
  };
  const calls = new Map([[TRACE, Buffer.alloc(1_500_000)]]);
  await storeBatch(db, ACME, { spans: [span('1')], calls }, later(0));
  expect(await isComplete()).toBe(true);
  await storeBatch(db, ACME, { spans: [span('2')], calls }, later(1));
  expect(await isComplete()).toBe(false);
});

test('a sender may have 100,000 spans in a trace; further ones are rejected, and other spans of the batch are stored', async () => {
  const db = await temporaryDatabase(ACME);
  await store(db, ACME, [span('1')]);
  await fillTrace(db, SENDER, 99_998);
  const other = span('4', { traceId: 'b'.repeat(32) });
  const answer = await storeBatch(db, ACME, { spans: [span('2'), span('3'), other] }, later(1));
  expect(answer).toMatchObject({
    stored: ['2', '4'],
    duplicates: 0,
  });
  expect([...answer.rejected.values()]).toEqual(['A sender may have at most 100000 spans in a trace.']);
});

test('spans and calls of another sender reduce neither the limit of a sender nor its stored calls', async () => {
  const db = await temporaryDatabase(ACME);
  const calls = (text: string) => new Map([[TRACE, Buffer.from(text)]]);
  await storeBatch(db, ACME, { spans: [span('a1')], calls: calls('call of the sender') }, later(0));
  const other = { sender: 'service_account:acme/neighbour' };
  await fillTrace(db, other.sender, 40_000);
  // Enough batches, calls and spans to trigger each kind of merge.
  for (let batch = 0; batch < 3; batch += 1) {
    const junk = { ...other, spans: spans(1500, batch * 1500), calls: calls('x'.repeat(3_000_000)) };
    await storeBatch(db, ACME, junk, later(1 + batch));
  }
  const tiny = spans(70, 50_000);
  for (const [number, one] of tiny.entries())
    await storeBatch(db, ACME, { ...other, spans: [one] }, later(10 + number));
  const asked = [span('a1'), span('a2'), ...tiny];
  const known = (await findKnownSpans(db, ACME, { spans: asked, sender: SENDER })).get(TRACE);
  expect(known).toMatchObject({ spanCount: 1, isComplete: true });
  expect(known?.calls.map(({ value }) => Buffer.from(value).toString())).toEqual(['call of the sender']);
  expect([...(known?.spans() ?? [])].map(({ spanId }) => spanId)).toEqual([span('a1').spanId]);
  // Spans of both senders are found, so that those with the same id are shown as conflicting.
  expect(tiny.flatMap(({ spanId }) => known?.find(spanId) ?? [])).toHaveLength(70);
  expect(known?.find(span('a1').spanId)).toHaveLength(1);
  expect(await storeBatch(db, ACME, { spans: asked }, later(200))).toMatchObject({
    duplicates: 1,
    rejected: new Map(),
  });
});

test('only the sender’s own spans decide which traces of a batch are complete', async () => {
  const db = await temporaryDatabase(ACME);
  const traceIds = ['1', '2', '3'].map((digit) => digit.repeat(32));
  for (const traceId of traceIds) {
    await storeBatch(db, ACME, { spans: [span('a1', { traceId })] }, later(0));
    await fillTrace(db, SENDER, 3900, traceId);
  }
  const asked = traceIds.map((traceId) => span('a2', { traceId }));
  const complete = async () => {
    const known = await findKnownSpans(db, ACME, { spans: asked, sender: SENDER });
    return traceIds.map((traceId) => known.get(traceId)?.isComplete);
  };
  expect(await complete()).toEqual([true, true, false]);
  for (const traceId of traceIds.slice(0, 2)) await fillTrace(db, 'user:neighbour', 30_000, traceId);
  expect(await complete()).toEqual([true, true, false]);
});

test('a page ends at 8 MiB, and the next page continues', async () => {
  const db = await temporaryDatabase(ACME);
  const large = spans(300).map((one, index) => ({ ...one, resource: { text: String(index % 3).repeat(60_000) } }));
  await store(db, ACME, large);
  const first = await listSpans(db, EVERYWHERE, TRACE, { limit: 1000, after: null });
  expect(first?.items.length).toBeGreaterThan(100);
  expect(first?.items.length).toBeLessThan(150);
  expect((await allSpans(db, EVERYWHERE))?.map(({ name }) => name)).toEqual(large.map(({ name }) => name));
});

test('a page reads a bounded number of bytes, even if its spans share large blocks with other traces', async () => {
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

test('a trace in more than 50 places is listed completely, in groups of places', async () => {
  const places = Array.from({ length: 60 }, (_, index) => ({ tenantId: 'acme', subTenantId: `team-${index + 10}` }));
  const db = await temporaryDatabase(ACME, ...places);
  for (const place of places) await store(db, place, [span('1'), span('2', { name: place.subTenantId })]);
  const found = await allSpans(db, EVERYWHERE, TRACE, 7);
  expect(new Set(found?.map(({ subTenantId, spanId }) => `${subTenantId} ${spanId}`)).size).toBe(120);
  expect(await allSpans(db, [{ tenantId: 'acme', subTenantId: 'team-12' }])).toHaveLength(2);
  expect(await allSpans(db, [{ tenantId: null, subTenantId: 'team-12' }])).toHaveLength(2);
  expect(await allSpans(db, [{ tenantId: 'other', subTenantId: null }])).toBeUndefined();
});

test('traces can be filtered by duration, errors, names and time', async () => {
  const db = await temporaryDatabase(ACME);
  const genAi = { operation: 'chat', provider: null, model: 'gpt-5', agent: null, tool: null };
  const fields = { ...genAi, conversationId: null, inputTokens: null, outputTokens: null };
  const [a, b] = ['a'.repeat(32), 'b'.repeat(32)];
  await store(db, ACME, [span('1', { traceId: a, genAi: fields })]);
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
  await store(db, ACME, [span('2', { traceId: b, genAi: fields })], 61);
  expect(await found({ model: 'gpt-5' })).toEqual(['b 5000', 'a 1000']);
});
