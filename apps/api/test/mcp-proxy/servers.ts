import { randomUUID } from 'node:crypto';
import { json } from 'node:stream/consumers';
import { McpServer } from '@modelcontextprotocol/server';
import { McpServer as LegacyServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';
import { type Peer, startMcp, startPeer } from '../inventory-sync/peers.ts';

const text = (content: string) => ({ content: [{ type: 'text' as const, text: content }] });

/** What the tools of both servers are. `secret_tool` is not in the inventory. */
export const ITEMS = [
  { kind: 'tool', name: 'echo' },
  { kind: 'tool', name: 'slow' },
];

/** A server of revision 2026-07-28, which serves older clients as well. `ran` has the tools that ran. */
export async function startModern(): Promise<Peer & { ran: string[] }> {
  const ran: string[] = [];
  const peer = await startMcp(() => {
    const server = new McpServer({ name: 'modern', version: '1.0.0' });
    server.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, (given) => {
      ran.push('echo');
      return text(given.text);
    });
    server.registerTool('secret_tool', {}, () => {
      ran.push('secret_tool');
      return text('SECRET RAN');
    });
    return server;
  });
  return { ...peer, ran };
}

/** A server of SDK 1.x with sessions. Its tool `slow` reports progress, and asks the client for a completion (sampling). */
export async function startStateful(): Promise<Peer & { ran: string[]; sessions: Map<string, unknown> }> {
  const ran: string[] = [];
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const newServer = () => {
    const server = new LegacyServer({ name: 'stateful', version: '1.0.0' }, { capabilities: { logging: {} } });
    server.registerTool('echo', { inputSchema: { text: z.string() } }, (given) => {
      ran.push('echo');
      return text(given.text);
    });
    server.registerTool('secret_tool', {}, () => {
      ran.push('secret_tool');
      return text('SECRET RAN');
    });
    server.registerTool('slow', {}, async ({ _meta, sendNotification }) => {
      const progressToken = _meta?.progressToken ?? 'none';
      for (const progress of [1, 2]) {
        await sendNotification({ method: 'notifications/progress', params: { progressToken, progress, total: 2 } });
      }
      const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'question' } }];
      const answer = await server.server.createMessage({ messages, maxTokens: 5 });
      const { content } = answer;
      return text(`sampled: ${!Array.isArray(content) && content.type === 'text' ? content.text : ''}`);
    });
    return server;
  };
  const peer = await startPeer((req, res) => {
    const serve = async () => {
      const id = req.headers['mcp-session-id'];
      const known = typeof id === 'string' ? sessions.get(id) : undefined;
      const body = req.method === 'POST' ? await json(req) : undefined;
      if (known) return known.handleRequest(req, res, body);
      if (id !== undefined || req.method !== 'POST') return void res.writeHead(404).end();
      const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (session) => void sessions.set(session, transport),
        onsessionclosed: (session) => void sessions.delete(session),
      });
      await newServer().connect(transport);
      return transport.handleRequest(req, res, body);
    };
    void serve();
  });
  return { ...peer, url: `${peer.url}/mcp`, ran, sessions };
}
