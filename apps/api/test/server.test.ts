import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { freePort } from '@quartermaster/db/testing/free-port.ts';
import { ROOT } from '../src/config.ts';
import { startTestServer, type TestServer } from './support/server.ts';
import { wire } from './support/wire.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const PUBLIC = ['/healthz', '/readyz', '/.well-known/jwks.json', '/openapi.json', '/docs/', '/docs/init.js'];
const ASSETS = ['/docs/swagger-ui.css', '/docs/swagger-ui-bundle.js', '/docs/favicon-32x32.png', '/favicon.ico'];

test.each([...PUBLIC, ...ASSETS])('%s is answered without credentials and with any credentials', async (path) => {
  expect((await server.call('GET', path)).status).toBe(200);
  const wrong = { 'x-api-key': 'wrong', authorization: 'Basic wrong' };
  expect((await server.call('GET', path, { headers: wrong })).status).toBe(200);
  expect((await server.call('HEAD', path)).status).toBe(200);
});

test('regression: /favicon.ico is an icon, which browsers ask for with every page that names none', async () => {
  const answer = await fetch(`${server.url}/favicon.ico`);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/x-icon']);
  // An icon file with one image.
  expect([...new Uint8Array(await answer.arrayBuffer()).slice(0, 6)]).toEqual([0, 0, 1, 0, 1, 0]);
});

test('a healthy server answers 200 for health and readiness', async () => {
  expect((await server.call('GET', '/healthz')).body).toEqual({ status: 'ok' });
  expect((await server.call('GET', '/readyz')).body).toEqual({ status: 'ready' });
  for (const path of ['/healthz', '/readyz']) {
    const { headers } = await server.call('GET', path);
    expect(headers.get('cache-control')).toBe('no-store');
  }
});

test('while its database is unreachable the server is healthy but not ready', async () => {
  const other = await startTestServer();
  onTestFinished(() => other.stop());
  await other.services.db.destroy();
  const answer = await other.call('GET', '/readyz');
  expect([answer.status, answer.body]).toEqual([503, { status: 'not ready' }]);
  expect((await other.call('GET', '/healthz')).status).toBe(200);
});

test('the server is not ready while it shuts down', async () => {
  const other = await startTestServer();
  const { hostname, port } = new URL(other.url);
  const socket = connect(Number(port), hostname);
  let text = '';
  const until = (enough: () => boolean) =>
    new Promise<void>((resolve, reject) => {
      const look = () => enough() && resolve();
      socket.on('data', look).on('error', reject);
      look();
    });
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  // The answer to the first request proves that the beginning of the second has arrived too.
  socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /readyz HTTP/1.1\r\nHost: x\r\n');
  await until(() => text.includes('"ok"'));
  const stopped = other.stop();
  socket.write('\r\n');
  await until(() => text.includes('"not ready"'));
  expect(text).toContain('HTTP/1.1 503');
  await stopped;
});

