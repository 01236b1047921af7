import { acceptMembership } from '@quartermaster/contracts/memberships.ts';
import { beforeAll, expect, test } from 'vitest';
import { removeExpiredInvitations } from '../../src/resources/memberships/expiry.ts';
import {
  acceptPath,
  accountWithKey,
  memberWithToken,
  offerMembership,
  type Place,
  registeredUser,
  unique,
} from '../support/people.ts';
import type { Answered, Body, Credential } from '../support/server.ts';
import { auditOf, checkCoverageAfterAll, type Endpoints, expectProblem, serverFor } from './harness.ts';
import { signedInBrowser } from '../support/browser.ts';
import { idsOf } from './lists.ts';

const DAY_MS = 24 * 3_600_000;

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor({ acceptMembership });
});
checkCoverageAfterAll(() => server);

/** A new tenant, with the key of an account that has all scopes in it. */
async function newTenant(...subTenantIds: string[]): Promise<{ tenantId: string; as: { key: string } }> {
  const tenantId = unique('tenant');
  const { key } = await accountWithKey(server, { tenantId });
  for (const subTenantId of subTenantIds) await accountWithKey(server, { tenantId, subTenantId });
  return { tenantId, as: { key } };
}

const membersOf = (tenantId: string) => `/v1/tenants/${tenantId}/memberships`;
const accept = (place: Place, as: Credential): Promise<Answered> => server.call('POST', acceptPath(place), { as });

async function ownMemberships(id: string, as: { token: string }): Promise<Body[]> {
  return (await server.ok('GET', `/v1/users/${id}`, { as })).memberships;
}

test('accept_membership gives the role once, to the invited user', async () => {
  const { tenantId, as } = await newTenant();
  const user = await registeredUser(server);
  const offered = await offerMembership(server, user.email, { tenantId }, 'operator');
  expect(offered).toMatchObject({ userId: user.id, status: 'pending', acceptedAt: null });
  expect(await ownMemberships(user.id, user)).toEqual([
    { tenantId, subTenantId: null, role: 'operator', status: 'pending', suspendedBy: null },
  ]);
  server.travel(1000);
  const { body: accepted } = await accept({ tenantId }, user);
  expect(accepted).toEqual({
    ...offered,
    expiresAt: null,
    status: 'active',
    acceptedAt: accepted.updatedAt,
    updatedAt: accepted.updatedAt,
  });
  expect(accepted.acceptedAt > offered.createdAt).toBe(true);
  expect((await server.ok('GET', membersOf(tenantId), { as })).items).toEqual([accepted]);
  expect(await ownMemberships(user.id, user)).toMatchObject([{ tenantId, status: 'active' }]);
  await server.ok('POST', '/v1/gateways', { as, body: { name: 'edge' } });
  expect((await server.ok('GET', '/v1/gateways', { as: user })).items).toHaveLength(1);
  expectProblem(await accept({ tenantId }, user), 409, 'membership_accepted');
  const [event, ...others] = await auditOf(server, { operation: 'accept_membership', target_id: user.id });
  expect(others).toEqual([]);
  expect(event).toMatchObject({ tenantId, actor: { type: 'user', id: user.id }, target: { type: 'membership' } });
});

test('a user who was invited before registering accepts after signing in and accepting the terms', async () => {
  const { tenantId } = await newTenant();
  const email = `${unique('invited')}@example.com`;
  const { userId } = await offerMembership(server, email, { tenantId }, 'viewer');
  const as = await server.tokenOf(email);
  expectProblem(await accept({ tenantId }, as), 403, 'terms_required');
  const joined = await server.ok('PUT', '/v1/me/profile', { as, body: { terms: { accepted: true } } });
  expect(joined).toMatchObject({ id: userId, status: 'active', memberships: [{ tenantId, status: 'pending' }] });
  expectProblem(await server.call('GET', '/v1/providers', { as }), 403, 'scope_missing');
  expect((await accept({ tenantId }, as)).status).toBe(200);
  await server.ok('GET', '/v1/providers', { as });
});

