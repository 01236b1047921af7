import { McpServer } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { unique } from '../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { expectProblem } from '../endpoints/harness.ts';
import { modelsHandler } from './hostile.ts';
import { LOOPBACK, startMcp, startPeer } from './peers.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(LOOPBACK);
});
afterAll(() => server.stop());

const as = () => ({ as: server.admin });

/** A vendor with four models after its first sync, a gateway that lists it, and its models, which tests may change. */
async function syncedVendor(): Promise<{ provider: Body; gateway: Body; models: Set<string> }> {
  const models = new Set(['a', 'b', 'c', 'd']);
  const peer = await startPeer(modelsHandler(() => ({ data: [...models].map((id) => ({ id })), next: null })));
  const body = { name: unique('vendor'), kind: 'llm', baseUrl: `${peer.url}/v1` };
  const provider = await server.ok('POST', '/v1/providers', { ...as(), body });
  const gateway = await server.ok('POST', '/v1/gateways', {
    ...as(),
    body: { name: unique('edge'), providerIds: [provider.id] },
  });
  await sync(provider);
  return { provider, gateway, models };
}

async function sync({ id }: Body): Promise<Body> {
  server.travel(1000);
  return server.ok('POST', `/v1/providers/${id}/sync`, as());
}

const read = ({ id }: Body): Promise<Body> => server.ok('GET', `/v1/providers/${id}`, as());

async function statuses({ id }: Body): Promise<Record<string, string>> {
  const { items } = await server.ok('GET', `/v1/providers/${id}/inventory?limit=100`, as());
  return Object.fromEntries(items.map(({ name, status }: Body) => [name, status]).toSorted());
}

async function grantedNames(gateway: Body): Promise<string[]> {
  const path = `/v1/gateways/${gateway.id}/sessions`;
  const { id } = await server.ok('POST', path, { ...as(), body: {} });
  const { items } = await server.ok('GET', `${path}/${id}/grants`, as());
  return items.map(({ name }: Body) => name).toSorted();
}

async function open({ id }: Body, kind: string): Promise<Body[]> {
  const path = `/v1/providers/${id}/recommendations?status=open&kind=${kind}`;
  return (await server.ok('GET', path, as())).items;
}

const apply = ({ id }: Body, body: object): Promise<Body> => {
  server.travel(1000);
  return server.ok('POST', `/v1/providers/${id}/recommendations/apply`, { ...as(), body });
};

const ALL = { a: 'available', b: 'available', c: 'available', d: 'available' };

test.each([
  { left: [] as string[], reason: 'the last sync found none of the 4 models that it found before', held: 4 },
  { left: ['a'], reason: 'the last sync found only 1 of the 4 models that it found before', held: 3 },
])('a sync that finds $left of four models keeps all, and asks whether the others are gone', async (lost) => {
  const { provider, gateway, models } = await syncedVendor();
  for (const name of ['a', 'b', 'c', 'd']) if (!lost.left.includes(name)) models.delete(name);
  expect(await sync(provider)).toMatchObject({ added: 0, removed: 0, held: lost.held });
  expect(await statuses(provider)).toEqual(ALL);
  expect(await grantedNames(gateway)).toEqual(['a', 'b', 'c', 'd']);
  expect(await read(provider)).toMatchObject({ health: 'doubtful', healthReason: lost.reason });

  const [asked, ...others] = await open(provider, 'confirm_removals');
  expect(others).toEqual([]);
  expect(asked?.reason).toContain(lost.reason);
  const everything = await apply(provider, {});
  expect(everything.applied).toEqual([]);
  expect(everything.skipped).toEqual([{ id: asked?.id, reason: 'needs_review' }]);
  expect(await statuses(provider)).toEqual(ALL);

  // A person is asked once for the same loss.
  await sync(provider);
  expect(await open(provider, 'confirm_removals')).toMatchObject([{ id: asked?.id }]);
});

