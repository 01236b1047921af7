import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { unique } from '../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { LOOPBACK, type Peer, startPeer } from './peers.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(LOOPBACK, { syncLimits: { pauseMs: 1, discoveryMs: 300 } });
});
afterAll(() => server.stop());

const as = () => ({ as: server.admin });

async function providerAt(handle: RequestListener): Promise<{ provider: Body; peer: Peer }> {
  const peer = await startPeer(handle);
  const body = { name: unique('mcp'), kind: 'mcp', baseUrl: `${peer.url}/mcp` };
  return { provider: await server.ok('POST', '/v1/providers', { ...as(), body }), peer };
}

const sync = ({ id }: Body): Promise<Body> => server.ok('POST', `/v1/providers/${id}/sync`, as());
const read = ({ id }: Body): Promise<Body> => server.ok('GET', `/v1/providers/${id}`, as());

async function namesOf({ id }: Body): Promise<string[]> {
  const { items } = await server.ok('GET', `/v1/providers/${id}/inventory?limit=100`, as());
  return items.map(({ kind, name }: Body) => `${kind} ${name}`).toSorted();
}

type Message = { id?: unknown; method?: string; params?: { cursor?: string } };

/** A message that an MCP server received, and how to answer it. */
type Asked = {
  req: IncomingMessage;
  res: ServerResponse;
  message: Message;
  answer: (result: unknown) => void;
  refuse: (code: number) => void;
};

type Behaviour = {
  capabilities?: object;
  /** How it answers `server/discover`. By default as servers that do not know the method. */
  discover?: (asked: Asked) => void;
  /** Called before it answers `initialize`. */
  onInitialize?: (asked: Asked) => void;
};

/** A server of the protocol of 2025, written by hand, because official servers do not answer like these. */
function handWritten(
  handle: (method: string, asked: Asked) => void,
  { capabilities = { tools: {} }, discover = ({ refuse }) => refuse(-32601), onInitialize }: Behaviour = {},
): RequestListener {
  const serve = async (req: IncomingMessage, res: ServerResponse) => {
    if (req.method !== 'POST') return void res.writeHead(405).end();
    const message = (await json(req)) as Message;
    const send = (body: object) =>
      void res
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...body }));
    const answer = (result: unknown) => send({ result });
    const refuse = (code: number) => send({ error: { code, message: 'refused' } });
    const asked = { req, res, message, answer, refuse };
    if (message.method === 'server/discover') return discover(asked);
    if (message.id === undefined) return void res.writeHead(202).end();
    if (message.method === 'initialize') {
      onInitialize?.(asked);
      const serverInfo = { name: 'by hand', version: '1' };
      return answer({ protocolVersion: '2025-06-18', capabilities, serverInfo });
    }
    handle(message.method ?? '', asked);
  };
  return (req, res) => void serve(req, res);
}

const inputSchema = { type: 'object' };
const SEARCH = { name: 'search', inputSchema };

test('a server that announces prompts and resources but does not know their lists keeps its tools', async () => {
  const handle = handWritten(
    (method, { answer, refuse }) => (method === 'tools/list' ? answer({ tools: [SEARCH] }) : refuse(-32601)),
    { capabilities: { tools: {}, prompts: {}, resources: {} } },
  );
  const { provider } = await providerAt(handle);
  expect(await sync(provider)).toMatchObject({ added: 1, errorCount: 0 });
  expect(await namesOf(provider)).toEqual(['tool search']);
  expect(await read(provider)).toMatchObject({
    health: 'healthy',
    healthReason:
      'it announces resources, but does not know resources/list; it announces prompts, but does not know prompts/list',
  });
});

test('optional members that are null are absent, for tools, resources, templates and prompts', async () => {
  const lists: Record<string, object> = {
    'tools/list': {
      tools: [{ ...SEARCH, title: null, description: null, annotations: null, outputSchema: null }],
    },
    'resources/list': { resources: [{ uri: 'docs://a', name: null, mimeType: null, size: null, annotations: null }] },
    'resources/templates/list': {
      resourceTemplates: [{ uriTemplate: 'docs://{b}', mimeType: null, annotations: null }],
    },
    'prompts/list': { prompts: [{ name: 'review', description: null, arguments: null }] },
  };
  const handle = handWritten((method, { answer }) => answer(lists[method]), {
    capabilities: { tools: {}, prompts: {}, resources: {} },
  });
  const { provider } = await providerAt(handle);
  expect(await sync(provider)).toMatchObject({ added: 4, errors: [] });
  expect(await namesOf(provider)).toEqual(['prompt review', 'resource docs://a', 'resource docs://{b}', 'tool search']);
});

