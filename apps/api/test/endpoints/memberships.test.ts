import {
  createMembership,
  deleteMembership,
  listMemberships,
  updateMembership,
} from '@quartermaster/contracts/memberships.ts';
import type { Role } from '@quartermaster/contracts/scopes.ts';
import { beforeAll, expect, test } from 'vitest';
import { keyIn, memberWithToken, offerMembership, registeredUser, unique } from '../support/people.ts';
import type { Body, Credential } from '../support/server.ts';
import { startIssuer } from '../support/oidc-issuer.ts';
import { auditOf, checkCoverageAfterAll, type Endpoints, expectInvalid, expectProblem, serverFor } from './harness.ts';
import { expectFilters, expectOwnCursorsOnly, expectStablePages, idsOf } from './lists.ts';

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor({ createMembership, deleteMembership, listMemberships, updateMembership });
});
checkCoverageAfterAll(() => server);

const pathOf = (tenantId: string) => `/v1/tenants/${tenantId}/memberships`;
const newEmail = () => `${unique('member')}@example.com`;
const userIdOf = (item: Body) => item.userId;

function tenant(tenantId: string, subTenantId?: string): Promise<{ key: string }> {
  return keyIn(server, { tenantId, subTenantId });
}

function add(tenantId: string, body: object = {}, as: Credential = server.admin): Promise<Body> {
  return server.ok('POST', pathOf(tenantId), { as, body: { email: newEmail(), role: 'viewer', ...body } });
}

/** Offers a membership to an active user, who does not accept it. Returns the user's id. */
async function memberOffered(tenantId: string, role: Role): Promise<string> {
  const { email } = await registeredUser(server);
  return (await offerMembership(server, email, { tenantId }, role)).userId;
}

test('create_membership invites an email address, ignoring case, and records nothing else in the tenant', async () => {
  const as = await tenant('create-1');
  await tenant('create-1', 'eu');
  const known = newEmail();
  await server.ok('POST', '/v1/onboarding/register', { body: { user: { email: known } } });
  const [user] = (await server.ok('GET', `/v1/users?email=${known}`, { as: server.admin })).items;
  const membership = await add('create-1', { email: known.toUpperCase(), role: 'operator', subTenantId: 'eu' }, as);
  expect(membership).toMatchObject({ tenantId: 'create-1', subTenantId: 'eu', role: 'operator', userId: user.id });
  expect(membership.email).toBe(known.toUpperCase());
  const invited = await add('create-1', {}, as);
  expect(invited).toMatchObject({ subTenantId: null, role: 'viewer', status: 'pending', acceptedAt: null });
  const guest = await server.ok('GET', `/v1/users/${invited.userId}`, { as: server.admin });
  expect(guest).toMatchObject({ email: invited.email, status: 'pending_terms', source: 'invitation' });
  const events = await auditOf(server, { operation: 'create_membership', target_id: invited.userId });
  // The creation of the user belongs to no tenant. Its audit event would reveal that the email was not registered.
  expect(
    Object.fromEntries(events.map(({ target, tenantId, changedFields }) => [target.type, [tenantId, changedFields]])),
  ).toEqual({ membership: ['create-1', ['email', 'role']], user: [null, ['email', 'source']] });
  expect(events).toHaveLength(2);
  expect(JSON.stringify(events)).not.toContain(invited.email);
});

test('create_membership answers 409 for a place in which the user is already a member', async () => {
  await tenant('exists-1');
  await tenant('exists-1', 'eu');
  const { email } = await add('exists-1');
  const again = await server.call('POST', pathOf('exists-1'), { as: server.admin, body: { email, role: 'owner' } });
  expectProblem(again, 409, 'membership_exists');
  await add('exists-1', { email, subTenantId: 'eu' });
});