test('a pending membership gives no access', async () => {
  const { tenantId, as } = await newTenant();
  const user = await memberWithToken(server, { tenantId: (await newTenant()).tenantId }, 'owner');
  await offerMembership(server, user.email, { tenantId }, 'owner');
  const provider = await server.ok('POST', '/v1/providers', { as, body: { name: 'llm', kind: 'llm' } });
  expectProblem(await server.call('GET', `/v1/providers/${provider.id}`, { as: user }), 404, 'provider_not_found');
  expectProblem(await server.call('GET', `/v1/tenants/${tenantId}`, { as: user }), 404, 'tenant_not_found');
  expectProblem(await server.call('GET', membersOf(tenantId), { as: user }), 404, 'tenant_not_found');
  const named = await server.call('GET', `/v1/providers?tenant_id=${tenantId}`, { as: user });
  expectProblem(named, 403, 'tenant_forbidden');
  const path = `${membersOf(tenantId)}/${user.id}`;
  expectProblem(await server.call('PUT', path, { as: user, body: { role: 'admin' } }), 404, 'tenant_not_found');
  expect((await server.ok('GET', '/v1/tenants', { as: user })).items).toHaveLength(1);
});

test('administrators see a pending membership, and nothing about its user', async () => {
  const { tenantId, as } = await newTenant();
  const user = await registeredUser(server);
  await server.ok('PUT', '/v1/me/profile', { as: user, body: { displayName: 'A Name' } });
  const offered = await offerMembership(server, user.email, { tenantId }, 'viewer');
  const owner = await memberWithToken(server, { tenantId }, 'owner');
  for (const caller of [as, owner]) {
    for (const [method, end] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/disable'],
      ['POST', '/enable'],
    ] as const) {
      const answered = await server.call(method, `/v1/users/${user.id}${end}`, { as: caller });
      expectProblem(answered, 404, 'user_not_found');
    }
    expect(await idsOf(server, { path: '/v1/users', as: caller })).toEqual([owner.id]);
    expect(await idsOf(server, { path: '/v1/users', as: caller }, { email: user.email })).toEqual([]);
    const { items } = await server.ok('GET', `${membersOf(tenantId)}?status=pending`, { as: caller });
    expect(items).toEqual([offered]);
  }
  expect(
    (await server.ok('GET', '/v1/audit-events?limit=100', { as })).items.map((one: Body) => one.target?.type),
  ).not.toContain('user');
});

test('an invitation and its audit event are the same for a registered email and an unknown one', async () => {
  const { tenantId, as } = await newTenant();
  const known = (await registeredUser(server)).email;
  const unknown = `${unique('user')}@example.com`;
  const results = [];
  for (const email of [known, unknown]) {
    const answered = await server.call('POST', membersOf(tenantId), { as, body: { email, role: 'viewer' } });
    const { userId, createdAt, updatedAt, expiresAt, ...rest } = answered.body;
    expect(updatedAt).toBe(createdAt);
    expect(Date.parse(expiresAt) - Date.parse(createdAt)).toBe(14 * DAY_MS);
    const { items } = await server.ok('GET', `/v1/audit-events?target_id=${userId}`, { as });
    const events = items.map(({ operation, actor, target, changedFields }: Body) => [
      operation,
      actor,
      target,
      changedFields,
    ]);
    const seen = await server.call('GET', `/v1/users/${userId}`, { as });
    results.push(
      JSON.parse(
        JSON.stringify({
          status: answered.status,
          headers: [...answered.headers.keys()],
          rest,
          idLength: userId.length,
          events,
          seen: { ...seen.body, instance: '' },
        })
          .replaceAll(userId, '<id>')
          .replaceAll(email, '<email>'),
      ),
    );
  }
  expect(results[0].events).toHaveLength(1);
  expect(results[1]).toEqual(results[0]);
});

