import { createOrganization } from '@quartermaster/contracts/onboarding.ts';
import { beforeAll, expect, test } from 'vitest';
import {
  acceptPath,
  accountWithKey,
  joinPlace,
  memberWithToken,
  offerMembership,
  type Person,
  registeredUser,
  unique,
} from '../support/people.ts';
import type { Answered, Body } from '../support/server.ts';
import { checkCoverageAfterAll, type Endpoints, expectProblem, serverFor } from './harness.ts';

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor({ createOrganization });
});
checkCoverageAfterAll(() => server);

const PATH = '/v1/onboarding/organization';

function ask({ token }: Pick<Person, 'token'>, organization: object = {}, more: object = {}): Promise<Answered> {
  const body = { organization: { displayName: 'Ours', ...organization }, ...more };
  return server.call('POST', PATH, { as: { token }, body });
}

async function made(person: Person, organization: object = {}, more: object = {}): Promise<Body> {
  const answered = await ask(person, organization, more);
  expect(answered.status, answered.text).toBe(200);
  return answered.body;
}

test('a new user registers, signs in, accepts the terms, creates an organization, and works in it', async () => {
  const email = `${unique('founder')}@example.com`;
  await server.ok('POST', '/v1/onboarding/register', { body: { user: { email } } });
  const as = await server.tokenOf(email);
  expectProblem(await ask(as), 403, 'terms_required');
  const { id } = await server.ok('PUT', '/v1/me/profile', { as, body: { terms: { accepted: true } } });
  expectProblem(await server.call('GET', '/v1/providers', { as }), 403, 'scope_missing');

  const { tenant, membership } = (await ask(as, { displayName: 'Acme Rockets' })).body;
  expect(tenant).toMatchObject({ displayName: 'Acme Rockets', subTenantIds: [] });
  expect(tenant.id).toMatch(/^ten_/);
  expect(membership).toMatchObject({ userId: id, tenantId: tenant.id, subTenantId: null, email, role: 'owner' });
  expect(membership).toMatchObject({ status: 'active', acceptedAt: membership.createdAt });

  const tenantId = tenant.id;
  const account = await server.ok('POST', '/v1/service-accounts', { as, body: { name: 'agent' } });
  expect(account).toMatchObject({ tenantId, subTenantId: null });
  const keys = `/v1/service-accounts/${account.id}/keys`;
  const { key } = await server.ok('POST', keys, { as, body: { scopes: ['providers:write'] } });
  const provider = await server.ok('POST', '/v1/providers', { as: { key }, body: { name: 'llm', kind: 'llm' } });
  expect(provider.tenantId).toBe(tenantId);
  const settings = { captureContent: true };
  await server.ok('PUT', `/v1/tenants/${tenantId}`, { as, body: { settings } });

  const colleague = await registeredUser(server);
  const body = { email: colleague.email, role: 'operator' };
  await server.ok('POST', `/v1/tenants/${tenantId}/memberships`, { as, body });
  await server.ok('POST', acceptPath({ tenantId }), { as: colleague });
  const providers = await server.ok('GET', '/v1/providers', { as: colleague });
  expect(providers.items.map((item: Body) => item.id)).toEqual([provider.id]);
  const users = await server.ok('GET', '/v1/users', { as });
  expect(new Set(users.items.map((item: Body) => item.id))).toEqual(new Set([id, colleague.id]));
});

test('the owner of an organization reaches nothing beyond it', async () => {
  const founder = await registeredUser(server);
  const { tenant } = await made(founder);
  const other = await accountWithKey(server, { tenantId: unique('other') });
  const { tenantId } = other.place;
  const as = founder;
  const provider = await server.ok('POST', '/v1/providers', { as: other, body: { name: 'theirs', kind: 'llm' } });
  expectProblem(await server.call('GET', `/v1/providers/${provider.id}`, { as }), 404, 'provider_not_found');
  expectProblem(await server.call('GET', `/v1/tenants/${tenantId}`, { as }), 404, 'tenant_not_found');
  expectProblem(await server.call('GET', `/v1/providers?tenant_id=${tenantId}`, { as }), 403, 'tenant_forbidden');
  const account = { name: 'x', tenantId: unique('made') };
  expectProblem(await server.call('POST', '/v1/service-accounts', { as, body: account }), 403, 'tenant_forbidden');
  expectProblem(await server.call('POST', '/v1/tenants', { as, body: {} }), 403, 'platform_administrator_required');
  const mine = await server.ok('GET', '/v1/tenants', { as });
  expect(mine.items.map((item: Body) => item.id)).toEqual([tenant.id]);
  for (const list of ['/v1/providers', '/v1/credentials/search', '/v1/service-accounts/search']) {
    const sent = list.endsWith('search') ? { as, body: {} } : { as };
    const { items } = await server.ok('body' in sent ? 'POST' : 'GET', list, sent);
    expect(items, list).toEqual([]);
  }
});

