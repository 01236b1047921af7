import type { Role } from '@quartermaster/contracts/scopes.ts';
import * as contract from '@quartermaster/contracts/users.ts';
import { beforeAll, expect, test } from 'vitest';
import { joinPlace, keyIn, memberWithToken, type Place, registeredUser, unique } from '../support/people.ts';
import type { Body } from '../support/server.ts';
import { all } from '../telemetry/traces/sending.ts';
import { auditOf, checkCoverageAfterAll, type Endpoints, expectProblem, serverFor } from './harness.ts';
import { expectFilters, expectOwnCursorsOnly, expectStablePages, idsOf } from './lists.ts';

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor(contract);
});
checkCoverageAfterAll(() => server);

const PATH = '/v1/users';
const ACCEPTED = { accepted: true, termsVersion: '1', privacyVersion: '1' };

type Person = { id: string; email: string; as: { token: string } };

/** A user who accepted a membership. */
async function member(place: Place, role: Role = 'viewer'): Promise<Person> {
  const { id, email, token } = await memberWithToken(server, place, role);
  return { id, email, as: { token } };
}

const join = ({ email, as }: Person, tenantId: string, role: Role): Promise<Body> =>
  joinPlace(server, { email, token: as.token }, { place: { tenantId }, role });

function tenant(id: string, subTenantId?: string): Promise<{ key: string }> {
  return keyIn(server, { tenantId: id, subTenantId });
}

test('get_user answers administrators, platform administrators, and the user without any membership', async () => {
  await tenant('see-1');
  const [owner, admin] = [await member({ tenantId: 'see-1' }, 'owner'), await member({ tenantId: 'see-1' }, 'admin')];
  const user = await member({ tenantId: 'see-1' });
  const answers = [user.as, owner.as, admin.as, server.admin].map((as) =>
    server.ok('GET', `${PATH}/${user.id}`, { as }),
  );
  const [own, ...others] = await Promise.all(answers);
  expect(own).toMatchObject({
    id: user.id,
    email: user.email,
    status: 'active',
    platformAdministrator: false,
    memberships: [{ tenantId: 'see-1', subTenantId: null, role: 'viewer', status: 'active' }],
    locale: null,
    timeZone: null,
    metadata: {},
    lastSeenAt: expect.any(String),
  });
  for (const other of others) expect(other).toEqual(own);
  const { id, email, token } = await registeredUser(server);
  expect(await server.ok('GET', `${PATH}/${id}`, { as: { token } })).toMatchObject({ email, memberships: [] });
});

test.for(['operator', 'viewer'] as const)('a member in the role %s sees no other user', async (role) => {
  const tenantId = `unseen-${role}`;
  await tenant(tenantId);
  const [one, other] = [await member({ tenantId }, role), await member({ tenantId })];
  for (const path of [`${PATH}/${other.id}`, PATH]) {
    const answered = await server.call('GET', path, { as: one.as });
    expectProblem(answered, 403, 'scope_missing');
    expect(answered.body.scope).toBe('users:read');
  }
  await server.ok('GET', `${PATH}/${one.id}`, { as: one.as });
});

test('a user record has the memberships in the reach of the caller, and all of them for the user', async () => {
  for (const id of ['both-1', 'both-2']) await tenant(id);
  const user = await member({ tenantId: 'both-1' });
  await join(user, 'both-2', 'operator');
  const owner = await member({ tenantId: 'both-2' }, 'owner');
  const placesFor = async (as: { token: string } | { key: string }) =>
    (await server.ok('GET', `${PATH}/${user.id}`, { as })).memberships.map((one: Body) => one.tenantId);
  expect(await placesFor(owner.as)).toEqual(['both-2']);
  expect(await placesFor(user.as)).toEqual(['both-1', 'both-2']);
  expect(await placesFor(server.admin)).toEqual(['both-1', 'both-2']);
});

