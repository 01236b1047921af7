import * as contract from '@quartermaster/contracts/inventory-syncs.ts';
import { beforeAll, expect, test, vi } from 'vitest';
import { LOOPBACK, startPeer } from '../inventory-sync/peers.ts';
import { keyIn, unique } from '../support/people.ts';
import type { Body, Credential } from '../support/server.ts';
import { auditOf, checkCoverageAfterAll, type Endpoints, expectFields, expectProblem, serverFor } from './harness.ts';

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor(contract, LOOPBACK, { syncLimits: { atOnce: 2 } });
});
checkCoverageAfterAll(() => server);

function callerIn(tenantId: string): Promise<{ key: string }> {
  return keyIn(server, { tenantId });
}

function create(as: Credential, body: object): Promise<Body> {
  return server.ok('POST', '/v1/providers', { as, body: { name: unique('provider'), kind: 'llm', ...body } });
}

const MODELS = '{"object":"list","data":[{"id":"a"},{"id":"b"}]}';

test('sync_provider_inventory answers what it found, and leaves one audit event of the caller', async () => {
  const as = await callerIn('sync-1');
  const peer = await startPeer((_req, res) => void res.end(MODELS));
  const { id } = await create(as, { baseUrl: peer.url });
  const synced = await server.ok('POST', `/v1/providers/${id}/sync`, { as });
  expectFields(
    synced,
    'taskId providerId added updated removed unchanged errors errorCount durationMs attempts syncedAt',
  );
  expect(synced).toMatchObject({ providerId: id, added: 2, errors: [], errorCount: 0, attempts: 1 });
  const [event, ...others] = await auditOf(server, { operation: 'sync_provider_inventory', target_id: id });
  expect(others).toEqual([]);
  expect(event).toMatchObject({ outcome: 'success', target: { type: 'provider', id }, tenantId: 'sync-1' });
  expect(event.changedFields).toEqual(['health', 'inventorySyncedAt']);
  expect(event.actor).toMatchObject({ type: 'service_account', tenantId: 'sync-1' });
});

test('the body is optional: no body, null and {} are accepted', async () => {
  const as = await callerIn('sync-2');
  const peer = await startPeer((_req, res) => void res.end(MODELS));
  const { id } = await create(as, { baseUrl: peer.url });
  const path = `/v1/providers/${id}/sync`;
  for (const sent of [{}, { body: {} }, { raw: 'null' }, { raw: '' }]) await server.ok('POST', path, { as, ...sent });
});

test('a provider that is missing or out of reach is 404', async () => {
  const { id } = await create(await callerIn('sync-3'), { baseUrl: 'https://vendor.example.com' });
  const stranger = await callerIn('sync-4');
  const hidden = await server.call('POST', `/v1/providers/${id}/sync`, { as: stranger });
  const missing = await server.call('POST', '/v1/providers/none/sync', { as: server.admin });
  for (const answered of [hidden, missing]) expectProblem(answered, 404, 'provider_not_found');
});

test('a provider that cannot be synced is 409, with the reason', async () => {
  const as = await callerIn('sync-5');
  const baseUrl = 'https://vendor.example.com';
  const rows: [object, RegExp][] = [
    [{}, /it has no base URL/],
    [{ baseUrl, kind: 'other' }, /its kind is other/],
    [{ baseUrl, kind: 'agent_runtime' }, /its kind is agent_runtime/],
    [{ baseUrl, status: 'disabled' }, /it is disabled, not active/],
  ];
  for (const [body, why] of rows) {
    const { id } = await create(as, body);
    const answered = await server.call('POST', `/v1/providers/${id}/sync`, { as });
    expectProblem(answered, 409, 'provider_not_syncable');
    expect(answered.body.detail).toMatch(why);
  }
});

test('a second sync of a provider is 409 while one runs', async () => {
  const as = await callerIn('sync-6');
  const asked = Promise.withResolvers<() => void>();
  const peer = await startPeer((_req, res) => asked.resolve(() => res.end(MODELS)));
  const { id } = await create(as, { baseUrl: peer.url });
  const running = server.call('POST', `/v1/providers/${id}/sync`, { as });
  const answer = await asked.promise;
  expectProblem(await server.call('POST', `/v1/providers/${id}/sync`, { as }), 409, 'sync_running');
  answer();
  expect((await running).status).toBe(200);
});

test('more concurrent syncs than the service allows are 429', async () => {
  const as = await callerIn('sync-8');
  const answers: (() => void)[] = [];
  const peer = await startPeer((_req, res) => void answers.push(() => res.end(MODELS)));
  const ids: string[] = [];
  for (let count = 0; count < 3; count += 1) ids.push((await create(as, { baseUrl: peer.url })).id);
  const sync = (id: string | undefined) => server.call('POST', `/v1/providers/${id}/sync`, { as });
  const running = ids.slice(0, 2).map(sync);
  await vi.waitFor(() => expect(answers).toHaveLength(2), { timeout: 60_000 });
  const refused = await sync(ids[2]);
  expectProblem(refused, 429, 'rate_limited');
  expect(refused.headers.get('retry-after')).toBe('5');
  for (const answer of answers) answer();
  for (const answered of await Promise.all(running)) expect(answered.status).toBe(200);
});

test('a failed sync is 502 with an audit event of a failure, and the inventory stays unchanged', async () => {
  const as = await callerIn('sync-7');
  const peer = await startPeer((_req, res) => void res.writeHead(404).end());
  const { id } = await create(as, { baseUrl: peer.url });
  const answered = await server.call('POST', `/v1/providers/${id}/sync`, { as });
  expectProblem(answered, 502, 'sync_failed');
  expect(answered.body.detail).toMatch(/^The sync task_\w+ failed: it answered HTTP 404\.$/);
  const [event, ...others] = await auditOf(server, { operation: 'sync_provider_inventory', target_id: id });
  expect(others).toEqual([]);
  expect(event).toMatchObject({ outcome: 'failure', reason: 'sync_failed', changedFields: ['health'] });
});
