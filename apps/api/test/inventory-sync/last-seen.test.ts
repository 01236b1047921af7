import { McpServer } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { unique } from '../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { modelsHandler } from './hostile.ts';
import { LOOPBACK, startMcp, startPeer } from './peers.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(LOOPBACK);
});
afterAll(() => server.stop());

/** A vendor, and the ids of its models, which tests may change. */
async function vendor(...ids: string[]): Promise<{ url: string; ids: Set<string> }> {
  const models = new Set(ids);
  const peer = await startPeer(modelsHandler(() => ({ data: [...models].map((id) => ({ id })), next: null })));
  return { url: `${peer.url}/v1`, ids: models };
}

const create = (body: object): Promise<Body> =>
  server.ok('POST', '/v1/providers', { as: server.admin, body: { name: unique('vendor'), ...body } });
const itemsOf = ({ id }: Body) => `/v1/providers/${id}/inventory`;

/** A second after what happened last. @returns when it ended */
async function sync({ id }: Body): Promise<string> {
  server.travel(1000);
  return (await server.ok('POST', `/v1/providers/${id}/sync`, { as: server.admin })).syncedAt;
}

async function lastSeen(provider: Body): Promise<Record<string, string>> {
  const { items } = await server.ok('GET', `${itemsOf(provider)}?limit=100`, { as: server.admin });
  return Object.fromEntries(items.map((item: Body) => [item.name, item.lastSeenAt]));
}

test('an item was last seen at the last sync that found it, whether or not that changed anything', async () => {
  const { url, ids } = await vendor('stays', 'goes');
  const provider = await create({ kind: 'llm', baseUrl: url });
  const first = await sync(provider);
  expect(await lastSeen(provider)).toEqual({ stays: first, goes: first });
  const second = await sync(provider);
  expect(await lastSeen(provider)).toEqual({ stays: second, goes: second });

  ids.delete('goes');
  ids.add('comes');
  const third = await sync(provider);
  expect(await lastSeen(provider)).toEqual({ stays: third, goes: second, comes: third });
  const fourth = await sync(provider);
  expect(await lastSeen(provider)).toEqual({ stays: fourth, goes: second, comes: fourth });

  ids.add('goes');
  const fifth = await sync(provider);
  expect(await lastSeen(provider)).toEqual({ stays: fifth, goes: fifth, comes: fifth });
});

test('a sync that finds what the last one found writes no item', async () => {
  const { url, ids } = await vendor('known', 'changes');
  const provider = await create({ kind: 'llm', baseUrl: url });
  const body = { kind: 'model', name: 'declared' };
  await server.ok('POST', itemsOf(provider), { as: server.admin, body });
  ids.add('declared');
  const stored = () =>
    server.services.db
      .selectFrom('inventory_items')
      .select(['name', 'last_seen_at', 'listed'])
      .where('provider_id', '=', provider.id)
      .orderBy('name')
      .execute();
  // One item is found for the first time, one is new, and one is found again.
  await sync(provider);
  expect((await stored()).map(({ listed }) => listed)).toEqual([1, 1, 1]);
  ids.delete('changes');
  await sync(provider);
  ids.add('changes');
  await sync(provider);
  const before = await stored();
  expect(before.map(({ listed }) => listed)).toEqual([1, 1, 1]);
  const syncedAt = await sync(provider);
  expect(await stored()).toEqual(before);
  expect(await lastSeen(provider)).toEqual({ known: syncedAt, changes: syncedAt, declared: syncedAt });
});

test('the answer to a change of an item has the time, too', async () => {
  const { url } = await vendor('model');
  const provider = await create({ kind: 'llm', baseUrl: url });
  await sync(provider);
  const syncedAt = await sync(provider);
  const { items } = await server.ok('GET', itemsOf(provider), { as: server.admin });
  const path = `${itemsOf(provider)}/${items[0].id}`;
  const written = await server.ok('PUT', path, { as: server.admin, body: { title: 'Ours' } });
  expect(written).toMatchObject({ title: 'Ours', lastSeenAt: syncedAt });
});

test('an item that is blocked, or that a person declared, is no longer seen once it is not listed', async () => {
  const { url, ids } = await vendor('blocked', 'declared');
  const provider = await create({ kind: 'llm', baseUrl: url });
  const body = { kind: 'model', name: 'declared' };
  await server.ok('POST', itemsOf(provider), { as: server.admin, body });
  await server.ok('POST', itemsOf(provider), { as: server.admin, body: { ...body, name: 'never' } });
  const never = (await lastSeen(provider))['never'];
  await sync(provider);
  const { items } = await server.ok('GET', itemsOf(provider), { as: server.admin });
  const { id } = items.find(({ name }: Body) => name === 'blocked');
  await server.ok('PUT', `${itemsOf(provider)}/${id}`, { as: server.admin, body: { status: 'blocked' } });
  const second = await sync(provider);
  expect(await lastSeen(provider)).toEqual({ blocked: second, declared: second, never });

  ids.clear();
  await sync(provider);
  await sync(provider);
  expect(await lastSeen(provider)).toEqual({ blocked: second, declared: second, never });
  ids.add('declared');
  const last = await sync(provider);
  expect(await lastSeen(provider)).toEqual({ blocked: second, declared: last, never });
});

test('items of a kind that the provider is no longer asked for keep their status, and are no longer seen', async () => {
  const mcp = await startMcp(() => {
    const tools = new McpServer({ name: 'tools', version: '1.0.0' });
    tools.registerTool('search', { description: 'Searches', inputSchema: z.object({}) }, () => ({ content: [] }));
    return tools;
  });
  const { url } = await vendor('model');
  const provider = await create({ kind: 'mcp', baseUrl: mcp.url });
  const seen = await sync(provider);
  await server.ok('PUT', `/v1/providers/${provider.id}`, { as: server.admin, body: { kind: 'llm', baseUrl: url } });
  await sync(provider);
  const last = await sync(provider);
  expect(await lastSeen(provider)).toEqual({ search: seen, model: last });
  const { items } = await server.ok('GET', `${itemsOf(provider)}?kind=tool`, { as: server.admin });
  expect(items[0].status).toBe('available');
});

test('a declared item that was found in the millisecond of its declaration becomes missing as others do', async () => {
  const { url, ids } = await vendor('model', 'other');
  const provider = await create({ kind: 'llm', baseUrl: url });
  await server.ok('POST', itemsOf(provider), { as: server.admin, body: { kind: 'model', name: 'model' } });
  await sync(provider);
  const items = server.services.db.updateTable('inventory_items').where('provider_id', '=', provider.id);
  await items.set(({ ref }) => ({ first_seen_at: ref('last_seen_at') })).execute();
  ids.delete('model');
  await sync(provider);
  const answer = await server.ok('GET', `${itemsOf(provider)}?text=model`, { as: server.admin });
  expect(answer.items).toMatchObject([{ name: 'model', status: 'missing' }]);
});

test('a sync that fails does not count', async () => {
  const { url } = await vendor('model');
  const provider = await create({ kind: 'llm', baseUrl: url });
  const seen = await sync(provider);
  const broken = await startPeer((_, res) => {
    res.writeHead(404).end();
  });
  await server.ok('PUT', `/v1/providers/${provider.id}`, { as: server.admin, body: { baseUrl: broken.url } });
  server.travel(1000);
  const failed = await server.call('POST', `/v1/providers/${provider.id}/sync`, { as: server.admin });
  expect(failed.status).toBe(502);
  expect(await lastSeen(provider)).toEqual({ model: seen });
});
