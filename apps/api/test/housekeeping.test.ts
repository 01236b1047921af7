import { randomUUID } from 'node:crypto';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { removeInBatches } from '../src/platform/remove-in-batches.ts';
import { startHousekeeping } from '../src/server/housekeeping.ts';
import { accountWithKey, offerMembership, startConsoleSession, unique } from './support/people.ts';
import { serverOfTest } from './support/server.ts';
import { chat, sendSpans } from './telemetry/traces/sending.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

afterEach(() => void vi.useRealTimers());

test('the hourly jobs remove what has expired or is older than its retention, and report keys that expire soon', async () => {
  const server = await serverOfTest({}, { noHousekeeping: true });
  const { db } = server.services;
  const place = { tenantId: unique('old') };
  const account = await accountWithKey(server, place);
  const settings = { spanRetentionDays: 30, recordRetentionDays: 30 };
  await server.ok('PUT', `/v1/tenants/${place.tenantId}`, { as: server.admin, body: { settings } });
  const body = { scopes: ['*'], expiresAt: new Date(Date.now() + 503 * DAY_MS).toISOString() };
  await server.ok('POST', `/v1/service-accounts/${account.id}/keys?tenant_id=${place.tenantId}`, {
    as: server.admin,
    headers: { 'idempotency-key': randomUUID() },
    body,
  });
  await sendSpans(server, account, [chat('gpt-5', { 'gen_ai.provider.name': 'openai' })]);
  const { id } = await server.ok('POST', '/v1/gateways', { as: account, body: { name: 'edge' } });
  await server.ok('POST', `/v1/gateways/${id}/sessions`, { as: account });
  const registration = { user: { email: 'unclaimed@example.com' } };
  const { user } = await server.ok('POST', '/v1/onboarding/register', { body: registration });
  await startConsoleSession(server, user.id);
  await offerMembership(server, 'invited@example.com', place, 'viewer');
  const gone = unique('gone');
  await accountWithKey(server, { tenantId: gone });
  await server.ok('DELETE', `/v1/tenants/${gone}`, { as: server.admin });

  server.travel(500 * DAY_MS);
  const stop = startHousekeeping(server.services);
  onTestFinished(stop);
  const tables = [
    'console_sessions',
    'gateway_grants',
    'gateway_sessions',
    'idempotency_keys',
    'telemetry_calls',
    'traces',
    'usage_rollups',
  ] as const;
  const left = async () => ({
    tables: await Promise.all(tables.map((table) => db.selectFrom(table).selectAll().execute())),
    invitations: await db.selectFrom('memberships').select('user_id').where('accepted_at', 'is', null).execute(),
    users: await db.selectFrom('users').select('email').where('id', '=', user.id).execute(),
    tenants: await db.selectFrom('tenants').select('erased_at').where('id', '=', gone).execute(),
    tasks: await db.selectFrom('operator_tasks').select('kind').where('kind', '=', 'rotate_credential').execute(),
  });
  await vi.waitFor(
    async () =>
      expect(await left()).toEqual({
        tables: tables.map(() => []),
        invitations: [],
        users: [],
        tenants: [{ erased_at: expect.any(String) }],
        tasks: [{ kind: 'rotate_credential' }],
      }),
    { timeout: 20_000, interval: 20 },
  );
});

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
  const refusals = { ...services.audit.refusals, flush: async (which: 'all' | 'over') => flushed.resolve(which) };
  const stop = startHousekeeping({ ...services, erasures, audit: { ...services.audit, refusals } });
  onTestFinished(() => {
    released.resolve();
    return stop();
  });
  await begun.promise;
  vi.advanceTimersByTime(MINUTE_MS);
  expect(await flushed.promise).toBe('over');
});
