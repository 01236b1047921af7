import { McpServer } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { unique } from '../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { textOf } from '../support/tables.ts';
import { LOOPBACK, type Peer, startMcp, startPeer } from './peers.ts';

const SECRET = 'org-that-nobody-may-see';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(LOOPBACK, { syncLimits: { attempts: 1 } });
});
afterAll(() => server.stop());

const as = () => ({ as: server.admin });

function startVendor(): Promise<Peer> {
  return startPeer((_req, res) => void res.end('{"object":"list","data":[]}'));
}

async function providerAt(baseUrl: string, fields: object = {}): Promise<{ id: string; path: string }> {
  const body = { name: unique('vendor'), kind: 'llm', baseUrl, ...fields };
  const { id } = await server.ok('POST', '/v1/providers', { ...as(), body });
  return { id, path: `/v1/providers/${id}` };
}

const sync = (path: string) => server.call('POST', `${path}/sync`, as());

const putSecret = (path: string, name: string, secret = SECRET): Promise<Body> =>
  server.ok('PUT', `${path}/secret-headers/${name}`, { ...as(), body: { secret } });

async function secretsOf(providerId: string): Promise<Body[]> {
  return (await server.ok('POST', '/v1/credentials/search', { ...as(), body: { providerId } })).items;
}

const valuesOf = ({ requests }: Peer, header: string) => requests.map(({ headers }) => headers[header]);

test('a sync of models sends the headers in the clear, the secret ones and the credential', async () => {
  const vendor = await startVendor();
  const headers = [{ name: 'X-Region', value: 'eu' }];
  const { path } = await providerAt(vendor.url, { headers });
  await putSecret(path, 'X-Organization');
  await server.ok('PUT', `${path}/credential`, { ...as(), body: { secret: 'sk-1' } });
  expect((await sync(path)).status).toBe(200);
  expect(vendor.requests[0]?.headers).toMatchObject({
    'x-region': 'eu',
    'x-organization': SECRET,
    authorization: 'Bearer sk-1',
    accept: 'application/json',
  });
  await server.ok('PUT', path, { ...as(), body: { headers: [] } });
  await server.ok('DELETE', `${path}/secret-headers/x-organization`, as());
  await sync(path);
  expect([valuesOf(vendor, 'x-region')[1], valuesOf(vendor, 'x-organization')[1]]).toEqual([undefined, undefined]);
  expect(valuesOf(vendor, 'authorization')[1]).toBe('Bearer sk-1');
});

test('a sync of an MCP server sends them in every request', async () => {
  const mcp = await startMcp(() => {
    const tools = new McpServer({ name: 'tools', version: '1.0.0' });
    tools.registerTool('search', {}, () => ({ content: [] }));
    return tools;
  });
  const { path } = await providerAt(mcp.url, { kind: 'mcp', headers: [{ name: 'X-Region', value: 'eu' }] });
  await putSecret(path, 'X-Organization');
  expect((await sync(path)).status).toBe(200);
  expect(mcp.requests.length).toBeGreaterThan(1);
  expect(new Set(valuesOf(mcp, 'x-region'))).toEqual(new Set(['eu']));
  expect(new Set(valuesOf(mcp, 'x-organization'))).toEqual(new Set([SECRET]));
});

test('of one name, the secret header replaces the one in the clear, and the credential replaces both', async () => {
  const vendor = await startVendor();
  const { path } = await providerAt(vendor.url, { headers: [{ name: 'X-Team', value: 'clear' }] });
  await putSecret(path, 'x-team', 'secret');
  await sync(path);
  await server.ok('PUT', `${path}/credential`, { ...as(), body: { secret: 'credential', header: 'X-TEAM' } });
  await sync(path);
  expect(valuesOf(vendor, 'x-team')).toEqual(['secret', 'credential']);
});

test.each([
  ['anthropic', 'without a header of its own', [], '2023-06-01'],
  ['claude', 'with one', [{ name: 'Anthropic-Version', value: '2024-01-01' }], '2024-01-01'],
])('the version that Anthropic requires is sent by the provider %s %s', async (name, _, headers, expected) => {
  const vendor = await startVendor();
  const { path } = await providerAt(vendor.url, { name, headers });
  await sync(path);
  expect(valuesOf(vendor, 'anthropic-version')).toEqual([expected]);
});

