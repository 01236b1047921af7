import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountWithKey } from './support/people.ts';
import { startTestServer, type TestServer } from './support/server.ts';
import { wire } from './support/wire.ts';

const PATH = '/v1/providers';

let server: TestServer;
let key: string;
let token: string;

beforeAll(async () => {
  server = await startTestServer();
  ({ key } = await accountWithKey(server, { tenantId: 'acme' }));
  ({ token } = await server.tokenOf('admin@example.com'));
});
afterAll(() => server.stop());

test('a key as a bearer token, and a token as a key, are 401', async () => {
  expect((await server.call('GET', PATH, { as: { token: key } })).status).toBe(401);
  expect((await server.call('GET', PATH, { as: { key: token } })).status).toBe(401);
});

test('several credentials in one request are 400, also if all of them are valid', async () => {
  const bearer = `Bearer ${token}`;
  const several: Record<string, string | string[]>[] = [
    { 'x-api-key': key, authorization: bearer },
    { 'x-api-key': 'x', authorization: 'Basic eDp5' },
    { 'x-api-key': [key, key] },
    { 'x-api-key': [key, 'x'] },
    { authorization: [bearer, bearer] },
    { authorization: [bearer, 'Basic eDp5'] },
    { authorization: bearer, 'x-api-key': '' },
  ];
  for (const headers of several) {
    for (const target of [PATH, '/trpc/providers.list?input=%7B%7D']) {
      const answer = await wire(server.url, { target, headers });
      const body = JSON.parse(answer.text);
      expect([answer.status, (body.error?.data ?? body).code]).toEqual([400, 'credentials_ambiguous']);
    }
  }
});

test.each([
  'Basic cW06cW0=',
  'Digest username="x"',
  'ApiKey x',
  'Bearer',
  'Bearer ',
  'Bearer a b',
  'bearer,x',
  'Negotiate',
  'x',
  '',
])('an Authorization header without a bearer token is 401 with a challenge: %s', async (authorization) => {
  const answer = await wire(server.url, { target: PATH, headers: { authorization } });
  expect(answer.status).toBe(401);
  expect(answer.headers['www-authenticate']).toMatch(/^Bearer error="invalid_token"/);
  expect(JSON.parse(answer.text).code).toBe('credentials_invalid');
});

test.each(['bearer', 'BEARER', 'bEaReR'])('the authorization scheme is case-insensitive: %s', async (scheme) => {
  expect((await server.call('GET', PATH, { headers: { authorization: `${scheme} ${token}` } })).status).toBe(200);
});
