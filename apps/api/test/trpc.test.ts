import { createTRPCClient, httpBatchLink, httpLink, TRPCClientError } from '@trpc/client';
import { afterAll, beforeAll, expect, expectTypeOf, test } from 'vitest';
import type { AppRouter } from '../src/server/router.ts';
import { accountWithKey } from './support/people.ts';
import { makeRecords, OPERATIONS, unchanged } from './support/records.ts';
import { type Body, type Credential, headersOf, startTestServer, type TestServer } from './support/server.ts';

let server: TestServer;
let records: Record<string, string>;

beforeAll(async () => {
  // Its jobs would write while a test compares the database.
  server = await startTestServer({}, { noHousekeeping: true });
  records = await makeRecords(server);
});
afterAll(() => server.stop());

function clientAs(credential: Credential) {
  return createTRPCClient<AppRouter>({
    links: [httpLink({ url: `${server.url}/trpc`, headers: headersOf(credential) })],
  });
}

async function errorOf(promise: Promise<unknown>): Promise<TRPCClientError<AppRouter>> {
  const thrown: unknown = await promise.then(
    () => new Error('it was accepted'),
    (error: unknown) => error,
  );
  if (!(thrown instanceof TRPCClientError)) throw thrown;
  return thrown as TRPCClientError<AppRouter>;
}

test('a typed client calls queries and mutations with { path, query, body }', async () => {
  const client = clientAs(server.admin);
  const made = await client.providers.create.mutate({ body: { name: 'typed', kind: 'mcp' } });
  expectTypeOf(made.id).toEqualTypeOf<string>();
  expectTypeOf(made.status).toEqualTypeOf<'discovered' | 'active' | 'disabled' | 'deleted'>();
  const path = { provider_id: made.id };
  expect(await client.providers.get.query({ path })).toEqual(made);
  const changed = await client.providers.update.mutate({ path, body: { displayName: 'Typed' } });
  expect(changed.displayName).toBe('Typed');
  const page = await client.providers.list.query({ query: { kind: 'mcp', limit: 5 } });
  expect(page).toEqual({ items: [changed], nextCursor: null });
  expect((await client.serviceAccounts.search.mutate({})).items.map(({ id }) => id)).toContain('bootstrap');
});

test('the same works with a bearer token', async () => {
  const client = clientAs(await server.tokenOf('admin@example.com'));
  const profile = await client.users.updateMyProfile.mutate({ body: { timeZone: 'Europe/Paris' } });
  expect(profile).toMatchObject({ email: 'admin@example.com', timeZone: 'Europe/Paris' });
});

test('invalid calls of a procedure do not compile', () => {
  const checkedOnly = (client: ReturnType<typeof clientAs>) => [
    // @ts-expect-error a required field is missing
    client.providers.create.mutate({ body: { name: 'x' } }),
    // @ts-expect-error the path's parameter is missing
    client.providers.get.query({ path: {} }),
    // @ts-expect-error a limit is a number
    client.providers.list.query({ query: { limit: '5' } }),
    // @ts-expect-error no such procedure
    client.providers.nothing.query({}),
    // @ts-expect-error a mutation is not a query
    client.providers.create.query({ body: { name: 'x', kind: 'llm' } }),
  ];
  expect(checkedOnly).toBeInstanceOf(Function);
});

const MISTAKES: [string, string, string, object][] = [
  ['a missing record', 'GET /v1/providers/none', 'providers.get', { path: { provider_id: 'none' } }],
  ['an invalid value', 'GET /v1/providers?limit=0', 'providers.list', { query: { limit: 0 } }],
  ['a damaged cursor', 'GET /v1/providers?cursor=x', 'providers.list', { query: { cursor: 'x' } }],
  ['a missing field', 'POST /v1/providers', 'providers.create', { body: { kind: 'llm' } }],
  [
    'unknown fields',
    'POST /v1/providers',
    'providers.create',
    { body: { name: 'x', kind: 'llm', a: 1, constructor: 2 } },
  ],
  ['a wrong type', 'POST /v1/providers', 'providers.create', { body: { name: 5, kind: [], metadata: 'x' } }],
  ['not an object', 'POST /v1/providers', 'providers.create', { body: [] }],
  [
    'a secret',
    'POST /v1/onboarding/register',
    'onboarding.register',
    { body: { user: { email: 'x', password: 'hunter2' } } },
  ],
  [
    'an id that is in use',
    'POST /v1/service-accounts',
    'serviceAccounts.create',
    { body: { id: 'bootstrap', name: 'x' } },
  ],
  [
    'a name that is in use',
    'POST /v1/providers',
    'providers.create',
    { body: { name: 'RECORDS-llm', kind: 'llm', tenantId: 'records' } },
  ],
];

