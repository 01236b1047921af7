import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { expectProblem } from '../endpoints/harness.ts';
import { signedInBrowser } from '../support/browser.ts';
import { accountWithKey, memberWithToken, registeredUser } from '../support/people.ts';
import { limited, list, pointsLeft, repeated, times, wrongKey } from './limited.ts';

test('a principal has its limit in each minute; every answer says how many points are left, and 429 when to retry', async () => {
  const server = await limited({ QM_RATE_LIMIT_PRINCIPAL: '5' });
  const first = await list(server, server.admin);
  expect([first.headers.get('ratelimit-policy'), first.headers.get('ratelimit')]).toEqual([
    '"principal";q=5;w=60',
    '"principal";r=4;t=60',
  ]);
  server.travel(10_000);
  // Refused requests count too.
  const missing = await server.call('GET', '/v1/providers/none', { as: server.admin });
  expect([missing.status, missing.headers.get('ratelimit')]).toEqual([404, '"principal";r=3;t=50']);
  expect(await times(3, () => list(server, server.admin))).toEqual([200, 200, 200]);
  const refused = await list(server, server.admin);
  expectProblem(refused, 429, 'rate_limited');
  expect([refused.headers.get('retry-after'), refused.headers.get('ratelimit')]).toEqual([
    '50',
    '"principal";r=0;t=50',
  ]);
  server.travel(50_000);
  expect((await list(server, server.admin)).status).toBe(200);
});

test('all accounts of a tenant share its limit, which a platform administrator sets', async () => {
  const server = await limited({});
  const one = await accountWithKey(server, { tenantId: 'acme' });
  const other = await accountWithKey(server, { tenantId: 'acme' });
  const stranger = await accountWithKey(server, { tenantId: 'globex' });
  const setLimit = (requestsPerMinute: number | null) =>
    server.ok('PUT', '/v1/tenants/acme/limits', { as: server.admin, body: { requestsPerMinute } });
  expect(await setLimit(10)).toMatchObject({ requestsPerMinute: { used: 0, limit: 10 } });
  expect(await times(5, () => list(server, { key: one.key }))).toEqual(repeated([5, 200]));
  expect(await times(6, () => list(server, { key: other.key }))).toEqual(repeated([5, 200], [1, 429]));
  const refused = await list(server, { key: one.key });
  expectProblem(refused, 429, 'rate_limited');
  expect(refused.headers.get('ratelimit-policy')).toBe('"tenant";q=10;w=60');
  expect((await list(server, { key: stranger.key })).status).toBe(200);
  expect(await setLimit(12)).toMatchObject({ requestsPerMinute: { used: 10, limit: 12 } });
  expect(await times(3, () => list(server, { key: one.key }))).toEqual(repeated([2, 200], [1, 429]));
});

test('all keys of an account share one limit; another account has another one', async () => {
  const server = await limited({ QM_RATE_LIMIT_PRINCIPAL: '10' });
  const one = await accountWithKey(server, { tenantId: 'acme' });
  const other = await accountWithKey(server, { tenantId: 'acme' });
  const path = `/v1/service-accounts/${one.id}/keys?tenant_id=acme`;
  const { key } = await server.ok('POST', path, { as: server.admin, body: { scopes: ['*'] } });
  expect(await times(10, () => list(server, { key: one.key }))).toEqual(repeated([10, 200]));
  expect((await list(server, { key })).status).toBe(429);
  expect((await list(server, { key: other.key })).status).toBe(200);
});

test('a write refused with 429 changes nothing, and its Idempotency-Key can be used again', async () => {
  const server = await limited({ QM_RATE_LIMIT_PRINCIPAL: '2' });
  const headers = { 'idempotency-key': 'one' };
  const create = () => server.call('POST', '/v1/tenants', { as: server.admin, headers, body: { id: 'late' } });
  await times(2, () => list(server, server.admin));
  expect((await create()).status).toBe(429);
  server.travel(60_000);
  const made = await create();
  expect([made.status, made.headers.get('idempotency-replayed')], made.text).toEqual([200, null]);
});

