import type { IncomingMessage, RequestListener } from 'node:http';
import { json } from 'node:stream/consumers';
import { beforeAll, describe, expect, test } from 'vitest';
import { LOOPBACK, startPeer } from '../inventory-sync/peers.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { call, CREDENTIAL, modern, proxiedWorld, send } from './world.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(LOOPBACK, { decisionsFreshMs: 0 });
  return () => server.stop();
});

type Got = { headers: IncomingMessage['headers']; body: unknown; text: string };

/** An MCP server that answers each message with the same result, and keeps what it got. */
async function startNaive(result: object = {}, answer: (got: Got) => object = () => ({})) {
  const got: Got[] = [];
  const peer = await startPeer((req, res) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of req) chunks.push(chunk as Buffer);
      const text = Buffer.concat(chunks).toString();
      const body = text === '' ? null : (JSON.parse(text) as { id?: unknown });
      const one = { headers: req.headers, body, text };
      got.push(one);
      const headers = { 'Content-Type': 'application/json', ...answer(one) };
      res.writeHead(200, headers).end(JSON.stringify({ jsonrpc: '2.0', id: body?.id ?? null, result }));
    })();
  });
  return { url: `${peer.url}/mcp`, got };
}

const problemOf = async (answer: Response) => ({ status: answer.status, body: (await answer.json()) as Body });

describe('what is allowed', () => {
  test('is passed on with the credential of the provider, and never with that of the agent', async () => {
    const peer = await startNaive({ content: [] }, () => ({ 'Set-Cookie': 'a=b', 'X-Powered-By': 'peer' }));
    const world = await proxiedWorld(server, peer);
    const headers = {
      Cookie: 'session=1',
      'X-Quartermaster-Session': world.token,
      'X-API-Key': 'qm_key_x',
      'X-Forwarded-For': '192.0.2.1',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      'Mcp-Param-Region': 'eu',
    };
    const answer = await send(world, { body: call('search'), headers });
    expect(await problemOf(answer)).toEqual({ status: 200, body: { jsonrpc: '2.0', id: 1, result: { content: [] } } });
    expect(answer.headers.get('x-quartermaster-mode')).toBe('enforce');
    expect(answer.headers.get('set-cookie')).toBeNull();
    expect(answer.headers.get('x-powered-by')).toBeNull();
    expect(JSON.stringify([...answer.headers])).not.toContain(CREDENTIAL);
    const [first] = peer.got;
    expect(first?.headers).toMatchObject({
      authorization: `Bearer ${CREDENTIAL}`,
      'content-type': 'application/json',
      traceparent: headers.traceparent,
      'mcp-param-region': 'eu',
    });
    expect(JSON.stringify(first?.headers)).not.toContain(world.token);
    for (const name of ['cookie', 'x-api-key', 'x-forwarded-for', 'x-quartermaster-session']) {
      expect(first?.headers).not.toHaveProperty(name);
    }
  });

  test('is written anew, so that the server reads what was decided', async () => {
    const peer = await startNaive();
    const world = await proxiedWorld(server, peer);
    const text = '{ "jsonrpc":"2.0","id" : 1, "method":"tools/call","params":{"name":"sear\\u0063h"} }';
    expect((await send(world, { text })).status).toBe(200);
    expect(peer.got[0]?.text).toBe('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search"}}');
  });

  test('keeps the headers of revision 2026-07-28, in which names may be base64', async () => {
    const peer = await startNaive();
    const world = await proxiedWorld(server, peer, { items: [{ kind: 'tool', name: 'get größe' }] });
    const { body, headers } = modern('tools/call', { name: 'get größe' });
    const name = `=?base64?${Buffer.from('get größe').toString('base64')}?=`;
    expect((await send(world, { body, headers: { ...headers, 'Mcp-Name': name } })).status).toBe(200);
    expect(peer.got[0]?.headers).toMatchObject({ 'mcp-name': name, 'mcp-protocol-version': '2026-07-28' });
  });

  test('in the mode observe includes what would be denied, and methods that are not known', async () => {
    const peer = await startNaive({ tools: [{ name: 'other' }] });
    const world = await proxiedWorld(server, peer, { gateway: { enforcement: 'observe' } });
    const denied = await send(world, { body: call('other') });
    expect(denied.status).toBe(200);
    expect(denied.headers.get('x-quartermaster-reason')).toBe('not_in_inventory');
    expect((await send(world, { body: { jsonrpc: '2.0', id: 1, method: 'tools/destroy' } })).status).toBe(200);
    const list = await send(world, { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } });
    expect(await list.json()).toMatchObject({ result: { tools: [{ name: 'other' }] } });
    expect(peer.got).toHaveLength(3);
  });
});

