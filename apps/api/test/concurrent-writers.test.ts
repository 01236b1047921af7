import { afterAll, beforeAll, expect, test } from 'vitest';
import { auditOf, expectProblem } from './endpoints/harness.ts';
import { newTenant } from './governance/loop-support.ts';
import { acceptPath, accountWithKey, offerMembership, registeredUser, unique } from './support/people.ts';
import { type Answered, type Body, type Credential, startTestServer, type TestServer } from './support/server.ts';
import { raceForTasks, together } from './task-claims.ts';

// Several callers write the same thing concurrently. The tests run on both databases, because their locks differ.

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

/** Sends a request again while it is refused with 503, as clients do: on a busy machine a write may wait for too long. */
async function sendUntilAnswered(send: () => Promise<Answered>): Promise<Answered> {
  for (;;) {
    const answered = await send();
    if (answered.status !== 503) return answered;
  }
}

const times = (count: number) => Array.from({ length: count }, (_, index) => index);

test('of many concurrent requests that create the same account and its tenant, one succeeds', async () => {
  const body = { id: unique('race'), name: 'race', tenantId: unique('race') };
  const create = () => sendUntilAnswered(() => server.call('POST', '/v1/service-accounts', { as: server.admin, body }));
  const { answers } = await together(times(30).map(create));
  const [won, ...lost] = answers.toSorted((one, other) => one.status - other.status);
  expect(won?.status).toBe(200);
  for (const answered of lost) expectProblem(answered, 409, 'id_taken');
  const events = await auditOf(server, { target_id: body.id, operation: 'create_service_account' });
  expect(events).toHaveLength(1);
});

test('concurrent registrations of one email create one user', async () => {
  const email = `${unique('race')}@example.com`;
  const register = () => server.call('POST', '/v1/onboarding/register', { body: { user: { email } } });
  const { statuses } = await together(times(5).map(register));
  expect(statuses).toEqual([200, 200, 200, 200, 200]);
  const { items } = await server.ok('GET', `/v1/users?email=${email}`, { as: server.admin });
  expect(items).toHaveLength(1);
});

function askForOrganization(as: Credential, id: string): Promise<Answered> {
  return server.call('POST', '/v1/onboarding/organization', {
    as,
    body: { organization: { id, displayName: 'Ours' } },
  });
}

test('of concurrent requests of one user for an organization one succeeds, and the others answer 409', async () => {
  const { token } = await registeredUser(server);
  const ids = times(4).map(() => unique('race'));
  const { statuses, answers } = await together(ids.map((id) => askForOrganization({ token }, id)));
  expect(statuses).toEqual([200, 409, 409, 409]);
  for (const answered of answers.filter(({ status }) => status === 409)) {
    expectProblem(answered, 409, 'organization_exists');
  }
  const { items } = await server.ok('GET', '/v1/tenants?limit=100', { as: server.admin });
  const isOurs = (item: Body) => ids.some((id) => item.id.startsWith(`${id}-`));
  expect(items.filter(isOurs)).toHaveLength(1);
});

test('two users who concurrently ask for the same organization id both get a tenant', async () => {
  const people = [await registeredUser(server), await registeredUser(server)];
  const id = unique('wanted');
  const { statuses, answers } = await together(people.map(({ token }) => askForOrganization({ token }, id)));
  expect(statuses).toEqual([200, 200]);
  expect(new Set(answers.map(({ body }) => body.tenant.id)).size).toBe(2);
});

test('of concurrent service accounts with the same required new tenant, one is created', async () => {
  const tenantId = unique('new');
  const create = () => {
    const body = { name: 'race', tenantId, createTenant: 'always' };
    return server.call('POST', '/v1/service-accounts', { as: server.admin, body });
  };
  const { answers } = await together(times(5).map(create));
  const [won, ...lost] = answers.toSorted((one, other) => one.status - other.status);
  expect(won?.body).toMatchObject({ tenantId, alsoCreated: ['tenant'] });
  for (const answered of lost) expectProblem(answered, 409, 'tenant_exists');
});

test('of concurrent acceptances of one membership one succeeds, and the others answer 409', async () => {
  const tenantId = unique('tenant');
  await accountWithKey(server, { tenantId });
  const { id, email, token } = await registeredUser(server);
  await offerMembership(server, email, { tenantId }, 'viewer');
  const accept = () => server.call('POST', acceptPath({ tenantId }), { as: { token } });
  const { statuses } = await together(times(4).map(accept));
  expect(statuses).toEqual([200, 409, 409, 409]);
  expect(await auditOf(server, { operation: 'accept_membership', target_id: id })).toHaveLength(1);
});

test('manifests that are published concurrently get distinct versions, one of which is active', async () => {
  const as = await accountWithKey(server, { tenantId: unique('versions') });
  const name = unique('manifest');
  const publish = (step: number) =>
    server.ok('POST', '/v1/manifests', { as, body: { name, kind: 'agent', spec: { 'x-step': step } } });
  const made = await Promise.all(times(5).map(publish));
  expect(new Set(made.map(({ version }) => version))).toEqual(new Set([1, 2, 3, 4, 5]));
  const active = await server.ok('GET', `/v1/manifests?name=${name}&status=active`, { as });
  expect(active.items).toHaveLength(1);
});

test('of two operators who claim a task concurrently one gets it and the other 409, twice', async () => {
  await raceForTasks(server, 2);
});

test('of concurrent requests that apply a recommendation, one applies it', async () => {
  const tenant = await newTenant(server);
  await tenant.see('gpt-5');
  const [{ id }] = (await tenant.recommendations()) as [Body];
  const answers = await Promise.all(times(6).map(() => tenant.apply({ recommendationIds: [id] })));
  expect(answers.filter(({ applied }) => applied.length === 1)).toHaveLength(1);
  expect(answers.filter(({ skipped }) => skipped[0]?.reason === 'not_open')).toHaveLength(5);
  expect(await tenant.items()).toHaveLength(1);
});

test('if two platform administrators revoke each other’s right at once, one keeps it', async () => {
  await server.services.db.updateTable('users').set({ platform_administrator: 0 }).execute();
  const users = [await registeredUser(server), await registeredUser(server)];
  const paths = users.map(({ id }) => `/v1/users/${id}/platform-administrator`);
  for (const path of paths) await server.ok('PUT', path, { as: server.admin });
  const { statuses } = await together(paths.map((path) => server.call('DELETE', path, { as: server.admin })));
  expect(statuses).toEqual([200, 409]);
});