test('what cannot be taken is shown on the provider, and the rest is taken', async () => {
  const tools = [SEARCH, { name: 'broken', inputSchema: 'none' }];
  const { provider } = await providerAt(handWritten((_method, { answer }) => answer({ tools })));
  expect(await sync(provider)).toMatchObject({ added: 1, errorCount: 1 });
  expect(await read(provider)).toMatchObject({
    health: 'healthy',
    healthReason: '1 could not be stored, such as the tool broken: its definition is not valid',
  });
});

const DISCOVERIES: Record<string, (asked: Asked) => void> = {
  'answers 500': ({ res }) => void res.writeHead(500).end('no such method'),
  'answers 501': ({ res }) => void res.writeHead(501).end(),
  'answers 202': ({ res }) => void res.writeHead(202).end(),
  'answers an empty 200': ({ res }) => void res.writeHead(200).end(),
  'answers a page': ({ res }) => void res.writeHead(200, { 'content-type': 'text/html' }).end('<p>Hello</p>'),
  'answers neither a result nor an error': ({ answer }) => answer(undefined),
  'does not answer': () => {},
  'stops in its answer': ({ res }) => void res.writeHead(200, { 'content-type': 'application/json' }).write('{"json'),
};

test.each(Object.keys(DISCOVERIES))(
  'a server that %s when it is asked for its versions is asked to initialize, and the next sync remembers that',
  async (what) => {
    const asked: string[] = [];
    const handle = handWritten((_method, { answer }) => answer({ tools: [SEARCH] }), {
      discover(one) {
        asked.push(what);
        DISCOVERIES[what]?.(one);
      },
    });
    const { provider } = await providerAt(handle);
    expect(await sync(provider)).toMatchObject({ added: 1, attempts: 1 });
    expect(await sync(provider)).toMatchObject({ unchanged: 1 });
    expect(asked).toEqual([what]);
  },
);

/** A server with two pages of tools that forgets its first sessions between the pages. */
function forgetful(forgotten: number): { handle: RequestListener; sessions: string[] } {
  const sessions: string[] = [];
  const handle = handWritten(
    (_method, { req, res, message, answer }) => {
      const isLast = message.params?.cursor === 'more';
      const isForgotten = isLast && sessions.indexOf(String(req.headers['mcp-session-id'])) < forgotten;
      if (isForgotten) return void res.writeHead(404).end('session not found');
      answer({ tools: isLast ? [{ name: 'write', inputSchema }] : [SEARCH], nextCursor: isLast ? null : 'more' });
    },
    {
      onInitialize({ res }) {
        sessions.push(`session-${sessions.length}`);
        res.setHeader('mcp-session-id', sessions.at(-1) ?? '');
      },
    },
  );
  return { handle, sessions };
}

test('a server that forgets the session between two pages is asked again in a new session, once', async () => {
  const once = forgetful(1);
  const { provider } = await providerAt(once.handle);
  expect(await sync(provider)).toMatchObject({ added: 2, attempts: 1, errors: [] });
  expect(once.sessions).toHaveLength(2);

  const always = forgetful(9);
  const lost = await providerAt(always.handle);
  const failed = await server.call('POST', `/v1/providers/${lost.provider.id}/sync`, as());
  expect(failed.status).toBe(502);
  expect(always.sessions).toHaveLength(2);
});

test.each([
  ['/mcp', '/mcp/', 307],
  ['/mcp/', '/mcp', 308],
])('a redirect from %s to %s of the same origin (HTTP %i) is followed', async (from, to, status) => {
  const serve = handWritten((_method, { answer }) => answer({ tools: [SEARCH] }));
  const peer = await startPeer((req, res) => {
    if (req.url === from) res.writeHead(status, { location: to }).end();
    else serve(req, res);
  });
  const body = { name: unique('mcp'), kind: 'mcp', baseUrl: `${peer.url}${from}` };
  const provider = await server.ok('POST', '/v1/providers', { ...as(), body });
  expect(await sync(provider)).toMatchObject({ added: 1 });
});

test('a redirect to another path or by another status is not followed, and its target is named without its query', async () => {
  for (const [status, location] of [
    [307, '/other?token=secret'],
    [302, '/mcp/'],
  ] as const) {
    const { provider, peer } = await providerAt((_req, res) => void res.writeHead(status, { location }).end());
    const { body } = await server.call('POST', `/v1/providers/${provider.id}/sync`, as());
    const target = `${peer.url}${location.split('?')[0]}`;
    expect(body.detail).toContain(`it answered a redirect (HTTP ${status}) to ${target}, which is not followed`);
    expect(new Set(peer.requests.map(({ url }) => url))).toEqual(new Set(['/mcp']));
  }
});
