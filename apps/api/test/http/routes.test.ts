import { expect, test } from 'vitest';
import { routeTable } from '../../src/http/rest/routes.ts';
import { exchange, send, serve } from './server.ts';
import { createWidget, getWidget, listWidgets, readRequired, searchWidgets, updateWidget } from './widgets.ts';

const route = routeTable([getWidget, updateWidget, searchWidgets, readRequired, listWidgets, createWidget]);

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
  ['GET', '/v1/widgets/a+b', 'get_widget', { widget_id: 'a+b' }],
  ['GET', '/v1/widgets/%25', 'get_widget', { widget_id: '%' }],
  ['GET', '/v1/widgets/{widget_id}', 'get_widget', { widget_id: '{widget_id}' }],
])('%s %s goes to %s', (method, path, operationId, parameters) => {
  const match = route(method, path);
  expect([match.operation.operationId, match.path]).toEqual([operationId, parameters]);
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
])('%s is route_not_found', (_name, path) => {
  expect(() => route('GET', path)).toThrow(expect.objectContaining({ reason: 'route_not_found' }));
});

test.each([
  ['DELETE', '/v1/widgets', 'GET, HEAD, POST'],
  ['PATCH', '/v1/widgets/w1', 'GET, HEAD, PUT'],
  ['DELETE', '/v1/widgets/search', 'GET, HEAD, POST, PUT'],
  ['OPTIONS', '/v1/widgets', 'GET, HEAD, POST'],
])('%s %s is 405, with Allow: %s', (method, path, allow) => {
  const refusal = { reason: 'method_not_allowed', headers: { Allow: allow } };
  expect(() => route(method, path)).toThrow(expect.objectContaining(refusal));
});

test('two operations with the same method and path are refused at start', () => {
  expect(() => routeTable([getWidget, getWidget])).toThrow('Two operations at GET /v1/widgets/{widget_id}');
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
  const head =
    'GET http://example.com/v1/widgets?limit=3 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer all\r\nConnection: close\r\n\r\n';
  expect(await exchange(server, [head])).toMatch(/^HTTP\/1\.1 200 .*"limit":3/s);
});
