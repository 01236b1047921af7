import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { accountWithKey, unique } from '../support/people.ts';
import { startTestServer } from '../support/server.ts';
import { failAndRecover, startSyncServers, type SyncServers } from './failing-syncs.ts';
import { FRIENDLY, HOSTILE } from './hostile.ts';
import { LOOPBACK, startPeer } from './peers.ts';

let servers: SyncServers;
beforeAll(async () => {
  servers = await startSyncServers();
});
afterAll(() => servers.stop());

// The quick form has the others.
const IN_THE_QUICK_FORM = ['answers 500', 'closes its stream of events midway'];

test.each([
  ['llm', 'has always one more page'],
  ...Object.keys(HOSTILE)
    .filter((what) => !IN_THE_QUICK_FORM.includes(what))
    .map((what) => ['mcp', what] as const),
] as const)('a sync of an %s provider that %s fails within its limits and changes nothing', async (kind, what) => {
  await failAndRecover(servers, kind, what);
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
