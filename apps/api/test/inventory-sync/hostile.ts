import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import { nodeHandler } from './peers.ts';

export type Kind = 'llm' | 'mcp';

/** Lists two models in two pages, as OpenAI-compatible servers do. `pages` returns what follows each page. */
export function modelsHandler(
  pages: (after: string | null) => { data: object[]; next: string | null },
): RequestListener {
  return (req, res) => {
    const { data, next } = pages(new URL(req.url ?? '', 'http://x').searchParams.get('after'));
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ object: 'list', data, has_more: next !== null, last_id: next }));
  };
}

const MODELS = modelsHandler((after) =>
  after === null ? { data: [{ id: 'first' }], next: 'first' } : { data: [{ id: 'second' }], next: null },
);

const TOOL = { name: 'search', description: 'Searches', inputSchema: { type: 'object' as const } };

/** An MCP server with one tool. `next` returns the cursor of the next page. */
function toolsHandler(next: (cursor: string | undefined) => string | undefined): RequestListener {
  const handler = createMcpHandler(() => {
    const server = new Server({ name: 'hostile', version: '1' }, { capabilities: { tools: {} } });
    server.setRequestHandler('tools/list', (request) => {
      const nextCursor = next(request.params?.cursor);
      return { tools: [TOOL], ...(nextCursor !== undefined && { nextCursor }) };
    });
    return server;
  });
  return (req, res) => void nodeHandler(handler)(req, res);
}

/** The well-behaved servers of the first sync. */
export const FRIENDLY: Record<Kind, RequestListener> = { llm: MODELS, mcp: toolsHandler(() => undefined) };

/** How hostile or broken servers answer a request. */
export const HOSTILE: Record<string, Record<Kind, RequestListener>> = {
  hangs: both(() => {}),
  'hangs in the middle of its answer': {
    llm: (_req, res) => void res.writeHead(200, { 'content-type': 'application/json' }).write('{"data":['),
    mcp: inTools((res) => void res.writeHead(200, { 'content-type': 'application/json' }).write('{"jsonrpc":')),
  },
  'answers 500': both((_req, res) => void res.writeHead(500).end('the inside of a server')),
  'answers 200 MB': both((_req, res) => {
    res.writeHead(200, { 'content-type': 'application/json' });
    pour(res, 200);
  }),
  'closes midway': {
    llm: (_req, res) => cutOff(res, 'application/json', '{"data":[{"id":"fir'),
    mcp: inTools((res) => cutOff(res, 'application/json', '{"jsonrpc":"2.0","id":')),
  },
  'closes its stream of events midway': {
    llm: (_req, res) => cutOff(res, 'text/event-stream', 'data: {'),
    mcp: inTools((res) => cutOff(res, 'text/event-stream', 'event: message\ndata: {"jsonrpc"')),
  },
  'repeats its cursor for ever': {
    llm: modelsHandler(() => ({ data: [{ id: 'first' }], next: 'again' })),
    mcp: toolsHandler(() => 'again'),
  },
  'goes round in its cursors': {
    llm: modelsHandler((after) => ({ data: [], next: after === 'a' ? 'b' : 'a' })),
    mcp: toolsHandler((cursor) => (cursor === 'a' ? 'b' : 'a')),
  },
  'has always one more page': {
    llm: modelsHandler((after) => ({ data: [], next: String(Number(after) + 1) })),
    mcp: toolsHandler((cursor) => String(Number(cursor ?? 0) + 1)),
  },
  'answers something else': both((_req, res) => {
    res.writeHead(200, { 'content-type': 'application/json' }).end('"<script>the far side</script>"');
  }),
};

/** A redirect to another server. */
export function redirectTo(url: string): RequestListener {
  return (_req, res) => void res.writeHead(307, { location: url }).end();
}

function both(handle: RequestListener): Record<Kind, RequestListener> {
  return { llm: handle, mcp: handle };
}

/**
 * A server that behaves like official ones until it is asked for its tools.
 *
 * @param hostile answers the request with this id
 * @param era an `older` server does not support the request that identifies newer servers
 */
export function inTools(
  hostile: (res: ServerResponse, id: unknown) => void,
  era: 'older' | 'newer' = 'newer',
): RequestListener {
  const handler = createMcpHandler(
    () => new Server({ name: 'hostile', version: '1' }, { capabilities: { tools: {} } }),
  );
  const friendly = nodeHandler(handler);
  const handle = async (req: IncomingMessage, res: ServerResponse) => {
    const message = req.method === 'POST' ? await json(req) : undefined;
    const { method, id } = (message ?? {}) as { method?: string; id?: unknown };
    if (method === 'tools/list') hostile(res, id);
    else if (method === 'server/discover' && era === 'older') res.writeHead(400).end();
    else await friendly(req, res, message);
  };
  return (req, res) => void handle(req, res);
}

function cutOff(res: ServerResponse, type: string, start: string): void {
  res.writeHead(200, { 'content-type': type, 'content-length': '1000' });
  res.write(start, () => res.destroy());
}

/** Writes as fast as the other side reads, until it closes the connection. */
function pour(res: ServerResponse, megabytes: number): void {
  const chunk = Buffer.alloc(1024 * 1024, ' ');
  let left = megabytes;
  const go = () => {
    while (left > 0 && !res.destroyed) {
      left -= 1;
      if (!res.write(chunk)) return void res.once('drain', go);
    }
    if (!res.destroyed) res.end();
  };
  go();
}