test('an administrator of a sub-tenant adds members there, and cannot create sub-tenants', async () => {
  const bound = await tenant('bound-1', 'eu');
  await tenant('bound-1', 'us');
  const { userId, subTenantId } = await add('bound-1', {}, bound);
  expect(subTenantId).toBe('eu');
  const path = `${pathOf('bound-1')}/${userId}`;
  expect((await server.ok('PUT', path, { as: bound, body: { role: 'operator' } })).role).toBe('operator');
  expect((await server.ok('DELETE', path, { as: bound })).userId).toBe(userId);
  const body = { email: newEmail(), role: 'viewer' };
  const sibling = await server.call('POST', pathOf('bound-1'), { as: bound, body: { ...body, subTenantId: 'us' } });
  expectProblem(sibling, 403, 'tenant_forbidden');
  const none = await server.call('POST', pathOf('bound-1'), { as: server.admin, body: { ...body, subTenantId: 'xx' } });
  expectInvalid(none, { loc: ['body', 'subTenantId'], type: 'value_error' });
});

test('a caller cannot give, change or remove a role beyond their own', async () => {
  await tenant('grants-1');
  const owner = await add('grants-1', { role: 'owner' });
  const viewer = await add('grants-1');
  const admin = await memberWithToken(server, { tenantId: 'grants-1' }, 'admin');
  const as = { token: admin.token };
  const path = pathOf('grants-1');
  const refused = [
    await server.call('POST', path, { as, body: { email: newEmail(), role: 'owner' } }),
    await server.call('PUT', `${path}/${viewer.userId}`, { as, body: { role: 'owner' } }),
    await server.call('PUT', `${path}/${admin.id}`, { as, body: { role: 'owner' } }),
    await server.call('PUT', `${path}/${owner.userId}`, { as, body: { role: 'viewer' } }),
    await server.call('DELETE', `${path}/${owner.userId}`, { as }),
  ];
  for (const answered of refused) expectProblem(answered, 403, 'grant_exceeds_own');
  await server.ok('PUT', `${path}/${viewer.userId}`, { as, body: { role: 'admin' } });
});

test('a tenant out of reach, and a membership that is missing, are 404', async () => {
  await tenant('hidden-1');
  await tenant('hidden-1', 'eu');
  const { userId } = await add('hidden-1');
  const stranger = await tenant('hidden-2');
  const calls: [string, string, object?][] = [
    ['POST', '', { email: newEmail(), role: 'viewer' }],
    ['GET', ''],
    ['PUT', `/${userId}`, { role: 'viewer' }],
    ['DELETE', `/${userId}`],
  ];
  for (const [method, end, body] of calls) {
    const sent = body && { body };
    const hidden = await server.call(method, pathOf('hidden-1') + end, { as: stranger, ...sent });
    const missing = await server.call(method, pathOf('none') + end, { as: server.admin, ...sent });
    for (const answered of [hidden, missing]) expectProblem(answered, 404, 'tenant_not_found');
    if (end === '') continue;
    const elsewhere = await server.call(method, pathOf('hidden-2') + end, { as: server.admin, ...sent });
    const sub = await server.call(method, `${pathOf('hidden-1')}${end}?sub_tenant_id=eu`, {
      as: server.admin,
      ...sent,
    });
    for (const answered of [elsewhere, sub]) expectProblem(answered, 404, 'membership_not_found');
  }
});

test('update_membership changes the role of the named membership, and nothing if it has that role', async () => {
  await tenant('update-1');
  await tenant('update-1', 'eu');
  const whole = await add('update-1');
  await add('update-1', { email: whole.email, subTenantId: 'eu' });
  const path = `${pathOf('update-1')}/${whole.userId}`;
  server.travel(1000);
  const put = (query: string, body: object) => server.ok('PUT', path + query, { as: server.admin, body });
  for (const body of [{}, { role: 'viewer' }]) expect(await put('', body)).toEqual(whole);
  const refused = await server.call('PUT', path, { as: server.admin, body: { role: null } });
  expectInvalid(refused, { loc: ['body', 'role'], type: 'enum' });
  expect(await put('?sub_tenant_id=eu', { role: 'operator' })).toMatchObject({ subTenantId: 'eu', role: 'operator' });
  const updated = await put('?sub_tenant_id=', { role: 'admin' });
  expect(updated).toEqual({ ...whole, role: 'admin', updatedAt: expect.any(String) });
  expect(updated.updatedAt > whole.updatedAt).toBe(true);
  const events = await auditOf(server, { operation: 'update_membership', target_id: whole.userId });
  expect(events.map((event) => [event.subTenantId, event.changedFields])).toEqual(
    expect.arrayContaining([
      [null, ['role']],
      ['eu', ['role']],
    ]),
  );
  expect(events).toHaveLength(2);
});

