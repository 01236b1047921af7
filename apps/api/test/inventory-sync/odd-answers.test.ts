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
};

/** A server of the protocol of 2025, written by hand, because official servers do not answer like these. */
function handWritten(
  handle: (method: string, asked: Asked) => void,
  { capabilities = { tools: {} }, discover = ({ refuse }) => refuse(-32601) }: Behaviour = {},
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
