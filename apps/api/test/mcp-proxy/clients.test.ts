import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { LOOPBACK } from '../inventory-sync/peers.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { ITEMS, startModern, startStateful } from './servers.ts';
import { CREDENTIAL, MODERN, type ProxiedWorld, proxiedWorld, send } from './world.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(LOOPBACK, { decisionsFreshMs: 0 });
  return () => server.stop();
});

type Mode = NonNullable<NonNullable<ConstructorParameters<typeof Client>[1]>['versionNegotiation']>['mode'];

async function connect({ url, token }: ProxiedWorld, mode?: Mode): Promise<Client> {
  const versionNegotiation = mode === undefined ? {} : { versionNegotiation: { mode } };
  const client = new Client({ name: 'test', version: '1' }, versionNegotiation);
  const headers = { Authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  onTestFinished(() => client.close());
  return client;
}

async function connectLegacy({ url, token }: ProxiedWorld) {
  const client = new LegacyClient({ name: 'test', version: '1' }, { capabilities: { sampling: {} } });
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    model: 'none',
    role: 'assistant',
    content: { type: 'text', text: 'from the client' },
  }));
  const headers = { Authorization: `Bearer ${token}` };
  const transport = new LegacyTransport(new URL(url), { requestInit: { headers } });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return { client, transport };
}

test.each<[string, Mode | undefined]>([
  ['by default', undefined],
  ['that finds the revision by itself', 'auto'],
  ['pinned to the revision', { pin: MODERN }],
])('a client of the present SDK %s sees and calls only what is granted', async (_how, mode) => {
  const peer = await startModern();
  const world = await proxiedWorld(server, peer, { items: ITEMS });
  const client = await connect(world, mode);
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['echo']);
  expect(await client.callTool({ name: 'echo', arguments: { text: 'hi' } })).toMatchObject({
    content: [{ text: 'hi' }],
  });
  expect(await client.callTool({ name: 'secret_tool' })).toMatchObject({
    isError: true,
    content: [{ type: 'text', text: expect.stringContaining('/console/inbox') }],
  });
  expect(peer.ran).toEqual(['echo']);
  const authorizations = new Set(peer.requests.map(({ headers }) => headers.authorization));
  expect([...authorizations]).toEqual([`Bearer ${CREDENTIAL}`]);
});

test('a client and a stateful server of SDK 1.x: progress, sampling, an approval within the session, and its end', async () => {
  const peer = await startStateful();
  const world = await proxiedWorld(server, peer, { items: ITEMS });
  const { client, transport } = await connectLegacy(world);
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['echo', 'slow']);
  const progress: number[] = [];
  const slow = await client.callTool({ name: 'slow' }, undefined, { onprogress: (one) => progress.push(one.progress) });
  expect(slow).toMatchObject({ content: [{ text: 'sampled: from the client' }] });
  expect(progress).toEqual([1, 2]);

  const session = transport.sessionId ?? '';
  expect(await client.callTool({ name: 'secret_tool' })).toMatchObject({ isError: true });
  const body = { kind: 'tool', name: 'secret_tool' };
  await server.ok('POST', `/v1/providers/${world.providerId}/inventory`, { as: world.as, body });
  expect(await client.callTool({ name: 'secret_tool' })).toMatchObject({ content: [{ text: 'SECRET RAN' }] });
  expect((await client.listTools()).tools).toHaveLength(3);
  expect(transport.sessionId).toBe(session);
  expect(peer.ran).toEqual(['secret_tool']);

  const raw = session.slice(session.indexOf('.') + 1);
  expect([...peer.sessions.keys()]).toEqual([raw]);
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  expect((await send(world, { body: list, headers: { 'Mcp-Session-Id': raw } })).status).toBe(404);
  await transport.terminateSession();
  expect(peer.sessions.size).toBe(0);
});
