import { afterAll, beforeAll, expect, test } from 'vitest';
import { auditOf, expectInvalid, expectProblem } from './endpoints/harness.ts';
import { acceptPath, accountWithKey, joinPlace, memberWithToken, type Person, unique } from './support/people.ts';
import { startTestServer, type TestServer } from './support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});

afterAll(() => server.stop());

type Tenant = { tenantId: string; as: { key: string } };

async function newTenant(): Promise<Tenant> {
  const tenantId = unique('suspending');
  const { key } = await accountWithKey(server, { tenantId });
  return { tenantId, as: { key } };
}

const pathOf = ({ tenantId }: Tenant, { id }: Person) => `/v1/tenants/${tenantId}/memberships/${id}`;
const change = (at: Tenant, person: Person, body: object, as: { key: string } | { token: string } = at.as) =>
  server.call('PUT', pathOf(at, person), { as, body });
const sees = async ({ tenantId }: Tenant, { token }: Person) =>
  (await server.call('GET', `/v1/tenants/${tenantId}`, { as: { token } })).status === 200;

test('regression: a tenant suspends a member in that tenant alone, and the first tenant of a person disables nobody elsewhere', async () => {
  const [home, other] = [await newTenant(), await newTenant()];
  const person = await memberWithToken(server, home, 'operator');
  const invitation = { email: person.email, role: 'viewer' };
  await server.ok('POST', `/v1/tenants/${other.tenantId}/memberships`, { as: other.as, body: invitation });
  // Before, the first tenant could disable the person in all tenants.
  const disabled = await server.call('POST', `/v1/users/${person.id}/disable`, { as: home.as });
  expectProblem(disabled, 403, 'platform_administrator_required');
  const { id: gatewayId } = await server.ok('POST', '/v1/gateways', { as: home.as, body: { name: 'edge' } });
  const sessions = `/v1/gateways/${gatewayId}/sessions`;
  const session = await server.ok('POST', sessions, { as: { token: person.token } });

  const suspended = await change(home, person, { status: 'suspended' });
  expect(suspended.body).toMatchObject({ status: 'suspended', role: 'operator', acceptedAt: expect.any(String) });
  expect(await sees(home, person)).toBe(false);
  expect(await server.ok('GET', `${sessions}/${session.id}`, { as: home.as })).toMatchObject({ status: 'revoked' });
  expect(await server.ok('GET', `/v1/users/${person.id}`, { as: { token: person.token } })).toMatchObject({
    status: 'active',
    memberships: expect.arrayContaining([expect.objectContaining({ tenantId: home.tenantId, status: 'suspended' })]),
  });
  // The invitation elsewhere stays.
  await server.ok('POST', acceptPath({ tenantId: other.tenantId }), { as: { token: person.token } });
  expect(await sees(other, person)).toBe(true);

  const list = async (status: string) =>
    (await server.ok('GET', `/v1/tenants/${home.tenantId}/memberships?status=${status}`, { as: home.as })).items.map(
      ({ userId }: { userId: string }) => userId,
    );
  expect([await list('suspended'), await list('active')]).toEqual([[person.id], []]);
  expect((await change(home, person, { status: 'active' })).body).toMatchObject({ status: 'active' });
  expect(await sees(home, person)).toBe(true);
  const events = await auditOf(server, { operation: 'update_membership', target_id: person.id });
  const changedFields = ['status', 'suspendedBy'];
  expect(events).toMatchObject([{ changedFields }, { changedFields }]);
});

test('regression: only the platform enables a person whom it disabled', async () => {
  const home = await newTenant();
  const person = await memberWithToken(server, home, 'viewer');
  await server.ok('POST', `/v1/users/${person.id}/disable`, { as: server.admin });
  const enabled = await server.call('POST', `/v1/users/${person.id}/enable`, { as: home.as });
  expectProblem(enabled, 403, 'platform_administrator_required');
  expect((await server.ok('POST', `/v1/users/${person.id}/enable`, { as: server.admin })).status).toBe('active');
});

test('only the tenant or the platform ends a suspension: not the person, and no other tenant', async () => {
  const [home, other] = [await newTenant(), await newTenant()];
  const person = await memberWithToken(server, home, 'owner');
  await joinPlace(server, person, { place: other, role: 'owner' });
  await memberWithToken(server, home, 'owner');
  await change(home, person, { status: 'suspended' });
  const [asPerson, active] = [{ token: person.token }, { status: 'active' }];
  for (const as of [asPerson, other.as]) {
    expectProblem(await change(home, person, active, as), 404, 'tenant_not_found');
  }
  const admin = await memberWithToken(server, home, 'admin');
  expectProblem(await change(home, person, active, { token: admin.token }), 403, 'grant_exceeds_own');
  // Suspended or not, the membership still keeps the other tenant from deleting the person.
  expectProblem(await server.call('DELETE', `/v1/users/${person.id}`, { as: other.as }), 403, 'user_out_of_reach');
  expectProblem(await server.call('POST', acceptPath(home), { as: asPerson }), 409, 'membership_accepted');
  expect((await change(home, person, active, server.admin)).body).toMatchObject(active);
});

