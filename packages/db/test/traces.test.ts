import { expect, test } from 'vitest';
import type { Database } from '../src/database.ts';
import { deleteTracesBefore } from '../src/repositories/trace-retention.ts';
import { listTraces } from '../src/repositories/traces.ts';
import { EVERYWHERE } from '../src/tenancy.ts';
import { allSpans, span, store, storeBatch, TRACE } from './stored-spans.ts';
import { later, NOW, temporaryDatabase } from './temporary-database.ts';

const ACME = { tenantId: 'acme', subTenantId: null };
const PAGE = { limit: 1000, after: null };
const DAY = 24 * 3600;

async function named(db: Database, traceId = TRACE, scope = EVERYWHERE): Promise<string[] | undefined> {
  const found = await allSpans(db, scope, traceId);
  return found?.map(({ spanId, name }) => `${spanId.replace(/^0+/, '')} ${name}`);
}

test('a span that is sent again is stored once: in the same batch, in the next one, and on another day', async () => {
  const db = await temporaryDatabase(ACME);
  expect(await store(db, ACME, [span('1'), span('1'), span('2')])).toEqual(['1', '2']);
  expect(await store(db, ACME, [span('2'), span('3')], 60)).toEqual(['3']);
  expect(await store(db, ACME, [span('1'), span('4')], 3 * DAY)).toEqual(['4']);
  expect(await store(db, ACME, [span('4'), span('1')], 9 * DAY)).toEqual([]);
  expect(await named(db)).toEqual(['1 chat', '2 chat', '3 chat', '4 chat']);
  const { items } = await listTraces(db, EVERYWHERE, {}, PAGE);
  expect(items).toMatchObject([{ traceId: TRACE, spanCount: 4, createdAt: NOW.toISOString() }]);
});

test('spans with the same id but another content or sender are all stored, and marked as conflicting', async () => {
  const db = await temporaryDatabase(ACME);
  const blank = { spans: [span('1', { name: '' }), span('2')], sender: 'service_account:acme/other' };
  await storeBatch(db, ACME, blank, later(0));
  await store(db, ACME, [span('1'), span('3'), span('3', { name: 'edited' })], 1);
  await store(db, ACME, [span('1'), span('3', { name: 'edited' })], 2);
  const found = await allSpans(db, EVERYWHERE);
  expect(
    found?.map(({ spanId, name, receivedFrom, conflicting }) => [
      spanId.at(-1),
      name,
      receivedFrom.slice(21),
      conflicting,
    ]),
  ).toEqual([
    ['1', '', 'other', true],
    ['1', 'chat', 'bot', true],
    ['2', 'chat', 'other', false],
    ['3', 'chat', 'bot', true],
    ['3', 'edited', 'bot', true],
  ]);
});

test('a sender may report four different spans with one id, and another sender may still report its own', async () => {
  const db = await temporaryDatabase(ACME);
  const variants = (count: number) => Array.from({ length: count }, (_, index) => span('1', { name: `chat ${index}` }));
  const answer = await storeBatch(db, ACME, { spans: variants(6) }, NOW);
  expect(answer.stored).toEqual(['1', '1', '1', '1']);
  const tooMany = expect.stringContaining('at most 4');
  expect([...answer.rejected.values()]).toEqual([tooMany, tooMany]);
  const again = await storeBatch(db, ACME, { spans: variants(6) }, later(1));
  expect([again.duplicates, again.rejected.size]).toEqual([4, 2]);
  const other = await storeBatch(db, ACME, { spans: [span('1')], sender: 'service_account:acme/other' }, later(2));
  expect([other.stored, other.rejected.size]).toEqual([['1'], 0]);
  expect(await allSpans(db, EVERYWHERE)).toHaveLength(5);
});

test('the same span in another sub-tenant is a different span', async () => {
  const db = await temporaryDatabase(ACME, { tenantId: 'acme', subTenantId: 'eu' });
  const eu = { tenantId: 'acme', subTenantId: 'eu' };
  expect(await store(db, ACME, [span('1')])).toEqual(['1']);
  expect(await store(db, eu, [span('1', { name: 'of eu' })], DAY)).toEqual(['1']);
  expect(await named(db, TRACE, [eu])).toEqual(['1 of eu']);
  expect(await named(db)).toEqual(['1 chat', '1 of eu']);
  expect((await allSpans(db, EVERYWHERE))?.map(({ conflicting }) => conflicting)).toEqual([false, false]);
});

test('concurrent requests on two days store each of the same spans once', async () => {
  const db = await temporaryDatabase(ACME);
  const spans = ['1', '2', '3'].map((id) => span(id));
  const stored = await Promise.all([0, 1, DAY, DAY + 1].map((seconds) => store(db, ACME, spans, seconds)));
  expect(stored.flat().toSorted()).toEqual(['1', '2', '3']);
  expect(await named(db)).toEqual(['1 chat', '2 chat', '3 chat']);
  expect((await listTraces(db, EVERYWHERE, {}, PAGE)).items).toMatchObject([{ spanCount: 3 }]);
});

test('clock skew between processes loses no span, and never moves the time of a trace back', async () => {
  const db = await temporaryDatabase(ACME);
  const midnight = 12 * 3600;
  await store(db, ACME, [span('1')], midnight + 1);
  await store(db, ACME, [span('2')], midnight - 60);
  expect(await store(db, ACME, [span('2')], midnight + 5)).toEqual([]);
  await store(db, ACME, [span('3')], midnight + 300);
  await store(db, ACME, [span('4')], midnight + 2);
  expect(await named(db)).toEqual(['1 chat', '2 chat', '3 chat', '4 chat']);
  const updatedAt = new Date(NOW.getTime() + (midnight + 300) * 1000).toISOString();
  expect((await listTraces(db, EVERYWHERE, {}, PAGE)).items).toMatchObject([{ updatedAt }]);
});

test('deleting traces before a time removes all of their spans; a trace with a newer span is kept completely', async () => {
  const db = await temporaryDatabase(ACME);
  const [old, going] = ['b'.repeat(32), 'c'.repeat(32)];
  await store(db, ACME, [span('1', { traceId: old }), span('2', { traceId: going })]);
  await store(db, ACME, [span('3', { traceId: going })], 5 * DAY);
  const before = new Date(NOW.getTime() + 2 * DAY * 1000).toISOString();
  expect(await deleteTracesBefore(db, [ACME], before, 10, NOW)).toMatchObject({ traces: 1 });
  expect(await named(db, old)).toBeUndefined();
  expect(await named(db, going)).toEqual(['2 chat', '3 chat']);
  // A deleted span that is sent again is new.
  expect(await store(db, ACME, [span('1', { traceId: old, name: 'back' })], 6 * DAY)).toEqual(['1']);
  expect(await named(db, old)).toEqual(['1 back']);
});
