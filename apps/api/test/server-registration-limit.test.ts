import { expect, test } from 'vitest';
import { serverOfTest, type TestServer } from './support/server.ts';

const POINTS = 10;
let counter = 0;

async function limited(environment: Record<string, string> = {}): Promise<TestServer> {
  const server = await serverOfTest({ QM_RATE_LIMITS: 'on', QM_DEV_IDENTITY: '0', ...environment });
  // All requests are in one minute, even if the test is slow.
  server.freeze();
  return server;
}

/** Registers a new email address, as if through a proxy that adds X-Forwarded-For. */
async function register(server: TestServer, forwarded?: string): Promise<number> {
  counter += 1;
  const body = { user: { email: `somebody-${counter}@example.com` } };
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
  return (await server.call('POST', '/v1/onboarding/register', { body, headers })).status;
}

async function statuses(server: TestServer, addresses: (string | undefined)[]): Promise<number[]> {
  const found: number[] = [];
  for (const address of addresses) found.push(await register(server, address));
  return found;
}

function times<T>(count: number, value: T): T[] {
  return Array.from({ length: count }, () => value);
}

test('after ten registrations a minute an address gets 429 with Retry-After', async () => {
  const server = await limited();
  expect(await statuses(server, times(POINTS, undefined))).toEqual(times(POINTS, 200));
  const body = { user: { email: 'late@example.com' } };
  const answer = await server.call('POST', '/v1/onboarding/register', { body });
  expect([answer.status, answer.body.code]).toEqual([429, 'rate_limited']);
  const wait = Number(answer.headers.get('retry-after'));
  expect(wait).toBeGreaterThanOrEqual(1);
  expect(wait).toBeLessThanOrEqual(60);
  // The refused requests registered no user, and other operations still work.
  const found = await server.ok('GET', '/v1/users?email=late@example.com', { as: server.admin });
  expect(found.items).toEqual([]);
});

test('registration over tRPC has the same limit, and answers Retry-After', async () => {
  const server = await limited();
  await statuses(server, times(POINTS, undefined));
  const body = { body: { user: { email: 'late@example.com' } } };
  const answer = await server.call('POST', '/trpc/onboarding.register', { body });
  expect([answer.status, answer.body.error.data.code]).toEqual([429, 'rate_limited']);
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
});

test('malformed registrations do not count', async () => {
  const server = await limited();
  for (let count = 0; count < 2 * POINTS; count += 1) {
    expect((await server.call('POST', '/v1/onboarding/register', { body: { user: {} } })).status).toBe(422);
  }
  expect(await register(server)).toBe(200);
});

test('without trusted proxies X-Forwarded-For is ignored', async () => {
  const server = await limited();
  const addresses = Array.from({ length: POINTS + 2 }, (_, index) => `203.0.113.${index}`);
  expect(await statuses(server, addresses)).toEqual([...times(POINTS, 200), 429, 429]);
});

test('behind a trusted proxy each client has its own limit', async () => {
  const server = await limited({ QM_TRUSTED_PROXIES: '127.0.0.1' });
  expect(await statuses(server, times(POINTS + 1, '203.0.113.1'))).toEqual([...times(POINTS, 200), 429]);
  expect(await register(server, '203.0.113.2')).toBe(200);
});

test('behind a trusted proxy only addresses that trusted proxies added count, and not those that a client sent', async () => {
  const server = await limited({ QM_TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8' });
  const spoofed = Array.from({ length: POINTS + 1 }, (_, index) => `198.51.100.${index}, 203.0.113.1`);
  expect(await statuses(server, spoofed)).toEqual([...times(POINTS, 200), 429]);
  // The same client through a second trusted proxy.
  expect(await register(server, '203.0.113.1, 10.1.2.3')).toBe(429);
  expect(await register(server, '203.0.113.9, 10.1.2.3')).toBe(200);
});

test('all IPv6 addresses of a /64 network share one limit', async () => {
  const server = await limited({ QM_TRUSTED_PROXIES: 'loopback' });
  const same = Array.from({ length: POINTS + 1 }, (_, index) => `2001:db8:1:2:${index.toString(16)}::${index}`);
  expect(await statuses(server, same)).toEqual([...times(POINTS, 200), 429]);
  expect(await register(server, '2001:db8:1:3::1')).toBe(200);
});

test('an IPv4-mapped IPv6 address is the same as its IPv4 address', async () => {
  const server = await limited({ QM_TRUSTED_PROXIES: 'loopback' });
  const both = Array.from({ length: POINTS }, (_, index) => (index % 2 === 0 ? '203.0.113.7' : '::ffff:203.0.113.7'));
  expect(await statuses(server, both)).toEqual(times(POINTS, 200));
  expect([await register(server, '::ffff:203.0.113.7'), await register(server, '203.0.113.7')]).toEqual([429, 429]);
  expect(await register(server, '::ffff:203.0.113.8')).toBe(200);
});

test('the limit can be switched off for load tests', async () => {
  const server = await limited({ QM_RATE_LIMITS: 'off' });
  expect(await statuses(server, times(3 * POINTS, undefined))).toEqual(times(3 * POINTS, 200));
});
