import { spawn } from 'node:child_process';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { readBody } from '../recorder/read-body.ts';
import { countToolCalls, EVERYTHING_PROGRAM } from './counted-calls.ts';

export type McpServer = { url: string; stop(): Promise<void> };

/** `@modelcontextprotocol/server-everything` as a streamable HTTP endpoint, behind a proxy that counts its tool calls. */
export async function startMcpServer(truthFile: string): Promise<McpServer> {
  const port = await freePort();
  const child = spawn(process.execPath, [EVERYTHING_PROGRAM, 'streamableHttp'], {
    // One of its tools answers with the whole environment.
    env: { PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const listening = (async () => {
    for await (const line of createInterface({ input: child.stderr })) if (line.includes('listening on port')) return;
    throw new Error('the MCP server ended before it listened');
  })();
  await listening;
  child.stderr.resume();

  const proxy = createServer((req, res) => {
    void forward(req, res, { port, truthFile });
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`,
    async stop() {
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
      child.kill();
      await exited;
    },
  };
}

async function forward(
  req: IncomingMessage,
  res: ServerResponse,
  { port, truthFile }: { port: number; truthFile: string },
): Promise<void> {
  const body = await readBody(req);
  if (req.method === 'POST') countToolCalls(body.toString(), truthFile);
  const options = { host: '127.0.0.1', port, method: req.method, path: req.url, headers: req.headers };
  const upstream = request(options, (answer) => {
    res.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(res);
  });
  upstream.on('error', () => res.destroy());
  res.on('close', () => upstream.destroy());
  upstream.end(body);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
