import { addStoredBytes, countTenantUsage, usersOfTenant } from '@quartermaster/db/repositories/tenant-usage.ts';
import { countedRecordBytes } from '@quartermaster/db/testing/record-bytes.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import { secretBox } from '../../src/platform/secret-box.ts';
import { removeUnusedGrants } from '../../src/resources/gateway-sessions/unused-grants.ts';
import { removeExpiredKeys } from '../../src/http/idempotency/expiry.ts';
import { dropUnreadableAnswers } from '../../src/http/idempotency/reseal.ts';
import { LOOPBACK, startPeer } from '../inventory-sync/peers.ts';
import { memberWithToken, unique } from '../support/people.ts';
import type { Body } from '../support/server.ts';
import { checkCoverageAfterAll, type Endpoints, expectProblem, serverFor } from './harness.ts';
import { newTenant } from './limited-tenant.ts';

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor({}, LOOPBACK);
});

checkCoverageAfterAll(() => server);

describe('regression: stored bytes', () => {
  const HOUR_MS = 3_600_000;
  const storedBytesOf = async (usage: () => Promise<Body>): Promise<number> => (await usage()).storedBytes.used;
  /** The stored bytes of what is not a record. */
  const otherBytesOf = async ({
    tenantId,
    usage,
  }: {
    tenantId: string;
    usage: () => Promise<Body>;
  }): Promise<number> => {
    const records = (await countedRecordBytes(server.services.db))[tenantId] ?? 0;
    return (await storedBytesOf(usage)) - records;
  };

  test('answers that are stored for an Idempotency-Key count until they are removed or replaced', async () => {
    const tenant = await newTenant(server);
    const { as, setLimits, usage } = tenant;
    const create = (key: string, name: string) =>
      server.call('POST', '/v1/service-accounts', { as, body: { name }, headers: { 'idempotency-key': key } });
    const name = 'a'.repeat(150);
    const key = unique('key');
    expect((await create(key, name)).status).toBe(200);
    const one = await otherBytesOf(tenant);
    expect(one).toBeGreaterThan(200);
    expect((await create(key, name)).headers.get('idempotency-replayed')).toBe('true');
    expect(await otherBytesOf(tenant)).toBe(one);
    const before = await usage();
    await setLimits({ storedBytes: before.storedBytes.used });
    const other = unique('key');
    expectProblem(await create(other, name), 409, 'tenant_limit_reached');
    expect(await usage()).toMatchObject({
      storedBytes: { used: before.storedBytes.used },
      serviceAccounts: before.serviceAccounts,
    });
    // The refusal is not stored for the key. The first answer is still repeated.
    await setLimits({ storedBytes: null });
    expect((await create(other, name)).headers.get('idempotency-replayed')).toBeNull();
    expect((await create(key, name)).headers.get('idempotency-replayed')).toBe('true');
    const two = await otherBytesOf(tenant);
    expect(two).toBeGreaterThan(one);

    server.travel(25 * HOUR_MS);
    expect((await create(key, name)).headers.get('idempotency-replayed')).toBeNull();
    expect(await otherBytesOf(tenant)).toBe(two);
    await removeExpiredKeys(server.services);
    expect(await otherBytesOf(tenant)).toBe(one);
    server.travel(25 * HOUR_MS);
    await removeExpiredKeys(server.services);
    expect(await otherBytesOf(tenant)).toBe(0);
  });

  test('an operation that calls another server is refused at the limit before the call, and its stored answer counts', async () => {
    const tenant = await newTenant(server);
    const { as, setLimits } = tenant;
    const peer = await startPeer((_req, res) => res.end('{"object":"list","data":[]}'));
    const body = { name: 'models', kind: 'llm', baseUrl: peer.url };
    const provider = await server.ok('POST', '/v1/providers', { as, body });
    const sync = () =>
      server.call('POST', `/v1/providers/${provider.id}/sync`, { as, headers: { 'idempotency-key': unique('key') } });
    await setLimits({ storedBytes: 0 });
    expectProblem(await sync(), 409, 'tenant_limit_reached');
    expect(peer.requests).toEqual([]);
    expect(await otherBytesOf(tenant)).toBe(0);
    await setLimits({ storedBytes: null });
    const answered = await sync();
    const used = await otherBytesOf(tenant);
    expect(answered.status, answered.text).toBe(200);
    expect(used).toBeGreaterThan(100);
  });

  test('answers that are kept for the users of a tenant count together, apart from the tenant, until they are removed', async () => {
    const tenant = await newTenant(server);
    const { tenantId } = tenant;
    const [one, other] = [
      await memberWithToken(server, { tenantId }, 'admin'),
      await memberWithToken(server, { tenantId }, 'admin'),
    ];
    const stranger = await memberWithToken(server, { tenantId: (await newTenant(server)).tenantId }, 'admin');
    const write = (
      { token }: { token: string },
      headers: Record<string, string> = { 'idempotency-key': unique('key') },
    ) =>
      server.call('POST', '/v1/gateways', {
        as: { token },
        headers,
        body: { name: unique('gateway'), providerIds: [] },
      });
    const { db } = server.services;
    const kept = () =>
      countTenantUsage(db, usersOfTenant(tenantId), { resource: 'storedBytes', most: 1 }, server.services.now());
    expect(await kept()).toBe(0);
    const tenantBytes = await otherBytesOf(tenant);
    expect((await write(one)).status).toBe(200);
    const first = await kept();
    expect(first).toBeGreaterThan(200);
    expect((await write(other)).status).toBe(200);
    expect(await kept()).toBeGreaterThan(first + 200);
    expect(await otherBytesOf(tenant)).toBe(tenantBytes);

    const limit = 1024 ** 3;
    await addStoredBytes(db, usersOfTenant(tenantId), limit - (await kept()), server.services.now());
    server.travel(6000);
    for (const user of [one, other]) expectProblem(await write(user), 409, 'tenant_limit_reached');
    expect((await write(one, {})).status).toBe(200);
    expect((await write(stranger)).status).toBe(200);
    expect(await kept()).toBe(limit);
    server.travel(25 * HOUR_MS);
    const before = await kept();
    await removeExpiredKeys(server.services);
    expect(await kept()).toBeLessThan(before - first);
  });

  test('stored answers that are dropped because their secret key is lost do not count any more', async () => {
    const tenant = await newTenant(server);
    const { as } = tenant;
    const headers = { 'idempotency-key': unique('key') };
    await server.ok('POST', '/v1/service-accounts', { as, body: { name: 'agent' }, headers });
    expect(await otherBytesOf(tenant)).toBeGreaterThan(100);
    await dropUnreadableAnswers({ db: server.services.db, secrets: secretBox(Buffer.alloc(32, 9)) });
    expect(await otherBytesOf(tenant)).toBe(0);
  });

  test('each new set of grants of sessions counts until it is removed', async () => {
    const tenant = await newTenant(server);
    const { tenantId, as, setLimits, usage } = tenant;
    const provider = await server.ok('POST', '/v1/providers', { as, body: { name: 'tools', kind: 'mcp' } });
    const declare = (name: string) =>
      server.ok('POST', `/v1/providers/${provider.id}/inventory`, { as, body: { kind: 'tool', name } });
    await declare('é'.repeat(100));
    const body = { name: 'edge', providerIds: [provider.id] };
    const gateway = await server.ok('POST', '/v1/gateways', { as, body });
    const open = () => server.call('POST', `/v1/gateways/${gateway.id}/sessions`, { as, body: {} });
    expect((await open()).status).toBe(200);
    const one = await otherBytesOf(tenant);
    expect(one).toBeGreaterThanOrEqual(300);
    expect((await open()).status).toBe(200);
    expect(await otherBytesOf(tenant)).toBe(one);
    await declare('ü'.repeat(100));
    // There is room for the session, but not for its grants.
    await setLimits({ storedBytes: (await storedBytesOf(usage)) + 1100 });
    expectProblem(await open(), 409, 'tenant_limit_reached');
    expect(await usage()).toMatchObject({ openSessions: { used: 2 } });
    expect(await otherBytesOf(tenant)).toBe(one);
    await setLimits({ storedBytes: null });
    expect((await open()).status).toBe(200);
    expect(await otherBytesOf(tenant)).toBeGreaterThan(one + 200);

    await server.services.db.deleteFrom('gateway_session_grants').where('tenant_id', '=', tenantId).execute();
    server.travel(2 * HOUR_MS);
    await removeUnusedGrants(server.services);
    expect(await otherBytesOf(tenant)).toBe(0);
  });
});
