import { type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { proxiedWorld, type ProxiedWorld } from '../mcp-proxy/world.ts';
import { LOOPBACK, startPeer } from '../inventory-sync/peers.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(LOOPBACK, { decisionsFreshMs: 0 });
  return () => server.stop();
});

/** Sends a request whose body ends only after `meanwhile`. */
async function sendLate(
  url: string,
  { token, body }: { token: string; body: unknown },
  meanwhile: () => Promise<void>,
) {
  const text = JSON.stringify(body);
  const req = request(url, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'content-length': text.length },
  });
  const answered = new Promise<IncomingMessage>((resolve, reject) => req.on('response', resolve).on('error', reject));
  req.write(text.slice(0, 10));
  await meanwhile();
  req.end(text.slice(10));
  const answer = await answered;
  answer.resume();
  return answer.statusCode;
}

const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'search' } };

test.each<[string, (world: ProxiedWorld) => { path: string; body: object }]>([
  ['the MCP proxy', ({ providerName }) => ({ path: `mcp/${providerName}`, body: call })],
  ['forward authentication', ({ providerName }) => ({ path: `authorize/${providerName}/mcp`, body: call })],
  [
    'a guard',
    ({ providerName }) => ({ path: 'decisions', body: { provider: providerName, kind: 'tool', name: 'search' } }),
  ],
  [
    'ToolHive',
    ({ providerName }) => ({
      path: 'toolhive/decision',
      body: { operation: 'mcp:tool:call', resource: `mrn:mcp:${providerName}:tool:search` },
    }),
  ],
])('regression: a session that ends while the body arrives permits nothing: %s', async (_point, asked) => {
  const peer = await startPeer((_req, res) => void res.writeHead(202).end());
  const world = await proxiedWorld(server, peer);
  const { path, body } = asked(world);
  const status = await sendLate(
    `${server.url}/v1/gateways/${world.gatewayId}/${path}`,
    { ...world, body },
    async () => {
      // The request has to be under way, and for longer than the dialects take a session for unchanged.
      await sleep(1200);
      await server.ok('DELETE', `/v1/gateways/${world.gatewayId}/sessions/${world.session.id}`, { as: world.as });
    },
  );
  expect(status).toBe(401);
  expect(peer.requests).toEqual([]);
});
