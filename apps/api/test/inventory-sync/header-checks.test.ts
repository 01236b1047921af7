import type { RequestListener } from 'node:http';
import { json } from 'node:stream/consumers';
import { McpServer } from '@modelcontextprotocol/server';
import { beforeAll, describe, expect, test } from 'vitest';
import { decidingWorld } from '../gateway-decisions/sessions.ts';
import { startStateful } from '../mcp-proxy/servers.ts';
import { MODERN } from '../mcp-proxy/world.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { LOOPBACK, startMcp, startPeer } from './peers.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(LOOPBACK, { decisionsFreshMs: 0 });
  return () => server.stop();
});

const newServer = () => {
  const mcp = new McpServer({ name: 'modern', version: '1.0.0' });
  mcp.registerTool('search', {}, () => ({ content: [] }));
  return mcp;
};

type Message = { id?: unknown; method?: string; params?: { _meta?: object }; isBatch: boolean };

const LISTED = {
  initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } },
  'tools/list': { tools: [{ name: 'search', inputSchema: { type: 'object' } }] },
};

/** A server that looks at no header. @param refuse the status with which it refuses a message */
async function startNaive(refuse: (message: Message, probes: number) => { status: number; code?: number } | null) {
  let probes = 0;
  const peer = await startPeer(((req, res) => {
    void (async () => {
      const sent = req.method === 'POST' ? ((await json(req)) as Omit<Message, 'isBatch'>) : {};
      const message = { ...(Array.isArray(sent) ? sent[0] : sent), isBatch: Array.isArray(sent) } as Message;
      const isProbe =
        req.headers['mcp-protocol-version'] === MODERN &&
        /^tools\/(?:list|call)$/.test(String(req.headers['mcp-method']));
      if (isProbe) probes += 1;
      const refused = isProbe ? refuse(message, probes) : null;
      const result = LISTED[message.method as keyof typeof LISTED] ?? {};
      const { id } = message;
      if (message.method === 'server/discover') res.writeHead(400).end();
      else if (id === undefined) res.writeHead(202).end();
      else if (refused) {
        const error = { code: refused.code ?? -32000, message: 'no' };
        res.writeHead(refused.status, { 'Content-Type': 'application/json' });
        res.end(JSON.stringify({ jsonrpc: '2.0', id, error }));
      } else {
        res.writeHead(200, { 'Content-Type': 'application/json' });
        res.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
      }
    })();
  }) satisfies RequestListener);
  return { url: `${peer.url}/mcp`, probes: () => probes };
}

async function syncedWorld(peer: { url: string }) {
  const world = await decidingWorld(server, { provider: { baseUrl: peer.url } });
  const path = `/v1/providers/${world.providerId}`;
  const sync = () => server.ok('POST', `${path}/sync`, { as: world.as });
  const read = async () => (await server.ok('GET', path, { as: world.as })).mcp;
  const update = (body: object) => server.ok('PUT', path, { as: world.as, body });
  const tasks = async () => {
    const { items } = await server.ok('GET', '/v1/operator/tasks?kind=review_mcp_server', { as: world.as });
    return items as { status: string; subject: { id: string } }[];
  };
  /** What forward authentication answers for headers alone. */
  const authorize = async () => {
    const headers = {
      'X-Quartermaster-Session': world.token,
      'MCP-Protocol-Version': MODERN,
      'Mcp-Method': 'tools/call',
      'Mcp-Name': 'search',
    };
    const at = `${server.url}/v1/gateways/${world.gatewayId}/authorize/${world.providerName}/mcp`;
    return (await fetch(at, { headers })).status;
  };
  await sync();
  return { ...world, sync, read, update, tasks, authorize };
}

test('a server of the present SDK is verified, and forward authentication then decides by headers alone', async () => {
  const world = await syncedWorld(await startMcp(newServer));
  expect(await world.read()).toEqual({
    headerChecks: 'verified',
    checkedAt: expect.any(String),
    protocolVersions: expect.arrayContaining([MODERN]),
  });
  expect(await world.authorize()).toBe(200);
});