test('the last owner of a tenant keeps role and membership', async () => {
  await tenant('last-1');
  await tenant('last-1', 'eu');
  const owner = await memberWithToken(server, { tenantId: 'last-1' }, 'owner');
  await memberWithToken(server, { tenantId: 'last-1', subTenantId: 'eu' }, 'owner');
  const invited = await memberOffered('last-1', 'owner');
  const path = `${pathOf('last-1')}/${owner.id}`;
  const demoted = await server.call('PUT', path, { as: server.admin, body: { role: 'admin' } });
  expectProblem(demoted, 409, 'last_owner');
  expectProblem(await server.call('DELETE', path, { as: server.admin }), 409, 'last_owner');
  // A pending owner can be removed, and does not count as an owner.
  await server.ok('PUT', `${pathOf('last-1')}/${invited}`, { as: server.admin, body: { role: 'viewer' } });
  await server.ok('DELETE', `${pathOf('last-1')}/${invited}`, { as: server.admin });
  await memberWithToken(server, { tenantId: 'last-1' }, 'owner');
  await server.ok('PUT', path, { as: server.admin, body: { role: 'admin' } });
});

test('delete_membership answers the final record once, and ends access and sessions there at once', async () => {
  const as = await tenant('delete-1');
  const user = await memberWithToken(server, { tenantId: 'delete-1' }, 'operator');
  const gateway = await server.ok('POST', '/v1/gateways', { as, body: { name: 'edge' } });
  const sessions = `/v1/gateways/${gateway.id}/sessions`;
  const session = await server.ok('POST', sessions, { as: { token: user.token } });
  const path = `${pathOf('delete-1')}/${user.id}`;
  expect(await server.ok('DELETE', path, { as })).toMatchObject({ userId: user.id, role: 'operator' });
  expectProblem(await server.call('DELETE', path, { as }), 404, 'membership_not_found');
  expectProblem(await server.call('GET', '/v1/providers', { as: { token: user.token } }), 403, 'scope_missing');
  expect((await server.ok('GET', `${sessions}/${session.id}`, { as })).status).toBe('revoked');
  expect(await idsOf(server, { path: pathOf('delete-1'), as }, {}, userIdOf)).toEqual([]);
  expect(await auditOf(server, { operation: 'delete_membership', target_id: user.id })).toHaveLength(1);
});

test('a membership that the platform suspended is neither made active nor removed by the tenant', async () => {
  const as = await tenant('suspended-1');
  const { id } = await memberWithToken(server, { tenantId: 'suspended-1' }, 'viewer');
  const path = `${pathOf('suspended-1')}/${id}`;
  await server.ok('PUT', path, { as: server.admin, body: { status: 'suspended' } });
  const lifted = await server.call('PUT', path, { as, body: { status: 'active' } });
  expectProblem(lifted, 403, 'suspended_by_platform');
  expectProblem(await server.call('DELETE', path, { as }), 403, 'suspended_by_platform');
  await server.ok('DELETE', path, { as: server.admin });
});

test('list_memberships filters by each of its parameters, and a value that matches nothing finds nothing', async () => {
  const as = await tenant('list-1');
  const bound = await tenant('list-1', 'eu');
  const one = await add('list-1', { role: 'admin' });
  const two = await add('list-1', { subTenantId: 'eu' });
  const joined = await memberWithToken(server, { tenantId: 'list-1' }, 'viewer');
  const all = [one.userId, two.userId, joined.id];
  const rows: [Record<string, string>, string[]][] = [
    [{}, all],
    [{ sub_tenant_id: '' }, all],
    [{ sub_tenant_id: 'eu' }, [two.userId]],
    [{ sub_tenant_id: 'none' }, []],
    [{ role: 'admin' }, [one.userId]],
    [{ status: 'pending' }, [one.userId, two.userId]],
    [{ status: 'active' }, [joined.id]],
    [{ role: 'admin', sub_tenant_id: 'eu' }, []],
    [{ text: one.email.slice(1).toUpperCase() }, [one.userId]],
    [{ text: 'example.com' }, all],
    [{ text: one.email, status: 'active' }, []],
    [{ text: '%' }, []],
    [{ text: '_' }, []],
  ];
  await expectFilters(server, { path: pathOf('list-1'), as }, rows, userIdOf);
  expect(await idsOf(server, { path: pathOf('list-1'), as: bound }, {}, userIdOf)).toEqual([two.userId]);
});