test('a provider that lists its items again is healthy, and nothing is asked any more', async () => {
  const { provider, models } = await syncedVendor();
  models.clear();
  await sync(provider);
  for (const name of ['a', 'b', 'c', 'd']) models.add(name);
  expect(await sync(provider)).toMatchObject({ added: 0, held: 0, unchanged: 4 });
  expect(await read(provider)).toMatchObject({ health: 'healthy', healthReason: null });
  expect(await open(provider, 'confirm_removals')).toEqual([]);
  expect(await open(provider, 'retire_item')).toEqual([]);
});

test('half of the items may disappear without a question', async () => {
  const { provider, models } = await syncedVendor();
  models.delete('a');
  models.delete('b');
  expect(await sync(provider)).toMatchObject({ removed: 2, held: 0 });
  expect(await statuses(provider)).toEqual({ ...ALL, a: 'missing', b: 'missing' });
});

test('a confirmed loss makes the items missing, and an undo makes them available again', async () => {
  const { provider, models } = await syncedVendor();
  models.clear();
  await sync(provider);
  const [asked] = await open(provider, 'confirm_removals');
  const { applied } = await apply(provider, { recommendationIds: [asked?.id] });
  expect(applied).toMatchObject([{ id: asked?.id, status: 'applied' }]);
  expect(await statuses(provider)).toEqual({ a: 'missing', b: 'missing', c: 'missing', d: 'missing' });
  expect(await read(provider)).toMatchObject({ health: 'healthy' });
  expect(await open(provider, 'retire_item')).toHaveLength(4);

  server.travel(1000);
  await server.ok('POST', `/v1/recommendations/${asked?.id}/undo`, as());
  expect(await statuses(provider)).toEqual(ALL);
  expect(await read(provider)).toMatchObject({ health: 'doubtful' });
  expect(await open(provider, 'retire_item')).toEqual([]);

  await apply(provider, { recommendationIds: [asked?.id] });
  expect(await sync(provider)).toMatchObject({ removed: 0, held: 0 });
  const undone = await server.call('POST', `/v1/recommendations/${asked?.id}/undo`, as());
  expectProblem(undone, 409, 'recommendation_built_on');
  expect(undone.body.detail).toContain('the provider was synced since');
});

test('a dismissed question is not asked again for the same items, but for others', async () => {
  const { provider, models } = await syncedVendor();
  models.clear();
  models.add('a');
  await sync(provider);
  const [asked] = await open(provider, 'confirm_removals');
  const body = { reason: 'The vendor repairs it.' };
  await server.ok('POST', `/v1/recommendations/${asked?.id}/dismiss`, { ...as(), body });
  await sync(provider);
  expect(await open(provider, 'confirm_removals')).toEqual([]);
  expect(await read(provider)).toMatchObject({ health: 'doubtful' });
  models.clear();
  await sync(provider);
  expect(await open(provider, 'confirm_removals')).toMatchObject([{ change: { after: { missingItems: 4 } } }]);
});

test('regression: a server that loses all of its tools and keeps more prompts keeps the tools, and asks', async () => {
  const [tools, prompts] = [new Set(['search', 'send']), new Set(['a', 'b', 'c', 'd'])];
  const peer = await startMcp(() => {
    const mcp = new McpServer({ name: 'losing', version: '1.0.0' });
    for (const name of tools) mcp.registerTool(name, { inputSchema: z.object({}) }, () => ({ content: [] }));
    for (const name of prompts) mcp.registerPrompt(name, {}, () => ({ messages: [] }));
    return mcp;
  });
  const body = { name: unique('mcp'), kind: 'mcp', baseUrl: `${peer.url}/mcp` };
  const provider = await server.ok('POST', '/v1/providers', { ...as(), body });
  await sync(provider);
  tools.clear();
  prompts.delete('a');
  expect(await sync(provider)).toMatchObject({ removed: 1, held: 2 });
  const kept = { search: 'available', send: 'available' };
  expect(await statuses(provider)).toEqual({ ...kept, a: 'missing', b: 'available', c: 'available', d: 'available' });
  const healthReason = 'the last sync found none of the 2 tools that it found before';
  expect(await read(provider)).toMatchObject({ health: 'doubtful', healthReason });
  const [asked] = await open(provider, 'confirm_removals');
  expect(asked).toMatchObject({ change: { after: { missingItems: 2 } } });
  await apply(provider, { recommendationIds: [asked?.id] });
  expect(await statuses(provider)).toMatchObject({ search: 'missing', send: 'missing', b: 'available' });
});

