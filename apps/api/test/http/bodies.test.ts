import { Agent, request } from 'node:http';
import { expect, test } from 'vitest';
import { jsonFault } from '../../src/http/messages/json-fault.ts';
import { MAX_DEPTH } from '../../src/http/messages/limits.ts';
import { abandon, exchange, send, serve } from './server.ts';

const MIB = 1024 * 1024;

/** A valid create whose body is `size` bytes long. */
function sized(size: number): string {
  const start = '{"name":"abc","metadata":{"a":"';
  return `${start}${'x'.repeat(size - start.length - 3)}"}}`;
}

test('a body of the maximum size is read, one byte more is 413', async () => {
  const server = await serve();
  expect((await send(server, '/v1/widgets', { body: sized(MIB) })).status).toBe(200);
  const { status, body } = await send(server, '/v1/widgets', { body: sized(MIB + 1) });
  expect([status, body.code]).toEqual([413, 'body_too_large']);
});

test('a Content-Length beyond the limit is 413 before the body arrives', async () => {
  const server = await serve();
  const head = `POST /v1/widgets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer all\r\nContent-Length: ${50 * MIB}\r\n\r\n`;
  expect(await exchange(server, [head], (answer) => answer.includes('body_too_large'))).toMatch(/^HTTP\/1\.1 413 /);
});

test('a client that is still sending a body of 2 MB gets its 413, with or without Content-Length', async () => {
  const server = await serve();
  const large = Buffer.alloc(2 * MIB, 'x');
  expect((await send(server, '/v1/widgets', { body: large })).status).toBe(413);
  const chunked =
    'POST /v1/widgets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer all\r\nTransfer-Encoding: chunked\r\n\r\n';
  const parts = [chunked, `${large.length.toString(16)}\r\n`, large, '\r\n0\r\n\r\n'];
  expect(await exchange(server, parts)).toMatch(/^HTTP\/1\.1 413 .*body_too_large/s);
});

// At full speed, some clients that send such bodies take most of the event loop from everybody else.
test('a refused body is read slowly, and then the connection serves its next request', async () => {
  const server = await serve();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const answerTo = (body: string | undefined) =>
    new Promise<{ status: number | undefined; at: number; isReused: boolean }>((resolve, reject) => {
      const sent = request(`${server.url}/v1/widgets`, { method: 'POST', agent }, (answer) => {
        resolve({ status: answer.statusCode, at: performance.now(), isReused: sent.reusedSocket });
        answer.resume();
      });
      sent.on('error', reject).end(body);
    });
  const refused = await answerTo('x'.repeat(MIB));
  const next = await answerTo(undefined);
  agent.destroy();
  expect([refused.status, next.status, next.isReused]).toEqual([401, 401, true]);
  // It arrives in at least 16 pieces, with a pause of 50 ms after each.
  expect(next.at - refused.at).toBeGreaterThan(400);
});

test('many refused bodies on one connection leave no listeners on its socket', async () => {
  const server = await serve();
  const warnings: string[] = [];
  const note = ({ name }: Error) => void warnings.push(name);
  process.on('warning', note);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let sent = 0; sent < 30; sent += 1) {
    await new Promise((resolve, reject) => {
      const refused = request(`${server.url}/v1/widgets`, { method: 'POST', agent }, (answer) => {
        answer.resume().on('end', resolve);
      });
      refused.on('error', reject).end('x'.repeat(100));
    });
  }
  agent.destroy();
  // Warnings are emitted in the next turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', note);
  expect(warnings).toEqual([]);
});

test('a chunked body is read', async () => {
  const server = await serve();
  const head =
    'POST /v1/widgets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer all\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n';
  const answer = await exchange(server, [head, '7\r\n{"name"\r\n', '7\r\n:"abc"}\r\n', '0\r\n\r\n']);
  expect(answer).toMatch(/^HTTP\/1\.1 200 .*\{"body":\{"name":"abc"\}\}$/s);
});

test('the server survives a client that disconnects in the middle of its body', async () => {
  const server = await serve();
  const head = 'POST /v1/widgets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer all\r\nContent-Length: 100\r\n\r\n{"na';
  await abandon(server, head);
  expect((await send(server, '/v1/widgets', { body: '{"name":"abc"}' })).status).toBe(200);
  expect(server.errors).toEqual([]);
});

test.each([
  ['gzip', 'accept-encoding', 'identity'],
  ['br', 'accept-encoding', 'identity'],
])('Content-Encoding %s is 415, and the answer says what is taken', async (coding, header, value) => {
  const server = await serve();
  const answer = await send(server, '/v1/widgets', { body: '{}', headers: { 'content-encoding': coding } });
  expect([answer.status, answer.body.code]).toEqual([415, 'media_type_unsupported']);
  expect(answer.headers.get(header)).toBe(value);
});