test.each(MISTAKES)(
  'the data of an error is the body of the REST error for the same mistake: %s',
  async (_, rest, procedure, input) => {
    const headers = { 'x-request-id': 'the-same' };
    const [method = '', path = ''] = rest.split(' ');
    const body = 'body' in input ? { body: input.body } : {};
    const expected = await server.call(method, path, { as: server.admin, headers, ...body });
    const query = `?input=${encodeURIComponent(JSON.stringify(input))}`;
    const answered =
      method === 'GET'
        ? await server.call('GET', `/trpc/${procedure}${query}`, { as: server.admin, headers })
        : await server.call('POST', `/trpc/${procedure}`, { as: server.admin, headers, body: input });
    expect(expected.status).toBeGreaterThanOrEqual(400);
    expect(answered.status).toBe(expected.status);
    // REST shows the values of a query as the text that was sent.
    const shown = (value: Body) =>
      JSON.parse(JSON.stringify(value), (key, part) => (key === 'input' ? String(part) : part));
    expect(shown(answered.body.error.data)).toEqual(shown(expected.body));
    expect(Object.keys(answered.body.error).toSorted()).toEqual(['code', 'data', 'message']);
    expect(answered.text).not.toMatch(/hunter2|stack|\.ts/);
  },
);

test('the typed client sees the same data', async () => {
  const error = await errorOf(clientAs(server.admin).providers.get.query({ path: { provider_id: 'none' } }));
  expect(error.data).toMatchObject({ code: 'provider_not_found', status: 404 });
  const wrong = await errorOf(clientAs(server.admin).providers.list.query({ query: { limit: 1000 } }));
  expect(wrong.data).toMatchObject({ detail: [{ loc: ['query', 'limit'], type: 'less_than_equal' }] });
});

test('refused credentials get a WWW-Authenticate challenge', async () => {
  const challenge = async (as: Credential, procedure = 'providers.list') => {
    const answer = await server.call('GET', `/trpc/${procedure}?input=%7B%7D`, { as });
    return [answer.status, answer.body.error.data.code, answer.headers.get('www-authenticate')];
  };
  expect(await challenge(null)).toEqual([401, 'credentials_missing', 'Bearer']);
  const [status, code, header] = await challenge({ key: 'wrong' });
  expect([status, code]).toEqual([401, 'credentials_invalid']);
  expect(header).toMatch(/^Bearer error="invalid_token"/);
  expect((await challenge({ token: 'wrong' }))[2]).toMatch(/^Bearer error="invalid_token"/);
  const { key } = await accountWithKey(server, { tenantId: 'records' }, ['gateways:read']);
  expect(await challenge({ key })).toEqual([
    403,
    'scope_missing',
    'Bearer error="insufficient_scope", scope="providers:read"',
  ]);
});

test('an unreachable identity provider is 503 with Retry-After', async () => {
  const other = await startTestServer({ QM_DEV_IDENTITY: '0', QM_OIDC_ISSUER: 'http://127.0.0.1:9' });
  const as = await server.tokenOf('admin@example.com');
  for (const path of ['/v1/providers', '/trpc/providers.list?input=%7B%7D']) {
    const answer = await other.call('GET', path, { as });
    expect([answer.status, (answer.body.error?.data ?? answer.body).code]).toEqual([
      503,
      'identity_provider_unavailable',
    ]);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  }
  await other.stop();
});