test('a retired item that the provider lists again waits for a decision, which restores it', async () => {
  const { provider, gateway, models } = await syncedVendor();
  models.delete('d');
  await sync(provider);
  await apply(provider, {});
  expect(await statuses(provider)).toEqual({ ...ALL, d: 'retired' });

  models.add('d');
  expect(await sync(provider)).toMatchObject({ updated: 1 });
  expect(await statuses(provider)).toEqual({ ...ALL, d: 'pending' });
  expect(await grantedNames(gateway)).toEqual(['a', 'b', 'c']);
  const inbox = await server.ok('GET', `/v1/runtime-observations?view=new&provider_id=${provider.id}`, as());
  expect(inbox.items).toMatchObject([{ name: 'd', status: 'open', unknown: true, occurrences: 0 }]);
  expect(await apply(provider, {})).toMatchObject({ applied: [], skipped: [{ reason: 'needs_review' }] });

  const path = `/v1/runtime-observations/${inbox.items[0].id}/review`;
  await server.ok('POST', path, { ...as(), body: { decision: 'approved', note: 'It is back.' } });
  expect((await apply(provider, {})).applied).toMatchObject([{ kind: 'register_item' }]);
  expect(await statuses(provider)).toEqual(ALL);
  expect(await grantedNames(gateway)).toEqual(['a', 'b', 'c', 'd']);
  const left = await server.ok('GET', `/v1/runtime-observations?view=open&provider_id=${provider.id}`, as());
  expect(left.items).toEqual([]);
});

test('a returned item that disappears before a decision is retired again, and its inbox entry is closed', async () => {
  const { provider, models } = await syncedVendor();
  models.delete('d');
  await sync(provider);
  await apply(provider, {});
  models.add('d');
  await sync(provider);
  models.delete('d');
  expect(await sync(provider)).toMatchObject({ removed: 1 });
  expect(await statuses(provider)).toEqual({ ...ALL, d: 'retired' });
  expect(await open(provider, 'register_item')).toEqual([]);
  const left = await server.ok('GET', `/v1/runtime-observations?view=open&provider_id=${provider.id}`, as());
  expect(left.items).toEqual([]);
});

test('an unhealthy provider says since when it is, until a sync is healthy again', async () => {
  const models = [{ id: 'a' }];
  let status = 200;
  const list = modelsHandler(() => ({ data: models, next: null }));
  const peer = await startPeer((req, res) => (status === 200 ? list(req, res) : void res.writeHead(status).end()));
  const body = { name: unique('vendor'), kind: 'llm', baseUrl: `${peer.url}/v1` };
  const provider = await server.ok('POST', '/v1/providers', { ...as(), body });
  const next = async () => {
    server.travel(1000);
    await server.call('POST', `/v1/providers/${provider.id}/sync`, as());
    const { health, unhealthySince } = await read(provider);
    return { health, unhealthySince };
  };
  expect(provider).toMatchObject({ health: 'unknown', unhealthySince: null });
  expect(await next()).toMatchObject({ health: 'healthy', unhealthySince: null });
  status = 404;
  const { health, unhealthySince } = await next();
  expect([health, unhealthySince]).toEqual(['failing', expect.any(String)]);
  expect(await next()).toMatchObject({ health: 'failing', unhealthySince });
  status = 200;
  models.pop();
  expect(await next()).toMatchObject({ health: 'doubtful', unhealthySince });
  models.push({ id: 'a' });
  expect(await next()).toMatchObject({ health: 'healthy', unhealthySince: null });
  status = 404;
  const again = await next();
  expect(again.health).toBe('failing');
  expect(again.unhealthySince > unhealthySince).toBe(true);
});
