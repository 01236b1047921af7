import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';

/** Items of a compressed list. Each is two bytes, and becomes an object in the reader's memory. */
const BOMB_ITEMS = 8_000_000;

/** Models of the list that is not a bomb: the maximum that a provider may list. */
const MODELS = 5000;

/** A model vendor and an MCP server for syncs. They answer with small bodies that become large when decoded. */
export async function startHostileServer(): Promise<{ url: string; close: () => void }> {
  const zeros = gzipSync(`${'0,'.repeat(BOMB_ITEMS)}0`, { level: 9 });
  const bomb = (before: string, after: string) => Buffer.concat([gzipSync(before), zeros, gzipSync(after)]);
  const models = JSON.stringify({
    object: 'list',
    data: Array.from({ length: MODELS }, (_, index) => ({ id: `model-${index}` })),
  });
  const server = createServer((req, res) => {
    if (req.url?.startsWith('/many')) send(res, Buffer.from(models));
    else if (req.url?.startsWith('/bomb')) send(res, bomb('{"object":"list","data":[', ']}'), 'gzip');
    else void answerMcp(req, res, bomb);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function answerMcp(req: IncomingMessage, res: ServerResponse, bomb: (before: string, after: string) => Buffer) {
  if (req.method !== 'POST') {
    res.writeHead(405).end();
    return;
  }
  const { id, method } = (await json(req).catch(() => ({}))) as { id?: unknown; method?: string };
  if (id === undefined) res.writeHead(202).end();
  else if (method === 'tools/list') {
    send(res, bomb(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"tools":[`, ']}}'), 'gzip');
  } else {
    const serverInfo = { name: 'hostile', version: '1' };
    const result = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo };
    send(res, Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, result })));
  }
}

function send(res: ServerResponse, body: Buffer, encoding?: string): void {
  const headers = { 'content-type': 'application/json', 'content-length': body.length };
  res.writeHead(200, encoding === undefined ? headers : { ...headers, 'content-encoding': encoding }).end(body);
}
