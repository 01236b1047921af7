import * as contract from '@quartermaster/contracts/service-account-keys.ts';
import { beforeAll, expect, test } from 'vitest';
import { accountWithKey, memberWithToken } from '../support/people.ts';
import type { Body, Credential } from '../support/server.ts';
import { auditOf, checkCoverageAfterAll, type Endpoints, expectInvalid, expectProblem, serverFor } from './harness.ts';
import { expectOwnCursorsOnly, expectStablePages, idsOf } from './lists.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor(contract);
});
checkCoverageAfterAll(() => server);

const keysOf = (accountId: string) => `/v1/service-accounts/${accountId}/keys`;
const fromNow = (milliseconds: number) => new Date(server.services.now().getTime() + milliseconds).toISOString();
const works = async (key: string) =>
  (await server.call('PUT', '/v1/me/profile', { as: { key }, body: {} })).status === 200;

function create(accountId: string, body: object = {}, as: Credential = server.admin): Promise<Body> {
  return server.ok('POST', keysOf(accountId), { as, body: { scopes: ['providers:read'], ...body } });
}

test('create_service_account_key shows the key only in its own answer', async () => {
  const { id } = await accountWithKey(server, { tenantId: 'create-1', subTenantId: 'eu' });
  const expiresAt = fromNow(30 * DAY);
  const scopes = ['providers:read', 'traces:write', 'providers:read'];
  const { key, ...record } = await create(id, { name: 'ci', scopes, expiresAt });
  expect(record).toMatchObject({
    tenantId: 'create-1',
    subTenantId: 'eu',
    kind: 'api_key',
    name: 'ci',
    ownerType: 'service_account',
    ownerId: id,
    scopes: ['providers:read', 'traces:write'],
    status: 'active',
    expiresAt,
    lastUsedAt: null,
    createdBy: 'service_account:default/bootstrap',
    revokedAt: null,
    rotationCount: 0,
  });
  expect(key.startsWith(record.prefix)).toBe(true);
  expect(key.length - record.prefix.length).toBeGreaterThan(40);
  const secret = key.slice(record.prefix.length);
  const shown = [
    await server.call('GET', keysOf(id), { as: server.admin }),
    await server.call('POST', '/v1/credentials/search', { as: server.admin, body: { ownerId: id } }),
    await server.call('GET', `/v1/audit-events?target_id=${record.id}`, { as: server.admin }),
    await server.call('GET', `/v1/service-accounts/${id}`, { as: server.admin }),
  ];
  for (const { text } of shown) expect(text).not.toContain(secret);
  expect(shown[0]?.body.items).toContainEqual(record);
  const [event] = await auditOf(server, { target_id: record.id });
  expect(event).toMatchObject({ operation: 'create_service_account_key', target: { type: 'api_key', id: record.id } });
  expect(event.changedFields).toEqual(['expiresAt', 'name', 'scopes']);
});

test('the record of the account shows the number of its keys, and when the first of them expires', async () => {
  const { id, keyId } = await accountWithKey(server, { tenantId: 'counts-1' });
  const soonest = fromNow(20 * DAY);
  await create(id, { expiresAt: fromNow(40 * DAY) });
  await create(id, { expiresAt: soonest });
  await create(id, { expiresAt: fromNow(HOUR) });
  server.travel(2 * HOUR);
  await server.ok('DELETE', `${keysOf(id)}/${keyId}`, { as: server.admin });
  const account = await server.ok('GET', `/v1/service-accounts/${id}`, { as: server.admin });
  expect(account).toMatchObject({ keyCount: 4, activeKeyCount: 2, soonestKeyExpiryAt: soonest });
});

test('a key is active, then expiring for 14 days, then expired, and refused from then on', async () => {
  const { id } = await accountWithKey(server, { tenantId: 'expiry-1' });
  const { key, id: keyId } = await create(id, { expiresAt: fromNow(15 * DAY) });
  const statusNow = async () => {
    const { items } = await server.ok('GET', keysOf(id), { as: server.admin });
    return items.find((item: Body) => item.id === keyId).status;
  };
  expect(await statusNow()).toBe('active');
  server.travel(2 * DAY);
  expect(await statusNow()).toBe('expiring');
  expect(await works(key)).toBe(true);
  server.travel(13 * DAY);
  expect(await statusNow()).toBe('expired');
  expectProblem(await server.call('GET', '/v1/providers', { as: { key } }), 401, 'credentials_invalid');
});

