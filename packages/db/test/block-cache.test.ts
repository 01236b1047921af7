import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { BlockCache } from '../src/block-cache.ts';
import { listSpans } from '../src/repositories/spans.ts';
import { EVERYWHERE } from '../src/tenancy.ts';
import { span, store, TRACE } from './stored-spans.ts';
import { temporaryDatabase } from './temporary-database.ts';

const ACME = { tenantId: 'acme', subTenantId: null };
const MIB = 1024 * 1024;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.useRealTimers();
});

test('the cache holds at most 16 MiB: the oldest blocks are dropped', () => {
  const cache = new BlockCache();
  for (let number = 0; number < 20; number += 1) cache.add(`block ${number}`, Buffer.alloc(MIB));
  expect(cache.get('block 3')).toBeUndefined();
  expect(cache.get('block 4')).toHaveLength(MIB);
  expect(cache.get('block 19')).toHaveLength(MIB);
  cache.add('too large', Buffer.alloc(17 * MIB));
  expect(cache.get('too large')).toBeUndefined();
  expect(cache.get('block 4')).toBeDefined();
});

test('the cache is emptied ten seconds after the last block was added', async () => {
  const cache = new BlockCache();
  cache.add('first', Buffer.from('text'));
  await vi.advanceTimersByTimeAsync(9000);
  cache.add('second', Buffer.from('text'));
  await vi.advanceTimersByTimeAsync(9000);
  expect(cache.get('first')).toBeDefined();
  await vi.advanceTimersByTimeAsync(1100);
  expect(cache.get('first')).toBeUndefined();
  expect(cache.get('second')).toBeUndefined();
});

test('a page does not answer spans that were removed after the page before', async () => {
  const db = await temporaryDatabase(ACME);
  await store(db, ACME, [span('1'), span('2'), span('3')]);
  const first = await listSpans(db, EVERYWHERE, TRACE, { limit: 1, after: null });
  expect(first?.items).toHaveLength(1);
  const second = await listSpans(db, EVERYWHERE, TRACE, { limit: 1, after: first?.next ?? null });
  expect(second?.items).toHaveLength(1);
  await db.deleteFrom('traces').where('trace_id', '=', TRACE).execute();
  await db.deleteFrom('trace_blocks').where('trace_id', '=', TRACE).execute();
  const third = await listSpans(db, EVERYWHERE, TRACE, { limit: 1, after: second?.next ?? null });
  expect(third?.items ?? []).toEqual([]);
});
