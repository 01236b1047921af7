import { McpServer } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { REWORDED, SEARCH, toolServer as startToolServer, WITH_TOKEN } from '../governance/tool-server.ts';
import { unique } from '../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { LOOPBACK, startMcp } from './peers.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(LOOPBACK);
});
afterAll(() => server.stop());

/** A provider with `search` and `list` after its first sync, and a gateway that lists it. */
async function toolServer(fields: { newItems?: string } = {}) {
  const at = await startToolServer(server, ['list']);
  if (fields.newItems !== undefined) await server.ok('PUT', at.path, { as: at.as, body: fields });
  const body = { name: unique('edge'), providerIds: [at.provider.id] };
  const gateway = await server.ok('POST', '/v1/gateways', { as: at.as, body });
  const open = () => server.ok('POST', `/v1/gateways/${gateway.id}/sessions`, { as: at.as, body: {} });
  return {
    ...at,
    gateway,
    openSession: open,
    granted: async (): Promise<string[]> => namesOf((await open()).grants[0].items),
    decide: async (name: string, decision: string) => {
      server.travel(1000);
      const { id } = await at.observation(name);
      return server.ok('POST', `/v1/runtime-observations/${id}/review`, { as: at.as, body: { decision } });
    },
    inbox: async (view = 'new'): Promise<string[]> => {
      const query = `view=${view}&provider_id=${at.provider.id}`;
      const { items } = await server.ok('GET', `/v1/runtime-observations?${query}`, { as: at.as });
      return namesOf(items);
    },
  };
}

const namesOf = (named: Body[]): string[] => named.map(({ name }) => String(name)).toSorted();

test('the first sync declares what it lists, and what a later one adds waits for a decision', async () => {
  const at = await toolServer();
  expect(at.provider).toMatchObject({ newItems: 'review' });
  expect(await at.granted()).toEqual(['list', 'search']);
  expect(await at.recommendations()).toEqual([]);

  at.tools['delete_all'] = WITH_TOKEN;
  expect(await at.sync()).toMatchObject({ added: 1, pending: 1, unchanged: 2 });
  const item = await at.item('delete_all');
  expect(item).toMatchObject({ status: 'pending', source: 'sync', renamedFrom: null });
  expect(await at.inbox()).toEqual(['delete_all']);
  expect(await at.observation('delete_all')).toMatchObject({
    status: 'open',
    unknown: true,
    occurrences: 0,
    inventoryItemId: null,
    risk: {
      level: 'medium',
      factors: [{ reason: 'A sync found it after the first one, and no person has decided about it.' }],
    },
  });
  const [asked, ...others] = (await at.recommendations()) as [Body, ...Body[]];
  expect(others).toEqual([]);
  expect(asked).toMatchObject({
    kind: 'register_item',
    change: {
      target: { type: 'inventory_item', id: item.id },
      before: { status: 'pending' },
      after: { status: 'available', schemaDigest: item.schemaDigest },
    },
  });
  expect(await at.granted()).toEqual(['list', 'search']);
  expect(await at.apply()).toMatchObject({ applied: [], skipped: [{ id: asked.id, reason: 'needs_review' }] });
  const tasks = await server.ok('GET', `/v1/operator/tasks?kind=sync_inventory&limit=1`, { as: at.as });
  expect(tasks.items[0].note).toBe(
    '1 added, 0 changed, 0 no longer listed, 2 unchanged. 1 of the added wait for a decision.',
  );
});

test('an approval that is applied declares it, and an undo makes it wait again', async () => {
  const at = await toolServer();
  at.tools['delete_all'] = WITH_TOKEN;
  await at.sync();
  await at.decide('delete_all', 'approved');
  const { applied } = await at.apply();
  expect(applied).toMatchObject([{ kind: 'register_item', status: 'applied' }]);
  expect(await at.item('delete_all')).toMatchObject({ status: 'available' });
  const session = await at.openSession();
  expect(await at.granted()).toEqual(['delete_all', 'list', 'search']);
  expect(await at.inbox('open')).toEqual([]);
  await at.sync();
  expect(await at.recommendations()).toEqual([]);

  server.travel(1000);
  expect((await at.undo(applied[0].id)).status).toBe(200);
  expect(await at.item('delete_all')).toMatchObject({ status: 'pending' });
  expect(await at.granted()).toEqual(['list', 'search']);
  const path = `/v1/gateways/${at.gateway.id}/sessions/introspect`;
  const { grants } = await server.ok('POST', path, { as: at.as, body: { token: session.token } });
  expect(namesOf(grants[0].items)).toEqual(['list', 'search']);
});

