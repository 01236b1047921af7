import type { ServerResponse } from 'node:http';
import { findProvidersDueForSync } from '@quartermaster/db/repositories/providers.ts';
import { EVERYWHERE } from '@quartermaster/db/tenancy.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eraseDeletedTenants } from '../src/resources/tenants/erase-deleted.ts';
import { expectProblem } from './endpoints/harness.ts';
import { newTenant } from './governance/loop-support.ts';
import { LOOPBACK, startPeer } from './inventory-sync/peers.ts';
import { accountWithKey, memberWithToken, unique } from './support/people.ts';
import { makeRecords, TENANT } from './support/records.ts';
import { startTestServer, type TestServer } from './support/server.ts';
import { expectErased, rowsOf } from './tenant-erasure.ts';

const HOUR_MS = 3600 * 1000;
const DUE = { limit: 10, perTenant: 10 };

let server: TestServer;
beforeAll(async () => {
  // Its jobs would write while a test compares the database.
  server = await startTestServer(LOOPBACK, { noHousekeeping: true });
});
afterAll(() => server.stop());

const remove = (tenantId: string, as: Parameters<TestServer['call']>[2] = { as: server.admin }) =>
  server.call('DELETE', `/v1/tenants/${tenantId}`, as);

// The deep form erases a tenant of the seed.
test('the data of a deleted tenant are erased, and its audit events and all data of others stay', async () => {
  await makeRecords(server);
  const { tenantId: other, see } = await newTenant(server);
  await see('gpt-5');
  await expectErased(server, { id: TENANT, other, rows: 30 });
});

test('regression: counts that waited in memory are not stored for a tenant that is erased', async () => {
  const { tenantId, see } = await newTenant(server);
  await see('gpt-5');
  // The first counts of an account are written at once, and further ones a minute later.
  await see('gpt-5');
  await remove(tenantId);
  server.travel(HOUR_MS);
  await eraseDeletedTenants(server.services);
  await server.services.telemetry.accounts.flush('all');
  await server.services.audit.sealer.pass();
  expect(Object.keys(await rowsOf(server, tenantId))).toEqual(['audit_chain', 'audit_events', 'audit_heads']);
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
