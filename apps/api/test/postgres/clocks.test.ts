import type { ServerResponse } from 'node:http';
import { reservePoints } from '@quartermaster/db/repositories/rate-limits.ts';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { removePastWindows } from '../../src/http/rate-limits/shared-points.ts';
import { compareClocks, startHousekeeping } from '../../src/server/housekeeping.ts';
import { newTenant } from '../governance/loop-support.ts';
import { LOOPBACK, startPeer } from '../inventory-sync/peers.ts';
import { lockTable } from '../support/locked-table.ts';
import { accountWithKey, unique } from '../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { all, chat, exportRequest, sendSpans } from '../telemetry/traces/sending.ts';

const DAY_MS = 24 * 3600 * 1000;

// Services on one database whose clocks differ by 90 s, which is longer than the leases in these tests.
let one: TestServer;
let ahead: TestServer;
let behind: TestServer;
beforeAll(async () => {
  one = await startTestServer(LOOPBACK);
  ahead = await startTestServer({ ...LOOPBACK, DATABASE_URL: one.databaseUrl });
  ahead.skew(90_000);
  behind = await startTestServer({ ...LOOPBACK, DATABASE_URL: one.databaseUrl });
  behind.skew(-90_000);
});
afterAll(async () => {
  await Promise.all([ahead.stop(), behind.stop()]);
  await one.stop();
});

test('regression: a claim is not taken over by a process whose clock is ahead', async () => {
  const tenant = await newTenant(one);
  await tenant.see('unknown-model');
  const [task] = await tenant.tasks();
  const path = `/v1/operator/tasks/${task?.id}`;
  const claimed = await one.ok('POST', `${path}/claim`, { as: tenant.operator, body: { leaseSeconds: 60 } });
  const other = await accountWithKey(one, { tenantId: tenant.tenantId });
  const taken = await ahead.call('POST', `${path}/claim`, { as: other });
  expect([taken.status, taken.body.code]).toEqual([409, 'operator_task_claimed']);
  expect(await ahead.ok('GET', path, { as: other })).toMatchObject({
    status: 'claimed',
    leaseExpiresAt: claimed.leaseExpiresAt,
  });
  // A claim by a process whose clock is behind lasts as long as requested.
  const [second] = await (await tenantWithTask()).tasks();
  const lease = await behind.ok('POST', `/v1/operator/tasks/${second?.id}/claim`, {
    as: one.admin,
    body: { leaseSeconds: 60 },
  });
  expect(Date.parse(lease.leaseExpiresAt)).toBeGreaterThan(Date.now());
});

async function tenantWithTask() {
  const tenant = await newTenant(one);
  await tenant.see('unknown-model');
  return tenant;
}

test('regression: a running sync is not taken over by a process whose clock is ahead', async () => {
  const held: ServerResponse[] = [];
  const peer = await startPeer((_req, res) => void held.push(res));
  const body = { name: unique('llm'), kind: 'llm', baseUrl: peer.url };
  const provider = await one.ok('POST', '/v1/providers', { as: one.admin, body });
  const running = one.call('POST', `/v1/providers/${provider.id}/sync`, { as: one.admin });
  await vi.waitFor(() => expect(held).toHaveLength(1), { timeout: 60_000 });
  const second = await ahead.call('POST', `/v1/providers/${provider.id}/sync`, { as: one.admin });
  expect([second.status, second.body.code]).toEqual([409, 'sync_running']);
  held[0]?.end(JSON.stringify({ object: 'list', data: [{ id: 'm' }] }));
  expect((await running).status).toBe(200);
});

test('regression: a sync that a process with a slow clock scheduled is not due early for a process with a fast clock', async () => {
  const body = { name: unique('llm'), kind: 'llm', baseUrl: 'http://127.0.0.1:9', syncIntervalSeconds: 300 };
  const { id } = await behind.ok('POST', '/v1/providers', { as: one.admin, body });
  const row = await one.services.db
    .selectFrom('providers')
    .select('next_sync_at')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  expect(Math.abs(Date.parse(row.next_sync_at ?? '') - Date.now() - 300_000)).toBeLessThan(60_000);
});

test('regression: a key in use is not taken over by a process whose clock is ahead', async () => {
  const unlock = await lockTable(one.databaseUrl, 'providers');
  const sent = {
    as: one.admin,
    body: { name: unique('keyed'), kind: 'llm' },
    headers: { 'idempotency-key': unique('key') },
  };
  const first = one.call('POST', '/v1/providers', sent);
  const claimed = async () => {
    const rows = await one.services.db.selectFrom('idempotency_keys').select('claim').execute();
    expect(rows.length).toBeGreaterThan(0);
  };
  await vi.waitFor(claimed, { timeout: 60_000 });
  const repeated = await ahead.call('POST', '/v1/providers', sent);
  expect([repeated.status, repeated.body.code]).toEqual([409, 'idempotency_key_in_use']);
  await unlock();
  expect((await first).status).toBe(200);
});

