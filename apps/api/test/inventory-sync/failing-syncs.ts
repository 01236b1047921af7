import type { RequestListener } from 'node:http';
import { expect } from 'vitest';
import { expectProblem } from '../endpoints/harness.ts';
import { unique } from '../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { FRIENDLY, HOSTILE, type Kind } from './hostile.ts';
import { LOOPBACK, type Peer, startPeer } from './peers.ts';

export const LIMITS = { pauseMs: 1, totalMs: 20_000, allAttemptsMs: 40_000 };
const IMPATIENT = { pauseMs: 1, totalMs: 100, allAttemptsMs: 20_000 };

type Parts = Parameters<typeof startTestServer>[1];

/** Two servers with one database. The impatient one waits only so long that it finds out which providers hang. */
export type SyncServers = { patient: TestServer; impatient: TestServer; stop: () => Promise<void> };

export async function startSyncServers(parts: Parts = {}): Promise<SyncServers> {
  const patient = await startTestServer(LOOPBACK, { ...parts, syncLimits: LIMITS });
  const environment = { ...LOOPBACK, DATABASE_URL: patient.databaseUrl };
  const other = await startTestServer(environment, { ...parts, syncLimits: IMPATIENT });
  const stop = async () => {
    await other.stop();
    await patient.stop();
  };
  return { patient, impatient: { ...other, admin: patient.admin }, stop };
}

type Synced = { server: TestServer; provider: Body; peer: Peer; turn: (handle: RequestListener) => void };

/** A provider that was synced once. `turn` replaces the handler of its server. */
export async function synced(server: TestServer, kind: Kind, host = '127.0.0.1'): Promise<Synced> {
  let handle = FRIENDLY[kind];
  const peer = await startPeer((req, res) => handle(req, res));
  const body = { name: unique('provider'), kind, baseUrl: `http://${host}:${peer.port}/v1` };
  const { id } = await server.ok('POST', '/v1/providers', { as: server.admin, body });
  const first = await server.ok('POST', `/v1/providers/${id}/sync`, { as: server.admin });
  expect(first.added).toBe(kind === 'llm' ? 2 : 1);
  const provider = await server.ok('GET', `/v1/providers/${id}`, { as: server.admin });
  return {
    server,
    provider,
    peer,
    turn: (hostile) => {
      handle = hostile;
    },
  };
}

function inventoryRows({ services }: TestServer, providerId: string): Promise<unknown[]> {
  const items = services.db.selectFrom('inventory_items').selectAll();
  return items.where('provider_id', '=', providerId).orderBy('id').execute();
}

/** Expects a sync to fail with a reason in the answer, task and provider, and to leave the inventory unchanged. */
export async function expectFailure(
  { server, provider }: Pick<Synced, 'server' | 'provider'>,
  reason: RegExp,
  withinMs: number,
): Promise<Body> {
  const { id } = provider;
  const before = await inventoryRows(server, id);
  expect(before.length).toBeGreaterThan(0);
  const started = performance.now();
  const answered = await server.call('POST', `/v1/providers/${id}/sync`, { as: server.admin });
  expect(performance.now() - started).toBeLessThan(withinMs);
  expectProblem(answered, 502, 'sync_failed');
  expect(answered.body.detail).toMatch(reason);
  expect(answered.text).not.toMatch(/the inside of|the far side|ECONN|UND_ERR/);
  const [, taskId] = /(task_\w+)/.exec(answered.body.detail) ?? [];
  const task = await server.ok('GET', `/v1/operator/tasks/${taskId}`, { as: server.admin });
  expect(task).toMatchObject({ status: 'failed', kind: 'sync_inventory', subject: { type: 'provider', id } });
  expect(task).toMatchObject({ lastError: expect.stringMatching(reason), leaseExpiresAt: null });
  expect(task.completedAt).not.toBeNull();
  const after = await server.ok('GET', `/v1/providers/${id}`, { as: server.admin });
  expect(after).toMatchObject({ health: 'failing', inventorySyncedAt: provider.inventorySyncedAt });
  expect(await inventoryRows(server, id)).toEqual(before);
  return task;
}

const REASONS: Record<string, { reason: RegExp; attempts: number; isLate?: true }> = {
  hangs: { reason: /it did not answer within 0\.1 s/, attempts: 3, isLate: true },
  'hangs in the middle of its answer': { reason: /it did not answer within 0\.1 s/, attempts: 3, isLate: true },
  'answers 500': { reason: /it answered HTTP 500/, attempts: 3 },
  'answers 200 MB': { reason: /the answer is larger than 8 MB/, attempts: 1 },
  'closes midway': { reason: /the connection was closed before the answer was complete/, attempts: 3 },
  'closes its stream of events midway': { reason: /the connection was closed before/, attempts: 3 },
  'repeats its cursor for ever': { reason: /it repeats a cursor in its list of (models|tools)/, attempts: 1 },
  'goes round in its cursors': { reason: /it repeats a cursor in its list of (models|tools)/, attempts: 1 },
  'has always one more page': { reason: /its list of (models|tools) has more than 200 pages/, attempts: 1 },
  'answers something else': { reason: /it does not speak MCP|it did not answer with a list of models/, attempts: 1 },
};

/**
 * Syncs a provider that answers as `what` of {@link HOSTILE}. Expects that the sync fails, and that one of a friendly provider
 * succeeds afterwards.
 */
export async function failAndRecover({ patient, impatient }: SyncServers, kind: Kind, what: string): Promise<void> {
  const { reason, attempts, isLate } = REASONS[what] ?? { reason: /there is no such row/, attempts: 0 };
  const target = await synced(patient, kind);
  const handlers = HOSTILE[what];
  if (handlers === undefined) throw new Error(`no provider ${what}`);
  target.turn(handlers[kind]);
  const [server, limits] = isLate ? [impatient, IMPATIENT] : [patient, LIMITS];
  const task = await expectFailure({ ...target, server }, reason, limits.allAttemptsMs + 1500);
  expect(task.attempts).toBe(attempts);
  target.turn(FRIENDLY[kind]);
  const again = await patient.ok('POST', `/v1/providers/${target.provider.id}/sync`, { as: patient.admin });
  expect(again).toMatchObject({ added: 0, updated: 0, removed: 0, attempts: 1 });
}
