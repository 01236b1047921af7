// The order of the checks, and the answers of the steps before an operation runs.
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Scope } from '@quartermaster/contracts/scopes.ts';
import { expect, test } from 'vitest';
import { ApiError } from '../../src/platform/errors.ts';
import { answerOf } from '../../src/http/errors/problems.ts';
import { Scheduler } from '../../src/platform/scheduler.ts';
import type { Services } from '../../src/platform/services.ts';
import { principalIn } from '../support/principals.ts';
import { send, serve } from './server.ts';

const MALFORMED = { method: 'PUT', body: '{not json' };

test('a request without credentials is 401 with a challenge, for any body', async () => {
  const server = await serve();
  const answer = await fetch(`${server.url}/v1/widgets/w`, MALFORMED);
  expect(answer.status).toBe(401);
  expect(answer.headers.get('www-authenticate')).toBe('Bearer');
  expect(await answer.json()).toMatchObject({ code: 'credentials_missing', status: 401 });
});

test('refused credentials answer the status and headers of the refusal', async () => {
  const server = await serve();
  const answer = await send(server, '/v1/widgets/w', { ...MALFORMED, headers: { authorization: 'Bearer nonsense' } });
  expect([answer.status, answer.body.code]).toEqual([401, 'credentials_invalid']);
  expect(answer.headers.get('www-authenticate')).toBe('Bearer');
});

test('a missing scope is 403 and named in the answer, before the body is read', async () => {
  const server = await serve();
  const answer = await send(server, '/v1/widgets/w', { ...MALFORMED, headers: { authorization: 'Bearer reader' } });
  expect([answer.status, answer.body.code, answer.body.scope]).toEqual([403, 'scope_missing', 'providers:write']);
});

test('a foreign tenant in the query is 403 before the body is read, one in the body before values are validated', async () => {
  const server = await serve();
  const query = await send(server, '/v1/widgets/w?tenant_id=other', MALFORMED);
  expect([query.status, query.body.code]).toEqual([403, 'tenant_forbidden']);
  const body = await send(server, '/v1/widgets/search', { body: '{"tenantId":"other","count":"x"}' });
  expect([body.status, body.body.code]).toEqual([403, 'tenant_forbidden']);
  expect((await send(server, '/v1/widgets/search', { body: '{"tenantId":"acme"}' })).status).toBe(200);
});

test.each(['/v1/widgets', '/trpc/create'])(
  'regression: a caller who loses their scopes while the body arrives is refused: POST %s',
  async (path) => {
    let time = Date.now();
    let scopes: Scope[] = ['*'];
    let lookUps = 0;
    let begun = Promise.withResolvers<void>();
    const server = await serve({
      services: { scheduler: new Scheduler(), now: () => new Date(time) } as Services,
      authenticate: async () => {
        lookUps += 1;
        begun.resolve();
        return principalIn('acme', { grants: [{ tenantId: 'acme', subTenantId: null, scopes }] });
      },
    });
    const body = path === '/v1/widgets' ? '{"name":"abc"}' : '{"body":{"name":"abc"}}';
    const post = async (meanwhile: () => void) => {
      begun = Promise.withResolvers<void>();
      const socket = connect(server.port, '127.0.0.1');
      const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n`;
      socket.write(`${head}Content-Length: ${body.length}\r\n\r\n{`);
      await begun.promise;
      meanwhile();
      socket.write(body.slice(1));
      return Number((await text(socket)).split(' ')[1]);
    };
    expect(await post(() => {})).toBe(200);
    expect(lookUps).toBe(1);
    const loseScopes = () => {
      scopes = [];
      time += 2000;
    };
    expect(await post(loseScopes)).toBe(403);
  },
);

test('a public operation runs without a caller', async () => {
  const server = await serve({ authenticate: async () => null });
  const answer = await send(server, '/v1/register', { body: '{"email":"a@example.com"}' });
  expect(answer.body).toEqual({ body: { email: 'a@example.com' } });
});

test('every answer below /v1 has Cache-Control: no-store and the request id', async () => {
  const server = await serve();
  for (const path of ['/v1/widgets', '/v1/nothing', '/v1/widgets?limit=0', '/v1/traces']) {
    const { headers } = await send(server, path);
    expect([headers.get('cache-control'), headers.get('x-request-id')]).toEqual(['no-store', 'req-1']);
  }
});

test.each([
  ['missing', 404, 'provider_not_found', null],
  ['limited', 429, 'rate_limited', '1'],
  ['away', 503, 'database_unavailable', '7'],
])('a refusal of the handler (%s) is a problem: %i %s, Retry-After %s', async (how, status, code, retry) => {
  const server = await serve();
  const answer = await send(server, `/v1/widgets/${how}/break`, { method: 'POST' });
  expect([answer.status, answer.body.code]).toEqual([status, code]);
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  expect(answer.headers.get('retry-after')).toBe(retry);
  expect(server.errors).toEqual([]);
});

test('OTLP operations are in the same route table, and have their own handler', async () => {
  const server = await serve();
  expect((await send(server, '/v1/traces', { body: '{}' })).body).toEqual({ otlp: 'ingest_traces' });
  const method = await send(server, '/v1/traces', { method: 'PUT', body: '{}' });
  expect([method.status, method.headers.get('allow')]).toEqual([405, 'POST']);
});

test('an error outside of the procedure is 500 too, and is reported once', async () => {
  for (const broken of [
    { authenticate: () => Promise.reject(new Error('hunter2')) },
    {
      addressOf: () => {
        throw new Error('hunter2');
      },
    },
  ]) {
    const server = await serve(broken);
    const answer = await send(server, '/v1/widgets');
    expect([answer.status, answer.body.code]).toEqual([500, 'internal_error']);
    expect(answer.text).not.toContain('hunter2');
    expect(server.errors).toHaveLength(1);
  }
});

test.each([
  ['/trpc/nothing', '{}', 404, 'route_not_found'],
  ['/trpc/create', '{', 400, 'request_malformed'],
  ['/trpc/list', '{}', 405, 'method_not_allowed'],
])('what tRPC itself refuses is a problem of ours: POST %s %s', async (path, body, status, code) => {
  const server = await serve();
  const answer = await send(server, path, { body });
  expect([answer.status, answer.body.error.data.code]).toEqual([status, code]);
});

test('only errors without a documented answer are unexpected', () => {
  expect(answerOf(new ApiError('name_taken', 'Taken.'), 'r').unexpected).toBe(false);
  expect(answerOf(new Error('boom'), 'r').unexpected).toBe(true);
  expect(answerOf('boom', 'r').unexpected).toBe(true);
  expect(answerOf(undefined, 'r')).toMatchObject({ status: 500, contentType: 'application/problem+json' });
});
