import { spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, type McpHttpHandler, type McpServer } from '@modelcontextprotocol/server';
import { onTestFinished } from 'vitest';
import { freePort } from '@quartermaster/db/testing/free-port.ts';

const require = createRequire(import.meta.url);

/** Allows syncs to connect to servers on this machine. */
export const LOOPBACK = { QM_ALLOW_PRIVATE_ADDRESSES: '127.0.0.0/8,::1' };

export type Peer = {
  url: string;
  port: number;
  /** The received requests, in order. */
  requests: Pick<IncomingMessage, 'method' | 'url' | 'headers'>[];
  close: () => Promise<void>;
};

/** An HTTP server that stops at the end of the test. */
export async function startPeer(handle: RequestListener): Promise<Peer> {
  const requests: Peer['requests'] = [];
  const server = createServer((req, res) => {
    requests.push(req);
    handle(req, res);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  onTestFinished(close);
  return { url: `http://127.0.0.1:${port}`, port, requests, close };
}

/** Adapts types: the adapter's request type is narrower than Node's. */
export function nodeHandler(handler: McpHttpHandler) {
  const handle = toNodeHandler(handler);
  return (req: IncomingMessage, res: ServerResponse, body?: unknown): Promise<void> =>
    handle(req as Parameters<typeof handle>[0], res, body);
}

/** An MCP server (revision 2026-07-28) that also serves older clients. @param make creates the server for each request */
export async function startMcp(make: () => McpServer): Promise<Peer> {
  const handler = createMcpHandler(make);
  onTestFinished(() => handler.close());
  const peer = await startPeer((req, res) => void nodeHandler(handler)(req, res));
  return { ...peer, url: `${peer.url}/mcp` };
}

/** The official “everything” server, with the older protocol, in a separate process. @returns its MCP endpoint */
export async function startEverything(): Promise<string> {
  const port = await freePort();
  const program = require.resolve('@modelcontextprotocol/server-everything/dist/index.js');
  const child = spawn(process.execPath, [program, 'streamableHttp'], {
    env: { PATH: process.env['PATH'] ?? '', PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  let output = '';
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        output += chunk;
        if (/listening on port/i.test(output)) resolve();
      });
    }
    void ended.then(() => reject(new Error(`the MCP server did not start: ${output}`)));
  });
  return `http://127.0.0.1:${port}/mcp`;
}
