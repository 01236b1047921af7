import { beforeAll, expect, test } from 'vitest';
import { EventFilter } from '../../src/resources/mcp-proxy/filter.ts';
import { LOOPBACK, startPeer } from '../inventory-sync/peers.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { call, proxiedWorld, send } from './world.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(LOOPBACK, { decisionsFreshMs: 0 });
  return () => server.stop();
});

test.each([
  ['two types', ['Content-Type', 'application/json', 'Content-Type', 'text/event-stream']],
  ['two session ids', ['Content-Type', 'application/json', 'Mcp-Session-Id', 'a', 'Mcp-Session-Id', 'b']],
])('regression: headers that cannot be read are answered 502: %s', async (_what, headers) => {
  const peer = await startPeer(
    (_req, res) => void res.writeHead(200, headers).end('{"jsonrpc":"2.0","id":1,"result":{}}'),
  );
  const world = await proxiedWorld(server, peer);
  for (const body of [call('search'), { jsonrpc: '2.0', id: 1, method: 'tools/list' }]) {
    const answer = await send(world, { body });
    expect([answer.status, await answer.json()]).toMatchObject([502, { id: 1, error: { code: -32000 } }]);
  }
});

test('regression: an answer in very many small pieces is broken off', async () => {
  const peer = await startPeer((_req, res) => {
    res.writeHead(200, { 'Content-Type': 'application/json' }).write('{"jsonrpc":"2.0","id":1,"result":{"x":"');
    for (let index = 0; index < 40_000; index += 1) res.write('x');
    res.end('"}}');
  });
  const world = await proxiedWorld(server, peer);
  const answer = await send(world, { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } });
  expect([answer.status, await answer.text()]).toEqual([502, expect.stringContaining('small pieces')]);
});

test('regression: a list that ends early is answered 502', async () => {
  const peer = await startPeer((_req, res) => {
    res.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': 500 }).write('{');
    res.socket?.end();
  });
  const world = await proxiedWorld(server, peer);
  const answer = await send(world, { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } });
  expect([answer.status, await answer.json()]).toMatchObject([502, { id: 1, error: { code: -32000 } }]);
});

test('regression: a message that nests too deep is refused', async () => {
  const peer = await startPeer((_req, res) => void res.writeHead(202).end());
  const world = await proxiedWorld(server, peer);
  const levels = 50_000;
  const text = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":${'['.repeat(levels)}${']'.repeat(levels)}}}`;
  const answer = await send(world, { text });
  expect([answer.status, await answer.json()]).toMatchObject([400, { error: { code: -32700 } }]);
  expect(peer.requests).toEqual([]);
});

test('regression: a message of very many values is refused', async () => {
  const peer = await startPeer((_req, res) => void res.writeHead(202).end());
  const world = await proxiedWorld(server, peer);
  const values = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, 1]));
  const answer = await send(world, { body: { jsonrpc: '2.0', id: 1, method: 'ping', params: values } });
  expect([answer.status, await answer.json()]).toMatchObject([400, { error: { code: -32700 } }]);
  expect(peer.requests).toEqual([]);
});

test('regression: an event that arrives in tiny pieces takes linear time', async () => {
  const filter = new EventFilter(() => false, { add: () => {}, release: () => {} });
  const event = `data: {"result":{"tools":[{"name":"x"}],"more":"${'x'.repeat(300_000)}"}}\n\n`;
  let text = '';
  filter.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  const started = performance.now();
  for (const byte of Buffer.from(event)) filter.write(Buffer.of(byte));
  await new Promise((resolve) => filter.end(resolve));
  expect(text).toBe(event.replace('{"name":"x"}', ''));
  // To copy what has arrived for each piece would take half a minute.
  expect(performance.now() - started).toBeLessThan(8000);
});
