import { randomUUID } from 'node:crypto';
import type { Role } from '@quartermaster/contracts/scopes.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectProblem } from '../endpoints/harness.ts';
import {
  acceptPath,
  accountWithKey,
  joinPlace,
  memberWithToken,
  offerMembership,
  type Person,
  type Place,
  registeredUser,
  unique,
} from '../support/people.ts';
import { type Answered, type Credential, startTestServer, type TestServer } from '../support/server.ts';

// Regression: a stored answer, even one with a new API key, was replayed to users who had lost access to the tenant.

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

type Request = { path: string; body?: object; method?: string };

/** A function that sends the same request with the same Idempotency-Key each time. */
function keyed(as: Credential, { path, body, method = 'POST' }: Request): () => Promise<Answered> {
  const headers = { 'idempotency-key': randomUUID() };
  return () => server.call(method, path, { as, headers, ...(body && { body }) });
}

async function first(repeat: () => Promise<Answered>): Promise<Answered> {
  const answer = await repeat();
  expect([answer.status, answer.headers.get('idempotency-replayed')], answer.text).toEqual([200, null]);
  return answer;
}

function expectReplay(answer: Answered, before: Answered): void {
  expect([answer.status, answer.text]).toEqual([200, before.text]);
  expect(answer.headers.get('idempotency-replayed')).toBe('true');
}

function expectNoReplay(answer: Answered, code = 'tenant_forbidden'): void {
  expectProblem(answer, 403, code);
  expect(answer.headers.get('idempotency-replayed')).toBeNull();
}

/** A tenant with a member who is an owner elsewhere, and so always has some scope. */
async function newMember(role: Role): Promise<{ tenantId: string; home: string; person: Person }> {
  const [tenantId, home] = [unique('tenant'), unique('home')];
  for (const one of [tenantId, home]) await accountWithKey(server, { tenantId: one });
  // Another owner, because the last owner of a tenant cannot leave.
  await memberWithToken(server, { tenantId }, 'owner');
  const person = await memberWithToken(server, { tenantId: home }, 'owner');
  await joinPlace(server, person, { place: { tenantId }, role });
  return { tenantId, home, person };
}

function membershipPath({ tenantId, subTenantId }: Place, { id }: Person): string {
  const query = subTenantId === undefined ? '' : `?sub_tenant_id=${subTenantId}`;
  return `/v1/tenants/${tenantId}/memberships/${id}${query}`;
}

function remove(person: Person, place: Place): Promise<unknown> {
  return server.ok('DELETE', membershipPath(place, person), { as: server.admin });
}

test('a removed member is refused, also if the request names the tenant in body, query or path', async () => {
  const { tenantId, person } = await newMember('owner');
  const { id: providerId } = await server.ok('POST', '/v1/providers', {
    as: person,
    body: { name: unique('llm'), kind: 'llm', tenantId },
  });
  const account = await accountWithKey(server, { tenantId });
  const body = { displayName: 'changed' };
  const requests: Request[] = [
    { path: '/v1/providers', body: { name: unique('llm'), kind: 'llm', tenantId } },
    { path: `/v1/service-accounts/${account.id}/keys?tenant_id=${tenantId}`, body: { scopes: ['*'] } },
    { path: `/v1/service-accounts/${account.id}/keys`, body: { scopes: ['*'] } },
    { method: 'PUT', path: `/v1/tenants/${tenantId}`, body },
    { method: 'PUT', path: `/v1/providers/${providerId}`, body },
    { path: `/v1/providers/${providerId}/recommendations/apply` },
  ];
  const repeats = requests.map((request) => keyed(person, request));
  for (const repeat of repeats) {
    const made = await first(repeat);
    expectReplay(await repeat(), made);
  }
  await remove(person, { tenantId });
  for (const repeat of repeats) {
    const refused = await repeat();
    expectNoReplay(refused);
    expect(refused.text).not.toContain('qm_');
  }
  // A member who joins again gets the stored answers, and nothing is done twice.
  await joinPlace(server, person, { place: { tenantId }, role: 'owner' });
  for (const repeat of repeats) expect((await repeat()).headers.get('idempotency-replayed')).toBe('true');
});

