import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountWithKey } from '../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { chat, sendSpans, toolRun } from '../telemetry/traces/sending.ts';
import { type Caller, namedProviders } from './named-providers.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const { tenantWithTeam, granted } = namedProviders(() => server);

test('a provider created again under a deleted name is allowed only if it belongs to the place of the manifest', async () => {
  const { wide, team, shadow, provide, publish, gateway } = await tenantWithTeam();
  const tenants = await provide(wide, 'files');
  const spec = { allow: [{ provider: 'files' }] };
  const edge = await gateway(wide, await publish(wide, 'gateway', spec), [tenants.id]);
  expect(await granted(wide, edge)).toEqual([tenants.id]);
  await server.ok('PUT', edge, { as: wide, body: { providerIds: [] } });
  await server.ok('DELETE', `/v1/providers/${tenants.id}`, { as: wide });
  const teams = await provide(team, 'files');
  await server.ok('PUT', edge, { as: wide, body: { providerIds: [teams.id, shadow.id] } });
  expect(await granted(wide, edge)).toEqual([]);
  const recreated = await provide(wide, 'files');
  await server.ok('PUT', edge, { as: wide, body: { providerIds: [teams.id, recreated.id] } });
  expect(await granted(wide, edge)).toEqual([recreated.id]);
});

/** The `unknown` flags of the observations at a provider. */
async function unknownAt(as: Caller, providerId: string): Promise<boolean[]> {
  const { items } = await server.ok('GET', `/v1/providers/${providerId}/observations`, { as });
  return items.map(({ unknown }: Body) => unknown);
}

test('regression: renaming a sub-tenant’s provider to a name in the tenant’s manifest does not declare what it is used for', async () => {
  const { tenantId, wide, team, shadow, rename, publish } = await tenantWithTeam();
  const sender = await accountWithKey(server, { tenantId, subTenantId: 'team' }, ['traces:write']);
  const declares = (provider: string) => ({ declares: [{ provider, kind: 'model', name: 'model-1' }] });
  await publish(wide, 'agent', declares('vendor'));
  await sendSpans(server, sender, [chat('model-1', { 'gen_ai.provider.name': 'shadow' })]);
  expect(await unknownAt(wide, shadow.id)).toEqual([true]);
  await rename(team, shadow, 'vendor');
  expect(await unknownAt(wide, shadow.id)).toEqual([true]);
  await sendSpans(server, sender, [chat('model-1', { 'gen_ai.provider.name': 'vendor' })]);
  expect(await unknownAt(wide, shadow.id)).toEqual([true]);

  await publish(wide, 'agent', declares(shadow.id));
  expect(await unknownAt(wide, shadow.id)).toEqual([false]);
  await publish(wide, 'agent', declares('vendor'));
  expect(await unknownAt(wide, shadow.id)).toEqual([true]);
  await publish(team, 'agent', declares('vendor'));
  expect(await unknownAt(wide, shadow.id)).toEqual([false]);
});

test('regression: what a manifest declares at a provider, by its id, is not declared at one that has this id as its name', async () => {
  const { tenantId, wide, openaiId, provide, publish } = await tenantWithTeam();
  const impostor = await provide(wide, openaiId);
  const sender = await accountWithKey(server, { tenantId }, ['traces:write']);
  await publish(wide, 'agent', { declares: [{ provider: openaiId, kind: 'tool', name: 'walk' }] });
  await sendSpans(server, sender, [toolRun('walk', { 'mcp.server.name': openaiId })]);
  expect(await unknownAt(wide, impostor.id)).toEqual([true]);
});

test('a manifest of the whole tenant declares, by name, models of the tenant’s providers that sub-tenants use', async () => {
  const { tenantId, wide, openaiId, publish } = await tenantWithTeam();
  const sender = await accountWithKey(server, { tenantId, subTenantId: 'team' }, ['traces:write']);
  await sendSpans(server, sender, [chat('model-1', { 'gen_ai.provider.name': 'openai' })]);
  expect(await unknownAt(wide, openaiId)).toEqual([true]);
  await publish(wide, 'agent', { declares: [{ provider: 'OPENAI', kind: 'model', name: 'model-1' }] });
  expect(await unknownAt(wide, openaiId)).toEqual([false]);
});

test('a new version declares what the one before did if it says the same about it, and no more if it does not', async () => {
  const { tenantId, wide, openaiId, publish } = await tenantWithTeam();
  const sender = await accountWithKey(server, { tenantId }, ['traces:write']);
  await sendSpans(server, sender, [chat('model-1', { 'gen_ai.provider.name': 'openai' })]);
  const declares = (...names: string[]) => names.map((name) => ({ provider: 'openai', kind: 'model', name }));
  await publish(wide, 'agent', { declares: declares('model-1', 'model-2') });
  expect(await unknownAt(wide, openaiId)).toEqual([false]);
  await publish(wide, 'agent', { declares: declares('model-2', 'model-1'), 'x-reason': 'another order' });
  expect(await unknownAt(wide, openaiId)).toEqual([false]);
  await sendSpans(server, sender, [chat('model-1', { 'gen_ai.provider.name': 'openai' })]);
  expect(await unknownAt(wide, openaiId)).toEqual([false]);
  await publish(wide, 'agent', { declares: declares('model-1', 'model-3') });
  expect(await unknownAt(wide, openaiId)).toEqual([false]);
  const last = await publish(wide, 'agent', { declares: declares('model-3') });
  expect(await unknownAt(wide, openaiId)).toEqual([true]);
  await publish(wide, 'agent', { declares: declares('model-1') });
  expect(await unknownAt(wide, openaiId)).toEqual([false]);
  const active = await server.ok('GET', '/v1/manifests?name=policy&status=active', { as: wide });
  expect(active.items.map(({ id }: Body) => id)).not.toContain(last);
  await server.ok('DELETE', `/v1/manifests/${active.items[0].id}`, { as: wide });
  expect(await unknownAt(wide, openaiId)).toEqual([true]);
});
