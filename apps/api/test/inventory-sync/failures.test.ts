import type { RequestListener } from 'node:http';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { expectProblem } from '../endpoints/harness.ts';
import { accountWithKey, unique } from '../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { FRIENDLY, HOSTILE, type Kind, modelsHandler, redirectTo } from './hostile.ts';
import { LOOPBACK, type Peer, startPeer } from './peers.ts';

/** The addresses that the host name resolves to, one for each look-up. The last one is repeated. */
let addresses: string[] = [];
const resolver = async () => {
  const [address = '127.0.0.1'] = addresses.length > 1 ? addresses.splice(0, 1) : addresses;
  return [{ address, family: address.includes(':') ? 6 : 4 }];
};

const LIMITS = { pauseMs: 1, totalMs: 20_000, allAttemptsMs: 40_000 };
const IMPATIENT = { pauseMs: 1, totalMs: 400, allAttemptsMs: 20_000 };

let patient: TestServer;
let impatient: TestServer;
beforeAll(async () => {
  patient = await startTestServer(LOOPBACK, { resolver, syncLimits: LIMITS });
  impatient = await startTestServer(LOOPBACK, { resolver, syncLimits: IMPATIENT });
});
afterAll(() => Promise.all([patient.stop(), impatient.stop()]));

type Synced = { server: TestServer; provider: Body; peer: Peer; turn: (handle: RequestListener) => void };