test('a demoted member does not get an API key with scopes that they no longer hold', async () => {
  const { tenantId, person } = await newMember('owner');
  const account = await accountWithKey(server, { tenantId });
  const path = `/v1/service-accounts/${account.id}/keys?tenant_id=${tenantId}`;
  const repeat = keyed(person, { path, body: { scopes: ['*'] } });
  const made = await first(repeat);
  const setRole = (role: Role) =>
    server.ok('PUT', membershipPath({ tenantId }, person), { as: server.admin, body: { role } });
  // An admin may create keys, but not with all scopes. A viewer may not create keys here.
  for (const role of ['admin', 'viewer'] as const) {
    await setRole(role);
    const refused = await repeat();
    expectNoReplay(refused);
    expect(refused.text).not.toContain(made.body.key);
  }
  await setRole('owner');
  expectReplay(await repeat(), made);
});

test('a member who keeps only a sub-tenant gets answers from there, and none of the whole tenant', async () => {
  const { tenantId, person } = await newMember('operator');
  await accountWithKey(server, { tenantId, subTenantId: 'eu' });
  const provider = (body: object) =>
    keyed(person, { path: '/v1/providers', body: { name: unique('llm'), kind: 'llm', tenantId, ...body } });
  const whole = provider({});
  const part = provider({ subTenantId: 'eu' });
  await first(whole);
  const made = await first(part);
  await remove(person, { tenantId });
  await joinPlace(server, person, { place: { tenantId, subTenantId: 'eu' }, role: 'operator' });
  expectNoReplay(await whole());
  expectReplay(await part(), made);
});

test('a member who loses one of two tenants still gets answers of the other', async () => {
  const { tenantId, home, person } = await newMember('owner');
  const body = { name: unique('llm'), kind: 'llm', tenantId: home };
  const created = keyed(person, { path: '/v1/providers', body });
  const made = await first(created);
  const changed = keyed(person, { method: 'PUT', path: `/v1/providers/${made.body.id}`, body: { displayName: 'x' } });
  const put = await first(changed);
  const renamed = keyed(person, { method: 'PUT', path: `/v1/tenants/${home}`, body: { displayName: 'x' } });
  const tenant = await first(renamed);
  await remove(person, { tenantId });
  expectReplay(await created(), made);
  expectReplay(await changed(), put);
  expectReplay(await renamed(), tenant);
});

test('a former platform administrator is refused', async () => {
  const { tenantId, person } = await newMember('owner');
  // Changed in the database, because the operation does not revoke the last platform administrator.
  const setAdministrator = (administrator: 0 | 1) => {
    const { db } = server.services;
    return db.updateTable('users').set({ platform_administrator: administrator }).where('id', '=', person.id).execute();
  };
  await setAdministrator(1);
  const body = { name: unique('account'), platformAdministrator: true, tenantId };
  const repeat = keyed(person, { path: '/v1/service-accounts', body });
  const made = await first(repeat);
  expectReplay(await repeat(), made);
  await setAdministrator(0);
  expectNoReplay(await repeat());
});

test('a request that gives the caller more rights is replayed: an organization, an accepted membership', async () => {
  const founder = await registeredUser(server);
  const body = { organization: { displayName: unique('Organization') } };
  const found = keyed(founder, { path: '/v1/onboarding/organization', body });
  const founded = await first(found);
  expectReplay(await found(), founded);

  const invited = await registeredUser(server);
  const place = { tenantId: founded.body.tenant.id };
  await offerMembership(server, invited.email, place, 'viewer');
  const accept = keyed(invited, { path: acceptPath(place) });
  const accepted = await first(accept);
  expectReplay(await accept(), accepted);

  // The same for a request by which the caller leaves.
  const leave = keyed(invited, { method: 'DELETE', path: membershipPath(place, invited) });
  const left = await first(leave);
  expectReplay(await leave(), left);
});
