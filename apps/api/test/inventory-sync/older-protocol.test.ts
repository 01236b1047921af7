import { randomUUID } from 'node:crypto';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import { McpServer } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { serverOfTest } from '../support/server.ts';
import { LOOPBACK, startPeer } from './peers.ts';

test('a session of the older protocol is closed, and no stream for server messages is opened', async () => {
  const server = await serverOfTest(LOOPBACK);
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