test('a user who is missing or out of reach is 404', async () => {
  await tenant('hidden-1');
  const user = await member({ tenantId: 'hidden-1' });
  const stranger = await tenant('hidden-2');
  const calls = [
    ['GET', ''],
    ['DELETE', ''],
    ['POST', '/disable'],
    ['POST', '/enable'],
  ] as const;
  for (const [method, end] of calls) {
    const hidden = await server.call(method, `${PATH}/${user.id}${end}`, { as: stranger });
    const missing = await server.call(method, `${PATH}/usr_none${end}`, { as: stranger });
    for (const answered of [hidden, missing]) expectProblem(answered, 404, 'user_not_found');
    expect(hidden.body.detail).toBe(missing.body.detail);
  }
});

test('deleting one’s own user erases personal data, keeps a tombstone, and ends sessions and memberships', async () => {
  const as = await tenant('erase-1');
  const user = await member({ tenantId: 'erase-1' }, 'operator');
  const profile = { displayName: 'Secret Name', locale: 'fr', timeZone: 'Europe/Paris', metadata: { secret: 'Note' } };
  await server.ok('PUT', '/v1/me/profile', { as: user.as, body: profile });
  const gateway = await server.ok('POST', '/v1/gateways', { as, body: { name: 'edge' } });
  const session = await server.ok('POST', `/v1/gateways/${gateway.id}/sessions`, { as: user.as });
  const erased = await server.ok('DELETE', `${PATH}/${user.id}`, { as: user.as });
  const none = { email: null, displayName: null, locale: null, timeZone: null, source: null, lastSeenAt: null };
  expect(erased).toMatchObject({ id: user.id, status: 'deleted', ...none, metadata: {}, memberships: [] });
  expect(erased.terms).toMatchObject({ termsVersion: null, privacyVersion: null });
  expectProblem(await server.call('GET', `${PATH}/${user.id}`, { as: server.admin }), 404, 'user_not_found');
  expectProblem(await server.call('DELETE', `${PATH}/${user.id}`, { as: server.admin }), 404, 'user_not_found');
  expectProblem(await server.call('GET', '/v1/providers', { as: user.as }), 403, 'registration_required');
  const ended = await server.ok('GET', `/v1/gateways/${gateway.id}/sessions/${session.id}`, { as });
  expect(ended.status).toBe('revoked');
  expect(await idsOf(server, { path: PATH, as: server.admin }, { status: 'deleted' })).toContain(user.id);
  expect(await idsOf(server, { path: PATH, as: server.admin })).not.toContain(user.id);
  const { items } = await server.ok('GET', '/v1/tenants/erase-1/memberships', { as });
  expect(items).toEqual([]);
  const shown = [
    await server.call('GET', `${PATH}?status=deleted&limit=100`, { as: server.admin }),
    await server.call('GET', `/v1/audit-events?limit=100&target_id=${user.id}`, { as: server.admin }),
    await server.call('GET', `/v1/audit-events?limit=100&actor_id=${user.id}`, { as: server.admin }),
  ];
  for (const { text } of shown) {
    for (const personal of [user.email, 'Secret Name', 'Europe/Paris']) expect(text).not.toContain(personal);
  }
  const [event] = await auditOf(server, { operation: 'delete_user', target_id: user.id });
  expect(event).toMatchObject({ actor: { type: 'user', id: user.id }, scheme: 'bearer', tenantId: 'erase-1' });
});

test('the email of a deleted user can register again, as a new user to whom the old token belongs', async () => {
  await tenant('again-1');
  const user = await member({ tenantId: 'again-1' });
  await server.ok('DELETE', `${PATH}/${user.id}`, { as: server.admin });
  await server.ok('POST', '/v1/onboarding/register', { body: { user: { email: user.email } } });
  const fresh = await server.ok('PUT', '/v1/me/profile', { as: user.as, body: { terms: ACCEPTED } });
  expect(fresh).toMatchObject({ email: user.email, status: 'active', memberships: [] });
  expect(fresh.id).not.toBe(user.id);
});

