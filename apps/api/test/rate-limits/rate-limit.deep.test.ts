import { expect, test } from 'vitest';
import { RateLimit } from '../../src/http/rate-limits/rate-limit.ts';

test('memory is bounded: of very many callers the oldest are forgotten', async () => {
  const now = () => new Date('2026-03-01T12:00:00Z');
  const limit = new RateLimit({ policy: 'test', limit: 1, now, takePoints: null });
  const caller = (index: number) => ({ tenantId: 'acme', id: `address-${index}` });
  for (let index = 0; index < 150_000; index += 1) await limit.count(caller(index));
  expect(limit.callers).toBe(100_000);
  expect(await limit.count(caller(149_999))).toMatchObject({ allowed: false });
  expect(await limit.count(caller(0))).toMatchObject({ allowed: true });
});
