import type { RequestListener } from 'node:http';
import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectProblem } from '../endpoints/harness.ts';
import { accountWithKey, unique } from '../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { modelsHandler } from './hostile.ts';
import { LOOPBACK, type Peer, startPeer } from './peers.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(LOOPBACK, { syncLimits: { pauseMs: 1 } });
});
afterAll(() => server.stop());

async function providerAt(handle: RequestListener, path = '/v1'): Promise<{ provider: Body; peer: Peer }> {
  const peer = await startPeer(handle);
  const body = { name: unique('llm'), kind: 'llm', baseUrl: `${peer.url}${path}` };
  return { provider: await server.ok('POST', '/v1/providers', { as: server.admin, body }), peer };
}

const call = ({ id }: Body) => server.call('POST', `/v1/providers/${id}/sync`, { as: server.admin });
const sync = ({ id }: Body) => server.ok('POST', `/v1/providers/${id}/sync`, { as: server.admin });
const credential = ({ id }: Body, body: object) =>
  server.ok('PUT', `/v1/providers/${id}/credential`, { as: server.admin, body });

async function modelsOf({ id }: Body): Promise<Body[]> {
  return (await server.ok('GET', `/v1/providers/${id}/inventory?limit=100`, { as: server.admin })).items;
}

const list =
  (...data: unknown[]): RequestListener =>
  (_req, res) => {
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ object: 'list', data }));
  };

test('models are requested below the path of the base URL, with the credential as a bearer token', async () => {
  const gpt = { id: 'gpt-5', object: 'model', created: 1_754_000_000, owned_by: 'openai' };
  const { provider, peer } = await providerAt(list(gpt), '/compatible/v1/');
  await credential(provider, { secret: 'sk-of-the-vendor' });
  expect(await sync(provider)).toMatchObject({ added: 1, attempts: 1 });
  const [item] = await modelsOf(provider);
  expect(item).toMatchObject({ kind: 'model', name: 'gpt-5', source: 'sync', schemaDigest: null, title: null });
  expect(item.attributes).toEqual({ owned_by: 'openai', created: 1_754_000_000 });
  expect(peer.requests).toHaveLength(1);
  expect(peer.requests[0]).toMatchObject({ method: 'GET', url: '/compatible/v1/models' });
  expect(peer.requests[0]?.headers.authorization).toBe('Bearer sk-of-the-vendor');
});

test('a credential is sent unchanged in its configured header; without a credential no header is sent', async () => {
  const { provider, peer } = await providerAt(list());
  await sync(provider);
  await credential(provider, { secret: 'sk-2', header: 'x-api-key' });
  await sync(provider);
  await credential(provider, { secret: 'sk-3', header: 'Authorization', scheme: null });
  await sync(provider);
  const sent = peer.requests.map(({ headers }) => [headers.authorization, headers['x-api-key']]);
  expect(sent).toEqual([
    [undefined, undefined],
    [undefined, 'sk-2'],
    ['sk-3', undefined],
  ]);
});

test('all pages are read, with `after` for OpenAI lists and `after_id` for Anthropic lists', async () => {
  const pages = modelsHandler((after) =>
    after === null ? { data: [{ id: 'a' }], next: 'a' } : { data: [{ id: 'b' }], next: null },
  );
  const openai = await providerAt(pages);
  expect(await sync(openai.provider)).toMatchObject({ added: 2 });
  expect(openai.peer.requests.map(({ url }) => url)).toEqual(['/v1/models', '/v1/models?after=a']);
  const anthropic = await providerAt((req, res) => {
    const first = !req.url?.includes('after_id=claude-a');
    const data = [{ type: 'model', id: first ? 'claude-a' : 'claude-b', display_name: 'Claude' }];
    res.end(JSON.stringify({ data, has_more: first, first_id: data[0]?.id, last_id: data[0]?.id }));
  });
  expect(await sync(anthropic.provider)).toMatchObject({ added: 2 });
  expect((await modelsOf(anthropic.provider)).map(({ title }) => title)).toEqual(['Claude', 'Claude']);
});

test('a sync with a refused credential is not repeated', async () => {
  for (const status of [401, 403]) {
    const { provider, peer } = await providerAt((_req, res) => void res.writeHead(status).end('no'));
    await credential(provider, { secret: 'sk-old' });
    const answered = await call(provider);
    expectProblem(answered, 502, 'sync_failed');
    expect(answered.body.detail).toMatch(new RegExp(`it answered HTTP ${status}\\.$`));
    expect(peer.requests).toHaveLength(1);
  }
});

test('rotation of a refused credential is recommended until a sync succeeds with it', async () => {
  let status = 401;
  const { provider } = await providerAt((_req, res) => void res.writeHead(status).end('{"data":[]}'));
  await call(provider);
  const path = `/v1/providers/${provider.id}/recommendations?kind=rotate_credential&status=open`;
  const open = async (): Promise<Body[]> => (await server.ok('GET', path, { as: server.admin })).items;
  // A credential that was never sent was not refused.
  expect(await open()).toEqual([]);
  const { id } = await credential(provider, { secret: 'sk-old' });
  await call(provider);
  const refused = await open();
  expect(refused).toMatchObject([{ change: { target: { type: 'credential', id } } }]);
  status = 404;
  await call(provider);
  expect(await open()).toEqual(refused);
  status = 200;
  await sync(provider);
  expect(await open()).toEqual([]);
});

