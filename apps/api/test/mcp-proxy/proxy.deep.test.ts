import type { ServerResponse } from 'node:http';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { LOOPBACK, startEverything, startPeer } from '../inventory-sync/peers.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { call, outcome, type ProxiedWorld, proxiedWorld, send } from './world.ts';

let server: TestServer;
beforeAll(async () => {
  // Decisions rest on what was read as long ago as in production.
  server = await startTestServer(LOOPBACK);
  return () => server.stop();
});

const MEGABYTE = 1024 * 1024;

describe('an open stream is closed within 5 s', () => {
  const path = ({ gatewayId }: ProxiedWorld) => `/v1/gateways/${gatewayId}`;
  test.each<[string, (world: ProxiedWorld) => Promise<unknown>]>([
    [
      'after its session was revoked',
      (world) => server.ok('DELETE', `${path(world)}/sessions/${world.session.id}`, { as: world.as }),
    ],
    [
      'after its gateway was disabled',
      (world) => server.ok('PUT', path(world), { as: world.as, body: { status: 'disabled' } }),
    ],
    [
      'after the proxy of its gateway was turned off',
      (world) => server.ok('PUT', path(world), { as: world.as, body: { mcpProxy: 'off' } }),
    ],
    [
      'after its provider was disabled',
      (world) => server.ok('PUT', `/v1/providers/${world.providerId}`, { as: world.as, body: { status: 'disabled' } }),
    ],
    ['after its session expired', async () => server.travel(3601 * 1000)],
  ])('%s', async (_when, end) => {
    const peer = await startPeer((_req, res) => {
      res.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
    });
    const world = await proxiedWorld(server, peer);
    const answer = await send(world, { method: 'GET' });
    expect(answer.status).toBe(200);
    const closed = outcome(answer.text());
    await end(world);
    const started = performance.now();
    expect(await closed).toBe('broken');
    expect(performance.now() - started).toBeLessThan(5000);
  });
});

describe('a list that is too large to be filtered', () => {
  const list = { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } };
  const tools = Array.from({ length: 9 }, (_, at) => ({ name: `tool-${at}`, description: 'x'.repeat(MEGABYTE) }));
  const message = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools } });

  test('is answered with 502 if it is JSON', async () => {
    const peer = await startPeer((_req, res) => {
      res.writeHead(200, { 'Content-Type': 'application/json' }).end(message);
    });
    const answer = await send(await proxiedWorld(server, peer), list);
    expect([answer.status, await answer.json()]).toMatchObject([502, { id: 1, error: { code: -32000 } }]);
  });

  test('breaks off if it is an event', async () => {
    const peer = await startPeer((_req, res) => {
      res.writeHead(200, { 'Content-Type': 'text/event-stream' }).end(`data: ${message}\n\n`);
    });
    const answer = await send(await proxiedWorld(server, peer), list);
    expect(await outcome(answer.text())).toBe('broken');
  });
});

test('an answer of any size is passed on, only as fast as the client reads it', async () => {
  const size = 64 * MEGABYTE;
  const chunk = Buffer.alloc(MEGABYTE, 'x');
  let sent = 0;
  const write = (res: ServerResponse) => {
    while (sent < size) {
      sent += chunk.length;
      if (!res.write(chunk)) {
        res.once('drain', () => write(res));
        return;
      }
    }
    res.end();
  };
  const peer = await startPeer((_req, res) => {
    res.writeHead(200, { 'Content-Type': 'application/json' });
    write(res);
  });
  const answer = await send(await proxiedWorld(server, peer), { body: call('search') });
  const reader = answer.body?.getReader();
  await reader?.read();
  // Until nothing moves any more, because each buffer on the way is full.
  let before = -1;
  await expect
    .poll(
      () => {
        const isStill = before === sent;
        before = sent;
        return isStill;
      },
      { interval: 500, timeout: 30_000 },
    )
    .toBe(true);
  expect(sent).toBeLessThan(size / 2);
  for (let done = false; !done; ) ({ done } = (await reader?.read()) ?? { done: true });
  expect(sent).toBe(size);
});

test('the official server of older revisions serves its client through the proxy', async () => {
  const url = await startEverything();
  const world = await proxiedWorld(server, { url }, { items: [] });
  await server.ok('POST', `/v1/providers/${world.providerId}/sync`, { as: world.as });
  const client = new LegacyClient({ name: 'test', version: '1' });
  const headers = { Authorization: `Bearer ${world.token}` };
  await client.connect(new LegacyTransport(new URL(world.url), { requestInit: { headers } }));
  onTestFinished(() => client.close());
  const { tools } = await client.listTools();
  expect(tools.length).toBeGreaterThan(5);
  const echo = { name: 'echo', arguments: { message: 'through the proxy' } };
  expect(JSON.stringify(await client.callTool(echo))).toContain('through the proxy');
  const prompts = await client.listPrompts();
  expect(prompts.prompts.length).toBeGreaterThan(0);
  const { resources } = await client.listResources();
  const [first] = resources;
  expect((await client.readResource({ uri: first?.uri ?? '' })).contents.length).toBeGreaterThan(0);
  const { items } = await server.ok('GET', `/v1/providers/${world.providerId}/inventory?limit=100`, { as: world.as });
  const item = (items as { id: string; name: string }[]).find(({ name }) => name === 'echo');
  const path = `/v1/providers/${world.providerId}/inventory/${item?.id}`;
  await server.ok('PUT', path, { as: world.as, body: { status: 'blocked' } });
  // The block ends the session, so it is a new one that is denied.
  const { token } = await server.ok('POST', `/v1/gateways/${world.gatewayId}/sessions`, { as: world.as, body: {} });
  const answer = async () => (await send({ ...world, token }, { body: call('echo') })).json();
  await expect.poll(answer, { timeout: 5000 }).toMatchObject({ result: { isError: true } });
});