test('deleting another user needs reach of all their memberships, and the rights of an owner if they are one; only the platform disables', async () => {
  for (const id of ['reach-1', 'reach-2']) await tenant(id);
  const [owner, admin] = [
    await member({ tenantId: 'reach-1' }, 'owner'),
    await member({ tenantId: 'reach-1' }, 'admin'),
  ];
  const user = await member({ tenantId: 'reach-1' });
  await join(user, 'reach-2', 'viewer');
  const calls = [
    ['POST', '/disable', 'platform_administrator_required'],
    ['POST', '/enable', 'platform_administrator_required'],
    ['DELETE', '', 'user_out_of_reach'],
  ] as const;
  for (const [method, end, code] of calls) {
    const reaching = await server.call(method, `${PATH}/${user.id}${end}`, { as: owner.as });
    expectProblem(reaching, 403, code);
    const above = await server.call(method, `${PATH}/${owner.id}${end}`, { as: admin.as });
    expectProblem(above, 403, code);
    const unscoped = await server.call(method, `${PATH}/${owner.id}${end}`, { as: user.as });
    expectProblem(unscoped, 403, 'scope_missing');
  }
  await server.ok('DELETE', `/v1/tenants/reach-2/memberships/${user.id}`, { as: server.admin });
  expect((await server.ok('DELETE', `${PATH}/${user.id}`, { as: admin.as })).status).toBe('deleted');
});

test('only platform administrators delete or disable a platform administrator', async () => {
  const owner = await member({ tenantId: 'default' }, 'owner');
  const [{ id }] = (await server.ok('GET', `${PATH}?email=ADMIN@example.com`, { as: server.admin })).items;
  const calls = [
    ['POST', '/disable'],
    ['POST', '/enable'],
    ['DELETE', ''],
  ] as const;
  for (const [method, end] of calls) {
    const answered = await server.call(method, `${PATH}/${id}${end}`, { as: owner.as });
    expectProblem(answered, 403, 'platform_administrator_required');
  }
});

test('the last owner of a tenant cannot be deleted or disabled', async () => {
  await tenant('last-1');
  const owner = await member({ tenantId: 'last-1' }, 'owner');
  for (const as of [owner.as, server.admin]) {
    expectProblem(await server.call('DELETE', `${PATH}/${owner.id}`, { as }), 409, 'last_owner');
  }
  expectProblem(await server.call('POST', `${PATH}/${owner.id}/disable`, { as: server.admin }), 409, 'last_owner');
  const second = await member({ tenantId: 'last-1' }, 'owner');
  await server.ok('POST', `${PATH}/${second.id}/disable`, { as: server.admin });
  expectProblem(await server.call('DELETE', `${PATH}/${owner.id}`, { as: owner.as }), 409, 'last_owner');
  await server.ok('POST', `${PATH}/${second.id}/enable`, { as: server.admin });
  await server.ok('DELETE', `${PATH}/${owner.id}`, { as: owner.as });
});

test('a disabled user is refused, and their sessions end at once; enabling lets them in; repeating changes nothing', async () => {
  const as = await tenant('disable-1');
  const user = await member({ tenantId: 'disable-1' }, 'operator');
  const gateway = await server.ok('POST', '/v1/gateways', { as, body: { name: 'edge' } });
  const session = await server.ok('POST', `/v1/gateways/${gateway.id}/sessions`, { as: user.as });
  const disabled = await server.ok('POST', `${PATH}/${user.id}/disable`, { as: server.admin });
  expect(disabled.status).toBe('disabled');
  expectProblem(await server.call('GET', `${PATH}/${user.id}`, { as: user.as }), 403, 'user_disabled');
  const ended = await server.ok('GET', `/v1/gateways/${gateway.id}/sessions/${session.id}`, { as });
  expect(ended.status).toBe('revoked');
  server.travel(1000);
  expect(await server.ok('POST', `${PATH}/${user.id}/disable`, { as: server.admin })).toEqual(disabled);
  const enabled = await server.ok('POST', `${PATH}/${user.id}/enable`, { as: server.admin });
  expect(enabled.status).toBe('active');
  expect(await server.ok('POST', `${PATH}/${user.id}/enable`, { as: server.admin })).toEqual(enabled);
  await server.ok('GET', `${PATH}/${user.id}`, { as: user.as });
  for (const operation of ['disable_user', 'enable_user']) {
    const [event, ...more] = await auditOf(server, { operation, target_id: user.id });
    expect(more).toEqual([]);
    expect(event).toMatchObject({ changedFields: ['status'], tenantId: 'disable-1' });
  }
});

