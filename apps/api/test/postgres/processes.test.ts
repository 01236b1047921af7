import { readFile, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { passDuration } from '@quartermaster/db/testing/durations.ts';
import { newTestDatabase } from '@quartermaster/db/testing/test-database.ts';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { describeFailure } from '../../src/server/failures.ts';
import { newTenant } from '../governance/loop-support.ts';
import { LOOPBACK, startPeer } from '../inventory-sync/peers.ts';
import { newBootstrapKey } from '../support/environment.ts';
import { accountWithKey, unique } from '../support/people.ts';
import { startProcess } from '../support/process.ts';
import { type Answered, type Body, SECRET_KEY, startTestServer, type TestServer } from '../support/server.ts';
import { startService } from '../support/start.ts';
import { all, chat, exportRequest, newSpanId, newTraceId } from '../telemetry/traces/sending.ts';

/*
 * Two servers on one database. A change by one takes effect in the other, and concurrent work of both is done once. They run in
 * this process and share only the database. The first test starts two processes.
 */
let one: TestServer;
let two: TestServer;
beforeAll(async () => {
  one = await startTestServer(LOOPBACK);
  two = await startTestServer({ ...LOOPBACK, DATABASE_URL: one.databaseUrl });
});
afterAll(async () => {
  await two.stop();
  await one.stop();
});

/** How long a credential that one server ended may still work at the other, in milliseconds. */
const ENDED_WITHIN_MS = 5000;

function both<T>(count: number, call: (server: TestServer, index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => call(index % 2 === 0 ? one : two, index)));
}

function statusesOf(answers: readonly Answered[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of answers) {
    const outcome = status === 200 ? '200' : `${status} ${body.code}`;
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
  return counts;
}

test('two processes that start at once on an empty database create one schema and one administrator', async () => {
  const { url, remove } = await newTestDatabase('empty');
  const environment = { DATABASE_URL: url, QM_SECRET_KEY: SECRET_KEY, QM_LOG_LEVEL: 'info' };
  const started = await Promise.all([startProcess(environment), startProcess(environment)]);
  const keyFiles = started.flatMap(({ output }) => /bootstrap API key file: (\S+)/.exec(output())?.[1] ?? []);
  expect(keyFiles).toHaveLength(1);
  const [keyFile = ''] = keyFiles;
  const key = (await readFile(keyFile, 'utf8')).trim();
  await rm(keyFile);
  for (const service of started) {
    const answer = await fetch(`${service.url}/v1/providers`, { headers: { 'x-api-key': key } });
    expect(answer.status).toBe(200);
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
    expect(service.output()).not.toContain(new URL(url).password || 'postgres://');
    service.child.kill('SIGTERM');
    expect(await service.ended).toEqual({ code: 0, signal: null });
  }
  await remove();
});

test('of two servers with different secret keys that start at once on an empty database, only one starts', async () => {
  const { url, remove } = await newTestDatabase('empty');
  onTestFinished(remove);
  const starts = Array.from({ length: 2 }, (_, index) => {
    const QM_SECRET_KEY = Buffer.alloc(32, index + 1).toString('base64');
    return startService({ DATABASE_URL: url, QM_SECRET_KEY, QM_BOOTSTRAP_API_KEY: newBootstrapKey() });
  });
  const outcomes = await Promise.allSettled(starts);
  const refusals = outcomes.flatMap((outcome) =>
    outcome.status === 'rejected' ? describeFailure(outcome.reason) : [],
  );
  expect(refusals.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^QM_SECRET_KEY: none of the configured keys opens /),
  ]);
});

test('a key that one server revoked is refused by the other within five seconds', async () => {
  const account = await accountWithKey(one, { tenantId: 'keys' });
  await two.ok('GET', '/v1/providers', { as: account });
  await one.ok('DELETE', `/v1/service-accounts/${account.id}/keys/${account.keyId}?tenant_id=keys`, { as: one.admin });
  passDuration(ENDED_WITHIN_MS);
  expect((await two.call('GET', '/v1/providers', { as: account })).status).toBe(401);
});

test('an account that one server disabled is refused by the other within five seconds', async () => {
  const account = await accountWithKey(one, { tenantId: 'keys' });
  await two.ok('GET', '/v1/providers', { as: account });
  await one.ok('POST', `/v1/service-accounts/${account.id}/disable?tenant_id=keys`, { as: one.admin });
  passDuration(ENDED_WITHIN_MS);
  expect((await two.call('GET', '/v1/providers', { as: account })).status).toBe(401);
});

test('the first sessions of both servers are signed with the same key, which both publish', async () => {
  const { key } = await accountWithKey(one, { tenantId: 'signing' });
  const gateway = await one.ok('POST', '/v1/gateways', { as: { key }, body: { name: 'edge' } });
  const sessions = await both(8, (server) => server.ok('POST', `/v1/gateways/${gateway.id}/sessions`, { as: { key } }));
  const kids = sessions.map(({ token }) => JSON.parse(Buffer.from(token.split('.')[0], 'base64url').toString()).kid);
  expect(new Set(kids).size).toBe(1);
  for (const server of [one, two]) {
    const { keys } = (await server.call('GET', '/.well-known/jwks.json')).body;
    expect(keys.map(({ kid }: Body) => kid)).toEqual([kids[0]]);
  }
});