test('batches are refused without effect', async () => {
  await unchanged(server, async () => {
    const link = httpBatchLink({ url: `${server.url}/trpc`, headers: headersOf(server.admin) });
    const client = createTRPCClient<AppRouter>({ links: [link] });
    const create = (name: string) => errorOf(client.tenants.create.mutate({ body: { id: name } }));
    const errors = await Promise.all([create('batched-1'), create('batched-2')]);
    for (const error of errors) expect(error.message).not.toBe('it was accepted');
    for (const path of [
      'tenants.list,tenants.list?batch=1&input=%7B%7D',
      'tenants.list?batch=1&input=%7B%220%22:%7B%7D%7D',
    ]) {
      const answer = await server.call('GET', `/trpc/${path}`, { as: server.admin });
      expect(answer.status).toBe(400);
      expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
      expect(answer.body).toMatchObject({
        code: 'request_malformed',
        instance: expect.stringContaining(answer.headers.get('x-request-id') ?? '-'),
      });
    }
  });
});

test('a query refuses POST, and a mutation refuses GET', async () => {
  await unchanged(server, async () => {
    const input = encodeURIComponent(JSON.stringify({ body: { id: 'by-get' } }));
    const read = await server.call('GET', `/trpc/tenants.create?input=${input}`, { as: server.admin });
    expect([read.status, read.body.error.data.code]).toEqual([405, 'method_not_allowed']);
    const written = await server.call('POST', '/trpc/tenants.list', { as: server.admin, body: {} });
    expect([written.status, written.body.error.data.code]).toEqual([405, 'method_not_allowed']);
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const body = { body: { id: 'by-another-method' } };
      expect([405, 415]).toContain(
        (await server.call(method, '/trpc/tenants.create', { as: server.admin, body })).status,
      );
    }
  });
});

test.each(['user:password@host', 'two words', 'host:99999', ''])(
  'regression: a Host header that is not part of a URL does not crash the process: %j',
  async (host) => {
    const read = (as: Credential) => server.call('GET', '/trpc/providers.list', { as, headers: { host } });
    expect((await read(null)).body.error.data.code).toBe('credentials_missing');
    expect((await read(server.admin)).status).toBe(200);
  },
);

test('a percent-encoded path is the same procedure, and needs the same credentials', async () => {
  const path = '/trpc/providers%2Elist?input=%7B%7D';
  expect((await server.call('GET', path)).status).toBe(401);
  expect((await server.call('GET', path, { as: server.admin })).status).toBe(200);
  const { key } = await accountWithKey(server, { tenantId: 'records' }, ['gateways:read']);
  expect((await server.call('GET', path, { as: { key } })).body.error.data.code).toBe('scope_missing');
});

test('regression: a member beside path, query and body is 422 and changes nothing, and so is an input that is not an object', async () => {
  const path = { provider_id: records['provider_id'] };
  const misplaced: [string, string, unknown, (string | number)[][]][] = [
    ['POST', 'recommendations.applyToProvider', { path, dryRun: true }, [['dryRun']]],
    ['GET', 'providers.list', { limit: 1 }, [['limit']]],
    ['GET', 'agents.list', { limit: 1 }, [['limit']]],
    ['GET', 'providers.list', [], [[]]],
    ['GET', 'agents.list', 'x', [[]]],
  ];
  await unchanged(server, async () => {
    for (const [method, procedure, input, locations] of misplaced) {
      const query = `?input=${encodeURIComponent(JSON.stringify(input))}`;
      const answered =
        method === 'GET'
          ? await server.call('GET', `/trpc/${procedure}${query}`, { as: server.admin })
          : await server.call('POST', `/trpc/${procedure}`, {
              as: server.admin,
              raw: JSON.stringify(input),
              headers: { 'content-type': 'application/json' },
            });
      expect(answered.status, procedure).toBe(422);
      expect(answered.body.error.data.detail.map(({ loc }: { loc: unknown }) => loc)).toEqual(locations);
    }
  });
});