test('guessing keys is 429 without a database query; valid keys that were used from the address before still work', async () => {
  const server = await limited({ QM_RATE_LIMIT_ADDRESS: '10' });
  const { key } = await accountWithKey(server, { tenantId: 'acme' });
  expect((await list(server, wrongKey())).status).toBe(401);
  expect((await list(server, { key })).status).toBe(200);
  const answers = await times(12, () => list(server, wrongKey()));
  expect(answers).toEqual(repeated([9, 401], [3, 429]));
  const last = await list(server, wrongKey());
  expect(last.headers.get('ratelimit-policy')).toBe('"address";q=10;w=60');
  expect(last.headers.get('retry-after')).toBe('60');
  // This key was used before. A valid key that was not used before is refused like a guess.
  expect((await list(server, { key })).status).toBe(200);
  const { id } = await accountWithKey(server, { tenantId: 'acme' });
  const unseen = await server.ok('POST', `/v1/service-accounts/${id}/keys?tenant_id=acme`, {
    as: server.admin,
    body: { scopes: ['providers:read'] },
  });
  expect((await list(server, { key: unseen.key })).status).toBe(429);
  const { db } = server.services;
  await db.destroy();
  expect((await list(server, wrongKey())).status).toBe(429);
});

test('regression: a sender with a wrong key does not keep a new key or a new session of the console out', async () => {
  const server = await limited({ QM_RATE_LIMIT_ADDRESS: '20' });
  const { key } = await accountWithKey(server, { tenantId: 'acme' });
  const person = await memberWithToken(server, { tenantId: 'acme' }, 'viewer');
  const wrong = wrongKey();
  // The requests above count as well.
  server.travel(60_000);
  expect(await times(22, () => list(server, wrong))).toEqual(repeated([20, 401], [2, 429]));
  const browser = await signedInBrowser(server, person.email);
  expect((await browser.call('GET', '/v1/me')).status).toBe(200);
  expect((await list(server, { key })).status).toBe(200);
  // A request without a credential takes nothing from the limit of new ones, and neither does what was refused before.
  expect(await times(3, () => list(server, null))).toEqual(repeated([3, 429]));
  expect(await times(3, () => list(server, wrong))).toEqual(repeated([3, 429]));
  const another = await accountWithKey(server, { tenantId: 'acme' });
  expect((await list(server, { key: another.key })).status).toBe(200);
});

test('a valid key that was used from the address before still works with other cookies', async () => {
  const server = await limited({ QM_RATE_LIMIT_ADDRESS: '3' });
  const { key } = await accountWithKey(server, { tenantId: 'acme' });
  const ask = (cookie: string) => server.call('GET', '/v1/providers', { as: { key }, headers: { cookie } });
  expect((await ask('theme=dark')).status).toBe(200);
  expect(await times(4, () => list(server, wrongKey()))).toEqual(repeated([3, 401], [1, 429]));
  expect((await ask('theme=light')).status).toBe(200);
});

test('a valid key counts as a guess after its revocation', async () => {
  const server = await limited({ QM_RATE_LIMIT_ADDRESS: '5' });
  const { id, key, keyId } = await accountWithKey(server, { tenantId: 'acme' });
  await list(server, wrongKey());
  expect((await list(server, { key })).status).toBe(200);
  await server.ok('DELETE', `/v1/service-accounts/${id}/keys/${keyId}?tenant_id=acme`, { as: server.admin });
  expect(await times(6, () => list(server, { key }))).toEqual(repeated([4, 401], [2, 429]));
});

test('requests without credentials count for their address, or for the /64 network with IPv6', async () => {
  const server = await limited({ QM_RATE_LIMIT_ADDRESS: '4', QM_TRUSTED_PROXIES: 'loopback', QM_DEV_IDENTITY: '0' });
  const from = (address: string) => () =>
    server.call('GET', '/v1/providers', { headers: { 'x-forwarded-for': address } });
  expect(await times(6, from('203.0.113.1'))).toEqual(repeated([4, 401], [2, 429]));
  expect(await times(1, from('203.0.113.2'))).toEqual([401]);
  expect(await times(2, from('2001:db8::1'))).toEqual([401, 401]);
  expect(await times(3, from('2001:db8::2'))).toEqual([401, 401, 429]);
});