test('of concurrent requests to both servers that create one id, one answers 200 and the others 409', async () => {
  const body = { id: 'contended', name: 'contended', tenantId: 'acme' };
  const answers = await both(60, (server) => server.call('POST', '/v1/service-accounts', { as: one.admin, body }));
  expect(statusesOf(answers)).toEqual({ 200: 1, '409 id_taken': 59 });
  const { items } = await two.ok('GET', '/v1/audit-events?target_id=contended', { as: one.admin });
  expect(items).toHaveLength(1);
});

test('manifests that both servers publish at once get different versions, and one is active', async () => {
  const { key } = await accountWithKey(one, { tenantId: 'manifests' });
  const publish = (server: TestServer, index: number) => {
    const spec = { 'x-step': index };
    return server.call('POST', '/v1/manifests', { as: { key }, body: { name: 'bot', kind: 'agent', spec } });
  };
  const answers = await both(6, publish);
  expect(statusesOf(answers)).toEqual({ 200: 6 });
  expect(new Set(answers.map(({ body }) => body.version))).toEqual(new Set([1, 2, 3, 4, 5, 6]));
  const { items } = await two.ok('GET', '/v1/manifests?status=active', { as: { key } });
  expect(items).toHaveLength(1);
});

test('spans sent to both servers, some to both at once, are counted exactly', async () => {
  const tenant = await newTenant(one);
  const models = ['gpt-5', 'GPT-5-mini', 'o3'];
  const sent = Array.from({ length: 24 }, () => {
    const traceId = newTraceId();
    return models.map((model) => ({
      ...chat(model, { 'gen_ai.provider.name': 'openai' }),
      traceId,
      spanId: newSpanId(),
    }));
  });
  // Every third batch goes to both, like a retry after a time-out.
  const sends = sent.flatMap((spans, index) => {
    const send = (server: TestServer) => async () => {
      const body = exportRequest(spans);
      // Repeats a batch that is refused temporarily, as exporters do.
      await vi.waitFor(() => server.ok('POST', '/v1/traces', { as: tenant.sender, body }), { timeout: 60_000 });
    };
    const server = index % 2 === 0 ? one : two;
    return index % 3 === 0 ? [send(one), send(two)] : [send(server)];
  });
  await Promise.all(sends.map((send) => send()));
  const observations = await all(two, '/v1/runtime-observations', tenant.operator);
  const counts = Object.fromEntries(observations.map(({ name, occurrences }) => [name, occurrences]));
  expect(counts).toEqual(Object.fromEntries(models.map((name) => [name, 24])));
  const traces = await all(one, '/v1/traces?limit=100', tenant.operator);
  expect(traces.map(({ spanCount }) => spanCount)).toEqual(Array.from({ length: 24 }, () => 3));
});

test('recommendations that both servers apply at once are applied once', async () => {
  const tenant = await newTenant(one);
  for (const model of ['a', 'b', 'c']) await tenant.see(model);
  for (const { id } of await all(one, '/v1/runtime-observations', tenant.operator)) await tenant.review(id, 'approved');
  const apply = (server: TestServer) =>
    server.ok('POST', `${tenant.path}/recommendations/apply`, { as: tenant.operator, body: {} });
  const answers = await both(6, apply);
  const applied = answers.flatMap((answer) => answer.applied.map(({ id }: Body) => id));
  expect(applied).toHaveLength(3);
  expect(new Set(applied).size).toBe(3);
  expect(new Set((await tenant.items()).map(({ name }) => name))).toEqual(new Set(['a', 'b', 'c']));
});

test('of concurrent syncs of one provider at both servers, one runs', async () => {
  const held: ServerResponse[] = [];
  const peer = await startPeer((_req, res) => void held.push(res));
  const body = { name: unique('llm'), kind: 'llm', baseUrl: peer.url };
  const provider = await one.ok('POST', '/v1/providers', { as: one.admin, body });
  let answered = 0;
  const sync = async (server: TestServer) => {
    const answer = await server.call('POST', `/v1/providers/${provider.id}/sync`, { as: one.admin });
    answered += 1;
    return answer;
  };
  const syncs = both(6, sync);
  // The others are answered while it runs.
  await vi.waitFor(() => expect([held.length, answered]).toEqual([1, 5]), { timeout: 60_000 });
  const { items } = await two.ok('GET', '/v1/operator/tasks?kind=sync_inventory', { as: one.admin });
  expect(items.filter(({ status }: Body) => status === 'running')).toHaveLength(1);
  held[0]?.end(JSON.stringify({ object: 'list', data: [{ id: 'm' }] }));
  expect(statusesOf(await syncs)).toEqual({ 200: 1, '409 sync_running': 5 });
});

test('a task that is claimed at both servers at once is claimed by one caller', async () => {
  const tenant = await newTenant(one);
  await tenant.see('unknown-model');
  const [task] = await tenant.tasks();
  const others = [
    await accountWithKey(one, { tenantId: tenant.tenantId }),
    await accountWithKey(one, { tenantId: tenant.tenantId }),
  ];
  const answers = await both(6, (server, index) =>
    server.call('POST', `/v1/operator/tasks/${task?.id}/claim`, { as: others[index % 2] ?? null }),
  );
  const claimed = answers.filter(({ status }) => status === 200).map(({ body }) => body.assignee);
  expect(new Set(claimed).size).toBe(1);
  expect(claimed.length + answers.filter(({ status }) => status === 409).length).toBe(6);
});