test('enabling restores the former status of a user who had not accepted the terms or never signed in', async () => {
  for (const [accepted, status] of [
    [false, 'pending_terms'],
    [true, 'pending_identity'],
  ] as const) {
    const email = `${unique('pending')}@example.com`;
    await server.ok('POST', '/v1/onboarding/register', { body: { user: { email, terms: { accepted } } } });
    const [{ id }] = (await server.ok('GET', `${PATH}?email=${email}`, { as: server.admin })).items;
    await server.ok('POST', `${PATH}/${id}/disable`, { as: server.admin });
    expect((await server.ok('POST', `${PATH}/${id}/enable`, { as: server.admin })).status).toBe(status);
  }
});

test('list_users filters by each of its parameters, and a value that matches nothing finds nothing', async () => {
  const as = await tenant('list-1');
  await tenant('list-1', 'eu');
  const one = await member({ tenantId: 'list-1' });
  const two = await member({ tenantId: 'list-1', subTenantId: 'eu' });
  await server.ok('PUT', '/v1/me/profile', { as: one.as, body: { displayName: 'Emine Gül %_' } });
  await server.ok('POST', `${PATH}/${two.id}/disable`, { as: server.admin });
  const both = [one.id, two.id];
  const rows: [Record<string, string>, string[]][] = [
    [{}, both],
    [{ tenant_id: '', sub_tenant_id: '' }, both],
    [{ tenant_id: 'list-1' }, both],
    [{ sub_tenant_id: 'eu' }, [two.id]],
    [{ status: 'active' }, [one.id]],
    [{ status: 'disabled' }, [two.id]],
    [{ email: one.email.toUpperCase() }, [one.id]],
    [{ email: 'nobody@example.com' }, []],
    [{ text: 'EMİNE' }, []],
    [{ text: 'gÜL %_' }, [one.id]],
    [{ text: one.email.slice(2).toUpperCase() }, [one.id]],
    [{ text: 'example.com' }, both],
    [{ text: '%' }, [one.id]],
    [{ text: '_' }, [one.id]],
    [{ text: '\\' }, []],
    [{ text: 'gül', status: 'disabled' }, []],
  ];
  await expectFilters(server, { path: PATH, as }, rows);
  const bound = await tenant('list-1', 'eu');
  expect(await idsOf(server, { path: PATH, as: bound })).toEqual([two.id]);
});

test('list_users walks all pages while users join, and its cursors work for their own query and caller', async () => {
  const as = await tenant('pages-1');
  const make = async () => (await member({ tenantId: 'pages-1' })).id;
  await expectStablePages(server, { path: PATH, as }, make);
  await expectOwnCursorsOnly(
    server,
    { path: PATH, filter: { tenant_id: 'pages-1' }, as },
    {
      filter: { status: 'active' },
      list: { path: '/v1/tenants/pages-1/memberships' },
      principal: server.admin,
    },
  );
});

test('a user with many memberships is listed once', async () => {
  for (const id of ['many-1', 'many-2']) await tenant(id);
  const user = await member({ tenantId: 'many-1' });
  await join(user, 'many-2', 'viewer');
  expect(await idsOf(server, { path: PATH, as: server.admin }, { email: user.email })).toEqual([user.id]);
  const events = async () => auditOf(server, { operation: 'delete_user', target_id: user.id });
  await server.ok('DELETE', `${PATH}/${user.id}`, { as: user.as });
  const places: string[] = (await events()).map((event) => event.tenantId);
  expect(places.toSorted()).toEqual(['many-1', 'many-2']);
  const ended = { field: 'role', before: 'viewer', after: null };
  for (const { changes } of await events()) expect(changes).toContainEqual(ended);
});

async function newTenant(): Promise<string> {
  const id = unique('platform');
  await tenant(id);
  return id;
}