describe('what is denied', () => {
  test('is answered as a result that the model reads, for a tool', async () => {
    const peer = await startNaive();
    const world = await proxiedWorld(server, peer);
    const answer = await send(world, { body: call('drop_table', 'a') });
    expect(answer.headers.get('x-quartermaster-reason')).toBe('not_in_inventory');
    const { body } = await problemOf(answer);
    expect(body).toEqual({
      jsonrpc: '2.0',
      id: 'a',
      result: { isError: true, content: [{ type: 'text', text: expect.stringContaining('"drop_table"') }] },
    });
    expect(JSON.stringify(body)).toContain(`/console/inbox?provider=${world.providerId}&`);
    // On a busy machine the first denial does not wait until its observation is stored.
    await server.decisions.flush();
    const { items } = await server.ok('GET', '/v1/runtime-observations?view=denied', { as: world.as });
    expect(items).toHaveLength(1);
    const again = await send(world, { body: call('drop_table', 'b') });
    expect(await again.text()).toContain(`&item=${items[0].id}`);
    const latest = await send(world, modern('tools/call', { name: 'drop_table' }));
    expect(await latest.json()).toMatchObject({ result: { isError: true, resultType: 'complete' } });
    expect(peer.got).toEqual([]);
  });

  test.each([
    ['a prompt', { method: 'prompts/get', params: { name: 'secret' } }],
    ['a resource', { method: 'resources/read', params: { uri: 'file:///etc/passwd' } }],
  ])('is answered as an error, for %s', async (_what, message) => {
    const peer = await startNaive();
    const world = await proxiedWorld(server, peer);
    const body = { jsonrpc: '2.0', id: 1, ...message };
    expect(await problemOf(await send(world, { body }))).toMatchObject({
      status: 200,
      body: { id: 1, error: { code: -32000 } },
    });
    await server.decisions.flush();
    expect(await problemOf(await send(world, { body }))).toMatchObject({
      body: { error: { code: -32000, message: expect.stringContaining('&item=obs_') } },
    });
    expect(peer.got).toEqual([]);
  });

  test('covers the whole provider if it is disabled, or if the session was opened for others', async () => {
    const peer = await startNaive();
    const world = await proxiedWorld(server, peer);
    const ping = { body: { jsonrpc: '2.0', id: 1, method: 'ping' } };
    const path = `/v1/gateways/${world.gatewayId}`;
    const { id } = await server.ok('POST', '/v1/providers', { as: world.as, body: { name: 'second', kind: 'mcp' } });
    await server.ok('PUT', path, { as: world.as, body: { providerIds: [world.providerId, id] } });
    const limited = await server.ok('POST', `${path}/sessions`, { as: world.as, body: { providerIds: [id] } });
    expect(await problemOf(await send({ ...world, token: limited.token }, ping))).toMatchObject({
      status: 403,
      body: { code: 'not_granted', reason: 'provider_not_in_session' },
    });
    expect((await send(world, ping)).status).toBe(200);
    await server.ok('PUT', `/v1/providers/${world.providerId}`, { as: world.as, body: { status: 'disabled' } });
    expect(await problemOf(await send(world, ping))).toMatchObject({
      status: 403,
      body: { code: 'not_granted', reason: 'provider_disabled' },
    });
    expect(peer.got).toHaveLength(1);
  });
});

