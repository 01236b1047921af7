import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountWithKey, unique } from '../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

/** The inventory of each provider, as `kind:name`. */
const INVENTORY = {
  OpenAI: ['model:gpt-5', 'model:GPT-5-mini', 'model:openai/o3', 'tool:search', 'tool:Search', 'agent:helper'],
  files: ['tool:read', 'tool:read_all', 'tool:write', 'resource:file:///a', 'prompt:read'],
};
const ALL = Object.entries(INVENTORY).flatMap(([provider, items]) => items.map((item) => `${provider} ${item}`));

type Policy = {
  as: { key: string };
  ids: Record<string, string>;
  gatewayId: string;
  /** Publishes a manifest and returns its id. */
  publish: (kind: string, spec: object) => Promise<string>;
  /** Sets the manifest of the gateway. */
  setManifest: (manifestId: string | null) => Promise<void>;
  /** What a new session may use, as `provider kind:name`. Expects the token to contain the same grants. */
  granted: () => Promise<string[]>;
};

async function policy(): Promise<Policy> {
  const as = await accountWithKey(server, { tenantId: unique('policy') });
  const ids: Record<string, string> = {};
  for (const [name, items] of Object.entries(INVENTORY)) {
    ids[name] = (await server.ok('POST', '/v1/providers', { as, body: { name, kind: 'llm' } })).id;
    for (const item of items) {
      const mark = item.indexOf(':');
      const body = { kind: item.slice(0, mark), name: item.slice(mark + 1) };
      await server.ok('POST', `/v1/providers/${ids[name]}/inventory`, { as, body });
    }
  }
  const body = { name: 'edge', providerIds: Object.values(ids) };
  const { id: gatewayId } = await server.ok('POST', '/v1/gateways', { as, body });
  const path = `/v1/gateways/${gatewayId}`;
  return {
    as,
    ids,
    gatewayId,
    publish: async (kind, spec) => {
      const manifest = { name: unique('manifest'), kind, spec };
      return (await server.ok('POST', '/v1/manifests', { as, body: manifest })).id;
    },
    setManifest: async (manifestId) => {
      await server.ok('PUT', path, { as, body: { manifestId } });
    },
    granted: async () => {
      const { token, grants } = await server.ok('POST', `${path}/sessions`, { as });
      expect(decodeJwt(token)['grants']).toEqual(grants);
      return grants.flatMap(({ providerName, items }: Body) =>
        items.map(({ kind, name }: Body) => `${providerName} ${kind}:${name}`),
      );
    },
  };
}

const startingWith = (...starts: string[]) => ALL.filter((item) => starts.some((start) => item.startsWith(start)));