test('an expiry that is not in the future is refused, for a new key and a rotated one', async () => {
  const { id, keyId } = await accountWithKey(server, { tenantId: 'expiry-2' });
  const expiresAt = fromNow(-1000);
  for (const path of [keysOf(id), `${keysOf(id)}/${keyId}/rotate`]) {
    const body = { expiresAt, ...(path === keysOf(id) && { scopes: ['*'] }) };
    const answered = await server.call('POST', path, { as: server.admin, body });
    expectInvalid(answered, { loc: ['body', 'expiresAt'], type: 'value_error' });
  }
});

test('a caller cannot create or rotate a key with more rights than their own', async () => {
  const scopes = ['credentials:write', 'providers:read'] as const;
  const { id, key } = await accountWithKey(server, { tenantId: 'grants-1' }, [...scopes]);
  const as = { key };
  expect((await create(id, { scopes: ['providers:read'] }, as)).scopes).toEqual(['providers:read']);
  const beyond = await server.call('POST', keysOf(id), { as, body: { scopes: ['providers:read', 'users:read'] } });
  expectProblem(beyond, 403, 'grant_exceeds_own');
  expect(beyond.body.detail).toContain('users:read');
  const all = await create(id, { scopes: ['*'] });
  const rotated = await server.call('POST', `${keysOf(id)}/${all.id}/rotate`, { as });
  expectProblem(rotated, 403, 'grant_exceeds_own');
});

test('rotating keeps name, scopes and lifetime, and the old key works until the overlap ends', async () => {
  const { id } = await accountWithKey(server, { tenantId: 'rotate-1' });
  const old = await create(id, { name: 'ci', expiresAt: fromNow(60 * DAY) });
  server.travel(10 * DAY);
  const path = `${keysOf(id)}/${old.id}/rotate`;
  const fresh = await server.ok('POST', path, { as: server.admin, body: { overlapSeconds: 600 } });
  expect(fresh).toMatchObject({ name: 'ci', scopes: old.scopes, rotationCount: 1, status: 'active' });
  expect(fresh.id).not.toBe(old.id);
  expect(Date.parse(fresh.expiresAt) - Date.parse(fresh.createdAt)).toBe(
    Date.parse(old.expiresAt) - Date.parse(old.createdAt),
  );
  server.travel(599_000);
  expect([await works(old.key), await works(fresh.key)]).toEqual([true, true]);
  server.travel(2000);
  expect([await works(old.key), await works(fresh.key)]).toEqual([false, true]);
  expectProblem(await server.call('POST', path, { as: server.admin }), 409, 'key_not_active');
  const events = await auditOf(server, { operation: 'rotate_service_account_key' });
  expect(events.map((event) => event.target.id)).toEqual(expect.arrayContaining([old.id, fresh.id]));
});

test('rotating without overlap ends the old key at once, and an overlap never prolongs one', async () => {
  const { id } = await accountWithKey(server, { tenantId: 'rotate-2' });
  const old = await create(id);
  const fresh = await server.ok('POST', `${keysOf(id)}/${old.id}/rotate`, {
    as: server.admin,
    body: { overlapSeconds: 0, expiresAt: fromNow(HOUR) },
  });
  expect([await works(old.key), await works(fresh.key)]).toEqual([false, true]);
  await server.ok('POST', `${keysOf(id)}/${fresh.id}/rotate`, {
    as: server.admin,
    body: { overlapSeconds: 604_800, expiresAt: null },
  });
  server.travel(HOUR + 1000);
  expect(await works(fresh.key)).toBe(false);
  const { items } = await server.ok('GET', `${keysOf(id)}?status=active`, { as: server.admin });
  expect(items.map((item: Body) => [item.rotationCount, item.expiresAt])).toContainEqual([2, null]);
});

test('revoking ends a key at once; its record stays, and revoking it a second time is 404', async () => {
  const { id } = await accountWithKey(server, { tenantId: 'revoke-1' });
  const { key, id: keyId } = await create(id);
  const path = `${keysOf(id)}/${keyId}`;
  const revoked = await server.ok('DELETE', path, { as: server.admin });
  expect(revoked).toMatchObject({ id: keyId, status: 'revoked', revokedAt: expect.any(String) });
  expect(await works(key)).toBe(false);
  expectProblem(await server.call('DELETE', path, { as: server.admin }), 404, 'key_not_found');
  expectProblem(await server.call('POST', `${path}/rotate`, { as: server.admin }), 409, 'key_not_active');
  const [event] = await auditOf(server, { operation: 'revoke_service_account_key', target_id: keyId });
  expect(event.changedFields).toEqual(['revokedAt']);
});

