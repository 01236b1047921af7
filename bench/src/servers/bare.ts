import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { headersOf, settingsFromParent, workOf } from '../floors/floor.ts';

// The lowest floor: node:http and better-sqlite3, without a framework.
const settings = await settingsFromParent();
const work = workOf(settings);
const headers = headersOf(settings);

const server = createServer((req, res) => {
  if (req.method !== settings.method || req.url !== settings.path) {
    res.writeHead(404).end();
  } else if (req.method === 'GET') {
    answer(req, res, Buffer.alloc(0));
  } else {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => answer(req, res, Buffer.concat(chunks)));
  }
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));

function answer(req: IncomingMessage, res: ServerResponse, body: Buffer): void {
  const result = work({ key: String(req.headers['x-api-key']), body, path: settings.path });
  if (result === null) {
    res.writeHead(401).end();
    return;
  }
  const sent = result instanceof Uint8Array ? result : JSON.stringify(result);
  res.writeHead(200, headers(Buffer.byteLength(sent))).end(sent);
}
