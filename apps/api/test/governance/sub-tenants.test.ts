import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountWithKey, memberWithToken } from '../support/people.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { newTenant } from './loop-support.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

/** A provider of the whole tenant, and two sub-tenants, each with a sender and a reviewer. */
async function twoTeams() {
  const tenant = await newTenant(server);
  const { tenantId } = tenant;
  const team = async (subTenantId: string) => ({
    sender: await accountWithKey(server, { tenantId, subTenantId }, ['traces:write']),
    reviewer: await accountWithKey(server, { tenantId, subTenantId }),
  });
  return { tenant, a: await team('a'), b: await team('b') };
}

test('one recommendation for the tenant’s provider is based on the observations of both', async () => {
  const { tenant, a, b } = await twoTeams();
  await tenant.see('gpt-5', a.sender);
  await tenant.see('gpt-5', b.sender);
  const ids: string[] = [(await tenant.observation('gpt-5', 'a')).id, (await tenant.observation('gpt-5', 'b')).id];
  expect(await tenant.recommendations()).toMatchObject([{ subTenantId: null, observationIds: ids.toSorted() }]);
  expect(await tenant.tasks()).toHaveLength(2);
  const { items } = await server.ok('GET', '/v1/operator/tasks', { as: a.reviewer });
  expect(items).toMatchObject([{ subTenantId: 'a' }]);
});

test('an approval within a sub-tenant does not widen what the whole tenant may use', async () => {
  const { tenant, a } = await twoTeams();
  await tenant.see('gpt-5', a.sender);
  const { id } = await tenant.observation('gpt-5', 'a');
  await tenant.review(id, 'approved', a.reviewer, 'ours');
  await server.ok('PUT', `/v1/runtime-observations/${id}`, { as: tenant.operator, body: { note: 'noted' } });
  const [recommendation] = await tenant.recommendations();
  const skipped = [{ id: recommendation.id, reason: 'needs_review' }];
  expect(await tenant.apply()).toMatchObject({ applied: [], skipped });
  const own = await server.call('POST', `${tenant.path}/recommendations/apply`, { as: a.reviewer, body: {} });
  expect(own.status).toBe(404);
  expect(await tenant.items()).toEqual([]);

  await tenant.review(id, 'approved');
  await server.ok('PUT', `/v1/runtime-observations/${id}`, { as: a.reviewer, body: { note: 'thanks' } });
  expect((await tenant.apply()).applied).toHaveLength(1);
});

test('an approval by a member of the whole tenant counts for the whole tenant', async () => {
  const { tenant, a } = await twoTeams();
  const member = await memberWithToken(server, { tenantId: tenant.tenantId }, 'operator');
  await tenant.see('gpt-5', a.sender);
  const { id } = await tenant.observation('gpt-5', 'a');
  const body = { decision: 'approved' };
  await server.ok('POST', `/v1/runtime-observations/${id}/review`, { as: member, body });
  expect((await tenant.apply()).applied).toHaveLength(1);
});

test('the sub-tenant’s reviewer decides about its own provider', async () => {
  const { tenant, a } = await twoTeams();
  const provider = await server.ok('POST', '/v1/providers', {
    as: a.reviewer,
    body: { name: 'openai', kind: 'llm' },
  });
  expect(provider.subTenantId).toBe('a');
  await tenant.see('gpt-5', a.sender);
  const observation = await tenant.observation('gpt-5', 'a');
  expect(observation.providerId).toBe(provider.id);
  await tenant.review(observation.id, 'approved', a.reviewer);
  const path = `/v1/providers/${provider.id}/recommendations/apply`;
  expect((await server.ok('POST', path, { as: a.reviewer })).applied).toHaveLength(1);
});

test.each(['rejected', 'ignored'])(
  'an observation that is %s by one sub-tenant leaves the recommendation of the other open',
  async (how) => {
    const { tenant, a, b } = await twoTeams();
    await tenant.see('gpt-5', a.sender);
    await tenant.see('gpt-5', b.sender);
    const [mine, theirs] = [await tenant.observation('gpt-5', 'a'), await tenant.observation('gpt-5', 'b')];
    const [before] = await tenant.recommendations();
    await tenant.review(mine.id, how, a.reviewer);
    expect(await tenant.recommendations()).toMatchObject([{ id: before.id, observationIds: [theirs.id] }]);
    expect(await tenant.tasks()).toMatchObject([{ subTenantId: 'b' }]);
    await tenant.see('gpt-5', a.sender);
    expect(await tenant.recommendations()).toMatchObject([{ id: before.id, observationIds: [theirs.id] }]);

    await tenant.review(theirs.id, 'rejected', b.reviewer);
    expect(await tenant.recommendations()).toEqual([]);
    expect(await tenant.recommendations('dismissed')).toMatchObject([{ id: before.id }]);
    await server.ok('PUT', `/v1/runtime-observations/${mine.id}`, { as: a.reviewer, body: { status: 'open' } });
    expect(await tenant.recommendations()).toMatchObject([{ observationIds: [mine.id] }]);
  },
);

test('the rejection of one sub-tenant stays when the tenant registers the item for the others', async () => {
  const { tenant, a, b } = await twoTeams();
  await tenant.see('gpt-5', a.sender);
  await tenant.see('gpt-5', b.sender);
  await tenant.review((await tenant.observation('gpt-5', 'a')).id, 'rejected', a.reviewer);
  await tenant.review((await tenant.observation('gpt-5', 'b')).id, 'approved');
  expect((await tenant.apply()).applied).toHaveLength(1);
  expect(await tenant.observation('gpt-5', 'a')).toMatchObject({ status: 'rejected', unknown: false });
  expect(await tenant.observation('gpt-5', 'b')).toMatchObject({ status: 'resolved', unknown: false });
});