test('grant_platform_administrator gives every right in every tenant, with an audit event, and revoke takes it back', async () => {
  await tenant('elsewhere-1');
  const user = await member({ tenantId: await newTenant() });
  const path = `${PATH}/${user.id}/platform-administrator`;
  const see = () => server.call('GET', '/v1/tenants/elsewhere-1', { as: user.as });
  expect((await see()).status).toBe(404);
  const granted = await server.ok('PUT', path, { as: server.admin });
  expect(granted).toMatchObject({ id: user.id, platformAdministrator: true });
  expect((await see()).status).toBe(200);
  expect(await server.ok('PUT', path, { as: server.admin })).toEqual({ ...granted, lastSeenAt: expect.any(String) });
  const events = () => auditOf(server, { target_id: user.id, operation: 'grant_platform_administrator' });
  expect(await events()).toMatchObject([{ changedFields: ['platformAdministrator'], tenantId: null }]);

  // Other tests leave administrators. Development users do not count.
  for (const { id, platformAdministrator, source } of await all(server, PATH, server.admin)) {
    if (!platformAdministrator || source === 'development' || id === user.id) continue;
    await server.ok('DELETE', `${PATH}/${id}/platform-administrator`, { as: server.admin });
  }
  // The last one keeps the right, and cannot give it up.
  expectProblem(await server.call('DELETE', path, { as: server.admin }), 409, 'last_platform_administrator');
  expectProblem(await server.call('DELETE', path, { as: user.as }), 409, 'last_platform_administrator');
  const own = `${PATH}/${user.id}`;
  expectProblem(await server.call('DELETE', own, { as: server.admin }), 409, 'last_platform_administrator');
  expectProblem(await server.call('DELETE', own, { as: user.as }), 409, 'last_platform_administrator');
  expectProblem(await server.call('POST', `${own}/disable`, { as: server.admin }), 409, 'last_platform_administrator');
  const second = await member({ tenantId: await newTenant() });
  await server.ok('PUT', `${PATH}/${second.id}/platform-administrator`, { as: user.as });
  const revoked = await server.ok('DELETE', path, { as: second.as });
  expect(revoked).toMatchObject({ platformAdministrator: false });
  expect((await see()).status).toBe(404);
  expect(await server.ok('DELETE', path, { as: second.as })).toMatchObject({ platformAdministrator: false });
  expect(await auditOf(server, { target_id: user.id, operation: 'revoke_platform_administrator' })).toHaveLength(1);
});

test('revoke_platform_administrator ends the gateway sessions of the user', async () => {
  const tenantId = await newTenant();
  const [user, other] = [await member({ tenantId: await newTenant() }), await member({ tenantId: await newTenant() })];
  const pathOf = ({ id }: Person) => `${PATH}/${id}/platform-administrator`;
  for (const one of [user, other]) await server.ok('PUT', pathOf(one), { as: server.admin });
  const gateway = await server.ok('POST', '/v1/gateways', { as: server.admin, body: { name: 'edge', tenantId } });
  const opened = await server.ok('POST', `/v1/gateways/${gateway.id}/sessions`, { as: user.as, body: {} });
  const kept = await server.ok('POST', `/v1/gateways/${gateway.id}/sessions`, { as: other.as, body: {} });
  await server.ok('DELETE', pathOf(user), { as: server.admin });
  const session = (id: string) => server.ok('GET', `/v1/gateways/${gateway.id}/sessions/${id}`, { as: server.admin });
  expect(await session(opened.id)).toMatchObject({ status: 'revoked', revokedReason: 'principal_ended' });
  expect(await session(kept.id)).toMatchObject({ status: 'active' });
});