test('a rejection keeps it out, and it is asked again only after its definition changed', async () => {
  const at = await toolServer();
  at.tools['delete_all'] = WITH_TOKEN;
  await at.sync();
  await at.decide('delete_all', 'rejected');
  expect(await at.recommendations()).toEqual([]);
  // Not by the next sync, and not after it disappeared and came back.
  await at.sync();
  delete at.tools['delete_all'];
  await at.sync();
  expect(await at.item('delete_all')).toMatchObject({ status: 'retired' });
  at.tools['delete_all'] = WITH_TOKEN;
  await at.sync();
  expect(await at.item('delete_all')).toMatchObject({ status: 'pending' });
  expect([await at.inbox('open'), await at.recommendations()]).toEqual([[], []]);
  expect(await at.granted()).toEqual(['list', 'search']);

  at.tools['delete_all'] = REWORDED;
  expect(await at.sync()).toMatchObject({ updated: 1 });
  expect(await at.item('delete_all')).toMatchObject({
    status: 'pending',
    description: REWORDED.description,
    drift: null,
  });
  expect(await at.inbox()).toEqual(['delete_all']);
  expect(await at.observation('delete_all')).toMatchObject({ status: 'open', review: null });
  expect(await at.recommendations()).toMatchObject([{ kind: 'register_item' }]);
  expect(await at.reviews()).toHaveLength(1);
});

test('a dismissed recommendation opens again after the definition changed', async () => {
  const at = await toolServer();
  at.tools['delete_all'] = WITH_TOKEN;
  await at.sync();
  const [asked] = (await at.recommendations()) as [Body];
  const body = { reason: 'Not now.' };
  await server.ok('POST', `/v1/recommendations/${asked.id}/dismiss`, { as: at.as, body });
  await at.sync();
  expect(await at.recommendations()).toEqual([]);
  at.tools['delete_all'] = REWORDED;
  await at.sync();
  expect(await at.recommendations()).toMatchObject([{ kind: 'register_item' }]);
});

test('an approval does not count for a definition that changed after it', async () => {
  const at = await toolServer();
  at.tools['delete_all'] = WITH_TOKEN;
  await at.sync();
  const [seen] = (await at.recommendations()) as [Body];
  await at.decide('delete_all', 'approved');
  at.tools['delete_all'] = REWORDED;
  await at.sync();
  expect(await at.observation('delete_all')).toMatchObject({ status: 'open', review: null });
  expect(await at.apply()).toMatchObject({ applied: [], skipped: [{ reason: 'needs_review' }] });
  const named = await at.apply({ recommendationIds: [seen.id] });
  expect(named).toMatchObject({ applied: [], skipped: [{ id: seen.id, reason: 'not_open' }] });
  expect(await at.granted()).toEqual(['list', 'search']);
});

test('a renamed tool waits for a decision, and shows its former name', async () => {
  const at = await toolServer();
  delete at.tools['search'];
  at.tools['find'] = { ...SEARCH, title: 'Tool search' };
  expect(await at.sync()).toMatchObject({ added: 1, pending: 1, removed: 1 });
  expect(await at.item('search')).toMatchObject({ status: 'missing' });
  expect(await at.item('find')).toMatchObject({ status: 'pending', renamedFrom: 'search' });
  const asked = (await at.recommendations()).find(({ kind }) => kind === 'register_item');
  expect(asked?.reason).toContain('It is renamed from search: it has the same definition');
  const { risk } = await at.observation('find');
  expect(risk.factors[0].reason).toContain('It has the definition of search, which is no longer listed.');
  expect(await at.granted()).toEqual(['list', 'search']);
});

test('what a later sync adds is available at once if the provider says so', async () => {
  const at = await toolServer({ newItems: 'allow' });
  at.tools['delete_all'] = WITH_TOKEN;
  expect(await at.sync()).toMatchObject({ added: 1, pending: 0 });
  expect(await at.item('delete_all')).toMatchObject({ status: 'available' });
  expect(await at.granted()).toEqual(['delete_all', 'list', 'search']);
  expect(await at.inbox('open')).toEqual([]);
});