describe('lists', () => {
  const lists = {
    tools: [{ name: 'search' }, { name: 'drop_table' }, { title: 'no name' }],
    prompts: [{ name: 'search' }],
    resources: [{ uri: 'kb://open' }, { uri: 'kb://closed' }],
    resourceTemplates: [{ uriTemplate: 'kb://{open}' }, { uriTemplate: 'kb://{closed}' }],
    nextCursor: 'more',
  };
  const items = [
    { kind: 'tool', name: 'search' },
    { kind: 'resource', name: 'kb://open' },
    { kind: 'resource', name: 'kb://{open}' },
  ];

  test('have only what the session may use', async () => {
    const peer = await startNaive(lists);
    const world = await proxiedWorld(server, peer, { items });
    for (const method of ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']) {
      const answer = await send(world, { body: { jsonrpc: '2.0', id: 1, method } });
      expect((await problemOf(answer)).body.result).toEqual({
        tools: [{ name: 'search' }],
        prompts: [],
        resources: [{ uri: 'kb://open' }],
        resourceTemplates: [{ uriTemplate: 'kb://{open}' }],
        nextCursor: 'more',
      });
    }
  });

  test('are filtered in a stream of events, whatever its line ends, and other events stay as they are', async () => {
    const message = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools: lists.tools } });
    const half = Math.floor(message.length / 2);
    const note = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"ü"}}';
    const stream = `id: 0\ndata:\n\n: hello\r\n\r\nevent: message\r\nid: 1\r\ndata: ${note}\r\n\r\nid: 2\rdata:${message}\r\r`;
    const peer = await startPeer((_req, res) => {
      res.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' });
      const bytes = Buffer.from(stream);
      for (const part of [bytes.subarray(0, half), bytes.subarray(half, -1), bytes.subarray(-1)]) res.write(part);
      res.end();
    });
    const world = await proxiedWorld(server, peer);
    const answer = await send(world, { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } });
    const filtered = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools: [{ name: 'search' }] } });
    expect(await answer.text()).toBe(
      `id: 0\ndata:\n\n: hello\n\nevent: message\nid: 1\ndata: ${note}\n\nid: 2\ndata: ${filtered}\n\n`,
    );
  });

  test.each([
    ['text', 'text/plain', '[]', 'neither JSON nor a stream'],
    ['broken JSON', 'application/json', '{', 'not JSON'],
  ])('are refused as %s', async (_what, type, text, reason) => {
    const peer = await startPeer((_req, res) => void res.writeHead(200, { 'Content-Type': type }).end(text));
    const world = await proxiedWorld(server, peer);
    const answer = await send(world, { body: { jsonrpc: '2.0', id: 7, method: 'tools/list' } });
    expect(await problemOf(answer)).toMatchObject({
      status: 502,
      body: { id: 7, error: { code: -32000, message: expect.stringContaining(reason) } },
    });
  });
});

describe('messages that cannot be decided never reach the server', () => {
  const duplicate = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","name":"drop_table"}}';
  const lie = { 'Mcp-Method': 'tools/list', 'MCP-Protocol-Version': '2026-07-28' };
  test.each([
    ['a batch', { body: [call('search')] }, 400, -32600],
    ['a duplicate member', { text: duplicate }, 400, -32700],
    ['text that is not JSON', { text: '{' }, 400, -32700],
    ['no text', { text: '' }, 400, -32700],
    ['a header that lies about the method', { body: call('search'), headers: lie }, 400, -32020],
    ['a header that lies about the name', { body: call('search'), headers: { 'Mcp-Name': 'other' } }, 400, -32020],
    ['an unknown method', { body: { jsonrpc: '2.0', id: 1, method: 'tools/destroy' } }, 200, -32601],
    ['a call without a name', { body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: {} } }, 400, -32602],
  ])('%s', async (_what, sent, status, code) => {
    const peer = await startNaive();
    const world = await proxiedWorld(server, peer);
    expect(await problemOf(await send(world, sent))).toMatchObject({ status, body: { error: { code } } });
    expect(peer.got).toEqual([]);
  });

  test('a body of more than 4 MiB, and one of another type', async () => {
    const peer = await startNaive();
    const world = await proxiedWorld(server, peer);
    const large = { ...call('search'), padding: 'x'.repeat(4 * 1024 * 1024) };
    expect(await problemOf(await send(world, { body: large }))).toMatchObject({ body: { code: 'body_too_large' } });
    const headers = { 'Content-Type': 'text/plain' };
    expect((await send(world, { body: call('search'), headers })).status).toBe(415);
    expect(peer.got).toEqual([]);
  });
});

describe('requests that are refused', () => {
  test.each([
    ['mcp_proxy_off', { gateway: { mcpProxy: 'off' } }],
    ['provider_not_proxied', { provider: { kind: 'llm' } }],
  ])('403 %s', async (code, options) => {
    const peer = await startNaive();
    const world = await proxiedWorld(server, peer, options);
    expect(await problemOf(await send(world, { body: call('search') }))).toMatchObject({ status: 403, body: { code } });
    expect(peer.got).toEqual([]);
  });

  test('other providers, other methods, other origins, and tokens that are not valid', async () => {
    const peer = await startNaive();
    const world = await proxiedWorld(server, peer);
    const other = { ...world, url: world.url.replace(world.providerName, 'other') };
    expect((await problemOf(await send(other, { body: call('search') }))).body.code).toBe('provider_not_listed');
    expect((await send(world, { method: 'PUT', body: call('search') })).status).toBe(405);
    const origin = { Origin: 'https://evil.example' };
    const foreign = await problemOf(await send(world, { body: call('search'), headers: origin }));
    expect(foreign).toMatchObject({ status: 403, body: { code: 'cross_site_refused' } });
    expect((await send(world, { body: call('search'), headers: { Origin: server.url } })).status).toBe(200);
    const stranger = await proxiedWorld(server, peer);
    expect((await send({ ...world, token: stranger.token }, { body: call('search') })).status).toBe(401);
    const guessed = await send({ ...world, token: 'x' }, { body: call('search') });
    expect(guessed.status).toBe(401);
    expect(guessed.headers.get('www-authenticate')).toContain('invalid_token');
    await server.ok('DELETE', `/v1/gateways/${world.gatewayId}/sessions/${world.session.id}`, { as: world.as });
    const ended = await problemOf(await send(world, { body: call('search') }));
    expect(ended).toMatchObject({ status: 401, body: { code: 'gateway_session_ended' } });
    expect(peer.got).toHaveLength(1);
  });
});