test('a manifest of a sub-tenant declares only for that sub-tenant', async () => {
  const { tenant, a, b } = await twoTeams();
  await tenant.see('gpt-5', a.sender);
  await tenant.see('gpt-5', b.sender);
  const [before] = await tenant.recommendations();
  const theirs = await tenant.observation('gpt-5', 'b');
  const declares = [{ provider: 'openai', kind: 'model', name: 'gpt-5' }];
  const body = { name: 'agents', kind: 'agent', spec: { declares } };
  const manifest = await server.ok('POST', '/v1/manifests', { as: a.reviewer, body });
  expect(manifest.subTenantId).toBe('a');
  expect(await tenant.observation('gpt-5', 'a')).toMatchObject({ unknown: false, status: 'resolved' });
  expect(await tenant.observation('gpt-5', 'b')).toMatchObject({ unknown: true, status: 'open' });
  for (let round = 0; round < 2; round += 1) {
    expect(await tenant.recommendations()).toMatchObject([{ id: before.id, observationIds: [theirs.id] }]);
    expect(await tenant.tasks()).toMatchObject([{ subTenantId: 'b' }]);
    await tenant.see('gpt-5', a.sender);
    await tenant.see('gpt-5', b.sender);
  }
  expect(await tenant.recommendations('superseded')).toEqual([]);

  const wide = await server.ok('POST', '/v1/manifests', { as: tenant.operator, body });
  expect(await tenant.observation('gpt-5', 'b')).toMatchObject({ unknown: false });
  expect([await tenant.recommendations(), await tenant.tasks()]).toEqual([[], []]);
  await server.ok('DELETE', `/v1/manifests/${manifest.id}`, { as: a.reviewer });
  expect(await tenant.observation('gpt-5', 'a')).toMatchObject({ unknown: false });
  await server.ok('DELETE', `/v1/manifests/${wide.id}`, { as: tenant.operator });
  expect(await tenant.recommendations()).toHaveLength(1);
  expect(await tenant.tasks()).toHaveLength(2);
});

test('a provider that is renamed to the name in a sub-tenant’s manifest is declared only in that sub-tenant', async () => {
  const { tenant, a, b } = await twoTeams();
  for (const model of ['gpt-5', 'o3']) {
    await tenant.see(model, a.sender);
    await tenant.see(model, b.sender);
  }
  const rejected = await tenant.review((await tenant.observation('o3', 'b')).id, 'rejected', b.reviewer);
  const declares = ['gpt-5', 'o3'].map((name) => ({ provider: 'vendor', kind: 'model', name }));
  const body = { name: 'agents', kind: 'agent', spec: { declares } };
  await server.ok('POST', '/v1/manifests', { as: a.reviewer, body });
  expect(await tenant.tasks()).toHaveLength(3);

  await server.ok('PUT', tenant.path, { as: tenant.operator, body: { name: 'vendor' } });
  for (const model of ['gpt-5', 'o3']) {
    expect(await tenant.observation(model, 'a')).toMatchObject({ unknown: false, status: 'resolved' });
  }
  const theirs = await tenant.observation('gpt-5', 'b');
  expect(theirs).toMatchObject({ unknown: true, status: 'open' });
  expect(await tenant.observation('o3', 'b')).toMatchObject({ status: 'rejected', review: rejected.review });
  expect(await tenant.recommendations()).toMatchObject([{ kind: 'register_item', observationIds: [theirs.id] }]);
  expect(await tenant.tasks()).toMatchObject([{ subject: { id: theirs.id } }]);
});

test('deleting a provider closes everything about it in all sub-tenants', async () => {
  const { tenant, a, b } = await twoTeams();
  await tenant.see('gpt-5', a.sender);
  await tenant.see('gpt-5', b.sender);
  const { id } = (await tenant.recommendations())[0];
  await server.ok('DELETE', tenant.path, { as: tenant.operator });
  expect(await tenant.tasks()).toEqual([]);
  expect(await tenant.tasks('cancelled')).toHaveLength(2);
  const { db } = server.services;
  const row = await db.selectFrom('recommendations').select('status').where('id', '=', id).executeTakeFirst();
  expect(row).toEqual({ status: 'superseded' });
});

test('a reviewer of one sub-tenant does not reach the observations of the other, nor of the whole tenant', async () => {
  const { tenant, a, b } = await twoTeams();
  await tenant.see('gpt-5', b.sender);
  await tenant.see('gpt-5');
  for (const subTenantId of ['b', null]) {
    const { id } = await tenant.observation('gpt-5', subTenantId);
    const path = `/v1/runtime-observations/${id}`;
    const review = await server.call('POST', `${path}/review`, { as: a.reviewer, body: { decision: 'rejected' } });
    const update = await server.call('PUT', path, { as: a.reviewer, body: { status: 'resolved' } });
    expect([review.status, update.status]).toEqual([404, 404]);
  }
  expect(await tenant.recommendations()).toHaveLength(1);
  expect((await server.ok('GET', '/v1/runtime-observations', { as: a.reviewer })).items).toEqual([]);
});
