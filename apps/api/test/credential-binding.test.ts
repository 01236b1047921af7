import { randomBytes } from 'node:crypto';
import { newTestDatabase } from '@quartermaster/db/testing/test-database.ts';
import { expect, onTestFinished, test } from 'vitest';
import { isBoundTo, isWithinBinding } from '../src/platform/outbound/credential-binding.ts';
import { LOOPBACK, type Peer, startPeer } from './inventory-sync/peers.ts';
import { accountWithKey, unique } from './support/people.ts';
import { type Body, serverOfTest, startTestServer, type TestServer } from './support/server.ts';

const SECRET = 'sk-bound-to-its-address';

/** An OpenAI-compatible server that lists nothing. */
function startVendor(): Promise<Peer> {
  return startPeer((_req, res) => void res.end('{"object":"list","data":[]}'));
}

function testServer(environment: Record<string, string> = {}): Promise<TestServer> {
  return serverOfTest({ ...LOOPBACK, ...environment }, { syncLimits: { attempts: 1 } });
}

type Bound = { tenantId: string; as: { key: string }; path: string; id: string; credential: Body };

/** A provider with a credential that was stored for this base URL. */
async function boundProvider(server: TestServer, baseUrl: string): Promise<Bound> {
  const tenantId = unique('bound');
  const { key } = await accountWithKey(server, { tenantId });
  const as = { key };
  const { id } = await server.ok('POST', '/v1/providers', { as, body: { name: 'llm', kind: 'llm', baseUrl } });
  const path = `/v1/providers/${id}`;
  const credential = await server.ok('PUT', `${path}/credential`, { as, body: { secret: SECRET } });
  return { tenantId, as, path, id, credential };
}

function secretsSeen({ requests }: Peer): string[] {
  return requests.flatMap(({ headers }) => Object.values(headers).map(String)).filter((text) => text.includes(SECRET));
}

test('regression: a change of the base URL to a path outside of the bound one detaches the credential', async () => {
  const [server, vendor] = [await testServer(), await startVendor()];
  const { tenantId, path, as, credential } = await boundProvider(server, `${vendor.url}/v1`);
  const operator = await accountWithKey(server, { tenantId }, ['providers:read', 'providers:write']);
  const asOperator = { key: operator.key };
  await server.ok('PUT', path, { as: asOperator, body: { baseUrl: `${vendor.url}/another-customer` } });
  await server.ok('POST', `${path}/sync`, { as: asOperator });
  expect(vendor.requests).toHaveLength(1);
  expect(secretsSeen(vendor)).toEqual([]);
  const { items } = await server.ok('POST', '/v1/credentials/search', { as, body: { kind: 'provider_secret' } });
  expect(items).toMatchObject([{ id: credential.id, status: 'revoked' }]);
  const events = await server.ok('GET', `/v1/audit-events?target_id=${credential.id}`, { as });
  expect(events.items[0]).toMatchObject({ operation: 'update_provider', changedFields: ['revokedAt'] });
});

test('a change of the base URL to a path below the bound one, and back, keeps the credential', async () => {
  const [server, vendor] = [await testServer(), await startVendor()];
  const { path, as } = await boundProvider(server, `${vendor.url}/v1/`);
  for (const baseUrl of [`${vendor.url}/v1/eu`, `${vendor.url}/v1`]) {
    await server.ok('PUT', path, { as, body: { baseUrl } });
    await server.ok('POST', `${path}/sync`, { as });
  }
  expect(vendor.requests.map(({ url }) => url)).toEqual(['/v1/eu/models', '/v1/models']);
  expect(secretsSeen(vendor)).toHaveLength(2);
});

test('a credential that was stored without a base URL is never sent', async () => {
  const [server, vendor] = [await testServer(), await startVendor()];
  const { as, path } = await boundProvider(server, vendor.url);
  await server.ok('PUT', path, { as, body: { baseUrl: null } });
  await server.ok('PUT', `${path}/credential`, { as, body: { secret: SECRET } });
  await server.ok('PUT', path, { as, body: { baseUrl: vendor.url } });
  await server.ok('POST', `${path}/sync`, { as });
  expect(secretsSeen(vendor)).toEqual([]);
});

