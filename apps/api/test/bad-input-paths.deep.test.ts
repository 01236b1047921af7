import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeRecords, OPERATIONS, pathWith, unchanged } from './support/records.ts';
import { type Credential, headersOf, startTestServer, type TestServer } from './support/server.ts';
import { wire } from './support/wire.ts';

let server: TestServer;
let paths: string[];
let records: Record<string, string>;
/** A platform administrator who is a user, for operations that only users may call. */
let person: { token: string };

beforeAll(async () => {
  // Its jobs would write while a test compares the database.
  server = await startTestServer({}, { noHousekeeping: true });
  records = await makeRecords(server);
  person = await server.tokenOf('admin@example.com');
  await server.ok('GET', '/v1/users', { as: person });
  paths = [...new Set(OPERATIONS.map(({ operation }) => pathWith(operation, records)))];
});
afterAll(() => server.stop());

type Sent = { headers?: Record<string, string>; body?: string | undefined; as?: Credential };

function send(method: string, target: string, { headers = {}, body, as = server.admin }: Sent = {}) {
  const own = { ...headersOf(as), ...headers };
  return wire(server.url, { method, target, headers: own, ...(body !== undefined && { body }) });
}

const IDS = [
  '%00',
  'a%00b',
  'a%2Fb',
  '%2F',
  '%2e%2e',
  '..',
  '.',
  '%5C',
  '%0d%0aX-Injected:%201',
  '%20',
  '%25',
  '%2525',
  '%F0%9F%92%A9',
  'é'.normalize('NFD').replace(/./gu, encodeURIComponent),
  '%',
  '%Z',
  '%ZZ',
  '%ff',
  '%ED%A0%80',
  '%C0%AF',
  "'%20or%201=1--",
  '%22',
  '%3Cscript%3E',
  ';a=b',
  '*',
  '{id}',
  '__proto__',
  'constructor',
  'toString',
  'null',
  'undefined',
  '0',
  '-1',
  'search',
  'true',
  '%E2%80%AE',
];

const LONG = [257, 8000].map((length) => [`${length} characters`, 'x'.repeat(length)] as const);

test.each([...IDS.map((id) => [id, id] as const), ...LONG])(
  'an id that does not exist is 404 or 422 for every operation, and changes nothing: %s',
  async (_, id) => {
    await unchanged(server, async () => {
      for (const { operation } of OPERATIONS) {
        for (const name of Object.keys(operation.params?.shape ?? {})) {
          const target = pathWith(operation, { ...records, [name]: id });
          const body = operation.body ? '{}' : undefined;
          const answer = await send(operation.method, target, {
            headers: body === undefined ? {} : { 'content-type': 'application/json' },
            body,
            as: operation.errors.includes('user_required') ? person : server.admin,
          });
          // Some of these are paths of other operations, such as POST /v1/service-accounts/search.
          expect([404, 405, 422], `${operation.operationId} ${name}: ${answer.text}`).toContain(answer.status);
          expect(answer.rawHeaders).not.toContain('X-Injected');
          expect(JSON.parse(answer.text)).toBeInstanceOf(Object);
        }
      }
    });
  },
);

test('an odd id gets the same answer as a missing one', async () => {
  const missing = await send('GET', '/v1/providers/prov_missing', { headers: { 'x-request-id': 'same' } });
  for (const id of ['a%2Fb', '..', '%2e%2e', 'constructor', '%F0%9F%92%A9', "'%20or%201=1--"]) {
    expect((await send('GET', `/v1/providers/${id}`, { headers: { 'x-request-id': 'same' } })).text).toBe(missing.text);
  }
});

/** The methods of all operations that a path matches. A literal such as `search` also matches a parameter. */
function methodsOf(path: string): string[] {
  const segments = path.split('/');
  const here = OPERATIONS.filter(({ operation }) => {
    const parts = operation.path.split('/');
    return parts.length === segments.length && parts.every((part, at) => part.startsWith('{') || part === segments[at]);
  });
  const methods = new Set<string>(here.map(({ operation }) => operation.method));
  return methods.has('GET') ? [...methods, 'HEAD'] : [...methods];
}