test('Content-Encoding identity changes nothing', async () => {
  const server = await serve();
  const sent = { body: '{"name":"abc"}', headers: { 'content-encoding': 'identity' } };
  expect((await send(server, '/v1/widgets', sent)).status).toBe(200);
});

test.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', 'application/json; charset=latin1'])(
  'a required body sent as %s is 415',
  async (type) => {
    const server = await serve();
    const answer = await send(server, '/v1/widgets', { body: '{"name":"abc"}', headers: { 'content-type': type } });
    expect([answer.status, answer.body.code]).toEqual([415, 'media_type_unsupported']);
    expect(answer.headers.get('accept')).toBe('application/json');
  },
);

test('a body without a Content-Type is JSON', async () => {
  const server = await serve();
  const answer = await send(server, '/v1/widgets', { body: '{"name":"abc"}', headers: { 'content-type': '' } });
  expect(answer.body).toEqual({ body: { name: 'abc' } });
});

test('an operation without a body ignores one', async () => {
  const server = await serve();
  expect((await send(server, '/v1/widgets/w/break', { body: '{not json' })).status).toBe(200);
  expect((await send(server, '/v1/widgets/w/break', { body: Buffer.alloc(3 * MIB) })).status).toBe(200);
});

test('a byte order mark is ignored, and invalid UTF-8 is json_invalid', async () => {
  const server = await serve();
  expect((await send(server, '/v1/widgets', { body: '\uFEFF{"name":"abc"}' })).status).toBe(200);
  const { status, body } = await send(server, '/v1/widgets', { body: Buffer.from('{"name":"a\xFFb"}', 'latin1') });
  expect(status).toBe(422);
  expect(body.detail).toEqual([
    { type: 'json_invalid', loc: ['body', 10], msg: 'JSON decode error', input: {}, ctx: { error: 'Invalid UTF-8' } },
  ]);
});

test.each([
  ['', 0, 'Value expected'],
  ['abc', 0, 'Invalid symbol'],
  [' nul', 1, 'Invalid symbol'],
  ['{', 1, 'Close brace expected'],
  ["{'a':1}", 1, 'Invalid symbol'],
  ['{"a"}', 4, 'Colon expected'],
  ['{"a":}', 5, 'Value expected'],
  ['{"a":1 "b":2}', 7, 'Comma expected'],
  ['{"a":1,}', 7, 'Property name expected'],
  ['[1,]', 3, 'Value expected'],
  ['[01]', 2, 'Comma expected'],
  ['{} {}', 3, 'End of file expected'],
  ['// 1', 0, 'Invalid comment token'],
  ['"abc', 0, 'Unexpected end of string'],
  ['["\\x"]', 1, 'Invalid escape character'],
  ['["😀", ]', 6, 'Value expected'],
  ['['.repeat(100_000), 0, 'Too deeply nested to find the fault'],
])('%j is no JSON at character %i: %s', (text, offset, reason) => {
  expect(() => JSON.parse(text)).toThrow(SyntaxError);
  expect(jsonFault(text)).toEqual({ offset, reason });
});

test('of duplicate keys the last one counts', async () => {
  const server = await serve();
  const { body } = await send(server, '/v1/widgets', { body: '{"name":1,"name":"abc"}' });
  expect(body).toEqual({ body: { name: 'abc' } });
});

test(`a body may have ${MAX_DEPTH} levels of nesting, and one more is 422`, async () => {
  const server = await serve();
  // The body and its metadata are the first two levels.
  const nested = (levels: number) =>
    `{"name":"abc","metadata":${'{"a":'.repeat(levels - 1)}1${'}'.repeat(levels - 1)}}`;
  expect((await send(server, '/v1/widgets', { body: nested(MAX_DEPTH) })).status).toBe(200);
  const { status, body } = await send(server, '/v1/widgets', { body: nested(MAX_DEPTH + 1) });
  expect(status).toBe(422);
  expect(body.detail).toEqual([
    {
      type: 'value_error',
      loc: ['body'],
      msg: `Value error, input should have at most ${MAX_DEPTH} nested levels`,
      ctx: { error: `input should have at most ${MAX_DEPTH} nested levels` },
    },
  ]);
});

test.each([5_000, 10_000])('%i levels of nesting are 422, even if the JSON is incomplete', async (levels) => {
  const server = await serve({ bodyLimit: 8 * MIB });
  const lists = `${'['.repeat(levels)}${']'.repeat(levels)}`;
  for (const body of [lists, '['.repeat(levels), `{"a":${lists}}`, '{"a":'.repeat(levels)]) {
    for (const path of ['/v1/widgets', '/v1/widgets/search']) {
      expect((await send(server, path, { body })).status).toBe(422);
    }
  }
  expect(server.errors).toEqual([]);
});

