import type { ServerResponse } from 'node:http';
import { ERASED_TABLES } from '@quartermaster/db/repositories/deleted-tenants.ts';
import { findProvidersDueForSync } from '@quartermaster/db/repositories/providers.ts';
import { sumStoredBytes } from '@quartermaster/db/repositories/tenant-usage.ts';
import { EVERYWHERE } from '@quartermaster/db/tenancy.ts';
import { seed } from '@quartermaster/seed/seed.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eraseDeletedTenants } from '../src/resources/tenants/erase-deleted.ts';
import { auditOf, expectProblem } from './endpoints/harness.ts';
import { newTenant } from './governance/loop-support.ts';
import { LOOPBACK, startPeer } from './inventory-sync/peers.ts';
import { accountWithKey, memberWithToken, unique } from './support/people.ts';
import { startTestServer, type TestServer } from './support/server.ts';
import { tablesOf } from './support/tables.ts';

const HOUR_MS = 3600 * 1000;
const DUE = { limit: 10, ofTenant: 10 };
const DAY_MS = 24 * HOUR_MS;

let server: TestServer;
beforeAll(async () => {
  // Its jobs would write while a test compares the database.
  server = await startTestServer(LOOPBACK, { noHousekeeping: true });
});
afterAll(() => server.stop());

const remove = (tenantId: string, as: Parameters<TestServer['call']>[2] = { as: server.admin }) =>
  server.call('DELETE', `/v1/tenants/${tenantId}`, as);

/** The rows of one tenant, by table. Tables without any are left out. */
async function rowsOf(tenantId: string): Promise<Record<string, unknown[]>> {
  const tables = Object.entries(await tablesOf(server.services.db, tenantId));
  const own = tables.map(([name, rows]) => [name, rows.filter((row) => row['tenant_id'] === tenantId)] as const);
  return Object.fromEntries(own.filter(([, rows]) => rows.length > 0));
}

/** Fills the tables that the seed leaves empty. */
async function fillOtherTables(tenantId: string): Promise<void> {
  const { db } = server.services;
  const { key } = await accountWithKey(server, { tenantId });
  const headers = { 'idempotency-key': unique('key') };
  const body = { name: unique('other'), kind: 'llm', aliases: [unique('alias')] };
  await server.ok('POST', '/v1/providers', { as: { key }, headers, body });
  await server.ok('PUT', `/v1/tenants/${tenantId}/limits`, { as: server.admin, body: { gateways: 500 } });
  await sumStoredBytes(db);
  await db.insertInto('stored_bytes_changes').values({ tenant_id: tenantId, id: 'c', bytes: 1 }).execute();
  const [place, time] = [{ tenant_id: tenantId, sub_tenant_id: '' }, new Date().toISOString()];
  const window = { policy: 'p', caller: 'c', window_start: time, reserved: 1 };
  await db
    .insertInto('rate_limit_windows')
    .values({ tenant_id: tenantId, ...window })
    .execute();
  const call = { call_key: 'k', signal: 'log', first_seen_at: time } as const;
  await db
    .insertInto('telemetry_calls')
    .values({ ...place, ...call })
    .execute();
  await db.insertInto('telemetry_call_counts').values({ tenant_id: tenantId, sender: 's', calls: 1 }).execute();
  const share = { trace_id: 't', account: 'a', bytes: 1 };
  await db
    .insertInto('trace_accounts')
    .values({ ...place, ...share })
    .execute();
}

test('the data of a deleted tenant are erased, and its audit events and all data of others stay', async () => {
  await seed({ url: server.url, credential: server.admin, scale: 0.25 });
  const [id, other] = ['northwind', 'lighthouse-consulting'] as const;
  await fillOtherTables(id);
  await server.services.sealer.pass();
  const [before, others] = [await rowsOf(id), await rowsOf(other)];
  expect(ERASED_TABLES.filter((table) => before[table] === undefined)).toEqual([]);
  expect((await remove(id)).status).toBe(200);
  // A pass whose time is over stops after a batch.
  expect(await eraseDeletedTenants(server.services, 0)).toBeGreaterThan(0);
  expect(Object.keys(await rowsOf(id)).length).toBeGreaterThan(ERASED_TABLES.length - 3);
  expect(await eraseDeletedTenants(server.services)).toBeGreaterThan(1000);
  // Requests that were running at the deletion may still write.
  await server.services.db.insertInto('sub_tenants').values({ tenant_id: id, id: 'late', created_at: '' }).execute();
  server.travel(HOUR_MS);
  expect(await eraseDeletedTenants(server.services)).toBe(1);
  await server.services.sealer.pass();

  const after = await rowsOf(id);
  expect(Object.keys(after)).toEqual(['audit_chain', 'audit_events', 'audit_heads']);
  expect(after['audit_events']).toEqual(expect.arrayContaining(before['audit_events'] ?? []));
  expect(await rowsOf(other)).toEqual(others);
  const events = await auditOf(server, { tenant_id: id, target_id: id });
  expect(events.slice(0, 2)).toMatchObject([
    { operation: 'erase_tenant', actor: { type: 'system' } },
    { operation: 'delete_tenant', outcome: 'success', actor: { type: 'service_account' } },
  ]);
  const chain = await server.ok('GET', `/v1/audit-events/verify?tenant_id=${id}`, { as: server.admin });
  expect(chain).toMatchObject({ status: 'intact', nextCursor: null });
  server.travel(DAY_MS);
  expect(await eraseDeletedTenants(server.services)).toBe(0);
  expect(await auditOf(server, { tenant_id: id, operation: 'erase_tenant' })).toHaveLength(1);
}, 120_000);