describe.each(['gateway', 'channel'])('with the manifest of a %s', (kind) => {
  let at: Policy;
  beforeAll(async () => {
    at = await policy();
  });

  test.each<[string, object, string[]]>([
    ['it has no allow-list', {}, ALL],
    ['it has an empty `declares`, which only limits agents', { declares: [] }, ALL],
    ['the allow-list is empty', { allow: [] }, []],
    ['a provider is named, in another letter case', { allow: [{ provider: 'OPENAI' }] }, startingWith('OpenAI')],
    ['a provider is named that does not exist', { allow: [{ provider: 'anthropic' }] }, []],
    ['a kind is named', { allow: [{ provider: 'openai', kind: 'tool' }] }, startingWith('OpenAI tool:')],
    [
      'names without a kind are listed',
      { allow: [{ provider: 'files', names: ['read'] }] },
      ['files tool:read', 'files prompt:read'],
    ],
    ['the list of names is empty', { allow: [{ provider: 'files', names: [] }] }, []],
    ['the name of a tool has another letter case', { allow: [{ provider: 'openai', names: ['SEARCH'] }] }, []],
    [
      'names of one kind are listed',
      { allow: [{ provider: 'files', kind: 'tool', names: ['read', 'delete'] }] },
      ['files tool:read'],
    ],
    [
      'a name ends with a star',
      { allow: [{ provider: 'files', kind: 'tool', names: ['read*'] }] },
      startingWith('files tool:read'),
    ],
    ['the name is a star', { allow: [{ provider: 'files', names: ['*'] }] }, startingWith('files')],
    [
      'models are listed by variants of their names',
      { allow: [{ provider: 'openai', kind: 'model', names: ['OpenAI/GPT-5', 'openai/gpt-5-mini', 'O3'] }] },
      startingWith('OpenAI model:'),
    ],
    [
      'a variant of a name ends with a star',
      { allow: [{ provider: 'openai', names: ['openai/gpt-5-*', 'Openai/o*'] }] },
      ['OpenAI model:GPT-5-mini', 'OpenAI model:openai/o3'],
    ],
    [
      'a star follows the provider’s prefix',
      { allow: [{ provider: 'openai', names: ['openai/*'] }] },
      startingWith('OpenAI model:'),
    ],
    ['the model of another vendor is listed', { allow: [{ provider: 'openai', names: ['azure/gpt-5'] }] }, []],
    [
      'there are several entries, and each allows what it covers',
      {
        allow: [
          { provider: 'openai', kind: 'agent' },
          { provider: 'files', names: ['write'] },
          { provider: 'OpenAI', names: ['gpt-5'] },
        ],
      },
      ['OpenAI model:gpt-5', 'OpenAI agent:helper', 'files tool:write'],
    ],
  ])('if %s', async (_, spec, expected) => {
    await at.setManifest(await at.publish(kind, spec));
    expect((await at.granted()).toSorted()).toEqual(expected.toSorted());
  });

  test('a provider may be named by its id', async () => {
    await at.setManifest(await at.publish(kind, { allow: [{ provider: at.ids['files'], kind: 'tool' }] }));
    expect((await at.granted()).toSorted()).toEqual(startingWith('files tool:').toSorted());
  });
});

test('without a manifest a session is granted everything in the inventories', async () => {
  const at = await policy();
  await at.setManifest(await at.publish('gateway', { allow: [] }));
  await at.setManifest(null);
  expect((await at.granted()).toSorted()).toEqual(ALL.toSorted());
});

test('with an agent’s manifest a session is granted what it declares, without wildcards; everything if it has no `declares`', async () => {
  const at = await policy();
  const declares = [
    { provider: 'OPENAI', kind: 'model', name: 'openai/gpt-5' },
    { provider: at.ids['files'], kind: 'tool', name: 'read' },
    { provider: 'files', kind: 'prompt', name: 'r*' },
    { provider: 'openai', kind: 'model', name: 'never-declared' },
  ];
  await at.setManifest(await at.publish('agent', { declares }));
  expect((await at.granted()).toSorted()).toEqual(['OpenAI model:gpt-5', 'files tool:read']);
  await at.setManifest(await at.publish('agent', { declares: [] }));
  expect(await at.granted()).toEqual([]);
  await at.setManifest(await at.publish('agent', {}));
  expect((await at.granted()).toSorted()).toEqual(ALL.toSorted());
});

test('an allow-list does not allow blocked or retired items', async () => {
  const at = await policy();
  await at.setManifest(await at.publish('gateway', { allow: [{ provider: 'files', kind: 'tool' }] }));
  const inventory = `/v1/providers/${at.ids['files']}/inventory`;
  const { items } = await server.ok('GET', inventory, { as: at.as });
  for (const [name, status] of [
    ['read', 'blocked'],
    ['write', 'retired'],
  ]) {
    const { id } = items.find((item: Body) => item.kind === 'tool' && item.name === name);
    await server.ok('PUT', `${inventory}/${id}`, { as: at.as, body: { status } });
  }
  expect(await at.granted()).toEqual(['files tool:read_all']);
});

test('a gateway keeps the manifest version that it names, even if a newer one exists', async () => {
  const at = await policy();
  const publish = (spec: object): Promise<Body> =>
    server.ok('POST', '/v1/manifests', { as: at.as, body: { name: 'pinned', kind: 'gateway', spec } });
  const first = await publish({ allow: [{ provider: 'files', names: ['write'] }] });
  await at.setManifest(first.id);
  const second = await publish({ allow: [] });
  expect(await at.granted()).toEqual(['files tool:write']);
  await at.setManifest(second.id);
  expect(await at.granted()).toEqual([]);
});