test('a temporary failure is retried: 429 with a short Retry-After, then a success', async () => {
  let requestCount = 0;
  const { provider, peer } = await providerAt((req, res) => {
    requestCount += 1;
    if (requestCount === 1) res.writeHead(429, { 'retry-after': '0' }).end();
    else if (requestCount === 2) res.writeHead(503).end();
    else list({ id: 'patient' })(req, res);
  });
  const synced = await sync(provider);
  expect(synced).toMatchObject({ added: 1, attempts: 3 });
  expect(peer.requests).toHaveLength(3);
  const task = await server.ok('GET', `/v1/operator/tasks/${synced.taskId}`, { as: server.admin });
  expect(task).toMatchObject({ status: 'succeeded', attempts: 3, lastError: null });
});

test('a Retry-After beyond the time limit fails the sync at once, and the reason contains it', async () => {
  const { provider, peer } = await providerAt((_req, res) => void res.writeHead(429, { 'retry-after': '3600' }).end());
  const answered = await call(provider);
  expectProblem(answered, 502, 'sync_failed');
  expect(answered.body.detail).toMatch(/it answered HTTP 429, and asks to wait 3600 s/);
  expect(peer.requests).toHaveLength(1);
});

test('spellings of one model become one item, and names that cannot be stored are errors', async () => {
  const long = 'x'.repeat(257);
  const models = ['GPT-5', 'gpt-5', 'openai/gpt-5', '', long, 'nul\0', '\ud800half'].map((id) => ({ id }));
  const peer = await startPeer(list(...models));
  const body = { name: 'openai', kind: 'llm', baseUrl: peer.url };
  const provider = await server.ok('POST', '/v1/providers', { as: server.admin, body });
  const synced = await sync(provider);
  expect(synced).toMatchObject({ added: 1, errorCount: 4 });
  expect((await modelsOf(provider)).map(({ name }) => name)).toEqual(['GPT-5']);
  expect(synced.errors.map(({ reason }: Body) => reason)).toEqual([
    'its name is empty',
    'its name is longer than 256 characters',
    'its name has characters that cannot be stored',
    'its name has characters that cannot be stored',
  ]);
  expect(await sync(provider)).toMatchObject({ added: 0, updated: 0, unchanged: 1 });
});

test('names with invisible characters or wildcards are errors, and are not granted', async () => {
  const models = ['gpt-5', 'gpt\u200b-5', ' gpt-5 mini', '*', 'openai/*'].map((id) => ({ id }));
  const peer = await startPeer(list(...models));
  const { place } = await accountWithKey(server, { tenantId: unique('hidden') });
  const body = { name: 'openai', kind: 'llm', baseUrl: peer.url, tenantId: place.tenantId };
  const provider = await server.ok('POST', '/v1/providers', { as: server.admin, body });
  const synced = await sync(provider);
  expect(synced).toMatchObject({ added: 1, errorCount: 4 });
  expect((await modelsOf(provider)).map(({ name }) => name)).toEqual(['gpt-5']);
  const reason = 'its name has spaces around it or hidden characters, or is a lone *';
  expect(new Set(synced.errors.map((error: Body) => error.reason))).toEqual(new Set([reason]));
});

test('the service answers other requests while thousands of models are synced', async () => {
  // On PostgreSQL fewer models are enough, because writing a thousand of them takes long enough.
  const length = onPostgres() ? 1000 : 4000;
  const models = Array.from({ length }, (_, index) => ({ id: `model-${index}`, owned_by: 'many' }));
  const { provider } = await providerAt(list(...models));
  const syncing = sync(provider);
  let answered = 0;
  for (let first = 'answered'; first === 'answered'; answered += 1) {
    const healthy = server.call('GET', '/healthz').then(({ status }) => expect(status).toBe(200));
    first = await Promise.race([syncing.then(() => 'synced'), healthy.then(() => 'answered')]);
  }
  expect(await syncing).toMatchObject({ added: length });
  expect(answered).toBeGreaterThan(5);
  const more = await providerAt(list(...Array.from({ length: 5001 }, (_, index) => ({ id: `more-${index}` }))));
  const refused = await call(more.provider);
  expectProblem(refused, 502, 'sync_failed');
  expect(refused.body.detail).toMatch(/it lists more than 5000 items/);
});

test('3,000 variants of one name are written in less than five seconds of CPU time', async () => {
  const { provider } = await providerAt(
    list(...Array.from({ length: 3000 }, (_, index) => ({ id: `model:${index}` }))),
  );
  const started = process.cpuUsage();
  expect(await sync(provider)).toMatchObject({ added: 3000 });
  const { user, system } = process.cpuUsage(started);
  expect((user + system) / 1e6).toBeLessThan(5);
});
