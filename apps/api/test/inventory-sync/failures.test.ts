import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectProblem } from '../endpoints/harness.ts';
import { unique } from '../support/people.ts';
import { startTestServer } from '../support/server.ts';
import { expectFailure, failAndRecover, LIMITS, startSyncServers, synced, type SyncServers } from './failing-syncs.ts';
import { HOSTILE, modelsHandler, redirectTo } from './hostile.ts';
import { LOOPBACK, startPeer } from './peers.ts';

/** The addresses that the host name resolves to, one for each look-up. The last one is repeated. */
let addresses: string[] = [];
const resolver = async () => {
  const [address = '127.0.0.1'] = addresses.length > 1 ? addresses.splice(0, 1) : addresses;
  return [{ address, family: address.includes(':') ? 6 : 4 }];
};

/** The deep form has the others: an MCP server takes longer, and one more page for ever takes 200 requests. */
const FAILURES = {
  llm: Object.keys(HOSTILE).filter((name) => name !== 'has always one more page'),
  mcp: ['answers 500', 'closes its stream of events midway'],
};

let servers: SyncServers;
beforeAll(async () => {
  servers = await startSyncServers({ resolver });
});
afterAll(() => servers.stop());

for (const kind of ['llm', 'mcp'] as const) {
  for (const what of FAILURES[kind]) {
    test(`a sync of an ${kind} provider that ${what} fails within its limits and changes nothing`, async () => {
      await failAndRecover(servers, kind, what);
    });
  }

  test(`a redirect of an ${kind} provider is not followed: its target gets no request`, async () => {
    const target = await synced(servers.patient, kind);
    const inside = await startPeer((_req, res) => void res.end('{"object":"list","data":[]}'));
    target.turn(redirectTo(`${inside.url}/v1/models`));
    const task = await expectFailure(
      target,
      /it answered a redirect \(HTTP 307\) to http:\/\/127\.0\.0\.1:\d+\/v1\/models, which is not followed/,
      LIMITS.totalMs,
    );
    expect(task.attempts).toBe(1);
    expect(inside.requests).toEqual([]);
  });

  test(`no connection is opened to an ${kind} provider whose name resolves to a private address at the second look-up`, async () => {
    addresses = ['127.0.0.1'];
    const target = await synced(servers.patient, kind, 'vendor.test');
    const { length } = target.peer.requests;
    addresses = ['10.0.0.5'];
    await expectFailure(target, /an address of vendor\.test is not public, (?!.*10\.0\.0\.5)/, LIMITS.totalMs);
    expect(target.peer.requests).toHaveLength(length);
  });
}

test('each new connection of a sync is checked: the sync fails if the name resolves to a private address between two pages', async () => {
  addresses = ['127.0.0.1'];
  const target = await synced(servers.patient, 'llm', 'vendor.test');
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