test('a stored allow-list that cannot be read allows nothing', async () => {
  const at = await policy();
  const id = await at.publish('gateway', {});
  const { db } = server.services;
  await db.updateTable('manifests').set({ spec: '{"allow":["openai"]}' }).where('id', '=', id).execute();
  await at.setManifest(id);
  expect(await at.granted()).toEqual([]);
});

test('an allow-list allows a session that would exceed the limit of grants without it', async () => {
  const as = await accountWithKey(server, { tenantId: unique('policy') });
  const provider = await server.ok('POST', '/v1/providers', { as, body: { name: 'huge', kind: 'mcp' } });
  const { db } = server.services;
  const item = { kind: 'tool', name: 'sample' };
  const sample = await server.ok('POST', `/v1/providers/${provider.id}/inventory`, { as, body: item });
  const row = await db.selectFrom('inventory_items').selectAll().where('id', '=', sample.id).executeTakeFirstOrThrow();
  const many = Array.from({ length: 10_500 }, (_, index) => `tool-${index}`);
  for (let start = 0; start < many.length; start += 500) {
    const rows = many.slice(start, start + 500).map((name) => ({ ...row, id: `inv_${name}`, name, name_key: name }));
    await db.insertInto('inventory_items').values(rows).execute();
  }
  const body = { name: 'edge', providerIds: [provider.id] };
  const gateway = await server.ok('POST', '/v1/gateways', { as, body });
  const path = `/v1/gateways/${gateway.id}`;
  expect((await server.call('POST', `${path}/sessions`, { as })).status).toBe(422);
  const spec = { allow: [{ provider: 'huge', names: ['tool-10*', 'tool-99'] }] };
  const manifest = await server.ok('POST', '/v1/manifests', { as, body: { name: 'few', kind: 'gateway', spec } });
  await server.ok('PUT', path, { as, body: { manifestId: manifest.id } });
  const { grants, token } = await server.ok('POST', `${path}/sessions`, { as });
  const expected = many.filter((name) => name.startsWith('tool-10') || name === 'tool-99');
  expect(grants[0].items.map(({ name }: Body) => name).toSorted()).toEqual(expected.toSorted());
  const introspected = await server.ok('POST', `${path}/sessions/introspect`, { as, body: { token } });
  expect(introspected.grants).toEqual(grants);
});

test('regression: a session is granted a name that a sync listed, if a declared item covers it more exactly than a block', async () => {
  const tenantId = unique('covered');
  const as = await accountWithKey(server, { tenantId });
  const { id } = await server.ok('POST', '/v1/providers', { as, body: { name: 'openai', kind: 'llm' } });
  const declare = (name: string, status: string) =>
    server.ok('POST', `/v1/providers/${id}/inventory`, { as, body: { kind: 'model', name, status } });
  await declare('gpt-5', 'blocked');
  await declare('gpt-5-2026-01-01', 'available');
  for (const name of ['gpt-5-2026-01-01[1m]', 'gpt-5[1m]']) {
    const listed = await declare(name, 'available');
    await server.services.db
      .updateTable('inventory_items')
      .set({ source: 'sync' })
      .where('tenant_id', '=', tenantId)
      .where('id', '=', listed.id)
      .execute();
  }
  const body = { name: 'edge', providerIds: [id] };
  const gateway = await server.ok('POST', '/v1/gateways', { as, body });
  const path = `/v1/gateways/${gateway.id}/sessions`;
  const { grants, token } = await server.ok('POST', path, { as });
  const names = ({ items }: Body) => items.map(({ name }: Body) => name);
  expect(grants.flatMap(names)).toEqual(['gpt-5-2026-01-01', 'gpt-5-2026-01-01[1m]']);
  const introspected = await server.ok('POST', `${path}/introspect`, { as, body: { token } });
  expect(introspected.grants).toEqual(grants);
});
