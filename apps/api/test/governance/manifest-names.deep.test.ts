import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { namedProviders } from './named-providers.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const { tenantWithTeam, granted } = namedProviders(() => server);

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