test('regression: an adoption cannot be undone if a process whose clock is behind added an item since', async () => {
  const tenant = await newTenant(one);
  const as = tenant.operator;
  await sendSpans(one, tenant.sender, [chat('m', { 'gen_ai.provider.name': 'mistral_ai' })]);
  const [provider] = await all(one, '/v1/providers?status=discovered', as);
  const path = `/v1/providers/${provider.id}`;
  const [adopt]: Body[] = await all(one, `${path}/recommendations?kind=adopt_provider`, as);
  await one.ok('POST', `${path}/recommendations/apply`, { as, body: { recommendationIds: [adopt.id] } });
  const item = await behind.ok('POST', `${path}/inventory`, { as, body: { kind: 'model', name: 'n' } });
  const undo = () => one.call('POST', `/v1/recommendations/${adopt.id}/undo`, { as });
  const refused = await undo();
  expect([refused.status, refused.body.code]).toEqual([409, 'recommendation_built_on']);
  expect(refused.body.detail).toContain('inventory of the provider has new items');
  await behind.ok('DELETE', `${path}/inventory/${item.id}`, { as });
  expect((await undo()).status).toBe(200);
});

async function keepSpansForAMonth(tenantId: string): Promise<void> {
  await one.ok('PUT', `/v1/tenants/${tenantId}`, { as: one.admin, body: { settings: { spanRetentionDays: 30 } } });
}

test('regression: a process whose clock is far ahead removes nothing that is not old by the clock of the database', async () => {
  const tenant = await newTenant(one);
  await keepSpansForAMonth(tenant.tenantId);
  await sendSpans(one, tenant.sender, [chat('m', { 'gen_ai.provider.name': tenant.provider.name })]);
  const { db } = one.services;
  const rows = async () => {
    const count = async (table: 'traces' | 'usage_rollups' | 'span_blocks') =>
      (await db.selectFrom(table).select('tenant_id').where('tenant_id', '=', tenant.tenantId).execute()).length;
    return Promise.all([count('traces'), count('span_blocks'), count('usage_rollups')]);
  };
  const before = await rows();
  expect(before.every((count) => count > 0)).toBe(true);
  const now = () => new Date(Date.now() + 1000 * DAY_MS);
  const stop = startHousekeeping({ ...ahead.services, now });
  await stop();
  expect(await rows()).toEqual(before);
});

test('regression: a process whose clock is far ahead makes no room by removing traces that are not old', async () => {
  const tenant = await newTenant(one);
  const spans = (model: string) => [chat(model, { 'gen_ai.provider.name': tenant.provider.name })];
  await keepSpansForAMonth(tenant.tenantId);
  await sendSpans(one, tenant.sender, spans('first'));
  await one.ok('PUT', `/v1/tenants/${tenant.tenantId}/limits`, { as: one.admin, body: { storedBytes: 1 } });
  ahead.skew(1000 * DAY_MS);
  const { status } = await ahead.call('POST', '/v1/traces', {
    as: tenant.sender,
    body: exportRequest(spans('second')),
  });
  ahead.skew(90_000);
  expect(status).toBe(409);
  const { items } = await one.ok('GET', `/v1/traces?tenant_id=${tenant.tenantId}`, { as: one.admin });
  expect(items).toHaveLength(1);
});

test('regression: a process whose clock is far ahead does not forget what others have counted for a rate limit', async () => {
  const { db } = one.services;
  const windowStart = new Date(Math.floor(Date.now() / 60_000) * 60_000).toISOString();
  const window = { tenantId: '', policy: 'principal', caller: unique('caller'), windowStart };
  await reservePoints(db, window, 5);
  ahead.skew(DAY_MS);
  await removePastWindows(ahead.services);
  ahead.skew(90_000);
  expect(await reservePoints(db, window, 5)).toBe(10);
});

test('a process reports in its log and its metrics that its clock is wrong', async () => {
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  await compareClocks({ ...one.services, log });
  expect(lines).toEqual([]);
  await compareClocks({ ...ahead.services, log });
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? '').offsetSeconds).toBeGreaterThan(80);
  const metrics = await ahead.services.metrics.registry.getSingleMetricAsString(
    'quartermaster_database_clock_offset_seconds',
  );
  expect(Number(/ (\d+)/.exec(metrics.split('\n').at(-1) ?? '')?.[1])).toBeGreaterThan(80);
});
