import { beforeAll, expect, test } from 'vitest';
import { LOOPBACK, startPeer } from '../inventory-sync/peers.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { sendSpans, toolRun } from '../telemetry/traces/sending.ts';
import { call, type ProxiedWorld, proxiedWorld, send } from './world.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(LOOPBACK, { decisionsFreshMs: 0 });
  return () => server.stop();
});

/** A gateway in front of an MCP server that answers everything. */
async function worldBehindProxy(gateway: object = {}): Promise<ProxiedWorld> {
  const { url } = await startPeer((_req, res) => {
    res.writeHead(200, { 'Content-Type': 'application/json' }).end('{"jsonrpc":"2.0","id":1,"result":{}}');
  });
  return proxiedWorld(server, { url: `${url}/mcp` }, { gateway });
}

async function callTool(world: ProxiedWorld, name: string, times = 1): Promise<void> {
  for (let index = 0; index < times; index += 1) {
    expect((await send(world, { body: call(name) })).status).toBe(200);
  }
}

/** By their names. */
async function observationsOf({ as, providerId }: ProxiedWorld): Promise<Body> {
  await server.decisions.flush();
  const { items } = await server.ok('GET', `/v1/runtime-observations?provider_id=${providerId}`, { as });
  return Object.fromEntries(items.map((observation: Body) => [observation.name, observation]));
}

const aDayAgo = () => server.services.now().getTime() - 24 * 3600 * 1000;

test('a call through the proxy is an occurrence for an account without telemetry', async () => {
  const world = await worldBehindProxy();
  await callTool(world, 'search', 3);
  const { search } = await observationsOf(world);
  expect(search).toMatchObject({
    status: 'resolved',
    unknown: false,
    occurrences: 3,
    denials: 0,
    evidence: { sources: ['proxy'], accounts: [world.session.subject], names: ['search'] },
  });
  await callTool(world, 'search');
  const again = (await observationsOf(world)).search;
  expect(again).toMatchObject({ id: search.id, occurrences: 4, firstSeenAt: search.firstSeenAt });
  expect(again.lastSeenAt >= search.lastSeenAt).toBe(true);
});

test('a denied call does not count as a call; where a gateway only observes, it counts as a call and as a denial', async () => {
  const world = await worldBehindProxy();
  await callTool(world, 'drop_table');
  expect((await observationsOf(world)).drop_table).toMatchObject({
    occurrences: 0,
    denials: 1,
    evidence: { sources: [] },
  });
  const observing = await worldBehindProxy({ enforcement: 'observe' });
  await callTool(observing, 'drop_table', 2);
  expect((await observationsOf(observing)).drop_table).toMatchObject({
    status: 'open',
    occurrences: 2,
    denials: 2,
    evidence: { sources: ['proxy'], deniedReasons: ['not_in_inventory'] },
  });
});

test('telemetry counts in place of the proxy, for 24 hours after the last call that it reported', async () => {
  const world = await worldBehindProxy();
  const reported = async (time: number) => {
    const start = BigInt(time) * 1_000_000n;
    const span = toolRun('search', { 'gen_ai.provider.name': world.providerName });
    await sendSpans(server, world.as, [{ ...span, start, end: start }]);
  };
  await reported(aDayAgo() - 60_000);
  await callTool(world, 'search');
  expect((await observationsOf(world)).search).toMatchObject({
    occurrences: 2,
    evidence: { sources: ['telemetry', 'proxy'] },
  });
  await reported(aDayAgo() + 60_000);
  await callTool(world, 'search', 5);
  expect((await observationsOf(world)).search).toMatchObject({ occurrences: 3 });
});