test('the key set contains only public keys, and may be cached', async () => {
  const { body, headers } = await server.call('GET', '/.well-known/jwks.json');
  expect(body.keys.length).toBeGreaterThan(0);
  for (const key of body.keys) {
    expect(key).toMatchObject({ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig', kid: expect.any(String) });
    expect(Object.keys(key)).not.toContain('d');
  }
  expect(headers.get('cache-control')).toMatch(/max-age=\d+/);
});

describe('headers', () => {
  const answers = [
    ...PUBLIC,
    ...ASSETS,
    '/docs',
    '/nothing',
    '/v1/nothing',
    '/v1/providers',
    '/trpc/providers.list',
    '/trpc/nothing',
    '/%',
    '//',
    '/docs/package.json',
    '/v1/providers?limit=abc',
  ];

  test.each(answers)('%s has the security headers, and no header that names the software', async (path) => {
    const { headers } = await server.call('GET', path, { as: server.admin });
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('strict-transport-security')).toMatch(/^max-age=\d{7,}/);
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/https?:|\*|unsafe-eval/);
    expect(policy).not.toMatch(/script-src[^;]*unsafe-inline/);
    expect(headers.get('x-powered-by')).toBeNull();
    expect(headers.get('server')).toBeNull();
    expect(headers.get('access-control-allow-origin')).toBeNull();
  });

  test.each([
    '/v1/providers',
    '/v1/nothing',
    '/trpc/providers.list',
    '/trpc/nothing',
    '/console/assets/none.js',
    '/nothing',
  ])('the answer of %s is never cached', async (path) => {
    expect((await server.call('GET', path, { as: server.admin })).headers.get('cache-control')).toBe('no-store');
  });

  test.each(['abc', 'A.b_c-1', 'x'.repeat(128), '0'])('a well-formed X-Request-Id is kept: %.20s', async (id) => {
    for (const path of ['/healthz', '/v1/providers', '/v1/nothing', '/trpc/providers.list']) {
      const answer = await server.call('GET', path, { headers: { 'x-request-id': id } });
      expect(answer.headers.get('x-request-id')).toBe(id);
      const problem = answer.body.error?.data ?? answer.body;
      if (answer.status !== 200) expect(problem.instance).toBe(id);
    }
  });

  test.each(['', ' ', 'a b', 'é', 'x'.repeat(129), '{}', 'a,b', '<script>'])(
    'a malformed X-Request-Id is replaced: %#',
    async (id) => {
      const { headers } = await wire(server.url, { target: '/healthz', headers: { 'x-request-id': id } });
      expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    },
  );

  test('a repeated X-Request-Id is replaced, and each request has a different id', async () => {
    const twice = await wire(server.url, { target: '/healthz', headers: { 'x-request-id': ['a', 'b'] } });
    expect(twice.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    const ids = await Promise.all(
      Array.from({ length: 20 }, async () => (await server.call('GET', '/healthz')).headers.get('x-request-id')),
    );
    expect(new Set(ids).size).toBe(20);
  });
});

test('the address of the server redirects to the API reference', async () => {
  const answer = await server.call('GET', '/');
  expect([answer.status, answer.headers.get('location')]).toEqual([302, '/docs']);
});

test.each([
  '/index.html',
  '/nothing',
  '/metrics',
  '/.well-known/openid-configuration',
  '/.env',
  '/data/quartermaster.db',
])('%s does not exist, and is answered with the problem 404', async (path) => {
  const answer = await server.call('GET', path);
  expect(answer.status).toBe(404);
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  expect(answer.body).toEqual({
    type: 'urn:quartermaster:problem:route_not_found',
    title: 'Path not found',
    status: 404,
    detail: 'There is nothing at this path.',
    instance: answer.headers.get('x-request-id'),
    code: 'route_not_found',
  });
});

test('the API reference and everything that it loads come from this server', async () => {
  const page = await server.call('GET', '/docs/');
  expect(page.headers.get('content-type')).toMatch(/^text\/html/);
  const loaded = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = '']) => address);
  expect(loaded).toHaveLength(4);
  expect(page.text).not.toMatch(/https?:|\/\/|<style|\son\w+=/);
  for (const address of loaded) {
    const asset = await server.call('GET', new URL(address, `${server.url}/docs/`).pathname);
    expect(asset.status, address).toBe(200);
    // Links and namespaces may name other hosts, but nothing may load from there.
    expect(asset.text).not.toMatch(
      /(?:\bsrc=|fetch\(|import\(|importScripts\(|WebSocket\(|EventSource\()\s*["'`]https?:/,
    );
    expect(asset.text).not.toMatch(/@import\s|url\(\s*["']?(?:https?:)?\/\//);
  }
  expect((await server.call('GET', '/docs/init.js')).text).toContain('"url":"/openapi.json"');
});

describe('metrics', () => {
  test('are served by operation and status on a separate port, and not on the port of the API', async () => {
    const port = await freePort();
    const other = await startTestServer({ QM_METRICS_PORT: String(port) });
    onTestFinished(() => other.stop());
    await other.ok('GET', '/v1/providers', { as: other.admin });
    await other.call('GET', '/v1/providers');
    const { status, text, headers } = await wire(`http://127.0.0.1:${port}`, { target: '/metrics' });
    expect([status, headers['content-type']]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
    const count = 'quartermaster_http_request_duration_seconds_count';
    expect(text).toContain(`${count}{operation="list_providers",status="200"} 1`);
    expect(text).toContain(`${count}{operation="list_providers",status="401"} 1`);
    expect(text).toContain('quartermaster_refused_credentials_total{reason="credentials_missing"} 1');
    expect(text).toContain('process_cpu_seconds_total');
    expect((await wire(`http://127.0.0.1:${port}`, { target: '/v1/providers' })).status).toBe(404);
    expect((await other.call('GET', '/metrics')).status).toBe(404);
  });

  test('regression: counters that alerts watch begin with 0, because Prometheus does not see the first value as an increase', async () => {
    const port = await freePort();
    const other = await startTestServer({ QM_METRICS_PORT: String(port) });
    onTestFinished(() => other.stop());
    const { text } = await wire(`http://127.0.0.1:${port}`, { target: '/metrics' });
    expect(text.split('\n')).toEqual(
      expect.arrayContaining([
        'quartermaster_refused_connections_total{reason="address"} 0',
        'quartermaster_spans_total{outcome="rejected"} 0',
        'quartermaster_unobserved_subjects_total{full="tenant"} 0',
        'quartermaster_unobserved_subjects_total{full="account"} 0',
      ]),
    );
  });

  test('the alert rules and the page on debugging name metrics that exist, and the page names all of them', async () => {
    const [rules, page] = await Promise.all(
      ['docs/alerts.yml', 'docs/debugging.md'].map((file) => readFile(join(ROOT, file), 'utf8')),
    );
    const namesIn = (text = '') =>
      new Set(text.match(/\bquartermaster_\w+/g)?.map((name) => name.replace(/_count$/, '')));
    const metrics = server.services.metrics.registry.getMetricsAsArray();
    const own = metrics.map(({ name }) => name).filter((name) => name.startsWith('quartermaster_'));
    expect([...namesIn(page)].toSorted()).toEqual(own.toSorted());
    expect(own).toEqual(expect.arrayContaining([...namesIn(rules)]));
  });

  test('regression: are served only for known Host headers, because any name may resolve to loopback, and never for two Hosts', async () => {
    const port = await freePort();
    const other = await startTestServer({ QM_METRICS_PORT: String(port), QM_METRICS_HOSTS: 'Metrics.internal' });
    onTestFinished(() => other.stop());
    const askedAs = async (...hosts: string[]) => {
      const socket = connect(port, '127.0.0.1');
      socket.write(
        `GET /metrics HTTP/1.1\r\n${hosts.map((host) => `Host: ${host}\r\n`).join('')}Connection: close\r\n\r\n`,
      );
      return Number(/^HTTP\/1\.1 (\d+) /.exec(await textOf(socket))?.[1]);
    };
    const known = [
      `127.0.0.1:${port}`,
      'localhost',
      'LOCALHOST:1',
      `[::1]:${port}`,
      '127.8.8.8',
      'metrics.internal:80',
    ];
    for (const host of known) expect(await askedAs(host), host).toBe(200);
    const others = [
      'attacker.example',
      `attacker.example:${port}`,
      '127.0.0.1.nip.io',
      'localhost.example',
      '10.0.0.1',
      'attacker.example@localhost',
      'localhost/attacker.example',
      '',
    ];
    for (const host of others) expect(await askedAs(host), host).toBe(421);
    expect(await askedAs('localhost', 'localhost')).toBe(400);
  });

  test('if their port is in use, the service starts without metrics', async () => {
    const { port } = new URL(server.url);
    const other = await startTestServer({ QM_METRICS_PORT: port });
    onTestFinished(() => other.stop());
    expect((await other.call('GET', '/readyz')).status).toBe(200);
  });

  test('stop when the service stops', async () => {
    const port = await freePort();
    const other = await startTestServer({ QM_METRICS_PORT: String(port) });
    await other.stop();
    await expect(wire(`http://127.0.0.1:${port}`, { target: '/metrics' })).rejects.toMatchObject({
      code: 'ECONNREFUSED',
    });
  });
});
