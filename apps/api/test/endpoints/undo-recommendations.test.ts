import { afterAll, beforeAll, expect, test } from 'vitest';
import { newTenant, type Tenant, untimed } from '../governance/loop-support.ts';
import { accountWithKey } from '../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { all, chat, sendSpans } from '../telemetry/traces/sending.ts';
import { expectInvalid, expectProblem } from './harness.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

/** A tenant with recommendations at two providers: two models at one, and a discovered provider with a model. */
async function tenantWithPlan(subTenantId?: string) {
  const tenant = await newTenant(server);
  await tenant.see('gpt-5');
  await tenant.see('gpt-6');
  const { tenantId } = tenant;
  const sender = subTenantId === undefined ? tenant.sender : await accountWithKey(server, { tenantId, subTenantId });
  await sendSpans(server, sender, [chat('m', { 'gen_ai.provider.name': 'mistral_ai' })]);
  const [discovered] = await all(server, '/v1/providers?status=discovered', tenant.operator);
  return { tenant, sender, discovered };
}

/** Applies everything that is open at the two providers as one apply. Returns its id. */
async function applyAll({ tenant, discovered }: Awaited<ReturnType<typeof tenantWithPlan>>): Promise<string> {
  const open = await openOf(tenant);
  const applyAt = async (providerId: string, applyId?: string) => {
    const recommendationIds = open.filter((one) => one.providerId === providerId).map(({ id }) => id);
    const path = `/v1/providers/${providerId}/recommendations/apply`;
    const { applied } = await server.ok('POST', path, { as: tenant.operator, body: { recommendationIds, applyId } });
    expect(applied).toHaveLength(recommendationIds.length);
    return applied.map((one: Body) => one.applyId);
  };
  const [applyId] = await applyAt(tenant.provider.id);
  server.travel(1000);
  expect(await applyAt(discovered.id, applyId)).toEqual([applyId, applyId]);
  return applyId;
}

function openOf(tenant: Tenant, status = 'open'): Promise<Body[]> {
  return all(server, `/v1/recommendations?status=${status}`, tenant.operator);
}

/** Everything that the apply changes, without times. */
async function stateOf(tenant: Tenant, discovered: Body) {
  const paths = [
    '/v1/recommendations?limit=100',
    '/v1/runtime-observations?limit=100',
    '/v1/providers?limit=100',
    `/v1/providers/${tenant.provider.id}/inventory`,
    `/v1/providers/${discovered.id}/inventory`,
  ];
  const lists: Body[][] = [];
  for (const path of paths) lists.push((await all(server, path, tenant.operator)).map(untimed));
  return lists;
}

function undo(as: { key: string }, applyId: string) {
  return server.call('POST', `/v1/recommendations/applies/${applyId}/undo`, { as });
}

test('undo_recommendations takes back exactly what several calls applied at two providers as one apply', async () => {
  const plan = await tenantWithPlan();
  const { tenant, discovered } = plan;
  const before = await stateOf(tenant, discovered);
  const applyId = await applyAll(plan);
  expect((await stateOf(tenant, discovered)).slice(3).map(({ length }) => length)).toEqual([2, 1]);
  server.travel(1000);
  const { status, body } = await undo(tenant.operator, applyId);
  expect([status, body.applyId, body.undone.length]).toEqual([200, applyId, 4]);
  expect(await stateOf(tenant, discovered)).toEqual(before);
  expectProblem(await undo(tenant.operator, applyId), 404, 'apply_not_found');
});

test('undo_recommendations undoes the rest if a part was undone alone', async () => {
  const plan = await tenantWithPlan();
  const { tenant, discovered } = plan;
  const before = await stateOf(tenant, discovered);
  const applyId = await applyAll(plan);
  const [alone] = await tenant.recommendations('applied');
  await server.ok('POST', `/v1/recommendations/${alone.id}/undo`, { as: tenant.operator });
  expect((await undo(tenant.operator, applyId)).body.undone).toHaveLength(3);
  expect(await stateOf(tenant, discovered)).toEqual(before);
});

test('409 recommendation_built_on names each part that cannot be undone, and nothing is undone', async () => {
  const plan = await tenantWithPlan();
  const { tenant, discovered } = plan;
  const applyId = await applyAll(plan);
  server.travel(1000);
  for (const item of await tenant.items()) {
    const body = { status: 'blocked' };
    await server.ok('PUT', `${tenant.path}/inventory/${item.id}`, { as: tenant.operator, body });
  }
  const before = await stateOf(tenant, discovered);
  const refused = await undo(tenant.operator, applyId);
  expectProblem(refused, 409, 'recommendation_built_on');
  expect(refused.body.detail).toContain('2 of 4 cannot be undone, so nothing was undone.');
  for (const { id } of await tenant.recommendations('applied')) {
    expect(refused.body.detail).toContain(`${id}: the field status has been changed`);
  }
  expect(await stateOf(tenant, discovered)).toEqual(before);
});

test('403 for a caller who reaches only a part of the apply, and 404 for one who reaches nothing of it', async () => {
  const plan = await tenantWithPlan('eu');
  const applyId = await applyAll(plan);
  expectProblem(await undo(plan.sender, applyId), 403, 'tenant_forbidden');
  expectProblem(await undo((await newTenant(server)).operator, applyId), 404, 'apply_not_found');
  expect(await openOf(plan.tenant, 'applied')).toHaveLength(4);
});

test('only the account that applied may add to an apply, in the same tenant', async () => {
  const { tenant, discovered } = await tenantWithPlan();
  const [{ id }, { id: other }] = await tenant.recommendations();
  const { applied } = await tenant.apply({ recommendationIds: [id] });
  const { applyId } = applied[0];
  const colleague = await accountWithKey(server, { tenantId: tenant.tenantId });
  for (const [as, named] of [
    [colleague, applyId],
    [tenant.operator, 'app_none'],
  ]) {
    const body = { recommendationIds: [other], applyId: named };
    const refused = await server.call('POST', `${tenant.path}/recommendations/apply`, { as, body });
    expectInvalid(refused, { loc: ['body', 'applyId'], type: 'value_error' });
  }
  const path = `/v1/providers/${discovered.id}/recommendations/apply`;
  const own = await server.ok('POST', path, { as: tenant.operator, body: { applyId } });
  expect(own.applied).toEqual([]);
});
