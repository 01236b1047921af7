import { type IncomingMessage, request } from 'node:http';
import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { type Peer, startMcp } from '../../inventory-sync/peers.ts';

/** The tools of the MCP server. Only `secret` is not in the inventory. */
export const GRANTED_TOOLS = ['search', 'get_time', 'slow'] as const;

export type McpSide = Peer & {
  /** The tools that ran. */
  ran: string[];
  /** Lets the tool `slow` finish. Until then it has sent one notification. */
  finishSlow: () => void;
};

/** An MCP server of the official SDK, which compares the headers of revision 2026-07-28 with the body. */
export async function startMcpSide(): Promise<McpSide> {
  const ran: string[] = [];
  let finishSlow = () => {};
  const peer = await startMcp(() => {
    const mcp = new McpServer({ name: 'behind', version: '1.0.0' });
    for (const name of [...GRANTED_TOOLS, 'secret']) {
      mcp.registerTool(name, { inputSchema: z.object({}) }, async (_input, { mcpReq }) => {
        ran.push(name);
        if (name === 'slow') {
          const params = { progressToken: 'slow', progress: 1 };
          await mcpReq.notify({ method: 'notifications/progress', params });
          await new Promise<void>((resolve) => {
            finishSlow = resolve;
          });
        }
        return { content: [{ type: 'text', text: name }] };
      });
    }
    return mcp;
  });
  return { ...peer, ran, finishSlow: () => finishSlow() };
}

type Sent = {
  method?: string;
  /** Added to the path of the MCP endpoint. */
  rest?: string;
  /** The path as it is sent, in place of that of the MCP endpoint. */
  path?: string;
  headers?: Record<string, string | string[]>;
  body?: unknown;
};

/** A request of the table, and what has to come back. */
export type Row = Sent & {
  row: string;
  /** 200: the MCP server did it. 400: the MCP server refused it. Any other status: the proxy did, with this reason if one is given. */
  answer: string;
};

const VERSION = '2026-07-28';
const META = {
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

function message(method: string, params: object = {}) {
  return { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } };
}

function calling(name: string) {
  return message('tools/call', { name, arguments: {} });
}

function standard(method: string, name?: string) {
  return { 'mcp-protocol-version': VERSION, 'mcp-method': method, ...(name !== undefined && { 'mcp-name': name }) };
}

const LIST = { headers: standard('tools/list'), body: message('tools/list') };
const CALL = { headers: standard('tools/call', 'search'), body: calling('search') };
const { _meta: _, ...withoutMeta } = calling('secret').params as Record<string, unknown>;
const INITIALIZE = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };

export const ROWS: readonly Row[] = [
  { row: 'tools/list', ...LIST, answer: '200' },
  { row: 'server/discover', headers: standard('server/discover'), body: message('server/discover'), answer: '200' },
  { row: 'a tool that is granted', ...CALL, answer: '200' },
  {
    row: 'a tool that is not granted',
    headers: standard('tools/call', 'secret'),
    body: calling('secret'),
    answer: '403 not_in_inventory',
  },
  {
    row: 'a name in base64',
    headers: standard('tools/call', `=?base64?${Buffer.from('get_time').toString('base64')}?=`),
    body: calling('get_time'),
    answer: '200',
  },
  { row: 'a header lies about the name', headers: CALL.headers, body: calling('secret'), answer: '400' },
  { row: 'a header lies about the method', headers: LIST.headers, body: calling('secret'), answer: '400' },
  {
    row: 'a header lies about the version',
    headers: { ...CALL.headers, 'mcp-protocol-version': '2026-12-01' },
    body: CALL.body,
    answer: '400',
  },
  {
    row: 'modern headers, legacy body',
    headers: LIST.headers,
    body: { ...calling('secret'), params: withoutMeta },
    answer: '400',
  },
  {
    row: 'the name twice',
    headers: { ...CALL.headers, 'mcp-name': ['search', 'secret'] },
    body: calling('secret'),
    answer: '403 header_repeated',
  },
  {
    row: 'the version twice',
    headers: { ...CALL.headers, 'mcp-protocol-version': [VERSION, '2025-11-25'] },
    body: calling('secret'),
    answer: '403 header_repeated',
  },
  { row: 'a batch', headers: CALL.headers, body: [CALL.body, calling('secret')], answer: '400' },
  {
    row: 'a member twice',
    headers: CALL.headers,
    body: JSON.stringify(CALL.body).replace('"name":"search"', '"name":"search","name":"secret"'),
    answer: '400',
  },
  { row: 'GET', method: 'GET', headers: CALL.headers, answer: '403 mcp_revision_unsupported' },
  { row: 'DELETE', method: 'DELETE', headers: CALL.headers, answer: '403 mcp_revision_unsupported' },
  {
    row: 'initialize of an older revision',
    body: { jsonrpc: '2.0', id: 1, method: 'initialize', params: INITIALIZE },
    answer: '403 mcp_revision_unsupported',
  },
  {
    row: 'a call of an older revision',
    headers: { 'mcp-protocol-version': '2025-11-25' },
    body: { ...calling('secret'), params: withoutMeta },
    answer: '403 mcp_revision_unsupported',
  },
  { row: 'a query that names another provider', ...CALL, rest: '?provider=other&name=secret', answer: '200' },
  { row: 'a path below', ...CALL, rest: '/authorize/other/mcp', answer: '404' },
  { row: 'no token', ...CALL, headers: { ...CALL.headers, authorization: [] }, answer: '401' },
  { row: 'two tokens', ...CALL, headers: { ...CALL.headers, 'x-quartermaster-session': 'x' }, answer: '401' },
  {
    row: 'a subject in a header of the client',
    ...LIST,
    headers: { ...LIST.headers, 'x-quartermaster-subject': 'user:root' },
    answer: '200',
  },
  {
    row: 'a subject with underscores',
    ...LIST,
    headers: { ...LIST.headers, x_quartermaster_subject: 'user:root' },
    answer: '200',
  },
  {
    row: 'a connection that names the subject',
    ...LIST,
    headers: { ...LIST.headers, connection: 'close, X-Quartermaster-Subject' },
    answer: '200',
  },
  ...['h2c', 'websocket'].map((upgrade) => ({
    row: `an upgrade to ${upgrade}`,
    ...LIST,
    headers: { ...LIST.headers, connection: 'Upgrade', upgrade },
    answer: '200',
  })),
];

/** Spellings of the path of the MCP endpoint that some programs resolve. */
export const SPELLINGS: readonly Sent[] = ['/x/../mcp', '//mcp', '/./mcp', '/MCP', '/mcp%20'].map((path) => ({
  ...CALL,
  path,
}));

/** A call of a tool, as clients of revision 2026-07-28 send it. */
export function callTool(name: string): Sent {
  return { headers: standard('tools/call', name), body: calling(name) };
}

/** A call that the MCP server answers with a stream of events. */
export const SLOW: Sent = { headers: standard('tools/call', 'slow'), body: slowCall() };
export const SEARCH: Sent = CALL;

function slowCall() {
  const { params, ...call } = calling('slow');
  return { ...call, params: { ...params, _meta: { ...META, progressToken: 'slow' } } };
}

/** Sends a request as an agent does, also with repeated headers. */
export function send(url: string, token: string, { method = 'POST', rest = '', path, headers, body }: Sent) {
  return new Promise<IncomingMessage>((resolve, reject) => {
    const own = { authorization: `Bearer ${token}`, accept: 'application/json, text/event-stream' };
    const req = request(url + rest, {
      method,
      agent: false,
      ...(path !== undefined && { path }),
      headers: { ...own, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    });
    req.on('response', resolve).on('error', reject);
    req.end(body === undefined || typeof body === 'string' ? body : JSON.stringify(body));
  });
}

/** The status of an answer, and why it was refused. */
export async function outcome(answer: IncomingMessage): Promise<string> {
  answer.resume();
  await new Promise((resolve) => answer.on('close', resolve));
  const reason = answer.headers['x-quartermaster-reason'];
  return [answer.statusCode, ...(reason === undefined ? [] : [reason])].join(' ');
}