test('list_memberships walks all pages, also of one user with several memberships', async () => {
  const as = await tenant('pages-1');
  const make = async () => userIdOf(await add('pages-1'));
  await expectStablePages(server, { path: pathOf('pages-1'), as }, make, userIdOf);
  const email = newEmail();
  await tenant('pages-2');
  const places = ['a', 'b', 'c', 'd', 'e'];
  for (const subTenantId of places) {
    await tenant('pages-2', subTenantId);
    await add('pages-2', { email, subTenantId });
  }
  const seen: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const next: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const page: Body = await server.ok('GET', `${pathOf('pages-2')}?limit=2${next}`, { as: server.admin });
    seen.push(...page.items.map((item: Body) => item.subTenantId));
    cursor = page.nextCursor;
  }
  expect(seen.toSorted()).toEqual(places);
});

test('a cursor of list_memberships works only for its own query and caller', async () => {
  const as = await tenant('cursor-1');
  for (let count = 0; count < 3; count += 1) await add('cursor-1');
  await expectOwnCursorsOnly(
    server,
    { path: pathOf('cursor-1'), as },
    { filter: { role: 'viewer' }, list: { path: '/v1/users' }, principal: server.admin },
  );
});

test('regression: an administrator by claim makes nobody a platform administrator for good, themselves least of all', async () => {
  const issuer = await startIssuer(() => new Date());
  const sibling = await server.startSibling({
    QM_DEV_IDENTITY: '0',
    QM_OIDC_ISSUER: issuer.url,
    QM_OIDC_ADMIN_CLAIM: 'groups',
    QM_OIDC_ADMIN_VALUE: 'administrators',
  });
  const person = async (groups: string[]) => {
    const email = newEmail();
    await sibling.ok('POST', '/v1/onboarding/register', { body: { user: { email } } });
    const token = await issuer.sign({ sub: email, email, email_verified: true, groups });
    const body = { terms: { accepted: true } };
    const { id } = await sibling.ok('PUT', '/v1/me/profile', { as: { token }, body });
    return { as: { token }, path: `/v1/users/${id}/platform-administrator` };
  };
  const [byClaim, friend] = [await person(['administrators']), await person([])];
  for (const { path } of [byClaim, friend]) {
    const refused = await sibling.call('PUT', path, { as: byClaim.as });
    expectProblem(refused, 403, 'grant_exceeds_own');
    expect(refused.body.detail).toMatch(/only by a claim/);
  }
  // An administrator to whom the role was granted may do it, whatever the claims say.
  await sibling.ok('PUT', byClaim.path, { as: sibling.admin });
  await sibling.ok('PUT', friend.path, { as: byClaim.as });
  for (const { path } of [byClaim, friend]) await sibling.call('DELETE', path, { as: sibling.admin });
});

test('an administrator by claim cannot invite, because the claim cannot be checked at the acceptance', async () => {
  const issuer = await startIssuer(() => new Date());
  const sibling = await server.startSibling({
    QM_DEV_IDENTITY: '0',
    QM_OIDC_ISSUER: issuer.url,
    QM_OIDC_ADMIN_CLAIM: 'groups',
    QM_OIDC_ADMIN_VALUE: 'administrators',
  });
  const email = newEmail();
  await sibling.ok('POST', '/v1/onboarding/register', { body: { user: { email } } });
  const token = await issuer.sign({ sub: 'ada', email, email_verified: true, groups: ['administrators'] });
  await sibling.ok('PUT', '/v1/me/profile', { as: { token }, body: { terms: { accepted: true } } });
  await sibling.ok('POST', '/v1/tenants', { as: { token }, body: { id: 'by-claim' } });
  const invitation = { email: newEmail(), role: 'viewer' };
  const refused = await sibling.call('POST', pathOf('by-claim'), { as: { token }, body: invitation });
  expectProblem(refused, 409, 'invitation_void');
  await sibling.ok('POST', pathOf('by-claim'), { as: sibling.admin, body: invitation });
});
