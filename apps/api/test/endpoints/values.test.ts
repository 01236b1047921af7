import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountWithKey, memberWithToken, unique } from '../support/people.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { expectProblem } from './harness.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const SEARCH = '/v1/service-accounts/search';

describe('times', () => {
  test.each(['abc', 'tomorrow', '2024-02-30', '2026-01-01', '2026-01-01T00:00:00', '9999-12-31T23:59:59-05:00'])(
    'in a search: %s is 422 at its place',
    async (createdAfter) => {
      const { status, body } = await server.call('POST', SEARCH, { as: server.admin, body: { createdAfter } });
      expect([status, body.detail[0].loc]).toEqual([422, ['body', 'createdAfter']]);
    },
  );

  test.each(['yesterday', ''])('in a query: %j is 422 at its place', async (text) => {
    const { status, body } = await server.call('GET', `/v1/audit-events?created_after=${text}`, { as: server.admin });
    expect([status, body.detail[0].loc]).toEqual([422, ['query', 'created_after']]);
  });

  test('with an offset are converted to UTC', async () => {
    const place = { tenantId: unique('times') };
    const account = await accountWithKey(server, place);
    const { createdAt } = await server.ok('GET', `/v1/service-accounts/${account.id}`, { as: account });
    const shifted = new Date(Date.parse(createdAt) - 1 + 3_600_000).toISOString().replace('Z', '+01:00');
    const body = { ...place, createdAfter: shifted };
    const { items } = await server.ok('POST', SEARCH, { as: account, body });
    expect(items).toHaveLength(1);
  });
});

describe('free JSON', () => {
  test.each(['/v1/service-accounts', '/v1/manifests', '/v1/providers'])(
    'numbers beyond a double are 422 at their place: POST %s',
    async (path) => {
      const fields = '"name":"n","kind":"agent","spec":{},"metadata":{"a":1e999}';
      const raw = path === '/v1/manifests' ? '{"name":"n","kind":"agent","spec":{"x-a":1e999}}' : `{${fields}}`;
      const headers = { 'content-type': 'application/json' };
      const answered = await server.call('POST', path, { as: server.admin, raw, headers });
      expect(answered.status, answered.text).toBe(422);
      expect(answered.body.detail[0].loc.at(-1)).toMatch(/^(x-)?a$/);
    },
  );

  test('a metadata filter may have 20 members; one with 21 is 422', async () => {
    const filter = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 1]));
    await server.ok('POST', SEARCH, { as: server.admin, body: { metadata: filter(20) } });
    const { status } = await server.call('POST', SEARCH, { as: server.admin, body: { metadata: filter(21) } });
    expect(status).toBe(422);
  });
});

test.each([' openai', 'openai ', 'open\u200bai', '\u202eevil', 'tab\tbed'])(
  'the name %j is refused, because it would look like another name',
  async (name) => {
    const { status, body } = await server.call('POST', '/v1/providers', {
      as: server.admin,
      body: { name, kind: 'llm' },
    });
    expect([status, body.detail[0].loc]).toEqual([422, ['body', 'name']]);
  },
);

describe('keys', () => {
  test('a rotated key cannot be rotated again, so a retry does not create a key that no caller received', async () => {
    const account = await accountWithKey(server, { tenantId: unique('rotated') });
    const path = `/v1/service-accounts/${account.id}/keys`;
    const rotations = await Promise.all(
      Array.from({ length: 4 }, () => server.call('POST', `${path}/${account.keyId}/rotate`, { as: account })),
    );
    expect(rotations.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409, 409]);
    const made = rotations.find(({ status }) => status === 200)?.body;
    expect(made).toMatchObject({ status: 'active', expiresAt: null, rotationCount: 1 });
    const { items } = await server.ok('GET', path, { as: account });
    expect(items).toHaveLength(2);
  });

  test('a key that expires cannot create a key that expires later', async () => {
    const account = await accountWithKey(server, { tenantId: unique('ending') });
    const path = `/v1/service-accounts/${account.id}/keys`;
    const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
    const body = { scopes: ['*'], expiresAt: inAnHour };
    const ending = await server.ok('POST', path, { as: account, body });
    const as = { key: ending.key };
    const later = new Date(Date.now() + 7_200_000).toISOString();
    const refused = await server.call('POST', path, { as, body: { scopes: ['traces:write'], expiresAt: later } });
    expectProblem(refused, 403, 'grant_exceeds_own');
    for (const expiresAt of [null, undefined, inAnHour]) {
      const made = await server.ok('POST', path, { as, body: { scopes: ['traces:write'], expiresAt } });
      expect(made.expiresAt).toBe(inAnHour);
    }
  });
});

test('a user can leave a tenant without any scope, except as its last owner', async () => {
  const tenantId = unique('left');
  await accountWithKey(server, { tenantId, subTenantId: 'eu' });
  const viewer = await memberWithToken(server, { tenantId, subTenantId: 'eu' }, 'viewer');
  const owner = await memberWithToken(server, { tenantId }, 'owner');
  const pathOf = (id: string) => `/v1/tenants/${tenantId}/memberships/${id}`;
  expectProblem(await server.call('DELETE', pathOf(owner.id), { as: viewer }), 403, 'scope_missing');
  await server.ok('DELETE', `${pathOf(viewer.id)}?sub_tenant_id=eu`, { as: viewer });
  expectProblem(await server.call('DELETE', pathOf(owner.id), { as: owner }), 409, 'last_owner');
});

test('accounts with the same id in two tenants are distinguished in sessions, tokens and the audit', async () => {
  const tenantId = unique('named');
  await server.ok('POST', '/v1/service-accounts', { as: server.admin, body: { id: 'bootstrap', name: 'b', tenantId } });
  const gateway = await server.ok('POST', '/v1/gateways', { as: server.admin, body: { name: 'edge', tenantId } });
  const path = `/v1/gateways/${gateway.id}/sessions`;
  const session = await server.ok('POST', path, { as: server.admin });
  expect(session.subject).toBe('service_account:default/bootstrap');
  await server.ok('POST', `/v1/service-accounts/bootstrap/disable?tenant_id=${tenantId}`, { as: server.admin });
  expect((await server.ok('GET', `${path}/${session.id}`, { as: server.admin })).status).toBe('active');
  const query = `?tenant_id=${tenantId}&operation=create_gateway`;
  const { items } = await server.ok('GET', `/v1/audit-events${query}`, { as: server.admin });
  expect(items[0].actor).toEqual({ type: 'service_account', id: 'bootstrap', tenantId: 'default' });
});
