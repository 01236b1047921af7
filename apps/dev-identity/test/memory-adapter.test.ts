import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { memoryAdapter } from '../src/memory-adapter.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('an entry expires after its lifetime', async () => {
  const sessions = memoryAdapter()('Session');
  await sessions.upsert('a', { uid: 'u' }, 10);
  vi.advanceTimersByTime(9_999);
  expect(await sessions.find('a')).toEqual({ uid: 'u' });
  expect(await sessions.findByUid('u')).toEqual({ uid: 'u' });
  vi.advanceTimersByTime(1);
  expect(await sessions.find('a')).toBeUndefined();
  expect(await sessions.findByUid('u')).toBeUndefined();
});

test('the least recently used entry is evicted beyond the limit', async () => {
  const codes = memoryAdapter(2)('DeviceCode');
  await codes.upsert('a', { userCode: 'A' }, 10);
  await codes.upsert('b', { userCode: 'B' }, 10);
  await codes.findByUserCode('A');
  await codes.upsert('c', { userCode: 'C' }, 10);
  expect(await codes.find('b')).toBeUndefined();
  expect(await codes.find('a')).toBeDefined();
  expect(await codes.find('c')).toBeDefined();
});

test('models are separate, and revoking a grant removes its entries in all of them', async () => {
  const adapter = memoryAdapter();
  await adapter('RefreshToken').upsert('same', { grantId: 'g' }, 10);
  await adapter('AuthorizationCode').upsert('same', { grantId: 'g' }, 10);
  await adapter('AuthorizationCode').upsert('other', { grantId: 'h' }, 10);
  await adapter('AuthorizationCode').revokeByGrantId('g');
  expect(await adapter('RefreshToken').find('same')).toBeUndefined();
  expect(await adapter('AuthorizationCode').find('same')).toBeUndefined();
  expect(await adapter('AuthorizationCode').find('other')).toBeDefined();
});