test('an organization stores the given settings, and its audit says who created it', async () => {
  const founder = await registeredUser(server);
  const settings = { captureContent: true, spanRetentionDays: 30 };
  const { tenant } = await made(founder, { id: unique('organization') }, { settings });
  expect(tenant).toMatchObject({ settings, selfService: true });
  const { id } = tenant;
  expect(await server.ok('GET', `/v1/tenants/${id}`, { as: founder })).toEqual(tenant);
  const events = await server.ok('GET', '/v1/audit-events?operation=create_organization', { as: founder });
  const shown = events.items.map((event: Body) => [event.target, event.changedFields]);
  expect(new Map(shown.map(([target, changed]: Body[]) => [target.type, [target.id, changed]]))).toEqual(
    new Map([
      ['tenant', [id, ['displayName', 'id', 'settings']]],
      ['membership', [founder.id, ['email', 'role']]],
    ]),
  );
  expect(shown).toHaveLength(2);
  for (const event of events.items) {
    expect(event).toMatchObject({ tenantId: id, actor: { type: 'user', id: founder.id }, scheme: 'bearer' });
  }
});

// Otherwise the administrator would work in the stranger's tenant.
test('regression: a user cannot create an organization with an id that a platform administrator expects to be free', async () => {
  const founder = await registeredUser(server);
  const wanted = unique('acme');
  const { tenant } = await made(founder, { id: wanted });
  expect(tenant.id).toMatch(new RegExp(`^${wanted}-[0-9a-hjkmnp-tv-z]{10}$`));
  expectProblem(await server.call('GET', `/v1/tenants/${wanted}`, { as: server.admin }), 404, 'tenant_not_found');

  const body = { name: 'Billing agent', tenantId: wanted };
  const account = await server.ok('POST', '/v1/service-accounts', { as: server.admin, body });
  expect(account).toMatchObject({ tenantId: wanted, alsoCreated: ['tenant'] });
  const own = await server.ok('GET', `/v1/tenants/${wanted}`, { as: server.admin });
  expect(own).toMatchObject({ selfService: false });
  expectProblem(await server.call('GET', `/v1/tenants/${wanted}`, { as: founder }), 404, 'tenant_not_found');
});

test('users who ask for an id that exists learn nothing about other tenants', async () => {
  const taken = await accountWithKey(server, { tenantId: unique('taken') });
  for (const wanted of [taken.place.tenantId, taken.place.tenantId, 'default', 'Default']) {
    const { tenant } = await made(await registeredUser(server), { id: wanted });
    expect(tenant.id.slice(0, -11)).toBe(wanted);
    expect(tenant.subTenantIds).toEqual([]);
  }
});

test('a user can create one organization', async () => {
  const founder = await registeredUser(server);
  await made(founder);
  expectProblem(await ask(founder), 409, 'organization_exists');
});

test('a user who left the organization that they created cannot create another one', async () => {
  const founder = await registeredUser(server);
  const { tenant } = await made(founder);
  await memberWithToken(server, { tenantId: tenant.id }, 'owner');
  await server.ok('DELETE', `/v1/tenants/${tenant.id}/memberships/${founder.id}`, { as: founder });
  expectProblem(await ask(founder), 409, 'organization_exists');
});

