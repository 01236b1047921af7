import { pino } from 'pino';
import { beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../support/server.ts';
import { type DecidingWorld, decidingWorld } from './sessions.ts';

let server: TestServer;
const logLines: string[] = [];
beforeAll(async () => {
  const log = pino({ level: 'info' }, { write: (line) => void logLines.push(line) });
  server = await startTestServer({}, { decisionsFreshMs: 0, log });
  return () => server.stop();
});

type Asked = {
  kind?: 'mcp' | 'models' | null;
  provider?: string;
  rest?: string;
  method?: string;
  headers?: Record<string, string | undefined>;
  body?: unknown;
  text?: string;
};

/** Not by `server.call`, which compares answers with the document: proxies send any method, and any path below. */
async function ask(
  world: DecidingWorld,
  { kind = 'mcp', provider, rest = '', method = 'GET', headers, body, text: sent }: Asked,
) {
  const below = kind === null ? '' : `/${provider ?? world.providerName}/${kind}`;
  const all = { 'X-Quartermaster-Session': world.token, 'Content-Type': 'application/json', ...headers };
  const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const content = sent ?? (body === undefined ? undefined : JSON.stringify(body));
  const answer = await fetch(`${server.url}/v1/gateways/${world.gatewayId}/authorize${below}${rest}`, {
    method,
    headers: Object.fromEntries(given),
    // Bytes, because `fetch` would add a Content-Type to a text.
    ...(content !== undefined && { body: new TextEncoder().encode(content) }),
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, body: text === '' ? '' : JSON.parse(text) };
}

const call = (name: string) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } });

test('authorize answers 200 without a body for an active session, with its id, subject and mode', async () => {
  const world = await decidingWorld(server);
  const answer = await ask(world, { kind: null });
  expect(answer).toMatchObject({ status: 200, body: '' });
  expect(answer.headers.get('x-quartermaster-session-id')).toBe(world.session.id);
  expect(answer.headers.get('x-quartermaster-subject')).toBe(world.session.subject);
  expect(answer.headers.get('x-quartermaster-mode')).toBe('enforce');
  expect((await ask(world, { kind: null, rest: '/any/path?x=1' })).status).toBe(200);
  expect((await ask(world, { kind: null, headers: { Authorization: 'Bearer x' } })).status).toBe(401);
});

test('a decision, allowed or denied, has no log line above the level debug; a refused token has one', async () => {
  const world = await decidingWorld(server);
  const linesOf = (answer: { headers: Headers }) =>
    logLines.filter((line) => line.includes(answer.headers.get('x-request-id') ?? 'no id'));
  const allowed = await ask(world, { method: 'POST', body: call('search') });
  const denied = await ask(world, { method: 'POST', body: call('drop_table') });
  const refused = await ask(world, { headers: { 'X-Quartermaster-Session': 'x' } });
  expect([allowed, denied, refused].map(({ status }) => status)).toEqual([200, 403, 401]);
  await expect.poll(() => linesOf(refused)).toHaveLength(1);
  expect([...linesOf(allowed), ...linesOf(denied)]).toEqual([]);
});

test.each(['', '/mpc', '/MCP', '/mcp%2F', '/tools/mcp', '/modelsx'])(
  'regression: a path with a provider and a mistake (%s) does not permit everything',
  async (rest) => {
    const world = await decidingWorld(server);
    const answer = await ask(world, { kind: null, rest: `/${world.providerName}${rest}` });
    expect(answer).toMatchObject({ status: 403, body: { code: 'name_missing' } });
  },
);

describe('authorize_mcp_request', () => {
  test('decides from a body of any revision', async () => {
    const world = await decidingWorld(server);
    expect((await ask(world, { method: 'POST', body: call('search') })).status).toBe(200);
    expect((await ask(world, { method: 'POST', body: { jsonrpc: '2.0', id: 1, method: 'initialize' } })).status).toBe(
      200,
    );
    const denied = await ask(world, { method: 'POST', body: call('drop_table') });
    expect(denied).toMatchObject({ status: 403, body: { code: 'not_granted', reason: 'not_in_inventory' } });
    expect(denied.headers.get('x-quartermaster-reason')).toBe('not_in_inventory');
    const other = await ask(world, { method: 'POST', body: call('search'), provider: 'other' });
    expect(other).toMatchObject({ status: 403, body: { code: 'provider_not_listed' } });
  });

  test.each([
    ['a batch', [call('search')], 'mcp_revision_unsupported'],
    ['an unknown method', { jsonrpc: '2.0', id: 1, method: 'tools/destroy' }, 'mcp_method_unknown'],
    ['no name', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: {} }, 'name_missing'],
  ])('denies %s', async (_what, body, code) => {
    const world = await decidingWorld(server);
    expect(await ask(world, { method: 'POST', body })).toMatchObject({ status: 403, body: { code } });
  });

  test('denies headers that differ from the body', async () => {
    const world = await decidingWorld(server);
    const headers = { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/list' };
    const answer = await ask(world, { method: 'POST', body: call('search'), headers });
    expect(answer).toMatchObject({ status: 403, body: { code: 'headers_differ' } });
  });

  test('denies headers without a body while the server was not seen to compare them', async () => {
    const world = await decidingWorld(server);
    const headers = { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'search' };
    expect(await ask(world, { headers })).toMatchObject({ status: 403, body: { code: 'headers_not_checked' } });
  });

  test('in the mode observe what it cannot read is allowed, with the reason', async () => {
    const world = await decidingWorld(server, { gateway: { enforcement: 'observe' } });
    const answer = await ask(world, { method: 'POST', body: [call('search')] });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('x-quartermaster-reason')).toBe('mcp_revision_unsupported');
  });
});

