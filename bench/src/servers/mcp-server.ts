import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { settingsFromParent } from '../floors/floor.ts';

// An MCP server that does nothing: it answers each call of a tool with the same text, so that what is before it is measured.
await settingsFromParent();
const answer = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: 'done' }] } });
const headers = { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(answer)) };

const server = createServer((req, res) => {
  req.resume().on('end', () => res.writeHead(200, headers).end(answer));
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