test('telemetry has a separate limit, and its refusal is a google.rpc.Status with Retry-After', async () => {
  const server = await limited({ QM_RATE_LIMIT_INGEST: '3', QM_RATE_LIMIT_PRINCIPAL: '2' });
  const { key } = await accountWithKey(server, { tenantId: 'acme' });
  const send = () => server.call('POST', '/v1/traces', { as: { key }, body: { resourceSpans: [] } });
  expect(await times(3, send)).toEqual([200, 200, 200]);
  const refused = await send();
  expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([429, 8, '60']);
  expect(refused.headers.get('ratelimit')).toBe('"ingest";r=0;t=60');
  expect(await times(3, () => list(server, { key }))).toEqual([200, 200, 429]);
});

test('the same limits apply to tRPC, also to procedures without credentials', async () => {
  const server = await limited({ QM_RATE_LIMIT_PRINCIPAL: '2', QM_RATE_LIMIT_ADDRESS: '3' });
  const ask = () => server.call('GET', '/trpc/providers.list?input=%7B%7D', { as: server.admin });
  const first = await ask();
  expect([first.status, first.headers.get('ratelimit')], first.text).toEqual([200, '"principal";r=1;t=60']);
  expect((await list(server, server.admin)).status).toBe(200);
  const refused = await ask();
  expect([refused.status, refused.body.error.data.code]).toEqual([429, 'rate_limited']);
  expect(refused.body.error.data.instance).toBe(refused.headers.get('x-request-id'));
  expect(refused.headers.get('retry-after')).toBe('60');

  const register = (email: string) =>
    server.call('POST', '/trpc/onboarding.register', { body: { body: { user: { email } } } });
  const statuses = [];
  for (let index = 0; index < 5; index += 1) statuses.push((await register(`u${index}@example.com`)).status);
  expect(statuses).toEqual([200, 200, 200, 429, 429]);
});

test.each([
  ['a batch under an encoded name', 'GET', 'providers.list?b%61tch=1', {}],
  ['malformed parameters of a connection', 'GET', 'providers.list?connectionParams=x', {}],
  ['a malformed input', 'GET', 'providers.list?input=%7B', {}],
  ['a streamed answer', 'GET', 'providers.list', { 'trpc-accept': 'application/jsonl' }],
  ['a streamed answer by Accept', 'GET', 'providers.list', { accept: 'application/jsonl' }],
  ['a media type that begins like JSON', 'POST', 'providers.create', { 'content-type': 'application/jsonx' }],
])(
  'regression: a request that tRPC would refuse before the procedure counts against a limit: %s',
  async (_, method, call, headers) => {
    const server = await limited({ QM_RATE_LIMIT_ADDRESS: '2', QM_RATE_LIMIT_PUBLIC: '2' });
    const ask = () => server.call(method, `/trpc/${call}`, { headers, ...(method === 'POST' && { raw: '{}' }) });
    const statuses = await times(4, ask);
    expect(statuses.slice(0, 2)).not.toContain(429);
    expect(statuses.slice(2)).toEqual([429, 429]);
  },
);

test('registration has the strictest limit, and the creation of an organization a separate one', async () => {
  const server = await limited({ QM_RATE_LIMIT_REGISTRATION: '2' });
  const { token } = await registeredUser(server);
  const register = (email: string) => server.call('POST', '/v1/onboarding/register', { body: { user: { email } } });
  expect((await register('a@example.com')).headers.get('ratelimit-policy')).toBe('"address";q=300;w=60');
  const refused = await register('b@example.com');
  expectProblem(refused, 429, 'rate_limited');
  expect(refused.headers.get('ratelimit-policy')).toBe('"registration";q=2;w=60');
  const found = () =>
    server.call('POST', '/v1/onboarding/organization', {
      as: { token },
      body: { organization: { displayName: 'o' } },
    });
  expect(await times(12, found)).toEqual(repeated([1, 200], [9, 409], [2, 429]));
});