test('regression: counts that waited in memory are not stored for a tenant that is erased', async () => {
  const { tenantId, see } = await newTenant(server);
  await see('gpt-5');
  // The first counts of an account are written at once, and further ones a minute later.
  await see('gpt-5');
  await remove(tenantId);
  server.travel(HOUR_MS);
  await eraseDeletedTenants(server.services);
  await server.services.accountTelemetry.flush('all');
  await server.services.sealer.pass();
  expect(Object.keys(await rowsOf(tenantId))).toEqual(['audit_chain', 'audit_events', 'audit_heads']);
});

describe('from the moment of the deletion', () => {
  test('the keys, members, invitations and sessions of the tenant give no access', async () => {
    const tenant = await newTenant(server);
    const { tenantId, operator, sender, provider } = tenant;
    const member = await memberWithToken(server, { tenantId }, 'owner');
    const syncPath = `/v1/providers/${provider.id}`;
    await server.ok('PUT', syncPath, {
      as: operator,
      body: { baseUrl: 'http://127.0.0.1:9/v1', syncIntervalSeconds: 3600 },
    });
    const body = { name: 'edge', providerIds: [provider.id] };
    const { id: gatewayId } = await server.ok('POST', '/v1/gateways', { as: operator, body });
    const sessions = `/v1/gateways/${gatewayId}/sessions`;
    const { token } = await server.ok('POST', sessions, { as: operator, body: {} });
    const check = { as: server.admin, body: { token } };
    expect((await server.ok('POST', `${sessions}/introspect`, check)).active).toBe(true);

    expect(await server.ok('DELETE', `/v1/tenants/${tenantId}`, { as: server.admin })).toMatchObject({ id: tenantId });
    expectProblem(await server.call('GET', '/v1/providers', { as: operator }), 401, 'credentials_invalid');
    expect((await server.call('POST', '/v1/traces', { as: sender, body: {} })).status).toBe(401);
    expect((await server.ok('GET', '/v1/me', { as: { token: member.token } })).places).toEqual([]);
    expect((await server.ok('POST', `${sessions}/introspect`, check)).active).toBe(false);
    const again = await server.call('POST', sessions, { as: server.admin, body: {} });
    expectProblem(again, 409, 'gateway_not_active');
    server.travel(2 * HOUR_MS);
    expect(await findProvidersDueForSync(server.services.db, EVERYWHERE, server.services.now(), DUE)).toEqual([]);
  });

  test('regression: a tenant that writes all the time is deleted as well', async () => {
    const { tenantId, operator, provider } = await newTenant(server);
    const body = { name: 'edge', providerIds: [provider.id] };
    const { id } = await server.ok('POST', '/v1/gateways', { as: operator, body });
    const writes = [
      () => server.call('POST', '/v1/service-accounts', { as: operator, body: { name: 'a' } }),
      () => server.call('POST', `/v1/gateways/${id}/sessions`, { as: operator, body: {} }),
      () => server.call('PUT', `/v1/providers/${provider.id}`, { as: operator, body: { description: unique('text') } }),
    ];
    let written = 0;
    const writing = [...writes, ...writes, ...writes, ...writes].map(async (write) => {
      while ((await write()).status === 200) written += 1;
    });
    await expect.poll(() => written).toBeGreaterThan(writing.length);
    expect(await server.ok('DELETE', `/v1/tenants/${tenantId}`, { as: server.admin })).toMatchObject({ id: tenantId });
    await Promise.all(writing);
  });

  test('regression: a sync that is running schedules no further one', async () => {
    const { tenantId, operator } = await newTenant(server);
    const asked = Promise.withResolvers<ServerResponse>();
    const { url: baseUrl } = await startPeer((_req, res) => asked.resolve(res));
    const body = { name: 'slow', kind: 'llm', baseUrl, syncIntervalSeconds: 3600 };
    const { id } = await server.ok('POST', '/v1/providers', { as: operator, body });
    const sync = server.call('POST', `/v1/providers/${id}/sync`, { as: operator });
    const listing = await asked.promise;
    await server.ok('DELETE', `/v1/tenants/${tenantId}`, { as: server.admin });
    listing.end(JSON.stringify({ object: 'list', data: [{ id: 'gpt-5' }] }));
    expectProblem(await sync, 502, 'sync_failed');
    server.travel(2 * HOUR_MS);
    expect(await findProvidersDueForSync(server.services.db, EVERYWHERE, server.services.now(), DUE)).toEqual([]);
  });

  test('the tenant does not exist any more, and its id is never used again', async () => {
    const tenantId = unique('deleted');
    await accountWithKey(server, { tenantId });
    expect((await remove(tenantId)).status).toBe(200);
    const as = server.admin;
    for (const [method, sent] of [['GET'], ['PUT', { body: {} }], ['DELETE']] as [string, object?][]) {
      const answered = await server.call(method, `/v1/tenants/${tenantId}`, { as, ...sent });
      expectProblem(answered, 404, 'tenant_not_found');
    }
    const { items } = await server.ok('GET', '/v1/tenants?limit=100', { as });
    expect(items.map(({ id }: { id: string }) => id)).not.toContain(tenantId);
    expectProblem(await server.call('POST', '/v1/tenants', { as, body: { id: tenantId } }), 409, 'id_taken');
    for (const createTenant of ['if_missing', 'always']) {
      const body = { tenantId, name: 'a', createTenant };
      expectProblem(await server.call('POST', '/v1/service-accounts', { as, body }), 409, 'tenant_deleted');
    }
    const provider = { tenantId, name: 'a', kind: 'llm' };
    expect((await server.call('POST', '/v1/providers', { as, body: provider })).status).toBe(422);
  });
});
