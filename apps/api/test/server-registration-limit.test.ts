import { expect, onTestFinished, test } from 'vitest';
import { startTestServer, type TestServer } from './support/server.ts';

const POINTS = 10;
let counter = 0;

async function limited(environment: Record<string, string> = {}): Promise<TestServer> {
  const server = await startTestServer({ QM_RATE_LIMITS: 'on', QM_DEV_IDENTITY: '0', ...environment });
  onTestFinished(() => server.stop());
  // Within one minute, however long the test takes.
  server.freeze();
  return server;
}

/** Registers somebody new, as if through a proxy that says where the request came from. */
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
  // Nobody was registered by it, and everything else goes on.
  const found = await server.ok('GET', '/v1/users?email=late@example.com', { as: server.admin });
  expect(found.items).toEqual([]);
});

test('registration over tRPC counts against the same limit, and says when to come back', async () => {
  const server = await limited();
  await statuses(server, times(POINTS, undefined));
  const body = { body: { user: { email: 'late@example.com' } } };
  const answer = await server.call('POST', '/trpc/onboarding.register', { body });
  expect([answer.status, answer.body.error.data.code]).toEqual([429, 'rate_limited']);
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
});

test('registrations that are malformed do not use the limit up', async () => {
  const server = await limited();
  for (let count = 0; count < 2 * POINTS; count += 1) {
    expect((await server.call('POST', '/v1/onboarding/register', { body: { user: {} } })).status).toBe(422);
  }
  expect(await register(server)).toBe(200);
});

test('without trusted proxies X-Forwarded-For gives nobody a new address', async () => {
  const server = await limited();
  const addresses = Array.from({ length: POINTS + 2 }, (_, index) => `203.0.113.${index}`);
  expect(await statuses(server, addresses)).toEqual([...times(POINTS, 200), 429, 429]);
});

test('behind a trusted proxy each client has a limit of its own', async () => {
  const server = await limited({ QM_TRUSTED_PROXIES: '127.0.0.1' });
  expect(await statuses(server, times(POINTS + 1, '203.0.113.1'))).toEqual([...times(POINTS, 200), 429]);
  expect(await register(server, '203.0.113.2')).toBe(200);
});

test('behind a trusted proxy only what trusted proxies added counts: a client cannot put addresses before its own', async () => {
  const server = await limited({ QM_TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8' });
  const spoofed = Array.from({ length: POINTS + 1 }, (_, index) => `198.51.100.${index}, 203.0.113.1`);
  expect(await statuses(server, spoofed)).toEqual([...times(POINTS, 200), 429]);
  // Through a second trusted proxy it is the same client.
  expect(await register(server, '203.0.113.1, 10.1.2.3')).toBe(429);
  expect(await register(server, '203.0.113.9, 10.1.2.3')).toBe(200);
});

test('a subscriber with many IPv6 addresses has one limit for the /64', async () => {
  const server = await limited({ QM_TRUSTED_PROXIES: 'loopback' });
  const same = Array.from({ length: POINTS + 1 }, (_, index) => `2001:db8:1:2:${index.toString(16)}::${index}`);
  expect(await statuses(server, same)).toEqual([...times(POINTS, 200), 429]);
  expect(await register(server, '2001:db8:1:3::1')).toBe(200);
});

test('an IPv4 address written as an IPv6 one is the same address', async () => {
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
