import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type Permit, FairSemaphore } from '../src/platform/fair-semaphore.ts';
import { tooBusy } from '../src/telemetry/ingest/intake.ts';

/** A semaphore, and the tenants in the order in which they acquired permits. */
function semaphoreOf({ maxWaitMs = 60_000, ...options }: { total: number; perTenant: number; maxWaitMs?: number }) {
  const semaphore = new FairSemaphore({ tooBusy, ...options });
  const acquired: string[] = [];
  const acquire = async (tenant: string, amount: number): Promise<Permit> => {
    const permit = await semaphore.acquire(tenant, amount, performance.now() + maxWaitMs);
    acquired.push(tenant);
    return permit;
  };
  return { semaphore, acquired, acquire };
}

test('a request that does not fit waits until another one releases its permit or shrinks it', async () => {
  const { semaphore, acquired, acquire } = semaphoreOf({ total: 10, perTenant: 10 });
  const first = await acquire('a', 8);
  const second = acquire('b', 6);
  await yieldToEventLoop();
  expect(acquired).toEqual(['a']);
  first.shrink(4);
  const permit = await second;
  expect(semaphore.held).toBe(10);
  first.release();
  first.release();
  permit.release();
  expect(semaphore.held).toBe(0);
});

test('tenants take turns, even if one of them has a long queue', async () => {
  const { acquired, acquire } = semaphoreOf({ total: 1, perTenant: 1 });
  const first = await acquire('a', 1);
  const waiting = ['a', 'a', 'a', 'b', 'b', 'c'].map(async (tenant) => (await acquire(tenant, 1)).release());
  first.release();
  await Promise.all(waiting);
  expect(acquired).toEqual(['a', 'a', 'b', 'c', 'a', 'b', 'a']);
});

test('a tenant at its limit waits without delaying other tenants', async () => {
  const { acquired, acquire } = semaphoreOf({ total: 10, perTenant: 5 });
  const own = await acquire('a', 5);
  const next = acquire('a', 1);
  const other = await acquire('b', 5);
  expect(acquired).toEqual(['a', 'b']);
  own.release();
  (await next).release();
  other.release();
});

test('a permit is wanted while another tenant waits that is within its limit', async () => {
  const { acquire } = semaphoreOf({ total: 2, perTenant: 1 });
  const [first, second] = [await acquire('a', 1), await acquire('b', 1)];
  const own = acquire('a', 1);
  expect([first.isWanted(), second.isWanted()]).toEqual([false, false]);
  const other = acquire('c', 1);
  expect([first.isWanted(), second.isWanted()]).toEqual([true, true]);
  second.release();
  const third = await other;
  expect([first.isWanted(), third.isWanted()]).toEqual([false, false]);
  first.release();
  (await own).release();
  third.release();
});

test('small requests do not overtake a large one that waits', async () => {
  const { acquired, acquire } = semaphoreOf({ total: 10, perTenant: 8 });
  const first = await acquire('a', 6);
  const large = acquire('b', 8);
  const small = acquire('c', 1);
  const late = acquire('c', 1);
  await yieldToEventLoop();
  first.release();
  for (const permit of await Promise.all([large, small, late])) permit.release();
  expect(acquired).toEqual(['a', 'b', 'c', 'c']);
});

test('an amount above the limit of a tenant counts as that limit', async () => {
  const { semaphore, acquire } = semaphoreOf({ total: 10, perTenant: 5 });
  const permit = await acquire('a', 1000);
  expect(semaphore.held).toBe(5);
  permit.release();
  expect(semaphore.held).toBe(0);
});

test('a request that waits too long is refused with 429, and the next one proceeds', async () => {
  const { semaphore, acquire } = semaphoreOf({ total: 10, perTenant: 10, maxWaitMs: 20 });
  const first = await acquire('a', 6);
  await expect(acquire('b', 8)).rejects.toMatchObject({ status: 429, headers: { 'Retry-After': '1' } });
  const second = await acquire('b', 4);
  first.release();
  second.release();
  expect(semaphore.held).toBe(0);
});
