import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type HeaderValues, type McpReading, parseMcpBody, readMcpBody, readMcpHeaders } from '../src/mcp.ts';

const VERSION = '2026-07-28';
const META = { 'io.modelcontextprotocol/protocolVersion': VERSION };

type Sent = { version?: string | string[]; method?: string | string[]; name?: string | string[] };

function headersOf({ version, method, name }: Sent, others: Record<string, string> = {}): HeaderValues {
  const standard = { 'mcp-protocol-version': version, 'mcp-method': method, 'mcp-name': name, ...others };
  const sent = Object.entries(standard).filter(([, value]) => value !== undefined);
  return Object.fromEntries(sent.map(([header, value]) => [header, [value ?? []].flat()]));
}

/** `tool echo`, `session ping` or the code of a refusal: what the rows of the tables say. */
function summary(reading: McpReading): string {
  if (reading.kind === 'named') return `${reading.itemKind} ${reading.name}`;
  return reading.kind === 'session' ? `session ${reading.method}` : reading.code;
}

const encoded = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`;

describe('readMcpHeaders', () => {
  const rows: [title: string, sent: Sent, expected: string][] = [
    ['a tool', { method: 'tools/call', name: 'echo' }, 'tool echo'],
    ['a prompt', { method: 'prompts/get', name: 'greet' }, 'prompt greet'],
    ['a resource', { method: 'resources/read', name: 'kb://returns' }, 'resource kb://returns'],
    ['white space around values', { version: ` ${VERSION}`, method: 'tools/call ', name: '\techo ' }, 'tool echo'],
    ['a name in base64', { method: 'tools/call', name: encoded('get größe') }, 'tool get größe'],
    ['spaces inside base64', { method: 'tools/call', name: encoded(' echo ') }, 'tool  echo '],
    ['a later revision', { version: '2027-01-01', method: 'ping' }, 'session ping'],
    ['a list', { method: 'tools/list' }, 'session tools/list'],
    ['a task', { method: 'tasks/get', name: 'task_1' }, 'session tasks/get'],
    ['no version', { version: [], method: 'ping' }, 'mcp_revision_unsupported'],
    ['an older revision', { version: '2025-11-25', method: 'ping' }, 'mcp_revision_unsupported'],
    ['a version that is no date', { version: 'latest', method: 'ping' }, 'mcp_revision_unsupported'],
    ['initialize', { method: 'initialize' }, 'mcp_revision_unsupported'],
    ['a notification', { method: 'notifications/cancelled' }, 'mcp_revision_unsupported'],
    ['no method', {}, 'mcp_method_unknown'],
    ['an unknown method', { method: 'tools/run', name: 'echo' }, 'mcp_method_unknown'],
    ['a method in capitals', { method: 'Tools/Call', name: 'echo' }, 'mcp_method_unknown'],
    ['a member of Object.prototype', { method: 'constructor' }, 'mcp_method_unknown'],
    ['no name', { method: 'tools/call' }, 'name_missing'],
    ['an empty name', { method: 'tools/call', name: ' ' }, 'name_missing'],
    ['base64 with an empty name', { method: 'tools/call', name: '=?base64??=' }, 'name_missing'],
    ['base64 without its end', { method: 'tools/call', name: '=?base64?ZWNobw==' }, 'name_missing'],
    ['base64 without padding', { method: 'tools/call', name: '=?base64?ZWNobw?=' }, 'name_missing'],
    ['base64 in capitals', { method: 'tools/call', name: '=?BASE64?ZWNobw==?=' }, 'name_missing'],
    ['base64 that is not UTF-8', { method: 'tools/call', name: '=?base64?/w==?=' }, 'name_missing'],
    ['a name beyond ASCII', { method: 'tools/call', name: 'grÃ¶Ãe' }, 'name_missing'],
    ['the name twice', { method: 'tools/call', name: ['echo', 'echo'] }, 'header_repeated'],
    ['the method twice', { method: ['ping', 'tools/call'] }, 'header_repeated'],
    ['the version twice', { version: [VERSION, '2025-11-25'], method: 'ping' }, 'header_repeated'],
  ];
  it.each(rows)('%s', (_title, sent, expected) => {
    expect(summary(readMcpHeaders(headersOf({ version: VERSION, ...sent })))).toBe(expected);
  });

  it.each(['x-original-method', 'x-forwarded-method'])('accepts only POST in %s', (header) => {
    const readingOf = (method: string) =>
      summary(readMcpHeaders(headersOf({ version: VERSION, method: 'ping' }, { [header]: method })));
    expect(readingOf('POST')).toBe('session ping');
    expect(readingOf('GET')).toBe('mcp_revision_unsupported');
    expect(readingOf('DELETE')).toBe('mcp_revision_unsupported');
  });
});

describe('readMcpBody', () => {
  const request = (method: unknown, params?: unknown) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const call = (name: unknown, rest: object = {}) => request('tools/call', { name, arguments: {}, ...rest });

  const deep = (levels: number) => `{"method":"ping","params":${'['.repeat(levels)}${']'.repeat(levels)}}`;

  const bodies: [title: string, body: string, expected: string][] = [
    ['a tool', call('echo'), 'tool echo'],
    ['a tool of the revision with headers', call('echo', { _meta: META }), 'tool echo'],
    ['a prompt', request('prompts/get', { name: 'greet' }), 'prompt greet'],
    ['a resource', request('resources/read', { uri: 'kb://returns' }), 'resource kb://returns'],
    ['a subscription', request('resources/subscribe', { uri: 'kb://returns' }), 'resource kb://returns'],
    ['initialize', request('initialize', { protocolVersion: '2025-11-25' }), 'session initialize'],
    ['a notification', request('notifications/initialized'), 'session notifications/initialized'],
    ['a list', request('tools/list', {}), 'session tools/list'],
    ['a task', request('tasks/result', { taskId: 'task_1' }), 'session tasks/result'],
    ['a result', '{"jsonrpc":"2.0","id":1,"result":{}}', 'session null'],
    ['an error', '{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}', 'session null'],
    ['the same argument in two cases', '{"method":"ping","params":{"arguments":{"a":1,"A":2}}}', 'session ping'],
    ['a fourth level twice', '{"method":"ping","params":{"arguments":{"a":{"b":1,"b":2}}}}', 'session ping'],
    ['the same text as name and value', '{"method":"ping","params":{"a":"b","b":"a"}}', 'session ping'],
    ['an unknown method', request('tools/run', { name: 'echo' }), 'mcp_method_unknown'],
    ['a method of the server', request('sampling/createMessage', {}), 'mcp_method_unknown'],
    ['a method that is no text', request(['tools/call'], { name: 'echo' }), 'mcp_method_unknown'],
    ['a method that is null', request(null), 'mcp_method_unknown'],
    ['no params', request('tools/call'), 'name_missing'],
    ['params as an array', request('tools/call', ['echo']), 'name_missing'],
    ['a name that is no text', call({ toString: 'echo' }), 'name_missing'],
    ['an empty name', call(''), 'name_missing'],
    ['a resource with a name and no uri', request('resources/read', { name: 'x' }), 'name_missing'],
    ['a batch', `[${call('echo')}]`, 'mcp_revision_unsupported'],
    ['no JSON', '{"method":"ping"', 'body_incomplete'],
    ['an empty body', '', 'body_incomplete'],
    ['a text', '"ping"', 'body_incomplete'],
    ['an empty object', '{}', 'body_incomplete'],
    ['the method twice', '{"method":"ping","method":"tools/call"}', 'body_incomplete'],
    ['the method twice, once escaped', '{"method":"ping","m\\u0065thod":"tools/call"}', 'body_incomplete'],
    ['the method in two cases', '{"method":"ping","Method":"tools/call"}', 'body_incomplete'],
    ['the params with a long s', '{"method":"ping","params":{},"param\u017f":{}}', 'body_incomplete'],
    ['the name twice', '{"method":"tools/call","params":{"name":"echo","name":"secret"}}', 'body_incomplete'],
    ['the name in two cases', '{"method":"tools/call","params":{"name":"echo","NAME":"secret"}}', 'body_incomplete'],
    ['a third level twice', '{"method":"ping","params":{"_meta":{"a":1,"a" : 2}}}', 'body_incomplete'],
    ['regression: a message that nests deeper than some parsers read', deep(300), 'body_incomplete'],
    ['a deep argument', deep(200), 'session ping'],
    ['regression: the tasks of all agents', request('tasks/list'), 'mcp_method_unknown'],
    ['a request that looks like a response', '{"Method":"tools/call","result":{}}', 'body_incomplete'],
  ];
  it.each(bodies)('%s', (_title, body, expected) => {
    expect(summary(readMcpBody(body, {}))).toBe(expected);
  });

  const modern = { version: VERSION, method: 'tools/call', name: 'echo' };
  const withHeaders: [title: string, body: string, sent: Sent, expected: string][] = [
    ['headers that agree', call('echo', { _meta: META }), modern, 'tool echo'],
    ['a name in base64 that agrees', call('größe'), { name: encoded('größe') }, 'tool größe'],
    ['the version of an older revision', call('echo'), { version: '2025-11-25' }, 'tool echo'],
    ['the id of a task', request('tasks/get', { taskId: 't' }), { name: 't' }, 'session tasks/get'],
    ['another name', call('secret'), modern, 'headers_differ'],
    ['another method', call('echo'), { method: 'tools/list' }, 'headers_differ'],
    ['another version', call('echo', { _meta: META }), { version: '2025-11-25' }, 'headers_differ'],
    ['initialize of a revision with headers', request('initialize', {}), { version: VERSION }, 'headers_differ'],
    ['a method beside a response', '{"id":1,"result":{}}', { method: 'ping' }, 'headers_differ'],
    ['a name for a method without one', request('ping'), { name: 'echo' }, 'headers_differ'],
    ['another task', request('tasks/get', { taskId: 't' }), { name: 'u' }, 'headers_differ'],
    ['a name that cannot be decoded', call('echo'), { name: '=?base64?!?=' }, 'name_missing'],
    ['a name twice', call('echo'), { name: ['echo', 'echo'] }, 'header_repeated'],
  ];
  it.each(withHeaders)('with %s', (_title, body, sent, expected) => {
    expect(summary(readMcpBody(body, headersOf(sent)))).toBe(expected);
  });

  it('refuses a body of which Envoy sent only a part', () => {
    const readingOf = (partial: string) =>
      summary(readMcpBody(call('echo'), { 'x-envoy-auth-partial-body': [partial] }));
    expect(readingOf('true')).toBe('body_incomplete');
    expect(readingOf('false')).toBe('tool echo');
  });

  const encodings: [header: string, values: string[], isRead: boolean][] = [
    ['content-type', ['application/json'], true],
    ['content-type', ['application/json; charset=utf-8'], true],
    ['content-type', ['Application/JSON;charset="UTF-8" '], true],
    ['content-type', ['application/json; charset=utf-7'], false],
    ['content-type', ['application/json; charset=utf-8; charset=utf-7'], false],
    ['content-type', ['application/json', 'application/json; charset=utf-7'], false],
    ['content-type', ['text/plain'], false],
    ['content-encoding', ['identity'], true],
    ['content-encoding', ['gzip'], false],
  ];
  it.each(encodings)('reads a body only as the server will decode it: %s %j', (header, values, isRead) => {
    // In UTF-7 this has the member `method` twice.
    const body = '{"method":"ping","id":"+ACI-,+ACI-method+ACI-:+ACI-tools/call"}';
    expect(summary(readMcpBody(body, { [header]: values }))).toBe(isRead ? 'session ping' : 'body_incomplete');
  });

  it('finds a repeated member in any JSON, and no other', () => {
    const names = fc.constantFrom('a', 'b', '"', '\\', '{', ':', 'é');
    const object = fc.array(fc.tuple(names, fc.jsonValue({ maxDepth: 2 })), { maxLength: 4 });
    fc.assert(
      fc.property(object, fc.constantFrom('', ' ', '\n\t'), (members, space) => {
        const written = members.map(([name, value]) => `${JSON.stringify(name)}${space}:${JSON.stringify(value)}`);
        const isRepeated = new Set(members.map(([name]) => name)).size < members.length;
        const parsed = parseMcpBody(`{"method":"ping","arguments":{"deep":{${written.join(`,${space}`)}}}}`);
        expect(parsed.kind).toBe(isRepeated ? 'refused' : 'message');
      }),
    );
  });
});
