import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { removeInBatches } from '../src/platform/remove-in-batches.ts';
import { startHousekeeping } from '../src/server/housekeeping.ts';
import { accountWithKey, unique } from './support/people.ts';
import { serverOfTest } from './support/server.ts';

const MINUTE_MS = 60_000;

afterEach(() => void vi.useRealTimers());

test('regression: a service that stops does not wait until a deleted tenant is erased', async () => {
  const server = await serverOfTest({}, { noHousekeeping: true });
  const { services } = server;
  const { db } = services;
  const tenantId = unique('large');
  await accountWithKey(server, { tenantId });
  const rows = Array.from({ length: 1000 }, (_, n) => ({ tenant_id: tenantId, id: `sub-${n}`, created_at: '' }));
  await db.insertInto('sub_tenants').values(rows).execute();
  expect((await server.call('DELETE', `/v1/tenants/${tenantId}`, { as: server.admin })).status).toBe(200);
  const stopping = new AbortController();
  const stop = startHousekeeping({ ...services, stopping: stopping.signal });
  const left = () => db.selectFrom('sub_tenants').select('id').where('tenant_id', '=', tenantId).execute();
  await vi.waitFor(async () => expect((await left()).length).toBeLessThan(rows.length), {
    timeout: 60_000,
    interval: 1,
  });
  stopping.abort();
  await stop();
  expect((await left()).length).toBeGreaterThan(0);
  const { erased_at } = await db.selectFrom('tenants').selectAll().where('id', '=', tenantId).executeTakeFirstOrThrow();
  expect(erased_at).toBeNull();
});

test('regression: a removal ends after its current batch when the service stops', async () => {
  const stopping = new AbortController();
  const limits: number[] = [];
  const removed = await removeInBatches({ stopping: stopping.signal }, 10, async (limit) => {
    if (limits.push(limit) === 2) stopping.abort();
    // Otherwise the removal would never end without the signal.
    return limits.length < 5 ? limit : 0;
  });
  expect({ removed, limits }).toEqual({ removed: 20, limits: [10, 10] });
});

test('regression: a job that takes long does not delay the jobs of every minute', async () => {
  const { services } = await serverOfTest({}, { noHousekeeping: true });
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const erasures = {
    ...services.erasures,
    async truncate(which: 'noted' | 'all') {
      if (which === 'noted') return;
      begun.resolve();
      await released.promise;
    },
  };
  const flushed = Promise.withResolvers<string>();
  const refusals = { ...services.refusals, flush: async (which: 'all' | 'over') => flushed.resolve(which) };
  const stop = startHousekeeping({ ...services, erasures, refusals });
  onTestFinished(() => {
    released.resolve();
    return stop();
  });
  await begun.promise;
  vi.advanceTimersByTime(MINUTE_MS);
  expect(await flushed.promise).toBe('over');
});