test('a pending membership does not change who may administer the user', async () => {
  const [home, other] = [await newTenant(), await newTenant()];
  const user = await memberWithToken(server, { tenantId: home.tenantId }, 'viewer');
  await offerMembership(server, user.email, { tenantId: other.tenantId }, 'owner');
  expectProblem(await server.call('DELETE', `/v1/users/${user.id}`, other), 404, 'user_not_found');
  const browser = await signedInBrowser(server, user.email);
  const source = `user:${user.id}`;
  const body = { source, kinds: ['console_session'] };
  const ended = await server.ok('POST', '/v1/derived-access/revoke', { ...home, body });
  expect(ended.revoked.console_session).toBe(1);
  expect((await browser.call('GET', '/v1/me')).status).toBe(401);
  await server.ok('POST', acceptPath({ tenantId: other.tenantId }), { as: user });
  expectProblem(await server.call('DELETE', `/v1/users/${user.id}`, home), 403, 'user_out_of_reach');
});

test('deleting a user ends pending memberships, and reveals nothing to tenants that the user had not joined', async () => {
  const [home, other] = [await newTenant(), await newTenant()];
  const user = await memberWithToken(server, { tenantId: home.tenantId }, 'viewer');
  await offerMembership(server, user.email, { tenantId: other.tenantId }, 'viewer');
  await server.ok('DELETE', `/v1/users/${user.id}`, { as: user });
  expect((await server.ok('GET', membersOf(other.tenantId), other)).items).toEqual([]);
  const places = (await auditOf(server, { operation: 'delete_user', target_id: user.id })).map((one) => one.tenantId);
  expect(places).toEqual([home.tenantId]);
});

test('the role of a pending membership can change, and the current role is accepted', async () => {
  const { tenantId, as } = await newTenant();
  const user = await registeredUser(server);
  const { userId } = await offerMembership(server, user.email, { tenantId }, 'viewer');
  const changed = await server.ok('PUT', `${membersOf(tenantId)}/${userId}`, { as, body: { role: 'admin' } });
  expect(changed).toMatchObject({ role: 'admin', status: 'pending' });
  expect((await accept({ tenantId }, user)).body).toMatchObject({ role: 'admin', status: 'active' });
  const again = await server.ok('PUT', `${membersOf(tenantId)}/${userId}`, { as, body: { role: 'viewer' } });
  expect(again).toMatchObject({ role: 'viewer', status: 'active' });
});

test('a user declines, and an administrator withdraws, by deleting the membership; the user can be invited again', async () => {
  const { tenantId, as } = await newTenant();
  const user = await registeredUser(server);
  const path = `${membersOf(tenantId)}/${user.id}`;
  await offerMembership(server, user.email, { tenantId }, 'owner');
  expect(await server.ok('DELETE', path, { as: user })).toMatchObject({ status: 'pending', role: 'owner' });
  expectProblem(await server.call('DELETE', path, { as: user }), 404, 'membership_not_found');
  expectProblem(await accept({ tenantId }, user), 404, 'membership_not_found');
  const [event] = await auditOf(server, { operation: 'delete_membership', target_id: user.id });
  expect(event).toMatchObject({ tenantId, actor: { type: 'user', id: user.id } });
  await offerMembership(server, user.email, { tenantId }, 'viewer');
  await server.ok('DELETE', path, { as });
  expect(await ownMemberships(user.id, user)).toEqual([]);
});

test('declining keeps sessions that another membership allows', async () => {
  const { tenantId, as } = await newTenant('eu');
  const user = await memberWithToken(server, { tenantId, subTenantId: 'eu' }, 'operator');
  const gateway = await server.ok('POST', '/v1/gateways', { as, body: { name: 'edge', subTenantId: 'eu' } });
  const sessions = `/v1/gateways/${gateway.id}/sessions`;
  const { id } = await server.ok('POST', sessions, { as: user });
  await offerMembership(server, user.email, { tenantId }, 'operator');
  await server.ok('DELETE', `${membersOf(tenantId)}/${user.id}`, { as: user });
  expect((await server.ok('GET', `${sessions}/${id}`, { as })).status).toBe('active');
  await server.ok('DELETE', `${membersOf(tenantId)}/${user.id}?sub_tenant_id=eu`, { as: user });
  expect((await server.ok('GET', `${sessions}/${id}`, { as })).status).toBe('revoked');
});

