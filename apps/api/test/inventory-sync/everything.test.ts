import { randomUUID } from 'node:crypto';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import { McpServer } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { LOOPBACK, startEverything, startPeer } from './peers.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(LOOPBACK);
});
afterAll(() => server.stop());

test('a sync of the official “everything” server finds all tools, resources, templates and prompts', async () => {
  const baseUrl = await startEverything();
  const as = server.admin;
  const provider = await server.ok('POST', '/v1/providers', { as, body: { name: 'everything', kind: 'mcp', baseUrl } });
  const first = await server.ok('POST', `/v1/providers/${provider.id}/sync`, { as });
  expect(first).toMatchObject({
    providerId: provider.id,
    updated: 0,
    removed: 0,
    unchanged: 0,
    errors: [],
    attempts: 1,
  });
  const { items, syncedAt } = await server.ok('GET', `/v1/providers/${provider.id}/inventory?limit=100`, { as });
  expect(items).toHaveLength(first.added);
  expect(syncedAt).toBe(first.syncedAt);
  const names = (kind: string) => items.filter((item: Body) => item.kind === kind).map((item: Body) => item.name);
  expect(names('tool')).toEqual(expect.arrayContaining(['echo', 'get-sum']));
  expect(names('prompt')).toEqual(expect.arrayContaining(['simple-prompt']));
  expect(names('resource')).toEqual(expect.arrayContaining([expect.stringMatching(/^demo:\/\/resource\//)]));
  const echo = items.find((item: Body) => item.name === 'echo');
  expect(echo).toMatchObject({ status: 'available', source: 'sync', drift: null, providerId: provider.id });
  expect(echo.schemaDigest).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(echo.attributes.inputSchema).toMatchObject({ type: 'object', required: ['message'] });
  const again = await server.ok('POST', `/v1/providers/${provider.id}/sync`, { as });
  expect(again).toMatchObject({ added: 0, updated: 0, removed: 0, unchanged: first.added });
  const task = await server.ok('GET', `/v1/operator/tasks/${again.taskId}`, { as });
  expect(task).toMatchObject({
    kind: 'sync_inventory',
    status: 'succeeded',
    attempts: 1,
    lastError: null,
    note: `0 added, 0 changed, 0 no longer listed, ${first.added} unchanged.`,
    leaseExpiresAt: null,
    subject: { type: 'provider', id: provider.id },
    progress: { phase: 'written', done: first.added },
  });
  expect(await server.ok('GET', `/v1/providers/${provider.id}`, { as })).toMatchObject({
    health: 'healthy',
    inventorySyncedAt: again.syncedAt,
  });
});

test('a session of the older protocol is closed, and no stream for server messages is opened', async () => {
  const sessions = new Map<string, NodeStreamableHTTPServerTransport>();
  const peer = await startPeer((req, res) => {
    const known = sessions.get(String(req.headers['mcp-session-id']));
    const serve = async () => {
      if (known) return known.handleRequest(req, res);
      const transport = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => void sessions.set(id, transport),
        onsessionclosed: (id) => void sessions.delete(id),
      });
      const mcp = new McpServer({ name: 'older', version: '1.0.0' });
      mcp.registerTool('search', { description: 'Searches' }, () => ({ content: [] }));
      await mcp.connect(transport);
      return transport.handleRequest(req, res);
    };
    void serve();
  });
  const as = server.admin;
  const body = { name: 'older', kind: 'mcp', baseUrl: `${peer.url}/mcp` };
  const { id } = await server.ok('POST', '/v1/providers', { as, body });
  expect(await server.ok('POST', `/v1/providers/${id}/sync`, { as })).toMatchObject({ added: 1, errors: [] });
  const methods = peer.requests.map(({ method }) => method);
  expect(methods.at(-1)).toBe('DELETE');
  expect(methods).not.toContain('GET');
  expect(sessions.size).toBe(0);
});