test('half a million levels of nesting are refused before they are parsed', async () => {
  const server = await serve();
  const body = `${'['.repeat(500_000)}${']'.repeat(500_000)}`;
  const answer = await send(server, '/v1/widgets', { body });
  expect(answer.body.detail).toMatchObject([
    { loc: ['body'], msg: 'Value error, body should have at most 65536 members and items in total' },
  ]);
});

test.each([
  ['NUL in a value', '{"name":"a\\u0000b"}', ['body', 'name'], 'should not contain the character U+0000'],
  [
    'NUL in a key',
    '{"metadata":{"a\\u0000":1}}',
    ['body', 'metadata', 'a\uFFFD'],
    'key should not contain the character U+0000',
  ],
  ['a lone surrogate', '{"tags":["a","\\ud800"]}', ['body', 'tags', 1], 'should not contain a lone surrogate'],
  ['a lone surrogate in a key', '{"\\udc00":1}', ['body', '\uFFFD'], 'key should not contain a lone surrogate'],
  [
    'a key __proto__',
    '{"metadata":{"__proto__":{"a":1}}}',
    ['body', 'metadata', '__proto__'],
    'key should not be __proto__',
  ],
  ['a key __proto__ in the body', '{"__proto__":{"name":"abc"}}', ['body', '__proto__'], 'key should not be __proto__'],
])('%s is 422 at its place, and is not repeated', async (_name, body, loc, rule) => {
  const server = await serve();
  const answer = await send(server, '/v1/widgets', { body });
  expect(answer.status).toBe(422);
  expect(answer.body.detail).toEqual([{ type: 'value_error', loc, msg: `Value error, ${rule}`, ctx: { error: rule } }]);
});

test('NUL in a path or a query is 422 at its place', async () => {
  const server = await serve();
  const path = await send(server, '/v1/widgets/a%00b');
  expect(path.body.detail[0].loc).toEqual(['path', 'widget_id']);
  const query = await send(server, '/v1/widgets?status=%00');
  expect(query.body.detail[0].loc).toEqual(['query', 'status']);
});

test('names of members of Object.prototype are ordinary keys in a free object, and refused in a strict one', async () => {
  const server = await serve();
  const metadata = { constructor: 1, toString: 'x', prototype: { a: 1 }, hasOwnProperty: null };
  const kept = await send(server, '/v1/widgets', { body: JSON.stringify({ name: 'abc', metadata }) });
  expect(kept.body).toEqual({ body: { name: 'abc', metadata } });
  const refused = await send(server, '/v1/widgets', { body: '{"name":"abc","constructor":1,"toString":2}' });
  const faults = (body: { detail: { loc: string[]; type: string }[] }) =>
    body.detail.map(({ loc, type }) => [loc[1], type]);
  const expected = [
    ['constructor', 'extra_forbidden'],
    ['toString', 'extra_forbidden'],
  ];
  expect(faults(refused.body)).toEqual(expected);
  // Queries are strict too, because a mistyped filter would list everything.
  expect(faults((await send(server, '/v1/widgets?constructor=1&toString=2')).body)).toEqual(expected);
  expect(faults((await send(server, '/v1/widgets?__proto__=2')).body)).toEqual([['__proto__', 'value_error']]);
  expect(({} as { a?: unknown }).a).toBeUndefined();
});

test('an answer does not repeat secrets, and repeats at most 1 KiB of a value', async () => {
  const server = await serve();
  const sent = {
    apiKey: 'hunter2-hunter2',
    passwordHint: 'hunter2',
    credentials: { user: 'hunter2' },
    size: { width: 0, clientSecret: 'hunter2' },
    tags: [{ authorization: 'hunter2', plain: 'shown' }],
    code: 'X'.repeat(5000),
    kind: { a: 'y'.repeat(5000) },
  };
  const { text, body } = await send(server, '/v1/widgets', { body: JSON.stringify(sent) });
  expect(text).not.toContain('hunter2');
  const inputs = Object.fromEntries(
    body.detail.map((one: { loc: string[]; input?: unknown }) => [one.loc.slice(1).join('.'), one.input]),
  );
  expect(inputs['tags.0']).toEqual({ plain: 'shown' });
  expect(inputs.code).toMatch(/^X{1000,1024}$/);
  expect(inputs.kind).toBeUndefined();
  expect(inputs.name).toBeUndefined();
});

test('the answer to a body with many errors contains the first hundred', async () => {
  const server = await serve();
  const keys = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`unknown${index}`, index]));
  const { status, body } = await send(server, '/v1/widgets', { body: JSON.stringify({ name: 'abc', ...keys }) });
  expect(status).toBe(422);
  expect(body.detail).toHaveLength(100);
});