test('a member of a tenant cannot create an organization until they leave; an invitation does not prevent it', async () => {
  const [tenantId, offering] = [unique('tenant'), unique('tenant')];
  for (const id of [tenantId, offering]) await accountWithKey(server, { tenantId: id, subTenantId: 'eu' });
  const user = await registeredUser(server);
  await offerMembership(server, user.email, { tenantId: offering }, 'admin');
  const place = { tenantId, subTenantId: 'eu' };
  await joinPlace(server, user, { place, role: 'viewer' });
  expectProblem(await ask(user), 409, 'organization_exists');
  await server.ok('DELETE', `/v1/tenants/${tenantId}/memberships/${user.id}?sub_tenant_id=eu`, { as: user });
  const { tenant } = await made(user);
  const { memberships } = await server.ok('GET', `/v1/users/${user.id}`, { as: user });
  const held = memberships.map((one: Body) => [one.tenantId, one.status]);
  expect(new Map(held)).toEqual(
    new Map([
      [offering, 'pending'],
      [tenant.id, 'active'],
    ]),
  );
});

test('a service account cannot create an organization, not even as a platform administrator', async () => {
  const body = { organization: { displayName: 'Theirs' } };
  const account = await accountWithKey(server, { tenantId: unique('tenant') });
  for (const as of [account, server.admin]) {
    expectProblem(await server.call('POST', PATH, { as, body }), 403, 'user_required');
  }
  expectProblem(await server.call('POST', PATH, { body }), 401, 'credentials_missing');
});

test.for([
  [{}, ['body', 'organization'], 'missing'],
  [{ organization: {} }, ['body', 'organization', 'displayName'], 'missing'],
  [{ organization: { displayName: '' } }, ['body', 'organization', 'displayName'], 'string_too_short'],
  [{ organization: { displayName: ' x' } }, ['body', 'organization', 'displayName'], 'value_error'],
  [{ organization: { displayName: 'x', id: '' } }, ['body', 'organization', 'id'], 'string_too_short'],
  [{ organization: { displayName: 'x', id: '-x' } }, ['body', 'organization', 'id'], 'string_pattern_mismatch'],
  [{ organization: { displayName: 'x', id: 'x'.repeat(101) } }, ['body', 'organization', 'id'], 'string_too_long'],
  [{ organization: { displayName: 'x', role: 'owner' } }, ['body', 'organization', 'role'], 'extra_forbidden'],
  [{ organization: { displayName: 'x' }, tenantId: 'default' }, ['body', 'tenantId'], 'extra_forbidden'],
  [
    { organization: { displayName: 'x' }, settings: { spanRetentionDays: 0 } },
    ['body', 'settings', 'spanRetentionDays'],
    'greater_than_equal',
  ],
] as const)('a body of %j is refused', async ([body, loc, type]) => {
  const { token } = await registeredUser(server);
  const answered = await server.call('POST', PATH, { as: { token }, body });
  expect(answered.body.detail).toContainEqual(expect.objectContaining({ loc: [...loc], type }));
  expect(answered.status).toBe(422);
});

test('an id of null counts as no id', async () => {
  expect((await made(await registeredUser(server), { id: null })).tenant.id).toMatch(/^ten_/);
});

/** A server with rate limits and a frozen clock, so that all attempts are in the same minute. */
async function limitedSibling() {
  const limited = await server.startSibling({ QM_RATE_LIMITS: 'on' });
  limited.freeze();
  return limited;
}

test('a user who tries many times gets 429 with Retry-After, and others do not', async () => {
  const limited = await limitedSibling();
  const [one, other] = [await registeredUser(limited), await registeredUser(limited)];
  const attempt = ({ token }: Person, id: string) =>
    limited.call('POST', PATH, { as: { token }, body: { organization: { displayName: 'Ours', id } } });
  expect((await attempt(one, unique('free'))).status).toBe(200);
  for (let count = 1; count < 10; count += 1) {
    expectProblem(await attempt(one, unique('free')), 409, 'organization_exists');
  }
  const refused = await attempt(one, unique('free'));
  expectProblem(refused, 429, 'rate_limited');
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await attempt(other, unique('free'))).status).toBe(200);
});

test('create_organization answers 403 self_service_off if self-service is switched off', async () => {
  const closed = await server.startSibling({ QM_SELF_SERVICE: 'off' });
  const person = await registeredUser(closed);
  const body = { organization: { displayName: 'Ours' } };
  expectProblem(await closed.call('POST', PATH, { as: { token: person.token }, body }), 403, 'self_service_off');
});
