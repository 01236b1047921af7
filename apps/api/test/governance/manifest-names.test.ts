import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountWithKey } from '../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { chat, sendSpans, toolRun } from '../telemetry/traces/sending.ts';
import { newTenant } from './loop-support.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

type Caller = { key: string };

/** A tenant with the provider `openai`, and a sub-tenant whose operator has a provider `shadow`. Both offer `run`. */
async function tenantWithTeam() {
  const { tenantId, operator: wide, path } = await newTenant(server);
  const team = await accountWithKey(server, { tenantId, subTenantId: 'team' });
  const offer = (as: Caller, provider: string) =>
    server.ok('POST', `${provider}/inventory`, { as, body: { kind: 'tool', name: 'run' } });
  const provide = async (as: Caller, name: string): Promise<Body> => {
    const provider = await server.ok('POST', '/v1/providers', { as, body: { name, kind: 'mcp' } });
    await offer(as, `/v1/providers/${provider.id}`);
    return provider;
  };
  await offer(wide, path);
  const shadow = await provide(team, 'shadow');
  return {
    tenantId,
    wide,
    team,
    shadow,
    provide,
    openaiId: path.slice('/v1/providers/'.length),
    rename: (as: Caller, { id }: Body, name: string) => server.ok('PUT', `/v1/providers/${id}`, { as, body: { name } }),
    publish: async (as: Caller, kind: string, spec: object): Promise<string> =>
      (await server.ok('POST', '/v1/manifests', { as, body: { name: 'policy', kind, spec } })).id,
    gateway: async (as: Caller, manifestId: string, providerIds: string[]): Promise<string> => {
      const body = { name: 'edge', manifestId, providerIds };
      return `/v1/gateways/${(await server.ok('POST', '/v1/gateways', { as, body })).id}`;
    },
  };
}

/** The ids of the providers whose items a new session may use. Expects introspection of its token to return the same grants. */
async function granted(as: Caller, gateway: string): Promise<string[]> {
  const { token, grants } = await server.ok('POST', `${gateway}/sessions`, { as });
  const introspected = await server.ok('POST', `${gateway}/sessions/introspect`, { as, body: { token } });
  expect(introspected.grants).toEqual(grants);
  return grants.filter(({ items }: Body) => items.length > 0).map(({ providerId }: Body) => providerId);
}

/** A manifest of each kind that allows the tool `run` of a provider. */
const POLICIES: [string, (provider: string) => object][] = [
  ['gateway', (provider) => ({ allow: [{ provider }] })],
  ['channel', (provider) => ({ allow: [{ provider, kind: 'tool', names: ['*'] }] })],
  ['agent', (provider) => ({ declares: [{ provider, kind: 'tool', name: 'run' }] })],
];

describe.each(POLICIES)('under the manifest of a %s of the whole tenant', (kind, allowing) => {
  test('regression: a sub-tenant that renames its provider does not widen the tenant’s gateway', async () => {
    const { wide, team, shadow, openaiId, rename, publish, gateway } = await tenantWithTeam();
    const edge = await gateway(wide, await publish(wide, kind, allowing('OpenAI')), [openaiId, shadow.id]);
    expect(await granted(wide, edge)).toEqual([openaiId]);
    const { token } = await server.ok('POST', `${edge}/sessions`, { as: wide });
    await rename(team, shadow, 'openai');
    expect(await granted(wide, edge)).toEqual([openaiId]);
    const introspected = await server.ok('POST', `${edge}/sessions/introspect`, { as: wide, body: { token } });
    expect(introspected.grants.flatMap(({ items }: Body) => items)).toHaveLength(1);
  });

  test('if no provider has the name yet, a provider of a sub-tenant that takes it is not allowed; one of the whole tenant is', async () => {
    const { wide, team, shadow, rename, provide, publish, gateway } = await tenantWithTeam();
    const edge = await gateway(wide, await publish(wide, kind, allowing('anthropic')), [shadow.id]);
    await rename(team, shadow, 'Anthropic');
    const created = await provide(team, 'other');
    const body = { providerIds: [shadow.id, created.id] };
    await server.ok('PUT', edge, { as: wide, body });
    expect(await granted(wide, edge)).toEqual([]);
    const own = await provide(wide, 'anthropic');
    await server.ok('PUT', edge, { as: wide, body: { providerIds: [...body.providerIds, own.id] } });
    expect(await granted(wide, edge)).toEqual([own.id]);
  });

  test('an id allows the provider of a sub-tenant, also after a rename', async () => {
    const { wide, team, shadow, openaiId, rename, publish, gateway } = await tenantWithTeam();
    const edge = await gateway(wide, await publish(wide, kind, allowing(shadow.id)), [openaiId, shadow.id]);
    expect(await granted(wide, edge)).toEqual([shadow.id]);
    await rename(team, shadow, 'openai');
    expect(await granted(wide, edge)).toEqual([shadow.id]);
  });

  test('regression: an id does not allow a provider that has this id as its name', async () => {
    const { wide, openaiId, provide, publish, gateway } = await tenantWithTeam();
    const impostor = await provide(wide, openaiId);
    const edge = await gateway(wide, await publish(wide, kind, allowing(openaiId)), [openaiId, impostor.id]);
    expect(await granted(wide, edge)).toEqual([openaiId]);
  });

  test('the gateway of a sub-tenant is limited by it as well', async () => {
    const { wide, team, shadow, openaiId, rename, publish, gateway } = await tenantWithTeam();
    const manifestId = await publish(wide, kind, allowing('openai'));
    const edge = await gateway(team, await publish(team, kind, {}), [shadow.id]);
    await server.ok('PUT', edge, { as: wide, body: { manifestId, providerIds: [openaiId, shadow.id] } });
    await rename(team, shadow, 'openai');
    expect(await granted(team, edge)).toEqual([openaiId]);
  });
});

describe.each(POLICIES)('under the manifest of a %s of a sub-tenant', (kind, allowing) => {
  test('in the sub-tenant’s gateway, names match providers of the sub-tenant and of the whole tenant', async () => {
    const { wide, team, shadow, openaiId, rename, publish, gateway } = await tenantWithTeam();
    const edge = await gateway(team, await publish(team, kind, allowing('shadow')), [shadow.id]);
    expect(await granted(team, edge)).toEqual([shadow.id]);
    await rename(team, shadow, 'renamed');
    expect(await granted(team, edge)).toEqual([]);
    const manifestId = await publish(team, kind, allowing('openai'));
    await server.ok('PUT', edge, { as: wide, body: { manifestId, providerIds: [openaiId, shadow.id] } });
    expect(await granted(team, edge)).toEqual([openaiId]);
  });

  test('regression: in the tenant’s gateway, a name does not match a provider of the sub-tenant that was renamed to it', async () => {
    const { wide, team, shadow, openaiId, rename, publish, gateway } = await tenantWithTeam();
    const edge = await gateway(wide, await publish(team, kind, allowing('openai')), [openaiId, shadow.id]);
    expect(await granted(wide, edge)).toEqual([openaiId]);
    await rename(team, shadow, 'openai');
    expect(await granted(wide, edge)).toEqual([openaiId]);
    await server.ok('PUT', edge, { as: wide, body: { manifestId: await publish(team, kind, allowing(shadow.id)) } });
    expect(await granted(wide, edge)).toEqual([shadow.id]);
  });
});

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