test('a stateful server of SDK 1.x fails, and keeps no session of a probe', async () => {
  const peer = await startStateful();
  const world = await syncedWorld(peer);
  expect(await world.read()).toMatchObject({ headerChecks: 'failed', protocolVersions: [expect.any(String)] });
  expect(await world.authorize()).toBe(403);
  expect(peer.sessions.size).toBe(0);
});

const mismatch = { status: 400, code: -32020 };

describe('of other servers', () => {
  test.each<[string, 'verified' | 'failed' | 'unknown', number, Parameters<typeof startNaive>[0]]>([
    ['one that looks at no header', 'failed', 1, () => null],
    ['one that refuses for another reason', 'failed', 1, () => ({ status: 400 })],
    [
      'regression: one that compares only methods',
      'failed',
      2,
      ({ method }) => (method === 'tools/call' ? null : mismatch),
    ],
    ['one that goes by the revision in the body', 'failed', 3, ({ params }) => (params?._meta ? mismatch : null)],
    ['one that lets initialize pass', 'failed', 4, ({ method }) => (method === 'initialize' ? null : mismatch)],
    ['regression: one that takes batches', 'failed', 5, ({ isBatch }) => (isBatch ? null : mismatch)],
    ['one that refuses all', 'verified', 5, () => mismatch],
    ['one that has no time', 'unknown', 2, (_message, probe) => (probe === 1 ? mismatch : { status: 429 })],
    ['one that breaks', 'unknown', 1, () => ({ status: 500 })],
  ])('%s: %s', async (_what, headerChecks, probes, refuse) => {
    const peer = await startNaive(refuse);
    const world = await syncedWorld(peer);
    expect(await world.read()).toMatchObject({ headerChecks, protocolVersions: ['2025-11-25'] });
    expect(peer.probes()).toBe(probes);
    expect(await world.authorize()).toBe(headerChecks === 'verified' ? 200 : 403);
  });
});

test('a server that fails after it was verified opens one task, which ends when it is verified again', async () => {
  let answer: ReturnType<Parameters<typeof startNaive>[0]> = mismatch;
  const peer = await startNaive(() => answer);
  const world = await syncedWorld(peer);
  answer = { status: 503 };
  await world.sync();
  expect(await world.read()).toMatchObject({ headerChecks: 'verified' });
  answer = null;
  await world.sync();
  await world.sync();
  expect(await world.read()).toMatchObject({ headerChecks: 'failed' });
  expect(await world.tasks()).toMatchObject([{ status: 'open', subject: { id: world.providerId } }]);
  answer = mismatch;
  await world.sync();
  expect(await world.tasks()).toMatchObject([{ status: 'cancelled' }]);
});

test('a person may trust a server, which is audited, outlasts syncs, and ends with a new address', async () => {
  const peer = await startNaive(() => null);
  const world = await syncedWorld(peer);
  const { mcp } = await world.update({ mcp: { headerChecks: 'trusted' } });
  expect(mcp).toMatchObject({ headerChecks: 'trusted', protocolVersions: ['2025-11-25'] });
  expect(await world.authorize()).toBe(200);
  const { items } = await server.ok('GET', '/v1/audit-events?operation=update_provider', { as: world.as });
  expect(items[0]).toMatchObject({
    changedFields: ['mcp'],
    changes: [{ field: 'mcp.headerChecks', before: 'failed', after: 'trusted' }],
  });
  await world.sync();
  expect(await world.read()).toMatchObject({ headerChecks: 'trusted' });
  expect((await world.update({ mcp: null })).mcp).toBeNull();
  expect(await world.authorize()).toBe(403);
  await world.update({ mcp: { headerChecks: 'trusted' } });
  expect((await world.update({ baseUrl: `${peer.url}/other` })).mcp).toBeNull();
  const both = { baseUrl: peer.url, mcp: { headerChecks: 'trusted' } };
  expect((await world.update(both)).mcp).toEqual({ headerChecks: 'trusted', checkedAt: null, protocolVersions: [] });
});
