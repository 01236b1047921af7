import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountWithKey } from '../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
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