test('an MCP session belongs to the account, gateway and provider that it was opened for', async () => {
  const peer = await startNaive({}, () => ({ 'Mcp-Session-Id': 'raw.id' }));
  const [world, stranger] = [await proxiedWorld(server, peer), await proxiedWorld(server, peer)];
  const initialize = { body: { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} } };
  const id = (await send(world, initialize)).headers.get('mcp-session-id') ?? '';
  expect(id).toMatch(/^[\w-]{43}\.raw\.id$/);
  const ping = (mcpSession: string) => ({
    body: { jsonrpc: '2.0', id: 2, method: 'ping' },
    headers: { 'Mcp-Session-Id': mcpSession },
  });
  expect((await send(world, ping(id))).status).toBe(200);
  expect(peer.got.at(-1)?.headers['mcp-session-id']).toBe('raw.id');
  const before = peer.got.length;
  for (const other of ['raw.id', '.raw.id', `${id}x`, `x${id}`, id.replace('.raw', '.row')]) {
    expect(await problemOf(await send(world, ping(other)))).toMatchObject({
      status: 404,
      body: { error: { code: -32001 } },
    });
  }
  expect((await send(stranger, ping(id))).status).toBe(404);
  // The same account in a new session of the gateway goes on.
  const path = `/v1/gateways/${world.gatewayId}/sessions`;
  const { token } = await server.ok('POST', path, { as: world.as, body: {} });
  expect(peer.got).toHaveLength(before);
  expect((await send({ ...world, token }, ping(id))).status).toBe(200);
});

describe('an MCP server that cannot be used is answered with 502 and a JSON-RPC error', () => {
  const refusals: [string, RequestListener, string][] = [
    ['a redirect', (_req, res) => void res.writeHead(302, { Location: 'http://192.0.2.1/' }).end(), 'redirect'],
    ['another host', (_req, res) => void res.writeHead(307, { Location: 'http://localhost:1/mcp' }).end(), 'redirect'],
    ['a refused credential', (_req, res) => void res.writeHead(401).end('no'), 'refused the credential'],
    ['a compressed answer', (_req, res) => void res.writeHead(200, { 'Content-Encoding': 'gzip' }).end(), 'compressed'],
    ['a connection that breaks', (req) => void req.socket.destroy(), 'closed'],
  ];
  test.each(refusals)('%s', async (_what, handle, reason) => {
    const peer = await startPeer(handle);
    const world = await proxiedWorld(server, peer);
    expect(await problemOf(await send(world, { body: call('search') }))).toMatchObject({
      status: 502,
      body: { jsonrpc: '2.0', id: 1, error: { code: -32000, message: expect.stringContaining(reason) } },
    });
    expect(peer.requests).toHaveLength(1);
  });

  test('a redirect that only adds a slash is followed', async () => {
    const peer = await startPeer((req, res) => {
      if (req.url === '/mcp') res.writeHead(307, { Location: '/mcp/' }).end();
      else
        void json(req).then((body) =>
          res.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body)),
        );
    });
    const world = await proxiedWorld(server, { url: `${peer.url}/mcp` });
    const answer = await send(world, { body: call('search') });
    expect(await problemOf(answer)).toEqual({ status: 200, body: call('search') });
  });

  test('a server that is not there, and a credential for another address', async () => {
    const peer = await startNaive();
    const world = await proxiedWorld(server, peer);
    const path = `/v1/providers/${world.providerId}`;
    await server.ok('DELETE', `${path}/credential`, { as: world.as });
    await server.ok('PUT', path, { as: world.as, body: { baseUrl: 'http://127.0.0.1:9/mcp' } });
    const answer = await problemOf(await send(world, { body: call('search') }));
    expect(answer).toMatchObject({ status: 502, body: { error: { code: -32000 } } });
    expect(peer.got).toEqual([]);
  });
});
