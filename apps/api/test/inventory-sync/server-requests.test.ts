import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectProblem } from '../endpoints/harness.ts';
import { cpuOfTurns } from '../support/cpu-of-turns.ts';
import { unique } from '../support/people.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { LOOPBACK, nodeHandler, startPeer } from './peers.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(LOOPBACK);
});
afterAll(() => server.stop());

type Message = { id?: unknown; method?: string };

const TOOL = { name: 'search', inputSchema: { type: 'object' as const } };

/** An MCP server with one tool. `answer` answers some messages itself, and returns whether it did. */
async function startTools(answer: (message: Message, res: ServerResponse) => boolean) {
  const received: Message[] = [];
  const handler = createMcpHandler(() => {
    const mcp = new Server({ name: 'pinging', version: '1' }, { capabilities: { tools: {} } });
    mcp.setRequestHandler('tools/list', () => ({ tools: [TOOL] }));
    return mcp;
  });
  const friendly = nodeHandler(handler);
  const serve = async (req: IncomingMessage, res: ServerResponse) => {
    const message = req.method === 'POST' ? ((await json(req)) as Message) : undefined;
    if (message) received.push(message);
    // Only a server of an older revision may send requests.
    if (message?.method === 'server/discover') res.writeHead(400).end();
    else if (!message || !answer(message, res)) await friendly(req, res, message);
  };
  const peer = await startPeer(((req, res) => void serve(req, res)) satisfies RequestListener);
  const body = { name: unique('pinging'), kind: 'mcp', baseUrl: `${peer.url}/mcp` };
  const { id } = await server.ok('POST', '/v1/providers', { as: server.admin, body });
  // The header checks of a sync send a batch, which has no method either.
  const replies = () => received.filter((message) => !Array.isArray(message) && message.method === undefined);
  return { replies, sync: () => server.call('POST', `/v1/providers/${id}/sync`, { as: server.admin }) };
}

const pings = (count: number) =>
  Array.from({ length: count }, (_, id) => ({ jsonrpc: '2.0', id: `ping-${id}`, method: 'ping' }));

function sendStream(res: ServerResponse, messages: readonly object[]): void {
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  res.end(messages.map((message) => `data: ${JSON.stringify(message)}\n\n`).join(''));
}

test('regression: requests of an MCP server get no reply, and hundreds of them do not block the event loop', async () => {
  // Each of 900 pings in 50 KB was answered with a request. The server could answer those with 900 pings each.
  const tools = await startTools(({ method, id }, res) => {
    if (method !== undefined && method !== 'tools/list') return false;
    sendStream(res, [
      ...pings(900),
      ...(method === undefined ? [] : [{ jsonrpc: '2.0', id, result: { tools: [TOOL] } }]),
    ]);
    return true;
  });
  const { result, longest } = await cpuOfTurns(tools.sync);
  expect(result.body).toMatchObject({ added: 1, errors: [] });
  expect(tools.replies()).toEqual([]);
  expect(longest).toBeLessThan(300);
});

test('requests of an MCP server in a JSON batch get no reply', async () => {
  const tools = await startTools(({ method, id }, res) => {
    if (method !== 'tools/list') return false;
    const messages = [...pings(50), { jsonrpc: '2.0', id, result: { tools: [TOOL] } }];
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(messages));
    return true;
  });
  expect((await tools.sync()).body).toMatchObject({ added: 1, errors: [] });
  expect(tools.replies()).toEqual([]);
});

test('a message with the id of the request is not its answer if it has a method', async () => {
  const tools = await startTools(({ method, id }, res) => {
    if (method !== 'tools/list') return false;
    const request = { jsonrpc: '2.0', id, method: 'ping', result: { tools: [{ ...TOOL, name: 'wrong' }] } };
    sendStream(res, [request, { jsonrpc: '2.0', id, result: { tools: [TOOL] } }]);
    return true;
  });
  expect((await tools.sync()).body).toMatchObject({ added: 1, errors: [] });
});

test('regression: the answer to a notification is not read', async () => {
  let isRead = false;
  const tools = await startTools(({ method }, res) => {
    if (method !== 'notifications/initialized') return false;
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    // More than fits into the buffers of a connection.
    isRead = [...pings(100)].every(() => res.write(`data: ${JSON.stringify({ method: 'x'.repeat(100_000) })}\n\n`));
    res.end();
    return true;
  });
  expect((await tools.sync()).body).toMatchObject({ added: 1, errors: [] });
  expect(isRead).toBe(false);
});

test('regression: the events of all streams of a conversation are counted together', async () => {
  let page = 0;
  const tools = await startTools(({ method, id }, res) => {
    if (method !== 'tools/list') return false;
    page += 1;
    const result = { tools: [], nextCursor: `after-${page}` };
    sendStream(res, [...pings(400), { jsonrpc: '2.0', id, result }]);
    return true;
  });
  const refused = await tools.sync();
  expectProblem(refused, 502, 'sync_failed');
  expect(refused.body.detail).toMatch(/it sends more than 1000 events/);
  expect(page).toBe(3);
});