test('sub_tenant_id selects one of several memberships; the default is that of the whole tenant, or else the only one', async () => {
  const { tenantId } = await newTenant('eu', 'us');
  const user = await registeredUser(server);
  const offer = (subTenantId?: string) => offerMembership(server, user.email, { tenantId, subTenantId }, 'viewer');
  await offer('eu');
  expect((await accept({ tenantId }, user)).body).toMatchObject({ subTenantId: 'eu', status: 'active' });
  await offer('us');
  expectProblem(await accept({ tenantId }, user), 404, 'membership_not_found');
  for (const subTenantId of ['none', '*']) {
    expectProblem(await accept({ tenantId, subTenantId }, user), 404, 'membership_not_found');
  }
  expect((await accept({ tenantId, subTenantId: 'us' }, user)).body).toMatchObject({ subTenantId: 'us' });
  await offer();
  expect((await accept({ tenantId, subTenantId: '' }, user)).body).toMatchObject({ subTenantId: null });
});

test('a membership that does not exist or belongs to another user is the same 404', async () => {
  const { tenantId } = await newTenant();
  const [user, other] = [await registeredUser(server), await registeredUser(server)];
  await offerMembership(server, other.email, { tenantId }, 'viewer');
  const answers = [await accept({ tenantId }, user), await accept({ tenantId: unique('none') }, user)];
  for (const answered of answers) expectProblem(answered, 404, 'membership_not_found');
  expect(answers[0]?.body.detail).toBe(answers[1]?.body.detail);
  expect((await accept({ tenantId }, other)).status).toBe(200);
});

test('service accounts cannot accept for a user, also with every scope', async () => {
  const { tenantId, as } = await newTenant();
  const user = await registeredUser(server);
  await offerMembership(server, user.email, { tenantId }, 'viewer');
  for (const caller of [as, server.admin]) expectProblem(await accept({ tenantId }, caller), 403, 'user_required');
  expectProblem(await accept({ tenantId }, null), 401, 'credentials_missing');
  expect(await ownMemberships(user.id, user)).toMatchObject([{ status: 'pending' }]);
});

test('a session can be opened for a member only after they accepted', async () => {
  const { tenantId, as } = await newTenant();
  const user = await registeredUser(server);
  const gateway = await server.ok('POST', '/v1/gateways', { as, body: { name: 'edge' } });
  const open = () =>
    server.call('POST', `/v1/gateways/${gateway.id}/sessions`, { as, body: { subject: `user:${user.id}` } });
  const refused = (await open()).body;
  await offerMembership(server, user.email, { tenantId }, 'viewer');
  expect((await open()).body).toEqual(refused);
  await server.ok('POST', acceptPath({ tenantId }), { as: user });
  expect((await open()).status).toBe(200);
});

test('members that a platform administrator adds are pending too, and only their own membership is active at once', async () => {
  const as = await server.tokenOf('admin@example.com');
  const [admin] = (await server.ok('GET', '/v1/users?email=admin@example.com', { as })).items;
  expect(admin.memberships).toMatchObject([{ tenantId: 'default', role: 'owner', status: 'active' }]);
  const user = await registeredUser(server);
  const body = { email: user.email, role: 'viewer' };
  expect(await server.ok('POST', membersOf('default'), { as, body })).toMatchObject({ status: 'pending' });
  expect((await accept({ tenantId: 'default' }, user)).body).toMatchObject({ status: 'active' });
});

test('regression: an invitation expires after 14 days, is then removed, and can be created again', async () => {
  const { tenantId, as } = await newTenant();
  const { id, email, token } = await registeredUser(server);
  const invite = () => server.call('POST', membersOf(tenantId), { as, body: { email, role: 'viewer' } });
  // Changes the row and not the clock, because bearer tokens would expire too.
  const expire = () =>
    server.services.db
      .updateTable('memberships')
      .set({ expires_at: server.services.now().toISOString() })
      .where('user_id', '=', id)
      .execute();
  const { body: offered } = await invite();
  expect(Date.parse(offered.expiresAt) - Date.parse(offered.createdAt)).toBe(14 * DAY_MS);
  expectProblem(await invite(), 409, 'membership_exists');
  await expire();
  expectProblem(await accept({ tenantId }, { token }), 409, 'invitation_expired');
  expect((await invite()).status).toBe(200);
  await expire();
  // Invitations of other tests may have expired too.
  expect(await removeExpiredInvitations(server.services)).toBeGreaterThan(0);
  expect((await server.ok('GET', `${membersOf(tenantId)}?status=pending`, { as })).items).toEqual([]);
  const [event] = await auditOf(server, { operation: 'remove_expired_invitation', target_id: id });
  expect(event).toMatchObject({ tenantId, actor: { type: 'system' } });
  expect(event?.['changes']).toContainEqual({ field: 'role', before: 'viewer', after: null });
  await invite();
  expect((await accept({ tenantId }, { token })).body).toMatchObject({ status: 'active', expiresAt: null });
});