test('what a server at another address lists waits, too', async () => {
  const at = await toolServer();
  const other = await startMcp(() => {
    const mcp = new McpServer({ name: 'other', version: '1.0.0' });
    for (const name of ['search', 'list', 'delete_all']) {
      const { description, input } = SEARCH;
      mcp.registerTool(name, { title: `Tool ${name}`, description, inputSchema: input }, () => ({ content: [] }));
    }
    return mcp;
  });
  server.travel(1000);
  await server.ok('PUT', at.path, { as: at.as, body: { baseUrl: other.url } });
  expect(await at.sync()).toMatchObject({ added: 1, pending: 1, unchanged: 2 });
  expect(await at.granted()).toEqual(['list', 'search']);
});

test('a sync that failed is not the first one', async () => {
  const at = await startToolServer(server);
  const body = { name: unique('down'), kind: 'mcp', baseUrl: 'http://127.0.0.1:1/mcp' };
  const provider = await server.ok('POST', '/v1/providers', { as: at.as, body });
  const path = `/v1/providers/${provider.id}`;
  expect((await server.call('POST', `${path}/sync`, { as: at.as })).status).toBe(502);
  server.travel(1000);
  await server.ok('PUT', path, { as: at.as, body: { baseUrl: at.peer.url } });
  expect(await server.ok('POST', `${path}/sync`, { as: at.as })).toMatchObject({ added: 1, pending: 0 });
});

describe('an item that a person declares', () => {
  test('by hand is not affected', async () => {
    const at = await toolServer();
    const body = { kind: 'tool', name: 'manual' };
    const item = await server.ok('POST', `${at.path}/inventory`, { as: at.as, body });
    expect(item).toMatchObject({ status: 'available', renamedFrom: null });
    at.tools['manual'] = SEARCH;
    expect(await at.sync()).toMatchObject({ added: 0, pending: 0 });
    expect(await at.item('manual')).toMatchObject({ status: 'available' });
    expect(await at.granted()).toEqual(['list', 'manual', 'search']);
  });

  test('by making a pending one available is declared, and nothing is asked any more', async () => {
    const at = await toolServer();
    at.tools['delete_all'] = WITH_TOKEN;
    await at.sync();
    const { id } = await at.item('delete_all');
    server.travel(1000);
    await server.ok('PUT', `${at.path}/inventory/${id}`, { as: at.as, body: { status: 'available' } });
    expect([await at.inbox('open'), await at.recommendations()]).toEqual([[], []]);
    expect(await at.granted()).toEqual(['delete_all', 'list', 'search']);
  });

  test('in a manifest waits all the same once a sync adds it, because sessions would not grant it', async () => {
    const at = await toolServer();
    const declares = [{ provider: at.provider.name, kind: 'tool', name: 'delete_all' }];
    const body = { name: unique('agent'), kind: 'agent', spec: { declares } };
    await server.ok('POST', '/v1/manifests', { as: at.as, body });
    await at.use('delete_all');
    expect(await at.inbox('open')).toEqual([]);
    at.tools['delete_all'] = WITH_TOKEN;
    await at.sync();
    expect(await at.inbox('open')).toEqual(['delete_all']);
    await at.decide('delete_all', 'approved');
    await at.apply();
    expect(await at.granted()).toEqual(['delete_all', 'list', 'search']);
  });
});

test('an item that was deleted and is listed again waits, although its observation was resolved', async () => {
  const at = await toolServer();
  at.tools['search'] = WITH_TOKEN;
  await at.sync();
  await at.review('approved');
  await at.apply();
  expect(await at.observation()).toMatchObject({ status: 'resolved' });
  const { id } = await at.item();
  server.travel(1000);
  await server.ok('DELETE', `${at.path}/inventory/${id}`, { as: at.as });
  expect(await at.sync()).toMatchObject({ added: 1, pending: 1 });
  expect(await at.inbox('open')).toEqual(['search']);
  expect(await at.recommendations()).toMatchObject([{ kind: 'register_item' }]);
});
