import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { auditOf, expectProblem } from '../endpoints/harness.ts';
import { accountWithKey, unique } from '../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { LOOPBACK, type Peer, startPeer } from './peers.ts';
import { SYNC_LIMITS, sync, testServer, WAIT, waiting } from './waiting.ts';

const MINUTE = 60_000;

/** For the tests that neither move the clock nor wait for the schedule. */
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(LOOPBACK, { syncLimits: SYNC_LIMITS });
});
afterAll(() => server.stop());

async function tasksOf(server: TestServer, { id }: Body): Promise<Body[]> {
  const path = '/v1/operator/tasks?kind=sync_inventory&limit=100';
  const { items } = await server.ok('GET', path, { as: server.admin });
  return items.filter(({ subject }: Body) => subject.id === id);
}

test('while a sync runs, its task is running and a second sync is refused', async () => {
  const { provider, answer, asked } = await waiting(server);
  const running = sync(server, provider);
  await asked();
  const [task] = await tasksOf(server, provider);
  expect(task).toMatchObject({ status: 'running', subject: { type: 'provider', id: provider.id }, assignee: null });
  expect(Date.parse(task.leaseExpiresAt)).toBeGreaterThan(server.services.now().getTime());
  await vi.waitFor(async () => {
    const renewed = await server.ok('GET', `/v1/operator/tasks/${task.id}`, { as: server.admin });
    expect(renewed.leaseExpiresAt > task.leaseExpiresAt).toBe(true);
    expect(renewed).toMatchObject({ attempts: 1, progress: { phase: 'connecting', done: 0 } });
  }, WAIT);
  expectProblem(await sync(server, provider), 409, 'sync_running');
  answer('a');
  expect((await running).body).toMatchObject({ taskId: task.id, added: 1 });
  expect(await tasksOf(server, provider)).toMatchObject([{ id: task.id, status: 'succeeded' }]);
});

test('of two concurrent sync requests one runs', async () => {
  const { provider, answer, asked } = await waiting(server);
  const both = [sync(server, provider), sync(server, provider)];
  const first = await Promise.race(both);
  expectProblem(first, 409, 'sync_running');
  await asked();
  answer('a');
  expect(new Set((await Promise.all(both)).map(({ status }) => status))).toEqual(new Set([200, 409]));
});

test('a sync whose process died is taken over after its lease', async () => {
  const server = await testServer();
  const { provider, answer, asked } = await waiting(server);
  const lease = new Date(server.services.now().getTime() + 30_000).toISOString();
  // The state that a killed process leaves.
  await sql`
    insert into operator_tasks (tenant_id, sub_tenant_id, id, kind, status, title, subject_type, subject_id, priority,
      attempts, lease_expires_at, created_at, updated_at)
    values ('default', '', 'task_dead', 'sync_inventory', 'running', 'Sync', 'provider', ${provider.id}, 'normal', 1,
      ${lease}, ${lease}, ${lease})`.execute(server.services.db);
  expectProblem(await sync(server, provider), 409, 'sync_running');
  server.travel(31_000);
  const running = sync(server, provider);
  await asked();
  answer('a');
  expect((await running).status).toBe(200);
  const dead = await server.ok('GET', '/v1/operator/tasks/task_dead', { as: server.admin });
  expect(dead).toMatchObject({ status: 'failed', lastError: expect.stringMatching(/another run took over/) });
});

test('cancelling the task ends the sync: nothing is stored, and the provider is not marked as failing', async () => {
  const { provider, asked } = await waiting(server);
  const running = sync(server, provider);
  await asked();
  const [task] = await tasksOf(server, provider);
  await server.ok('POST', `/v1/operator/tasks/${task.id}/cancel`, { as: server.admin });
  const answered = await running;
  expectProblem(answered, 502, 'sync_failed');
  expect(answered.body.detail).toMatch(/the task was cancelled/);
  expect(await tasksOf(server, provider)).toMatchObject([{ status: 'cancelled' }]);
  const after = await server.ok('GET', `/v1/providers/${provider.id}`, { as: server.admin });
  expect(after).toMatchObject({ health: 'unknown', inventorySyncedAt: null });
});