test('a provider of another vendor does not get that version', async () => {
  const vendor = await startVendor();
  const { path } = await providerAt(vendor.url);
  await sync(path);
  expect(valuesOf(vendor, 'anthropic-version')).toEqual([undefined]);
});

test('no header follows a redirect to another origin or path', async () => {
  const stranger = await startVendor();
  for (const location of [`${stranger.url}/v1/models`, '/collect']) {
    const vendor = await startPeer((_req, res) => void res.writeHead(307, { location }).end());
    const { path } = await providerAt(`${vendor.url}/v1`, { headers: [{ name: 'X-Region', value: 'eu' }] });
    await putSecret(path, 'X-Organization');
    expect((await sync(path)).status).toBe(502);
    expect(vendor.requests.map(({ url }) => url)).toEqual(['/v1/models']);
  }
  expect(stranger.requests).toEqual([]);
});

test('a base URL outside of the bound one revokes secret headers with the credential, and erases them', async () => {
  const [vendor, stranger] = [await startVendor(), await startVendor()];
  const { id, path } = await providerAt(`${vendor.url}/v1`);
  const header = await putSecret(path, 'X-Organization');
  await server.ok('PUT', `${path}/credential`, { ...as(), body: { secret: 'sk-1' } });
  await server.ok('PUT', path, { ...as(), body: { baseUrl: `${vendor.url}/v1/eu` } });
  await sync(path);
  expect(valuesOf(vendor, 'x-organization')).toEqual([SECRET]);
  await server.ok('PUT', path, { ...as(), body: { baseUrl: stranger.url } });
  expect((await sync(path)).status).toBe(200);
  expect([valuesOf(stranger, 'x-organization'), valuesOf(stranger, 'authorization')]).toEqual([
    [undefined],
    [undefined],
  ]);
  expect((await secretsOf(id)).map(({ status }) => status)).toEqual(['revoked', 'revoked']);
  const row = server.services.db.selectFrom('credentials').select('secret').where('id', '=', header.id);
  expect(await row.executeTakeFirstOrThrow()).toEqual({ secret: null });
});

test('a secret header that was moved to another address in the database is not sent', async () => {
  const [vendor, stranger] = [await startVendor(), await startVendor()];
  const { id, path } = await providerAt(vendor.url);
  const { id: secretId } = await putSecret(path, 'X-Organization');
  const { db } = server.services;
  await db.updateTable('providers').set({ base_url: stranger.url }).where('id', '=', id).execute();
  const answered = await sync(path);
  expect([answered.status, answered.body.detail]).toEqual([
    502,
    expect.stringContaining('the secret header X-Organization of the provider was stored for another address'),
  ]);
  await db.updateTable('credentials').set({ bound_url: stranger.url }).where('id', '=', secretId).execute();
  expect((await sync(path)).body.detail).toContain('cannot be opened');
  expect(stranger.requests).toEqual([]);
});

test('a listing that repeats a secret header is refused, and the secret is in no row and no answer', async () => {
  let answer = '{"object":"list","data":[]}';
  const vendor = await startPeer((_req, res) => void res.end(answer));
  const { id, path } = await providerAt(vendor.url);
  const answers = [await putSecret(path, 'X-Organization'), (await sync(path)).body];
  answer = JSON.stringify({ object: 'list', data: [{ id: `model-${SECRET}` }] });
  const refused = await sync(path);
  expect(refused.body.detail).toContain('it lists the credential that it was sent');
  answers.push(refused.body, ...(await secretsOf(id)), await server.ok('GET', path, as()));
  answers.push(await server.ok('GET', '/v1/audit-events?limit=100', as()));
  expect(JSON.stringify(answers)).not.toContain(SECRET);
  expect(await textOf(server.services.db)).not.toContain(SECRET);
});

test('deleting the credential keeps the secret headers; deleting the provider does not', async () => {
  const { id, path } = await providerAt('https://vendor.example.com/v1');
  await putSecret(path, 'X-Organization');
  await server.ok('PUT', `${path}/credential`, { ...as(), body: { secret: 'sk-1' } });
  await server.ok('DELETE', `${path}/credential`, as());
  const inUse = async () => (await secretsOf(id)).filter(({ status }) => status === 'active').map(({ slot }) => slot);
  expect(await inUse()).toEqual(['header']);
  await server.ok('DELETE', path, as());
  expect(await inUse()).toEqual([]);
});