test('only platform administrators with every scope grant and revoke it, and only to active users', async () => {
  const tenantId = await newTenant();
  const [owner, user] = [await member({ tenantId }, 'owner'), await member({ tenantId })];
  const me = await server.ok('GET', '/v1/me', { as: server.admin });
  const keys = `/v1/service-accounts/${me.id}/keys?tenant_id=${me.tenantId}`;
  const narrow = await server.ok('POST', keys, { as: server.admin, body: { scopes: ['users:write'] } });
  for (const method of ['PUT', 'DELETE']) {
    const path = `${PATH}/${user.id}/platform-administrator`;
    expectProblem(await server.call(method, path, { as: owner.as }), 403, 'platform_administrator_required');
    expectProblem(await server.call(method, path, { as: { key: narrow.key } }), 403, 'grant_exceeds_own');
    const unknown = `${PATH}/usr_none/platform-administrator`;
    expectProblem(await server.call(method, unknown, { as: server.admin }), 404, 'user_not_found');
  }
  await server.ok('POST', `${PATH}/${user.id}/disable`, { as: server.admin });
  const path = `${PATH}/${user.id}/platform-administrator`;
  expectProblem(await server.call('PUT', path, { as: server.admin }), 409, 'user_not_active');
});

test('platform administrators allow another identity to take over, for 24 hours, and withdraw it', async () => {
  const user = await member({ tenantId: await newTenant() });
  const path = `${PATH}/${user.id}/identity-relink`;
  const none = { userId: user.id, allowedUntil: null, allowedBy: null };
  expect(await server.ok('GET', path, { as: server.admin })).toEqual(none);
  const before = server.services.now().getTime();
  const allowed = await server.ok('PUT', path, { as: server.admin });
  expect(allowed).toEqual({
    userId: user.id,
    allowedUntil: expect.any(String),
    allowedBy: expect.stringContaining(':'),
  });
  const hours = (Date.parse(allowed.allowedUntil) - before) / 3_600_000;
  expect(hours).toBeGreaterThanOrEqual(24);
  expect(hours).toBeLessThan(24.1);
  expect(await server.ok('GET', path, { as: server.admin })).toEqual(allowed);
  expect(await server.ok('DELETE', path, { as: server.admin })).toEqual(none);
  expect(await server.ok('DELETE', path, { as: server.admin })).toEqual(none);
  await server.ok('PUT', path, { as: server.admin });
  server.travel(24 * 3_600_000);
  expect(await server.ok('GET', path, { as: server.admin })).toEqual(none);
  expect(await auditOf(server, { operation: 'withdraw_identity_relink', target_id: user.id })).toHaveLength(1);
});

test('another identity may take over only if a platform administrator says so, and only from a user who has one', async () => {
  const tenantId = await newTenant();
  const [owner, user] = [await member({ tenantId }, 'owner'), await member({ tenantId })];
  const me = await server.ok('GET', '/v1/me', { as: server.admin });
  const keys = `/v1/service-accounts/${me.id}/keys?tenant_id=${me.tenantId}`;
  const narrow = await server.ok('POST', keys, { as: server.admin, body: { scopes: ['users:write', 'users:read'] } });
  for (const method of ['GET', 'PUT', 'DELETE']) {
    const path = `${PATH}/${user.id}/identity-relink`;
    expectProblem(await server.call(method, path, { as: owner.as }), 403, 'platform_administrator_required');
    const unknown = `${PATH}/usr_none/identity-relink`;
    expectProblem(await server.call(method, unknown, { as: server.admin }), 404, 'user_not_found');
    expect((await server.call(method, path, { as: { key: narrow.key } })).status).toBe(200);
  }
  await server.ok('PUT', `${PATH}/${user.id}/platform-administrator`, { as: server.admin });
  const path = `${PATH}/${user.id}/identity-relink`;
  expectProblem(await server.call('PUT', path, { as: { key: narrow.key } }), 403, 'grant_exceeds_own');
  const email = `${unique('unlinked')}@example.com`;
  await server.ok('POST', '/v1/onboarding/register', { body: { user: { email } } });
  const [{ id }] = (await server.ok('GET', `${PATH}?email=${email}`, { as: server.admin })).items;
  expectProblem(
    await server.call('PUT', `${PATH}/${id}/identity-relink`, { as: server.admin }),
    409,
    'user_not_active',
  );
  await server.ok('POST', `${PATH}/${user.id}/disable`, { as: server.admin });
  expectProblem(await server.call('PUT', path, { as: server.admin }), 409, 'user_not_active');
});