test.each(['{', '%', 'null', '[]', '"x"', '1', '{"path":{"__proto__":{}}}', '{"query":null}', '{"query":[]}'])(
  'a malformed input is never answered with 5xx: %s',
  async (input) => {
    for (const query of [encodeURIComponent(input), input]) {
      const answer = await server.call('GET', `/trpc/providers.list?input=${query}`, { as: server.admin });
      expect([200, 400, 422]).toContain(answer.status);
    }
    const headers = { 'content-type': 'application/json' };
    const written = await server.call('POST', '/trpc/providers.create', { as: server.admin, raw: input, headers });
    expect([400, 422]).toContain(written.status);
  },
);

test.each([
  'text/plain',
  'multipart/form-data; boundary=x',
  'application/octet-stream',
  'application/x-www-form-urlencoded',
])('a body of another media type creates nothing: %s', async (type) => {
  await unchanged(server, async () => {
    const raw = JSON.stringify({ body: { name: 'x', kind: 'llm' } });
    const headers = { 'content-type': type };
    const { status } = await server.call('POST', '/trpc/providers.create', { as: server.admin, raw, headers });
    expect([400, 415, 422]).toContain(status);
  });
});

test.each([
  ['a body that is not JSON', '{', 400],
  ['a body that is too long', ' '.repeat(200_000), 413],
])('regression: callers without rights do not learn how a body is refused: %s', async (_, raw, status) => {
  const { key } = await accountWithKey(server, { tenantId: 'records' }, ['gateways:read']);
  const headers = { 'content-type': 'application/json' };
  const write = (procedure: string, as: Credential) => server.call('POST', `/trpc/${procedure}`, { as, raw, headers });
  for (const procedure of ['providers.create', 'users.delete']) {
    expect((await write(procedure, null)).body.error.data.code, procedure).toBe('credentials_missing');
  }
  expect((await write('providers.create', { key })).body.error.data.code).toBe('scope_missing');
  expect((await write('providers.create', server.admin)).status).toBe(status);
});

test.each([
  [
    'bytes that are not UTF-8',
    {},
    Buffer.from('{"body":{"name":"x","kind":"llm","description":"\xff"}}', 'latin1'),
    422,
  ],
  ['another charset', { 'content-type': 'application/json; charset=utf-16' }, '{}', 415],
  ['a content coding', { 'content-encoding': 'gzip' }, '{}', 415],
])('regression: a body that REST cannot read is refused over tRPC too: %s', async (_, given, raw, status) => {
  const headers = { 'content-type': 'application/json', ...given };
  for (const path of ['/v1/providers', '/trpc/providers.create']) {
    expect((await server.call('POST', path, { as: server.admin, raw, headers })).status, path).toBe(status);
  }
});

test('regression: the connection of a body that is too long is closed, as over REST', async () => {
  const headers = { 'content-type': 'application/json' };
  const raw = ' '.repeat(2_000_000);
  for (const path of ['/v1/providers', '/trpc/providers.create']) {
    const answer = await server.call('POST', path, { as: server.admin, raw, headers });
    expect([answer.status, answer.headers.get('connection')], path).toEqual([413, 'close']);
  }
});

const REQUIRED_QUERIES: Record<string, Record<string, string>> = {
  list_derived_access: { source: 'user:usr_none' },
  group_runtime_observations: { by: 'provider' },
};

test('every query procedure gives the same answer over /trpc and over REST', async () => {
  for (const { operation, procedure } of OPERATIONS) {
    if (operation.method !== 'GET') continue;
    const path = Object.fromEntries(Object.keys(operation.params?.shape ?? {}).map((name) => [name, records[name]]));
    const query = REQUIRED_QUERIES[operation.operationId] ?? {};
    const input = encodeURIComponent(JSON.stringify({ path, query }));
    const rest = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => records[name] ?? '');
    const expected = await server.ok('GET', `${rest}?${new URLSearchParams(query).toString()}`, { as: server.admin });
    const answer = await server.ok('GET', `/trpc/${procedure}?input=${input}`, { as: server.admin });
    expect(answer.result.data, procedure).toEqual(expected);
  }
});