test('the last owner of a tenant who is not suspended cannot be suspended, and an invitation cannot', async () => {
  const home = await newTenant();
  const [owner, other] = [await memberWithToken(server, home, 'owner'), await memberWithToken(server, home, 'owner')];
  await change(home, other, { status: 'suspended' });
  expectProblem(await change(home, owner, { status: 'suspended' }), 409, 'last_owner');
  expectProblem(await server.call('DELETE', pathOf(home, owner), { as: home.as }), 409, 'last_owner');
  await change(home, other, { status: 'active' });
  expect((await change(home, owner, { status: 'suspended' })).status).toBe(200);

  const elsewhere = await newTenant();
  const invited = await memberWithToken(server, elsewhere, 'viewer');
  const invitation = { email: invited.email, role: 'viewer' };
  await server.ok('POST', `/v1/tenants/${home.tenantId}/memberships`, { as: home.as, body: invitation });
  const refused = await change(home, invited, { status: 'suspended' });
  expectInvalid(refused, { loc: ['body', 'status'], type: 'value_error' });
});

test('a role and a suspension are changed in one call', async () => {
  const home = await newTenant();
  const person = await memberWithToken(server, home, 'operator');
  const changed = await change(home, person, { role: 'viewer', status: 'suspended' });
  expect(changed.body).toMatchObject({ role: 'viewer', status: 'suspended' });
  const again = await change(home, person, { role: 'viewer', status: 'suspended' });
  expect(again.body).toEqual(changed.body);
});

test('regression: only the platform lifts a suspension that it imposed, and no new invitation gets around it', async () => {
  const home = await newTenant();
  const person = await memberWithToken(server, home, 'operator');
  const active = { status: 'active' };
  const imposed = await change(home, person, { status: 'suspended' }, server.admin);
  expect(imposed.body).toMatchObject({ status: 'suspended', suspendedBy: 'platform' });
  const members = `/v1/tenants/${home.tenantId}/memberships`;
  const listed = await server.ok('GET', `${members}?status=suspended`, { as: home.as });
  expect(listed.items).toMatchObject([{ userId: person.id, suspendedBy: 'platform' }]);
  expect(await server.ok('GET', `/v1/users/${person.id}`, { as: home.as })).toMatchObject({
    memberships: [{ tenantId: home.tenantId, suspendedBy: 'platform' }],
  });

  expectProblem(await change(home, person, active), 403, 'suspended_by_platform');
  // A suspension by the tenant leaves that of the platform in force.
  expect((await change(home, person, { status: 'suspended' })).body).toEqual(imposed.body);
  expect((await change(home, person, { role: 'viewer' })).body).toMatchObject({ suspendedBy: 'platform' });
  for (const as of [home.as, { token: person.token }]) {
    expectProblem(await server.call('DELETE', pathOf(home, person), { as }), 403, 'suspended_by_platform');
  }
  const erased = await server.call('DELETE', `/v1/users/${person.id}`, { as: home.as });
  expectProblem(erased, 403, 'platform_administrator_required');
  expect(await sees(home, person)).toBe(false);
  expect((await change(home, person, active, server.admin)).body).toMatchObject({ ...active, suspendedBy: null });
  expect(await sees(home, person)).toBe(true);
});

test('a platform administrator takes over the suspension of a tenant, and lifts both kinds', async () => {
  const home = await newTenant();
  const person = await memberWithToken(server, home, 'viewer');
  const suspend = async (as: { key: string }) => (await change(home, person, { status: 'suspended' }, as)).body;
  expect(await suspend(home.as)).toMatchObject({ suspendedBy: 'tenant' });
  expect(await suspend(server.admin)).toMatchObject({ suspendedBy: 'platform' });
  expectProblem(await change(home, person, { status: 'active' }), 403, 'suspended_by_platform');
  const [takenOver] = await auditOf(server, { operation: 'update_membership', target_id: person.id });
  expect(takenOver).toMatchObject({ changes: [{ field: 'suspendedBy', before: 'tenant', after: 'platform' }] });
  await change(home, person, { status: 'active' }, server.admin);
  await suspend(home.as);
  expect((await change(home, person, { status: 'active' }, server.admin)).body).toMatchObject({ suspendedBy: null });
});

test('regression: a tenant does not delete a person whom the platform disabled, to invite them again', async () => {
  const home = await newTenant();
  const person = await memberWithToken(server, home, 'viewer');
  await server.ok('POST', `/v1/users/${person.id}/disable`, { as: server.admin });
  const erased = await server.call('DELETE', `/v1/users/${person.id}`, { as: home.as });
  expectProblem(erased, 403, 'platform_administrator_required');
});
