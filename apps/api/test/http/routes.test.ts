import type { Operation } from '@quartermaster/contracts/operation.ts';
import { expect, test } from 'vitest';
import { requireDistinctRoutes } from '../../src/http/rest/routes.ts';
import { endpoint, router } from '../../src/http/trpc.ts';
import { exchange, type Server, send, serve } from './server.ts';
import { getWidget, readRequired, updateWidget } from './widgets.ts';

/** Sends a request whose target is not normalized, and returns the status, the head and the body of its answer. */
async function sendRaw(server: Server, method: string, target: string) {
  const head = `${method} ${target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer all\r\nConnection: close\r\n`;
  const body = method === 'POST' || method === 'PUT' ? '{}' : '';
  const type = body === '' ? '' : 'Content-Type: application/json\r\n';
  const answer = await exchange(server, [`${head}${type}Content-Length: ${body.length}\r\n\r\n${body}`]);
  const [headers = '', text = ''] = answer.split('\r\n\r\n');
  return { status: Number(headers.slice(9, 12)), headers, body: text === '' ? {} : JSON.parse(text) };
}

test.each([
  ['GET', '/v1/widgets', 'list_widgets', {}],
  ['POST', '/v1/widgets', 'create_widget', {}],
  ['HEAD', '/v1/widgets', 'list_widgets', {}],
  ['GET', '/v1/widgets/w1', 'get_widget', { widget_id: 'w1' }],
  ['PUT', '/v1/widgets/w1', 'update_widget', { widget_id: 'w1' }],
  ['POST', '/v1/widgets/search', 'search_widgets', {}],
  ['GET', '/v1/widgets/by-size', 'find_widgets_by_size', {}],
  // A widget with the name of a literal segment is reached by methods that the literal path does not have.
  ['GET', '/v1/widgets/search', 'get_widget', { widget_id: 'search' }],
  ['GET', '/v1/widgets/a%2Fb', 'get_widget', { widget_id: 'a/b' }],
  ['GET', '/v1/widgets/..', 'get_widget', { widget_id: '..' }],
  ['GET', '/v1/widgets/%2e%2e', 'get_widget', { widget_id: '..' }],
  // These differ from a literal segment, or would be changed by the URL standard.
  ['GET', '/v1/widgets/By-Size', 'get_widget', { widget_id: 'By-Size' }],
  ['GET', '/v1/widgets/by%2Dsize', 'get_widget', { widget_id: 'by-size' }],
  ['GET', '/v1/widgets/a\\b', 'get_widget', { widget_id: 'a\\b' }],
  ['GET', '/v1/widgets/#a', 'get_widget', { widget_id: '#a' }],
  ['GET', '/v1/widgets/~', 'get_widget', { widget_id: '~' }],
  ['GET', '/v1/widgets/a+b', 'get_widget', { widget_id: 'a+b' }],
  ['GET', '/v1/widgets/%25', 'get_widget', { widget_id: '%' }],
  ['GET', '/v1/widgets/{widget_id}', 'get_widget', { widget_id: '{widget_id}' }],
])('%s %s goes to %s', async (method, path, operationId, parameters) => {
  const matched: string[] = [];
  const server = await serve({ onMatched: (_res, operation) => matched.push(operation.operationId) });
  const { body } = await sendRaw(server, method, path);
  expect([matched, body.path ?? {}]).toEqual([[operationId], parameters]);
});

test.each([
  ['another letter case', '/v1/Widgets'],
  ['a trailing slash', '/v1/widgets/'],
  ['a trailing slash after a parameter', '/v1/widgets/w1/'],
  ['an empty segment', '/v1//widgets'],
  ['a parent path', '/v1'],
  ['a child path', '/v1/widgets/w1/parts/p1'],
  ['a malformed escape', '/v1/widgets/%zz'],
  ['an incomplete escape', '/v1/widgets/%2'],
  ['an escape that is not UTF-8', '/v1/widgets/%ff'],
])('%s is route_not_found', async (_name, path) => {
  const { status, body } = await sendRaw(await serve(), 'GET', path);
  expect([status, body.code]).toEqual([404, 'route_not_found']);
});