describe('authorize_model_call', () => {
  const items = [{ kind: 'model', name: 'gpt-5' }];
  test.each([
    ['Azure OpenAI', '/openai/deployments/gpt-5/chat/completions', 200],
    ['Azure OpenAI, another model', '/openai/deployments/gpt-4/chat/completions', 403],
    ['Amazon Bedrock', '/model/gpt-5/converse', 200],
    ['Google Gemini', '/v1beta/models/gpt-5:generateContent', 200],
    ['OpenAI, which has the model in the body', '/v1/chat/completions', 403],
  ])('reads the model from the path of %s', async (_vendor, path, status) => {
    const world = await decidingWorld(server, { items, provider: { kind: 'llm' } });
    expect((await ask(world, { kind: 'models', headers: { 'X-Original-URI': path } })).status).toBe(status);
    expect((await ask(world, { kind: 'models', rest: path })).status).toBe(status);
  });

  test('reads the model from the body that a proxy passes on', async () => {
    const world = await decidingWorld(server, { items, provider: { kind: 'llm' } });
    expect((await ask(world, { kind: 'models', method: 'POST', body: { model: 'gpt-5' } })).status).toBe(200);
    expect((await ask(world, { kind: 'models', method: 'POST', body: { model: 'gpt-4' } })).status).toBe(403);
    const headers = { 'X-Original-URI': '/model/gpt-5/converse' };
    const differ = await ask(world, { kind: 'models', method: 'POST', body: { model: 'gpt-4' }, headers });
    expect(differ).toMatchObject({ status: 403, body: { code: 'headers_differ' } });
  });

  const named = '/model/gpt-5/converse';
  test.each<[string, string, Asked]>([
    ['in the query', 'name_missing', { headers: { 'X-Original-URI': `/v1/chat/completions?x=${named}` } }],
    [
      'in the query of another',
      'not_granted',
      { headers: { 'X-Original-URI': '/model/gpt-4/invoke?x=/openai/deployments/gpt-5/' } },
    ],
    ['twice', 'name_missing', { headers: { 'X-Original-URI': `${named}/openai/deployments/gpt-4/chat` } }],
    ['before a dot segment', 'name_missing', { headers: { 'X-Original-URI': `${named}/%2e%2e/gpt-4/converse` } }],
    ['before an empty segment', 'name_missing', { headers: { 'X-Original-URI': `/${named}` } }],
    ['before a fragment', 'name_missing', { headers: { 'X-Original-URI': `${named}#/../..` } }],
    [
      'in a header that the proxy did not set',
      'headers_differ',
      { headers: { 'X-Original-URI': '/v1/chat/completions', 'X-Forwarded-Uri': named } },
    ],
    [
      'twice in a header that the proxy did not set',
      'name_missing',
      { headers: { 'X-Original-URI': '/v1/chat/completions', 'X-Forwarded-Uri': `${named}${named}` } },
    ],
    ['in a header beside the path below', 'headers_differ', { rest: '/v1/chat', headers: { 'X-Original-URI': named } }],
  ])('regression: a model is not read from a path that names it %s', async (_where, code, asked) => {
    const world = await decidingWorld(server, { items, provider: { kind: 'llm' } });
    expect(await ask(world, { kind: 'models', ...asked })).toMatchObject({ status: 403, body: { code } });
  });

  test.each([
    ['the same member twice', '{"model":"gpt-4","model":"gpt-5"}'],
    ['the same member in two cases', '{"Model":"gpt-4","model":"gpt-5"}'],
  ])('regression: a model is not read from a body with %s', async (_what, text) => {
    const world = await decidingWorld(server, { items, provider: { kind: 'llm' } });
    const answer = await ask(world, { kind: 'models', method: 'POST', text });
    expect(answer).toMatchObject({ status: 403, body: { code: 'body_incomplete' } });
  });
});

test.each(['mcp', 'models'] as const)(
  'regression: a body is not read without its Content-Type, whose charset the server may honor: %s',
  async (kind) => {
    const world = await decidingWorld(server, { items: [{ kind: 'model', name: 'gpt-5' }] });
    const text = JSON.stringify(kind === 'mcp' ? { jsonrpc: '2.0', id: 1, method: 'ping' } : { model: 'gpt-5' });
    const asked = { kind, method: 'POST', text } as const;
    expect((await ask(world, asked)).status).toBe(200);
    const answer = await ask(world, { ...asked, headers: { 'Content-Type': undefined } });
    expect(answer).toMatchObject({ status: 403, body: { code: 'body_incomplete' } });
  },
);