test('regression: public paths and paths that do not exist have a separate limit for each address', async () => {
  const trusted = { QM_TRUSTED_PROXIES: 'loopback', QM_DEV_IDENTITY: '0' };
  const server = await limited({ QM_RATE_LIMIT_PUBLIC: '4', QM_RATE_LIMIT_ADDRESS: '1', ...trusted });
  const paths = ['/.well-known/jwks.json', '/docs', '/none', '/v1/none', '/v1', '/trpc/a,b', '/'];
  for (const [index, path] of paths.entries()) {
    const headers = { 'x-forwarded-for': `203.0.113.${index}` };
    // Some of these paths are not in the OpenAPI document.
    const ask = () => server.call('GET', path, { headers, unchecked: true });
    const within = await times(4, ask);
    expect(within, path).not.toContain(429);
    const refused = await ask();
    expectProblem(refused, 429, 'rate_limited');
    expect([refused.headers.get('ratelimit-policy'), refused.headers.get('retry-after')]).toEqual([
      '"public";q=4;w=60',
      '60',
    ]);
  }
  // Requests without credentials still count for their own limit.
  const as = { headers: { 'x-forwarded-for': '203.0.113.1' } };
  expect(await times(2, () => server.call('GET', '/v1/providers', as))).toEqual([401, 429]);
});

test.each(['http://', 'http://[/v1/providers', 'http://[/trpc/providers.list'])(
  'regression: a request for a target that is not a URL counts, and its answer does not wait for the body: %s',
  async (target) => {
    const server = await limited({ QM_RATE_LIMIT_PUBLIC: '1' });
    const answers: string[] = [];
    for (let turn = 0; turn < 2; turn += 1) {
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
      socket.write(`POST ${target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nConnection: close\r\n\r\n`);
      answers.push(await text(socket));
    }
    expect(answers[0]).toMatch(/^HTTP\/1\.1 400 [^]*request_malformed/);
    expect(answers[0]).toMatch(/^content-security-policy: /im);
    expect(answers[1]).toMatch(/^HTTP\/1\.1 429 [^]*rate_limited/);
  },
);

test('expensive public paths take more points: the OpenAPI document, and the files of the API reference', async () => {
  const server = await limited({ QM_RATE_LIMIT_PUBLIC: '100' });
  const left = async (path: string) => (await server.call('GET', path)).headers.get('ratelimit');
  expect(await left('/.well-known/jwks.json')).toBe('"public";r=99;t=60');
  expect(await left('/openapi.json')).toBe('"public";r=79;t=60');
  expect(await left('/docs/init.js')).toBe('"public";r=74;t=60');
});

test.each([
  ['/openapi.json', '/openapi.json/'],
  ['/openapi.json', '/OpenAPI.json'],
  ['/docs/init.js', '/DOCS/init.js'],
  ['/console/sign-in', '/console/sign-in/'],
  ['/console/callback', '/Console/Callback'],
])('another spelling of %s costs as much: %s', async (path, spelling) => {
  const server = await limited({ QM_RATE_LIMIT_PUBLIC: '1000' });
  const left = (asked: string) => pointsLeft(server.call('GET', asked, { unchecked: true }));
  const cost = 1000 - (await left(path));
  expect(cost).toBeGreaterThan(1);
  expect(await left(spelling)).toBe(1000 - 2 * cost);
});

test('probes are never refused: /healthz is not counted, and /readyz repeats its last answer beyond the limit', async () => {
  const server = await limited({ QM_RATE_LIMIT_PUBLIC: '2' });
  expect(await times(4, () => server.call('GET', '/healthz'))).toEqual([200, 200, 200, 200]);
  expect((await server.call('GET', '/healthz')).headers.get('ratelimit')).toBeNull();
  expect(await times(4, () => server.call('GET', '/readyz'))).toEqual([200, 200, 200, 200]);
  expect((await server.call('GET', '/readyz')).headers.get('ratelimit')).toBe('"public";r=0;t=60');
});

test('if a request costs more points than the limit, one request is still allowed', async () => {
  const server = await limited({ QM_RATE_LIMIT_PRINCIPAL: '3' });
  const sync = () => server.call('POST', '/v1/providers/none/sync', { as: server.admin });
  expect(await times(2, sync)).toEqual([404, 429]);
  expect((await list(server, server.admin)).status).toBe(429);
});

test('without rate limits nothing is counted, and answers have no RateLimit headers', async () => {
  const server = await limited({ QM_RATE_LIMITS: 'off', QM_RATE_LIMIT_PRINCIPAL: '1', QM_RATE_LIMIT_ADDRESS: '1' });
  expect(await times(3, () => list(server, server.admin))).toEqual([200, 200, 200]);
  expect(await times(3, () => list(server, null))).toEqual([401, 401, 401]);
  expect((await list(server, server.admin)).headers.get('ratelimit')).toBeNull();
});