test('regression: an invitation is invalid once its inviter was removed, suspended, disabled or lost the rights', async () => {
  const { tenantId, as } = await newTenant();
  const losses: Record<string, (id: string) => Promise<Answered>> = {
    removed: (id) => server.call('DELETE', `${membersOf(tenantId)}/${id}`, { as }),
    demoted: (id) => server.call('PUT', `${membersOf(tenantId)}/${id}`, { as, body: { role: 'operator' } }),
    suspended: (id) => server.call('PUT', `${membersOf(tenantId)}/${id}`, { as, body: { status: 'suspended' } }),
    disabled: (id) => server.call('POST', `/v1/users/${id}/disable`, { as: server.admin }),
    deleted: (id) => server.call('DELETE', `/v1/users/${id}`, { as }),
  };
  for (const [loss, lose] of Object.entries(losses)) {
    const inviter = await memberWithToken(server, { tenantId }, 'admin');
    const { email, token } = await registeredUser(server);
    const body = { email, role: 'admin' };
    await server.ok('POST', membersOf(tenantId), { as: { token: inviter.token }, body });
    expect((await lose(inviter.id)).status, loss).toBe(200);
    expectProblem(await accept({ tenantId }, { token }), 409, 'invitation_void');
    // Another user with the rights can invite again.
    await server.ok('POST', membersOf(tenantId), { as, body });
    expect((await accept({ tenantId }, { token })).status, loss).toBe(200);
  }
});

test('regression: an invitation ends with the API key that created it', async () => {
  const { tenantId, as } = await newTenant();
  const account = await accountWithKey(server, { tenantId });
  const { email, token } = await registeredUser(server);
  await server.ok('POST', membersOf(tenantId), { as: { key: account.key }, body: { email, role: 'viewer' } });
  await server.ok('DELETE', `/v1/service-accounts/${account.id}/keys/${account.keyId}`, { as });
  expectProblem(await accept({ tenantId }, { token }), 409, 'invitation_expired');
});

test('a user who changes the role of an invitation becomes its inviter', async () => {
  const { tenantId, as } = await newTenant();
  const inviter = await memberWithToken(server, { tenantId }, 'admin');
  const { id, email, token } = await registeredUser(server);
  const body = { email, role: 'viewer' };
  await server.ok('POST', membersOf(tenantId), { as: { token: inviter.token }, body });
  await server.ok('PUT', `${membersOf(tenantId)}/${id}`, { as, body: { role: 'owner' } });
  await server.ok('DELETE', `${membersOf(tenantId)}/${inviter.id}`, { as });
  expect((await accept({ tenantId }, { token })).body).toMatchObject({ role: 'owner', status: 'active' });
});

test('a member who loses the right to open sessions loses the open ones', async () => {
  const { tenantId, as } = await newTenant();
  const { id, token } = await memberWithToken(server, { tenantId }, 'operator');
  const gateway = await server.ok('POST', '/v1/gateways', { as, body: { name: 'edge' } });
  const path = `/v1/gateways/${gateway.id}/sessions`;
  const session = await server.ok('POST', path, { as: { token } });
  await server.ok('PUT', `${membersOf(tenantId)}/${id}`, { as, body: { role: 'viewer' } });
  expect(await server.ok('GET', `${path}/${session.id}`, { as })).toMatchObject({ revokedReason: 'principal_ended' });
});
