import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createHttpSession } from '../src/http-session.ts';
import type { DevServer } from './server.ts';
import { authorizationUrl, createPkce, open, rawRequest, startServer, unlockedBrowser } from './server.ts';

let server: DevServer;
let port: string;
let discovery: string;

beforeAll(async () => {
  server = await startServer();
  ({ port } = new URL(server.origin));
  discovery = `${server.issuer}/.well-known/openid-configuration`;
});
afterAll(() => server.close());

describe('the Host header', () => {
  test.each(['evil.example', 'evil.example:PORT', '127.0.0.1', '127.0.0.1:1', '127.0.0.1:PORT.evil.example'])(
    '"%s" is refused',
    async (host) => {
      const answer = await rawRequest(discovery, { headers: { host: host.replace('PORT', port) } });
      expect(answer.status).toBe(403);
      expect(answer.headers['content-type']).toMatch(/^text\/plain/);
      expect(answer.body).toMatch(/Host/);
    },
  );

  test.each(['127.0.0.1:PORT', 'localhost:PORT', 'LocalHost:PORT'])('"%s" is served', async (host) => {
    const answer = await rawRequest(discovery, { headers: { host: host.replace('PORT', port) } });
    expect(answer.status).toBe(200);
  });
});

test('a request without a Host is refused', async () => {
  const socket = connect(Number(port), '127.0.0.1');
  socket.end('GET /oidc/.well-known/openid-configuration HTTP/1.0\r\n\r\n');
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 403 /);
});

test.each([
  'Forwarded',
  'X-Forwarded-For',
  'X-Forwarded-Host',
  'X-Forwarded-Proto',
  'x-forwarded-anything',
  'X-Real-IP',
  'Via',
])('a request with %s is refused', async (name) => {
  const answer = await rawRequest(discovery, { headers: { [name]: '127.0.0.1' } });
  expect(answer.status).toBe(403);
  expect(answer.body).toMatch(/forwarded/);
});

describe('a form from another origin', () => {
  const foreign: [string, Record<string, string>][] = [
    ['Sec-Fetch-Site cross-site', { 'sec-fetch-site': 'cross-site' }],
    ['Sec-Fetch-Site same-site', { 'sec-fetch-site': 'same-site' }],
    ['a foreign Origin', { origin: 'https://evil.example' }],
    ['the Origin of another port', { origin: 'http://127.0.0.1:1' }],
    ['the Origin null', { origin: 'null' }],
  ];

  test.each(foreign)('is refused on the sign-in page: %s', async (_name, headers) => {
    const browser = await unlockedBrowser(server);
    const page = await open(browser, authorizationUrl(server.issuer, createPkce()));
    const refused = await browser.post(page.url, { email: 'admin@example.com' }, headers);
    expect(refused.status).toBe(403);
    expect(refused.headers.get('location')).toBeNull();
    const own = { origin: server.origin, 'sec-fetch-site': 'same-origin' };
    expect((await browser.post(page.url, { email: 'admin@example.com' }, own)).status).toBe(303);
  });

  test.each(foreign)('is refused on the device page: %s', async (_name, headers) => {
    for (const path of ['/device', '/DEVICE', '/device/']) {
      const response = await createHttpSession().post(`${server.issuer}${path}`, { user_code: 'x' }, headers);
      expect(response.status).toBe(403);
    }
  });
});

test('a sign-in page is shown only to the browser that started the sign-in', async () => {
  const page = await open(createHttpSession(), authorizationUrl(server.issuer, createPkce()));
  for (const response of [
    await createHttpSession().get(page.url),
    await createHttpSession().post(page.url, { email: 'admin@example.com' }),
  ]) {
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('expired');
  }
});

test('a body that is too long or not a form is refused', async () => {
  const browser = await unlockedBrowser(server);
  const page = await open(browser, authorizationUrl(server.issuer, createPkce()));
  expect((await browser.post(page.url, { email: 'x'.repeat(100_000) })).status).toBe(400);
  expect((await browser.post(page.url, { email: 'a@b.c' }, { 'content-type': 'application/json' })).status).toBe(400);
});
