// Known pitfalls of trpc-to-openapi, one test each. They notice if an upgrade or a refactoring brings one back.
import { expect, test } from 'vitest';
import { openApiDocument } from '../../src/http/openapi/openapi.ts';
import { withSharedParts } from '../support/shared-parts.ts';
import { exchange, REQUEST_ID, send, serve } from './server.ts';
import { widgets } from './widgets.ts';

test('pitfall 1: a call does not leave coercion behind in shared schemas, so the next call accepts the same values', async () => {
  const server = await serve();
  for (const query of ['unknown=false&limit=5', 'unknown=false&limit=5']) {
    expect((await send(server, `/v1/widgets?${query}`)).body.query).toEqual({ unknown: false, limit: 5 });
  }
  await send(server, '/v1/widgets', { body: '{"name":"abc","count":5,"active":true}' });
  const { status, body } = await send(server, '/v1/widgets', { body: '{"name":"abc","count":"25","active":"yes"}' });
  expect(status).toBe(422);
  expect(body.detail.map(({ loc, type }: { loc: string[]; type: string }) => [loc[1], type])).toEqual([
    ['count', 'int_type'],
    ['active', 'bool_type'],
  ]);
  const zero = await send(server, '/v1/widgets', { body: '{"name":"abc","count":null}' });
  expect(zero.body.detail[0].type).toBe('int_type');
});

test.each(['application/json; charset=utf-8', 'application/json;charset="UTF-8"', 'application/merge-patch+json'])(
  'pitfall 2: a body sent as %s is read',
  async (type) => {
    const server = await serve();
    const answer = await send(server, '/v1/widgets', { body: '{"name":"abc"}', headers: { 'content-type': type } });
    expect(answer.body).toEqual({ body: { name: 'abc' } });
  },
);

test('pitfall 3: path parameters are decoded, paths are case-sensitive, and a literal segment comes before a parameter', async () => {
  const server = await serve();
  expect((await send(server, '/v1/widgets/a%2Fb%20c%C3%A9')).body.path).toEqual({ widget_id: 'a/b cé' });
  expect((await send(server, '/v1/Widgets/a')).status).toBe(404);
  expect((await send(server, '/v1/widgets/by-size?width=3')).body).toEqual({ query: { width: 3 } });
});

test('pitfall 4: the query of a PUT reaches the procedure and is in the document', async () => {
  const server = await serve();
  const sent = { method: 'PUT', body: '{"name":"n"}' };
  const answer = await send(server, '/v1/widgets/w?tenant_id=acme&revision=7', sent);
  expect(answer.body.query).toEqual({ tenant_id: 'acme', revision: 7 });
  const document = openApiDocument({
    router: widgets,
    version: '0.1.0',
    serverUrl: 'http://127.0.0.1',
  });
  const { paths } = withSharedParts(document) as {
    paths: Record<string, { put: { parameters: { in: string; name: string }[] } }>;
  };
  expect(paths['/v1/widgets/{widget_id}']?.put.parameters.map((one) => `${one.in} ${one.name}`)).toEqual([
    'path widget_id',
    'query tenant_id',
    'query revision',
    'header Idempotency-Key',
  ]);
});

test('pitfall 5: path, query and body are separate: a body key with the name of a path parameter is kept', async () => {
  const server = await serve();
  const answer = await send(server, '/v1/widgets/from-path', { method: 'PUT', body: '{"widget_id":"from-body"}' });
  expect(answer.body).toEqual({ path: { widget_id: 'from-path' }, query: {}, body: { widget_id: 'from-body' } });
  const wrong = await send(server, '/v1/widgets/w?revision=x', { method: 'PUT', body: '{"widget_id":3}' });
  expect(wrong.body.detail.map(({ loc }: { loc: string[] }) => loc)).toEqual([
    ['query', 'revision'],
    ['body', 'widget_id'],
  ]);
});

test('pitfall 6: a list or string as body is refused, an empty body needs no Content-Type, deep nesting is not a 500', async () => {
  const server = await serve();
  for (const body of ['["name"]', '"name"', '3', 'true']) {
    const answer = await send(server, '/v1/widgets', { body });
    expect([answer.status, answer.body.detail[0].type, answer.body.detail[0].loc]).toEqual([
      422,
      'model_attributes_type',
      ['body'],
    ]);
  }
  expect((await send(server, '/v1/widgets/search', { method: 'POST' })).status).toBe(200);
  const deep = `{"name":"abc","metadata":{"a":${'['.repeat(5000)}${']'.repeat(5000)}}}`;
  expect((await send(server, '/v1/widgets', { body: deep })).status).toBe(422);
});

test.each(['throws', 'parses', 'output', 'bigint'])(
  'pitfall 7: a handler that fails (%s) answers a problem without internal details, over REST and tRPC',
  async (how) => {
    const server = await serve();
    const problem = {
      type: 'urn:quartermaster:problem:internal_error',
      title: 'Internal error',
      status: 500,
      detail: 'An internal error occurred. The log has it under the request id.',
      instance: REQUEST_ID,
      code: 'internal_error',
    };
    const rest = await send(server, `/v1/widgets/${how}/break`, { method: 'POST' });
    expect(rest.status).toBe(500);
    expect(rest.headers.get('content-type')).toBe('application/problem+json');
    expect(rest.body).toEqual(problem);
    expect(server.errors).toHaveLength(1);
    // tRPC serialises outside of its procedures, so a value that is not JSON causes a 500 of the host.
    if (how === 'bigint') return;
    const trpc = await send(server, '/trpc/break', { body: JSON.stringify({ path: { widget_id: how } }) });
    expect(trpc.status).toBe(500);
    expect(trpc.body).toEqual({ error: { message: problem.detail, code: -32603, data: problem } });
  },
);

test('pitfall 8: a call creates no fetch Request, and reads only the body of the real one', async () => {
  const server = await serve();
  const Native = globalThis.Request;
  let built = 0;
  globalThis.Request = new Proxy(Native, {
    construct(target, args: ConstructorParameters<typeof Request>) {
      built++;
      return new target(...args);
    },
  });
  try {
    // Not with fetch, which creates Requests itself.
    const head = 'GET /v1/widgets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer all\r\nConnection: close\r\n\r\n';
    expect(await exchange(server, [head])).toMatch(/^HTTP\/1\.1 200 /);
  } finally {
    globalThis.Request = Native;
  }
  expect(built).toBe(0);
});

test('pitfall 9: unknown paths, unknown methods and HEAD are answered by our handler, and HEAD needs credentials', async () => {
  const server = await serve();
  expect((await send(server, '/v1/nothing')).body.code).toBe('route_not_found');
  expect((await send(server, '/v1/widgets', { method: 'DELETE' })).body.code).toBe('method_not_allowed');
  const anonymous = { authorization: '' };
  expect((await fetch(`${server.url}/v1/widgets`, { method: 'HEAD' })).status).toBe(401);
  expect((await send(server, '/v1/nothing', { method: 'HEAD', headers: anonymous })).status).toBe(404);
  expect((await send(server, '/v1/widgets', { method: 'HEAD' })).status).toBe(200);
});
