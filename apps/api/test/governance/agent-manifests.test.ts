import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountWithKey } from '../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { all, sendSpans } from '../telemetry/traces/sending.ts';
import { newTenant, type Tenant } from './loop-support.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

function run(agent: string, service = 'agents') {
  return { service, attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': agent } };
}

type Published = { kind?: string; subTenantId?: string };

function publish({ operator: as }: Tenant, name: string, { kind = 'agent', ...place }: Published = {}): Promise<Body> {
  return server.ok('POST', '/v1/manifests', { as, body: { name, kind, spec: {}, ...place } });
}

const reviewsOf = async (tenant: Tenant): Promise<Body[]> =>
  (await tenant.tasks()).filter(({ kind }) => kind === 'review_observation');

/** The open recommendations to register something, at all providers. */
async function registrations({ operator: as }: Tenant): Promise<string[]> {
  const open = await all(server, '/v1/recommendations?status=open&kind=register_item', as);
  return open.map(({ change }) => change.after.name);
}

test('an active manifest declares the agent of its name, at every service', async () => {
  const tenant = await newTenant(server);
  await publish(tenant, 'planner');
  await sendSpans(server, tenant.sender, [run('planner', 'one'), run('planner', 'two'), run('Planner', 'one')]);
  const observations = await all(server, '/v1/runtime-observations?kind=agent', tenant.operator);
  const seen = observations.map(({ name, unknown, status }) => `${name}: ${unknown}, ${status}`);
  expect(seen.toSorted()).toEqual(['Planner: true, open', 'planner: false, resolved', 'planner: false, resolved']);
  expect(await registrations(tenant)).toEqual(['Planner']);
});

test('its publication resolves what was observed before, and its deletion opens it again', async () => {
  const tenant = await newTenant(server);
  await sendSpans(server, tenant.sender, [run('planner'), run('writer')]);
  expect(await reviewsOf(tenant)).toHaveLength(2);
  const { id } = await publish(tenant, 'planner');
  expect(await tenant.observation('planner')).toMatchObject({ unknown: false, status: 'resolved' });
  expect(await tenant.observation('writer')).toMatchObject({ unknown: true, status: 'open' });
  expect(await reviewsOf(tenant)).toHaveLength(1);
  expect(await registrations(tenant)).toEqual(['writer']);
  await server.ok('DELETE', `/v1/manifests/${id}`, { as: tenant.operator });
  expect(await tenant.observation('planner')).toMatchObject({ unknown: true, status: 'open' });
  expect(await reviewsOf(tenant)).toHaveLength(2);
  expect((await registrations(tenant)).toSorted()).toEqual(['planner', 'writer']);
});

test('a new version keeps the agent declared', async () => {
  const tenant = await newTenant(server);
  await sendSpans(server, tenant.sender, [run('planner')]);
  for (const owner of ['one', 'two']) {
    const body = { name: 'planner', kind: 'agent', spec: { owner } };
    await server.ok('POST', '/v1/manifests', { as: tenant.operator, body });
    expect(await tenant.observation('planner')).toMatchObject({ unknown: false });
  }
});

test('a manifest of a sub-tenant declares the agent there alone, one of the tenant everywhere', async () => {
  const tenant = await newTenant(server);
  const { tenantId } = tenant;
  const east = await accountWithKey(server, { tenantId, subTenantId: 'east' }, ['traces:write']);
  const west = await accountWithKey(server, { tenantId, subTenantId: 'west' }, ['traces:write']);
  for (const sender of [tenant.sender, east, west]) await sendSpans(server, sender, [run('planner')]);
  const unknownAt = async () =>
    Promise.all([null, 'east', 'west'].map(async (place) => (await tenant.observation('planner', place)).unknown));
  await publish(tenant, 'planner', { subTenantId: 'east' });
  expect(await unknownAt()).toEqual([true, false, true]);
  await publish(tenant, 'planner');
  expect(await unknownAt()).toEqual([false, false, false]);
});

test('a manifest of another kind, another tenant, or with a tool of the name declares no agent', async () => {
  const tenant = await newTenant(server);
  await publish(tenant, 'planner', { kind: 'gateway' });
  await publish(await newTenant(server), 'planner');
  const tool = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'writer' };
  await publish(tenant, 'writer');
  await sendSpans(server, tenant.sender, [run('planner'), { service: 'agents', attributes: tool }]);
  expect(await tenant.observation('planner')).toMatchObject({ unknown: true });
  expect(await tenant.observation('writer')).toMatchObject({ kind: 'tool', unknown: true });
});

test('an item that blocks the agent precedes its manifest', async () => {
  const tenant = await newTenant(server);
  await sendSpans(server, tenant.sender, [run('planner')]);
  const { providerId } = await tenant.observation('planner');
  const body = { kind: 'agent', name: 'planner', status: 'blocked' };
  await server.ok('POST', `/v1/providers/${providerId}/inventory`, { as: tenant.operator, body });
  await publish(tenant, 'planner');
  expect(await tenant.observation('planner')).toMatchObject({ unknown: false, risk: { level: 'high' } });
});

test('the list of agents and the observation agree', async () => {
  const tenant = await newTenant(server);
  await publish(tenant, 'planner');
  await sendSpans(server, tenant.sender, [run('planner'), run('writer')]);
  const agents = await all(server, '/v1/agents', tenant.operator);
  const declared = new Map(agents.map((agent) => [agent.name, agent.declared]));
  for (const name of ['planner', 'writer']) {
    expect((await tenant.observation(name)).unknown).toBe(!declared.get(name));
  }
});
