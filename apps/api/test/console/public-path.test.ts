import { jwtVerify, createRemoteJWKSet } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Console } from '../../src/server/console/build.ts';
import { newBrowser } from '../support/browser.ts';
import { unique } from '../support/people.ts';
import { startPrefixProxy } from '../support/prefix-proxy.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

const PREFIX = '/tools/quartermaster';

const script = { contentType: 'text/javascript', variants: new Map([['identity' as const, Buffer.from('1')]]) };
const page = '<link href="/console/assets/a.css"><script src="/console/assets/a.js"></script>';
const BUILT: Console = {
  state: async () => ({ status: 'ready', files: { page, assets: new Map([['assets/a.js', script]]) } }),
  stop: async () => {},
};

describe.each([
  ['removes the prefix', true],
  ['keeps the prefix', false],
])('behind a proxy that %s', (_name, strips) => {
  let server: TestServer;
  let url: string;
  let close: () => void;

  beforeAll(async () => {
    const proxy = await startPrefixProxy(PREFIX, { strips });
    ({ url, close } = proxy);
    server = await startTestServer({ QM_PUBLIC_URL: `${url}/`, QM_DEV_IDENTITY: '1' }, { openConsole: () => BUILT });
    proxy.forwardTo(server.url);
  });
  afterAll(async () => {
    close();
    await server.stop();
  });

  const get = (path: string, key?: string) =>
    fetch(url + path, { redirect: 'manual', headers: key === undefined ? {} : { 'x-api-key': key } });

  test.each([
    ['', '/console/'],
    ['/', '/console/'],
    ['/console', '/console/'],
    ['/docs', '/docs/'],
  ])('%j redirects to %s below the prefix', async (path, end) => {
    const location = (await get(path)).headers.get('location') ?? '';
    expect(new URL(location, url + path).href).toBe(url + end);
  });

  test('the page of the console names its files below the prefix', async () => {
    const html = await (await get('/console/providers/p-1')).text();
    const named = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address);
    expect(named).toEqual([`${PREFIX}/console/assets/a.css`, `${PREFIX}/console/assets/a.js`]);
    expect(await (await get('/console/assets/a.js')).text()).toBe('1');
  });

  test('the API reference reads the document, and the document names the address', async () => {
    expect(await (await get('/docs/init.js')).text()).toContain(`"url":"${PREFIX}/openapi.json"`);
    const document = (await (await get('/openapi.json')).json()) as { servers: unknown };
    expect(document.servers).toEqual([{ url }]);
  });

  test('a person signs in, comes back to the page that they left, and signs out', async () => {
    const browser = newBrowser({ url });
    const back = encodeURIComponent(`${PREFIX}/console/inbox?view=new`);
    const secret = new URL(server.devSignIn?.link ?? '').searchParams.get('secret') ?? '';
    const form = await browser.open(`${url}/console/sign-in?returnTo=${back}`);
    const end = await browser.open(form.url, { form: { email: 'admin@example.com', secret } });
    expect(end.url).toBe(`${url}/console/inbox?view=new`);
    const me = await browser.call('GET', `${url}/v1/me`);
    expect([me.status, me.body]).toEqual([200, expect.objectContaining({ email: 'admin@example.com' })]);
    const [name] = [...browser.cookies.keys()].filter((each) => each.startsWith('quartermaster_session'));
    expect(name).toBe(`quartermaster_session_${new URL(url).port}_tools_quartermaster`);
    const out = await browser.call('POST', `${url}/console/sign-out`);
    expect(decodeURIComponent(String(out.body['location']))).toContain(`${url}/console/signed-out`);
    expect(await (await get('/console/signed-out')).text()).toContain(`href="${url}/console/sign-in?prompt=login"`);
  });

  test('a returnTo outside of the console ends at its start page', async () => {
    const browser = newBrowser({ url });
    await browser.open(server.devSignIn?.link ?? '');
    for (const outside of [`${PREFIX}/docs`, `${PREFIX}//evil.example/console/`, `${PREFIX}/console/../../other`]) {
      const end = await browser.open(`${url}/console/sign-in?returnTo=${encodeURIComponent(outside)}`);
      expect(end.url).toBe(`${url}/console/`);
    }
  });

  test('the token of a gateway session is verified by the key set of its issuer', async () => {
    const tenantId = unique('path');
    const as = server.admin;
    await server.ok('POST', '/v1/service-accounts', {
      as,
      body: { id: unique('agent'), name: 'Agent', tenantId, createTenant: 'always' },
    });
    const gateway = await server.ok('POST', '/v1/gateways', { as, body: { name: 'edge', tenantId, providerIds: [] } });
    const session = await server.ok('POST', `/v1/gateways/${gateway.id}/sessions`, { as, body: {} });
    const keys = createRemoteJWKSet(new URL(`${url}/.well-known/jwks.json`));
    const { payload } = await jwtVerify(session.token, keys);
    expect(payload.iss).toBe(url);
  });

  test('agents send telemetry to the address', async () => {
    const answer = await fetch(`${url}/v1/traces`, {
      method: 'POST',
      headers: { 'x-api-key': server.admin.key, 'content-type': 'application/json' },
      body: '{"resourceSpans":[]}',
    });
    expect(answer.status).toBe(200);
  });
});