test.each([
  ['https://a.example/v1', 'https://a.example/v1', true],
  ['https://a.example/v1', 'https://a.example/v1/', true],
  ['https://a.example/v1', 'https://a.example/v1/eu/west-1', true],
  ['https://a.example', 'https://a.example/anything', true],
  ['https://a.example/v1?tenant=a', 'https://a.example/v1?tenant=a', true],
  ['https://a.example/v1', 'https://a.example/v10', false],
  ['https://a.example/v1', 'https://a.example/', false],
  ['https://a.example/v1', 'https://a.example/v1/../v2', false],
  ['https://a.example/v1', 'https://a.example/v1/%2e%2e/v2', false],
  ['https://a.example/v1', 'https://a.example/v1/..%2fv2', false],
  ['https://a.example/v1', 'https://a.example/v1/%252e%252e/v2', false],
  ['https://a.example/v1', 'https://a.example/v1/..;/v2', false],
  ['https://a.example/v1', 'https://a.example/v1/..%5cv2', false],
  ['https://a.example/v1', 'https://a.example/v1//v2', false],
  ['https://a.example/v1', 'http://a.example/v1', false],
  ['https://a.example/v1', 'https://a.example:8443/v1', false],
  ['https://a.example/v1', 'https://a.example.b.example/v1', false],
  ['https://a.example/v1', 'https://a.example/v1?target=b', false],
  ['https://a.example/v1', null, false],
  [null, 'https://a.example/v1', false],
])('a credential bound to %s may be used at %s: %s', (boundUrl, baseUrl, allowed) => {
  expect(isBoundTo(boundUrl, baseUrl)).toBe(allowed);
});

test('a request may add a query, but not leave the bound path', () => {
  const within = (target: string) => isWithinBinding('https://a.example/v1', new URL(target));
  expect(within('https://a.example/v1/models?after=x')).toBe(true);
  expect(within('https://a.example/admin')).toBe(false);
  expect(within('https://b.example/v1/models')).toBe(false);
});

/** Changes by someone who can write to the database and has no key. */
const TAMPERINGS: [string, (stranger: string) => { provider?: object; credential?: object }][] = [
  ['the base URL', (url) => ({ provider: { base_url: url } })],
  ['the base URL and the binding', (url) => ({ provider: { base_url: url }, credential: { bound_url: url } })],
  ['the header', () => ({ credential: { header: 'X-Debug' } })],
];

test.each(TAMPERINGS)(
  'regression: after a change of %s in the database the sync fails, and the secret is not sent',
  async (_what, changes) => {
    const [server, vendor, stranger] = [await testServer(), await startVendor(), await startVendor()];
    const { id, as, path, credential } = await boundProvider(server, vendor.url);
    const { db } = server.services;
    const changed = changes(stranger.url);
    if (changed.provider) await db.updateTable('providers').set(changed.provider).where('id', '=', id).execute();
    if (changed.credential) {
      await db.updateTable('credentials').set(changed.credential).where('id', '=', credential.id).execute();
    }
    const answered = await server.call('POST', `${path}/sync`, { as });
    expect(answered.status).toBe(502);
    expect(answered.body.detail).toMatch(/stored for another address|cannot be opened/);
    expect([...vendor.requests, ...stranger.requests]).toEqual([]);
  },
);

test('the credential is not sent to another path to which the server redirects', async () => {
  const server = await testServer();
  const vendor = await startPeer((_req, res) => void res.writeHead(307, { location: '/collect' }).end());
  const { as, path } = await boundProvider(server, `${vendor.url}/v1`);
  expect((await server.call('POST', `${path}/sync`, { as })).status).toBe(502);
  expect(vendor.requests.map(({ url }) => url)).toEqual(['/v1/models']);
});

test('a change of the secret key keeps the binding of a credential to its address', async () => {
  const [vendor, stranger] = [await startVendor(), await startVendor()];
  const { url, remove } = await newTestDatabase('migrated');
  onTestFinished(() => remove());
  const start = (environment: Record<string, string>) =>
    startTestServer({ ...LOOPBACK, DATABASE_URL: url, ...environment }, { syncLimits: { attempts: 1 } });
  const [former, current] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];

  const first = await start({ QM_SECRET_KEY: former });
  const { id, as, path, credential } = await boundProvider(first, `${vendor.url}/v1`);
  await first.stop();
  await (await start({ QM_SECRET_KEY: current, QM_SECRET_KEY_PREVIOUS: former })).stop();

  const last = await start({ QM_SECRET_KEY: current });
  onTestFinished(() => last.stop());
  await last.ok('POST', `${path}/sync`, { as });
  expect(secretsSeen(vendor)).toHaveLength(1);
  const { db } = last.services;
  await db.updateTable('providers').set({ base_url: stranger.url }).where('id', '=', id).execute();
  await db.updateTable('credentials').set({ bound_url: stranger.url }).where('id', '=', credential.id).execute();
  expect((await last.call('POST', `${path}/sync`, { as })).status).toBe(502);
  expect(stranger.requests).toEqual([]);
});