/** A provider that was synced once. `turn` replaces the handler of its server. */
async function synced(server: TestServer, kind: Kind, host = '127.0.0.1'): Promise<Synced> {
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
async function expectFailure({ server, provider }: Synced, reason: RegExp, withinMs: number): Promise<Body> {
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

const REASONS: Record<string, { reason: RegExp; attempts: number; soon?: true }> = {
  hangs: { reason: /it did not answer within 0\.4 s/, attempts: 3, soon: true },
  'hangs in the middle of its answer': { reason: /it did not answer within 0\.4 s/, attempts: 3, soon: true },
  'answers 500': { reason: /it answered HTTP 500/, attempts: 3 },
  'answers 200 MB': { reason: /the answer is larger than 8 MB/, attempts: 1 },
  'closes midway': { reason: /the connection was closed before the answer was complete/, attempts: 3 },
  'closes its stream of events midway': { reason: /the connection was closed before/, attempts: 3 },
  'repeats its cursor for ever': { reason: /it repeats a cursor in its list of (models|tools)/, attempts: 1 },
  'goes round in its cursors': { reason: /it repeats a cursor in its list of (models|tools)/, attempts: 1 },
  'has always one more page': { reason: /its list of (models|tools) has more than 200 pages/, attempts: 1 },
  'answers something else': { reason: /it does not speak MCP|it did not answer with a list of models/, attempts: 1 },
};

for (const kind of ['llm', 'mcp'] as const) {
  for (const [what, handlers] of Object.entries(HOSTILE)) {
    const { reason, attempts, soon } = REASONS[what] ?? { reason: /there is no such row/, attempts: 0 };
    test(`a sync of an ${kind} provider that ${what} fails within its limits and changes nothing`, async () => {
      const limits = soon ? IMPATIENT : LIMITS;
      // The first sync of a process loads and compiles the client. That takes longer than the impatient server waits.
      if (soon) await synced(patient, kind);
      const target = await synced(soon ? impatient : patient, kind);
      target.turn(handlers[kind]);
      const task = await expectFailure(target, reason, limits.allAttemptsMs + 1500);
      expect(task.attempts).toBe(attempts);
      target.turn(FRIENDLY[kind]);
      const again = await target.server.ok('POST', `/v1/providers/${target.provider.id}/sync`, {
        as: target.server.admin,
      });
      // On a busy machine, a friendly answer may also take longer than the impatient server waits.
      const usual = soon ? expect.any(Number) : 1;
      expect(again).toMatchObject({ added: 0, updated: 0, removed: 0, attempts: usual });
    });
  }

  test(`a redirect of an ${kind} provider is not followed: its target gets no request`, async () => {
    const target = await synced(patient, kind);
    const inside = await startPeer((_req, res) => void res.end('{"object":"list","data":[]}'));
    target.turn(redirectTo(`${inside.url}/v1/models`));
    const task = await expectFailure(
      target,
      /it answered a redirect \(HTTP 307\), which is not followed/,
      LIMITS.totalMs,
    );
    expect(task.attempts).toBe(1);
    expect(inside.requests).toEqual([]);
  });

  test(`no connection is opened to an ${kind} provider whose name resolves to a private address at the second look-up`, async () => {
    addresses = ['127.0.0.1'];
    const target = await synced(patient, kind, 'vendor.test');
    const { length } = target.peer.requests;
    addresses = ['10.0.0.5'];
    await expectFailure(target, /an address of vendor\.test is not public, (?!.*10\.0\.0\.5)/, LIMITS.totalMs);
    expect(target.peer.requests).toHaveLength(length);
  });
}

test('each new connection of a sync is checked: the sync fails if the name resolves to a private address between two pages', async () => {
  addresses = ['127.0.0.1'];
  const target = await synced(patient, 'llm', 'vendor.test');
  const { length } = target.peer.requests;
  addresses = ['127.0.0.1', '169.254.169.254'];
  target.turn((req, res) => {
    res.setHeader('connection', 'close');
    modelsHandler((after) => ({ data: [{ id: `after ${after}` }], next: String(Number(after) + 1) }))(req, res);
  });
  await expectFailure(target, /an address of vendor\.test is not public, (?!.*169\.254)/, LIMITS.totalMs);
  expect(target.peer.requests).toHaveLength(length + 1);
});

test('a name is refused if one of its addresses is private', async () => {
  const mixed = async () => [
    { address: '93.184.215.14', family: 4 },
    { address: 'fd00::1', family: 6 },
  ];
  const server = await startTestServer(LOOPBACK, { resolver: mixed, syncLimits: LIMITS });
  const body = { name: 'mixed', kind: 'llm', baseUrl: 'https://vendor.test/v1' };
  const { id } = await server.ok('POST', '/v1/providers', { as: server.admin, body });
  const answered = await server.call('POST', `/v1/providers/${id}/sync`, { as: server.admin });
  await server.stop();
  expectProblem(answered, 502, 'sync_failed');
  expect(answered.body.detail).toMatch(/an address of vendor\.test is not public/);
  // The answer does not contain the address. Otherwise callers could read the DNS of the internal network.
  expect(answered.text).not.toContain('fd00::1');
});

test('private addresses are refused in every notation, unless the configuration allows them', async () => {
  const server = await startTestServer();
  const peer = await startPeer((_req, res) => void res.end('{}'));
  const hosts = ['127.0.0.1', '[::1]', '0x7f.1', '2130706433', '017700000001', '[::ffff:127.0.0.1]', 'localhost', '0'];
  for (const host of hosts) {
    const body = { name: unique('inside'), kind: 'llm', baseUrl: `http://${host}:${peer.port}/v1` };
    const { id } = await server.ok('POST', '/v1/providers', { as: server.admin, body });
    const answered = await server.call('POST', `/v1/providers/${id}/sync`, { as: server.admin });
    expectProblem(answered, 502, 'sync_failed');
    expect(answered.body.detail, host).toMatch(/is not public, and not among the networks that are allowed/);
  }
  await server.stop();
  expect(peer.requests).toEqual([]);
});

/** A server whose resolver does not answer for most names, the names that it was asked for, and a function that fails these look-ups. */
async function withSilentDns() {
  const asked: string[] = [];
  const silence = Promise.withResolvers<never>();
  const resolver = async (host: string) => {
    if (host === 'vendor.test') return [{ address: '127.0.0.1', family: 4 }];
    asked.push(host);
    return silence.promise;
  };
  const server = await startTestServer(LOOPBACK, { resolver, syncLimits: { pauseMs: 1, connectMs: 200 } });
  onTestFinished(() => server.stop());
  const syncIn = async (tenantId: string, host: string) => {
    const peer = await startPeer(FRIENDLY.llm);
    const body = { name: unique('provider'), kind: 'llm', tenantId, baseUrl: `http://${host}:${peer.port}/v1` };
    const { id } = await server.ok('POST', '/v1/providers', { as: server.admin, body });
    return server.call('POST', `/v1/providers/${id}/sync`, { as: server.admin });
  };
  const [tenantId, otherId] = [unique('silent'), unique('other')];
  for (const id of [tenantId, otherId]) await accountWithKey(server, { tenantId: id });
  return { asked, syncIn, tenantId, otherId, endLookups: () => silence.reject(new Error('EAI_AGAIN')) };
}

test('regression: names that DNS does not answer hold one look-up of a tenant and leave one to other tenants', async () => {
  const { asked, syncIn, tenantId, otherId } = await withSilentDns();
  const failed = await Promise.all([1, 2, 3, 4].map((n) => syncIn(tenantId, `name-${n}.test`)));
  expect(failed.map(({ status }) => status)).toEqual([502, 502, 502, 502]);
  expect(asked).toHaveLength(1);
  expect((await syncIn(otherId, 'vendor.test')).status).toBe(200);
});

test('regression: the attempts of a sync share one look-up, so other syncs of the tenant get theirs when it ends', async () => {
  const { asked, syncIn, tenantId, endLookups } = await withSilentDns();
  expect((await syncIn(tenantId, 'silent.test')).status).toBe(502);
  endLookups();
  expect((await syncIn(tenantId, 'vendor.test')).status).toBe(200);
  expect(asked).toEqual(['silent.test']);
});