test.each([
  ['DELETE', '/v1/widgets', 'GET, HEAD, POST'],
  ['PATCH', '/v1/widgets/w1', 'GET, HEAD, PUT'],
  ['DELETE', '/v1/widgets/search', 'GET, HEAD, POST, PUT'],
  ['OPTIONS', '/v1/widgets', 'GET, HEAD, POST'],
])('%s %s is 405, with Allow: %s', async (method, path, allow) => {
  const { status, headers, body } = await sendRaw(await serve(), method, path);
  expect([status, body.code]).toEqual([405, 'method_not_allowed']);
  expect(headers).toContain(`\r\nAllow: ${allow}\r\n`);
});

test('two operations with the same method and path are refused at start', () => {
  expect(() => requireDistinctRoutes([getWidget, getWidget])).toThrow('Two operations at GET /v1/widgets/{widget_id}');
  const renamed = { ...getWidget, path: '/v1/widgets/{id}' };
  expect(() => requireDistinctRoutes([getWidget, renamed])).toThrow('Two operations at GET /v1/widgets/{id}');
});

test('a literal path behind a parameter that would take its requests is refused at start', async () => {
  const shadowed = router({
    get: endpoint(getWidget).query(({ input }) => input),
    bySize: endpoint(readRequired).query(({ input }) => input),
  });
  await expect(serve({ router: shadowed })).rejects.toThrow(
    'GET /v1/widgets/by-size must come before /v1/widgets/{widget_id}, which would take its requests',
  );
  // They overlap at /v1/a/b/c only. The literal that is further left decides.
  const [one, other] = ['/v1/a/{x}/c', '/v1/a/b/{y}'].map((path) => ({ ...getWidget, path })) as [Operation, Operation];
  expect(() => requireDistinctRoutes([one, other])).toThrow('GET /v1/a/b/{y} must come before /v1/a/{x}/c');
  expect(() => requireDistinctRoutes([other, one])).not.toThrow();
  expect(() => requireDistinctRoutes([getWidget, updateWidget, readRequired].toReversed())).not.toThrow();
});

test('404 and 405 are answered before credentials are checked', async () => {
  const server = await serve();
  const headers = { authorization: 'Bearer nonsense' };
  const unknown = await send(server, '/v1/nothing', { headers });
  expect(unknown.status).toBe(404);
  expect(unknown.headers.get('content-type')).toBe('application/problem+json');
  expect(unknown.body).toEqual({
    type: 'urn:quartermaster:problem:route_not_found',
    title: 'Path not found',
    status: 404,
    detail: 'There is nothing at this path.',
    instance: 'req-1',
    code: 'route_not_found',
  });
  const method = await send(server, '/v1/widgets', { method: 'PATCH', headers });
  expect([method.status, method.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST']);
});

test('HEAD is answered like GET, without the body', async () => {
  const server = await serve();
  const get = await send(server, '/v1/widgets/w1');
  const head = await send(server, '/v1/widgets/w1', { method: 'HEAD' });
  expect([head.status, head.text]).toEqual([200, '']);
  for (const name of ['content-type', 'content-length', 'cache-control', 'x-request-id']) {
    expect(head.headers.get(name)).toBe(get.headers.get(name));
  }
});

test('paths outside of /v1 go to the next handler', async () => {
  const server = await serve();
  for (const path of ['/healthz', '/v1x', '/V1/widgets', '//v1/widgets']) {
    const answer = await send(server, path);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
  }
});

test('a request target in absolute form is handled like its path', async () => {
  const server = await serve();
  expect((await sendRaw(server, 'GET', 'http://example.com/v1/widgets?limit=3')).body.query).toEqual({ limit: 3 });
});