test('HEAD gets the answer of GET without the body', async () => {
  for (const { operation } of OPERATIONS) {
    if (operation.method !== 'GET' || operation.query?.safeParse({}).success === false) continue;
    const path = pathWith(operation, records);
    const [head, get] = [await send('HEAD', path), await send('GET', path)];
    expect([head.status, head.text], operation.operationId).toEqual([200, '']);
    expect(head.headers['content-type']).toBe(get.headers['content-type']);
    // The cursors of the two pages differ, but have the same length.
    expect(head.headers['content-length']).toBe(get.headers['content-length']);
  }
  expect((await wire(server.url, { method: 'HEAD', target: '/v1/providers' })).status).toBe(401);
  expect((await send('HEAD', '/v1/providers/prov_missing')).status).toBe(404);
});

test.each(['OPTIONS', 'PATCH', 'TRACE', 'PROPFIND', 'MERGE', 'QUERY'])(
  '%s is 405 at every path, with the allowed methods',
  async (method) => {
    await unchanged(server, async () => {
      for (const path of paths) {
        const answer = await send(method, path);
        expect(answer.status, path).toBe(405);
        expect(answer.headers.allow?.split(', ').toSorted()).toEqual(methodsOf(path).toSorted());
        expect(JSON.parse(answer.text).code).toBe('method_not_allowed');
      }
    });
  },
);

test('every wrong method of a path is 405, with or without credentials', async () => {
  await unchanged(server, async () => {
    for (const path of paths) {
      const right = methodsOf(path);
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'].filter((name) => !right.includes(name))) {
        expect((await wire(server.url, { method, target: path })).status, `${method} ${path}`).toBe(405);
        expect((await send(method, path)).status, `${method} ${path}`).toBe(405);
      }
    }
  });
});

test('a request target in absolute form is read as its path', async () => {
  const id = records['provider_id'] ?? '';
  const plain = await send('GET', `/v1/providers/${id}`);
  for (const origin of ['http://example.com', 'https://example.com:8443', 'HTTP://127.0.0.1']) {
    const answer = await send('GET', `${origin}/v1/providers/${id}`);
    expect([answer.status, answer.text]).toEqual([200, plain.text]);
  }
  expect((await send('GET', 'http://example.com/v1/nothing')).status).toBe(404);
  expect((await wire(server.url, { target: 'http://example.com/v1/providers' })).status).toBe(401);
});

test.each([
  '//v1/providers',
  '/v1//providers',
  '/v1/providers/',
  '/v1/providers//',
  '/V1/providers',
  '/v1/Providers',
  '/v1/../v1/providers',
  '/v1/./providers',
  '/v1/%70roviders',
  '/v1%2Fproviders',
  '/v1/providers%2F',
  '/v1\\providers',
  '/v1/providers;a=b',
  '/v1/providers#x',
  '/v1',
  '/v1/',
  '/v1?limit=1',
  '/v2/providers',
  '//',
  '/%',
  '/%00',
  '/favicon.png',
  '//example.com/v1/providers',
  '/trpc',
  '/trpc/',
  '/trpc/nothing',
  '/trpc/providers',
  '/trpc/__proto__',
  '/trpc/constructor',
])('an unknown path is 404 with a problem document: %s', async (target) => {
  const answer = await send('GET', target);
  expect(answer.status, answer.text).toBe(404);
  const body = JSON.parse(answer.text);
  expect((body.error?.data ?? body).code).toBe('route_not_found');
});

test.each([
  '*',
  'http://',
  'http://%',
  '/v1/providers?%',
  '/v1/providers?a=%ff&b=%',
  '/oidc/..',
  '/docs/%2e%2e/package.json',
])('odd request targets are never answered 5xx: %s', async (target) => {
  for (const method of ['GET', 'POST', 'OPTIONS']) {
    expect((await send(method, target)).status, method).toBeLessThan(500);
  }
});

test('odd headers are ignored, and a head that is too long is 431', async () => {
  const odd = ['\u00ff\u0080', ' ', ',', '0', '=', 'a'.repeat(4000)];
  for (const name of ['x-request-id', 'accept', 'content-type', 'if-match', 'range', 'origin', 'x-forwarded-for']) {
    for (const value of odd) {
      const answer = await send('GET', '/v1/providers', { headers: { [name]: value } });
      // A precondition is refused if the operation does not support it.
      expect(answer.status, `${name}: ${value}`).toBe(name === 'if-match' ? 422 : 200);
    }
  }
  const long = await send('GET', '/v1/providers', { headers: { 'x-long': 'a'.repeat(20_000) } });
  expect(long.status).toBe(431);
});