test('a sync fails without effect if its provider is changed meanwhile', async () => {
  const { provider, answer, asked } = await waiting(server);
  const running = sync(server, provider);
  await asked();
  const path = `/v1/providers/${provider.id}`;
  await server.ok('PUT', path, { as: server.admin, body: { baseUrl: 'https://elsewhere.example.com' } });
  answer('a');
  const answered = await running;
  expectProblem(answered, 502, 'sync_failed');
  expect(answered.body.detail).toMatch(/the provider was changed in the meantime/);
  const { items } = await server.ok('GET', `${path}/inventory`, { as: server.admin });
  expect(items).toEqual([]);
  expect((await server.ok('GET', path, { as: server.admin })).health).toBe('unknown');
});

test('a credential that is stored for a new address between two attempts is not sent to the former address', async () => {
  const as = server.admin;
  const elsewhere = await startPeer((_req, res) => void res.end());
  let moved: Promise<unknown> | null = null;
  const peer = await startPeer((_req, res) => {
    const path = `/v1/providers/${provider.id}`;
    moved ??= server
      .ok('PUT', path, { as, body: { baseUrl: elsewhere.url } })
      .then(() => server.ok('PUT', `${path}/credential`, { as, body: { secret: 'sk-for-elsewhere' } }))
      .then(() => res.writeHead(503).end());
  });
  const body = { name: 'moving', kind: 'llm', baseUrl: peer.url };
  const provider = await server.ok('POST', '/v1/providers', { as, body });
  await server.ok('PUT', `/v1/providers/${provider.id}/credential`, { as, body: { secret: 'sk-for-here' } });
  const answered = await sync(server, provider);
  expectProblem(answered, 502, 'sync_failed');
  expect(answered.body.detail).toMatch(/the provider was changed in the meantime/);
  expect(peer.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer sk-for-here']);
  expect(elsewhere.requests).toEqual([]);
});

test('regression: a tenant whose providers hang does not block the syncs of other tenants', async () => {
  const [{ place: one }, { place: other }] = [
    await accountWithKey(server, { tenantId: unique('hangs') }),
    await accountWithKey(server, { tenantId: unique('works') }),
  ];
  const hanging: Awaited<ReturnType<typeof waiting>>[] = [];
  for (let count = 0; count < 5; count += 1) hanging.push(await waiting(server, { tenantId: one.tenantId }));
  const running = hanging.slice(0, 4).map(({ provider }) => sync(server, provider));
  for (const { asked } of hanging.slice(0, 4)) await asked();
  expectProblem(await sync(server, hanging[4]?.provider), 429, 'rate_limited');
  const peer = await startPeer((_req, res) => void res.end('{"object":"list","data":[]}'));
  const body = { name: 'works', kind: 'llm', baseUrl: peer.url, tenantId: other.tenantId };
  const provider = await server.ok('POST', '/v1/providers', { as: server.admin, body });
  expect((await sync(server, provider)).status).toBe(200);
  for (const { answer } of hanging) answer();
  expect((await Promise.all(running)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
});

test('regression: scheduled syncs of a tenant whose providers hang do not block those of other tenants', async () => {
  const server = await testServer();
  const tenants = [
    await accountWithKey(server, { tenantId: unique('hangs') }),
    await accountWithKey(server, { tenantId: unique('works') }),
  ];
  const [one, other] = tenants.map(({ place }) => ({ tenantId: place.tenantId, syncIntervalSeconds: 300 }));
  const hanging: Awaited<ReturnType<typeof waiting>>[] = [];
  for (let count = 0; count < 5; count += 1) hanging.push(await waiting(server, one));
  const works = await waiting(server, other);
  const due = (id: string, at: string) =>
    server.services.db.updateTable('providers').set({ next_sync_at: at }).where('id', '=', id).execute();
  // The syncs of the hanging providers are still in their first attempt.
  for (const { provider } of hanging) await due(provider.id, '2000-01-01T00:00:00.000Z');
  await due(works.provider.id, '2001-01-01T00:00:00.000Z');
  await works.asked();
  const asked = () => hanging.filter(({ peer }) => peer.requests.length > 0);
  await vi.waitFor(() => expect(asked()).toHaveLength(2), WAIT);
  works.answer();
  for (const { answer } of hanging) answer();
});

test('stopping the service ends its syncs, and their tasks contain the reason', async () => {
  const server = await startTestServer({ ...LOOPBACK, QM_LOG_LEVEL: 'silent' });
  const { provider, asked } = await waiting(server);
  const running = sync(server, provider);
  await asked();
  const stopping = server.services.syncs.stop();
  const answered = await running;
  await stopping;
  expectProblem(answered, 502, 'sync_failed');
  expect(answered.body.detail).toMatch(/the service stopped/);
  expect(await tasksOf(server, provider)).toMatchObject([{ status: 'failed', lastError: 'the service stopped' }]);
  await server.stop();
});

async function countOf(peer: Peer, count: number): Promise<void> {
  await vi.waitFor(() => expect(peer.requests).toHaveLength(count), WAIT);
}

test('the service syncs a provider with an interval when it is due, and not before', async () => {
  const server = await testServer();
  const peer = await startPeer((_req, res) => void res.end('{"object":"list","data":[{"id":"a"}]}'));
  const body = { name: 'scheduled', kind: 'llm', baseUrl: peer.url, syncIntervalSeconds: 300 };
  const provider = await server.ok('POST', '/v1/providers', { as: server.admin, body });
  expect(provider.syncIntervalSeconds).toBe(300);
  // Another provider is due. Once it was synced, the schedule has been checked.
  const probe = await waiting(server, { syncIntervalSeconds: 300 });
  const overdue = server.services.db.updateTable('providers').set({ next_sync_at: '2000-01-01T00:00:00.000Z' });
  await overdue.where('id', '=', probe.provider.id).execute();
  await probe.asked();
  probe.answer();
  expect(peer.requests).toHaveLength(0);

  server.travel(5 * MINUTE);
  await countOf(peer, 1);
  await vi.waitFor(async () => {
    expect(await tasksOf(server, provider)).toMatchObject([{ status: 'succeeded' }]);
  }, WAIT);
  const [event, ...others] = await auditOf(server, { operation: 'sync_provider_inventory', target_id: provider.id });
  expect(others).toEqual([]);
  expect(event).toMatchObject({ actor: { type: 'system' }, outcome: 'success', target: { type: 'provider' } });

  // The next sync is due after an interval plus a random delay.
  server.travel(6 * MINUTE);
  await countOf(peer, 2);
  await server.ok('PUT', `/v1/providers/${provider.id}`, { as: server.admin, body: { syncIntervalSeconds: null } });
  const cleared = await server.ok('GET', `/v1/providers/${provider.id}`, { as: server.admin });
  expect(cleared.syncIntervalSeconds).toBeNull();
});

test('scheduled syncs that fail are repeated with exponential backoff', async () => {
  const server = await testServer();
  const peer = await startPeer((_req, res) => void res.writeHead(404).end());
  const body = { name: 'failing', kind: 'llm', baseUrl: peer.url, syncIntervalSeconds: 300 };
  const provider = await server.ok('POST', '/v1/providers', { as: server.admin, body });
  const nextSync = async () => {
    const rows = server.services.db.selectFrom('providers').select('next_sync_at').where('id', '=', provider.id);
    const { next_sync_at: next } = await rows.executeTakeFirstOrThrow();
    return Date.parse(next ?? '') - server.services.now().getTime();
  };
  const waits: number[] = [];
  for (let failures = 1; failures <= 3; failures += 1) {
    server.travel((await nextSync()) + 1000);
    await vi.waitFor(async () => {
      const tasks = await tasksOf(server, provider);
      expect(tasks.filter(({ status }) => status === 'failed')).toHaveLength(failures);
    }, WAIT);
    waits.push(await nextSync());
  }
  const [first = 0, second = 0, third = 0] = waits;
  expect(first).toBeGreaterThan(9 * MINUTE);
  expect(second).toBeGreaterThan(first * 1.5);
  expect(third).toBeGreaterThan(second * 1.5);
  expect((await server.ok('GET', `/v1/providers/${provider.id}`, { as: server.admin })).health).toBe('failing');
});