test('each use updates lastUsedAt of the key and of its account, to the minute', async () => {
  const { id, key, keyId } = await accountWithKey(server, { tenantId: 'used-1' });
  const lastUsed = async () => {
    const { items } = await server.ok('GET', keysOf(id), { as: server.admin });
    const account = await server.ok('GET', `/v1/service-accounts/${id}`, { as: server.admin });
    return [items.find((item: Body) => item.id === keyId).lastUsedAt, account.lastUsedAt];
  };
  expect(await lastUsed()).toEqual([null, null]);
  await works(key);
  const [used] = await lastUsed();
  expect(await lastUsed()).toEqual([used, used]);
  expect(Math.abs(Date.parse(used) - server.services.now().getTime())).toBeLessThan(60_000);
  server.travel(30_000);
  await works(key);
  expect(await lastUsed()).toEqual([used, used]);
  server.travel(31_000);
  await works(key);
  const [later, onAccount] = await lastUsed();
  expect(onAccount).toBe(later);
  expect(Date.parse(later) - Date.parse(used)).toBeGreaterThanOrEqual(60_000);
});

test('an inactive account cannot get a new key or rotate one', async () => {
  const { id, keyId } = await accountWithKey(server, { tenantId: 'inactive-1' });
  await server.ok('POST', `/v1/service-accounts/${id}/disable`, { as: server.admin });
  const made = await server.call('POST', keysOf(id), { as: server.admin, body: { scopes: ['*'] } });
  expectProblem(made, 409, 'service_account_not_active');
  const rotated = await server.call('POST', `${keysOf(id)}/${keyId}/rotate`, { as: server.admin });
  expectProblem(rotated, 409, 'service_account_not_active');
});

test('only platform administrators create, rotate and revoke keys of a platform administrator', async () => {
  const owner = await memberWithToken(server, { tenantId: 'default' }, 'owner');
  const as = { token: owner.token };
  const { items } = await server.ok('GET', keysOf('bootstrap'), { as });
  const path = `${keysOf('bootstrap')}/${items[0].id}`;
  const body = { scopes: ['providers:read'] };
  const calls = [
    await server.call('POST', keysOf('bootstrap'), { as, body }),
    await server.call('POST', `${path}/rotate`, { as }),
    await server.call('DELETE', path, { as }),
  ];
  for (const answered of calls) expectProblem(answered, 403, 'platform_administrator_required');
});

test('an account or key that is missing is 404, and an account id of several tenants 409 until tenant_id is named', async () => {
  const { id, keyId } = await accountWithKey(server, { tenantId: 'twin-1' });
  await server.ok('POST', '/v1/service-accounts', { as: server.admin, body: { id, name: id, tenantId: 'twin-2' } });
  const other = await accountWithKey(server, { tenantId: 'twin-3' });
  const calls: [string, (accountId: string, keyId: string) => string, object?][] = [
    ['POST', keysOf, { scopes: ['*'] }],
    ['GET', keysOf],
    ['POST', (account, key) => `${keysOf(account)}/${key}/rotate`],
    ['DELETE', (account, key) => `${keysOf(account)}/${key}`],
  ];
  for (const [method, path, body] of calls) {
    const sent = { as: server.admin, ...(body && { body }) };
    expectProblem(await server.call(method, path('nobody', keyId), sent), 404, 'service_account_not_found');
    expectProblem(await server.call(method, path(id, keyId), sent), 409, 'ambiguous_id');
    await server.ok(method, `${path(id, keyId)}?tenant_id=twin-1`, sent);
    if (path === keysOf) continue;
    expectProblem(await server.call(method, path(other.id, keyId), sent), 404, 'key_not_found');
  }
});

test('list_service_account_keys filters by status and walks all pages', async () => {
  const { id, keyId, key } = await accountWithKey(server, { tenantId: 'list-1' });
  const listing = { path: keysOf(id), as: server.admin };
  const revoked = await create(id);
  await server.ok('DELETE', `${keysOf(id)}/${revoked.id}`, { as: server.admin });
  const expiring = await create(id, { expiresAt: fromNow(DAY) });
  const rows: [string, string[]][] = [
    ['active', [keyId]],
    ['revoked', [revoked.id]],
    ['expiring', [expiring.id]],
    ['expired', []],
  ];
  for (const [status, expected] of rows) expect(await idsOf(server, listing, { status }), status).toEqual(expected);
  await expectStablePages(server, listing, async () => (await create(id)).id);
  const { id: other } = await accountWithKey(server, { tenantId: 'list-1' });
  await expectOwnCursorsOnly(server, listing, {
    filter: { status: 'active' },
    list: { path: keysOf(other) },
    principal: { key },
  });
});
