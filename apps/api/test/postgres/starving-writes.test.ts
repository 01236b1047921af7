import { setTimeout as sleep } from 'node:timers/promises';
import { scaled } from '@quartermaster/db/testing/scale.ts';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { atOpenai, newTenant, type Tenant } from '../governance/loop-support.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { all, exportRequest } from '../telemetry/traces/sending.ts';

/*
 * Large administrative writes while spans about the same provider arrive continuously. Of two conflicting serializable
 * transactions the longer one fails, so without the write gate it would fail at each span. There are two services on one
 * database, because the gate has to work across processes.
 */
let server: TestServer;
let other: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  other = await startTestServer({ DATABASE_URL: server.databaseUrl });
});
afterAll(async () => {
  await other.stop();
  await server.stop();
});

/** As the trial that found it had them; in usual runs fewer, which without the gate fail as well. */
const OBSERVATIONS = scaled({ usual: 700, full: 9900 });
const RECOMMENDATIONS = scaled({ usual: 50, full: 1000 });

/** Sends one span after the other to both services until it is stopped. Returns the statuses. */
function trickle({ sender: as }: Tenant): () => Promise<number[]> {
  const statuses: number[] = [];
  const stopping = new AbortController();
  const send = async (to: TestServer) => {
    for (let index = 0; !stopping.signal.aborted; index += 1) {
      const { status } = await to.call('POST', '/v1/traces', {
        as,
        body: exportRequest([atOpenai(`model-${index % 20}`)]),
      });
      statuses.push(status);
      await sleep(20);
    }
  };
  const sending = [server, other, server, other].map(send);
  const stop = async () => {
    stopping.abort();
    await Promise.all(sending);
    return statuses;
  };
  onTestFinished(async () => void (await stop()));
  return stop;
}

test('regression: a provider in heavy use can be renamed, changed in bulk and deleted', async () => {
  const tenant = await newTenant(server);
  const neighbour = await newTenant(server);
  const { operator: as, sender, path } = tenant;
  for (let start = 0; start < OBSERVATIONS; start += 500) {
    const spans = Array.from({ length: 500 }, (_, index) => atOpenai(`model-${start + index}`));
    await server.ok('POST', '/v1/traces', { as: sender, body: exportRequest(spans) });
  }
  const observed: string[] = (await all(server, '/v1/runtime-observations', as)).map(({ id }) => id);
  // What a person approved is applied by `{}`.
  for (let start = 0; start < RECOMMENDATIONS; start += 50) {
    const observationIds = observed.slice(start, start + 50);
    const body = { observationIds, decision: 'approved' };
    await server.ok('POST', '/v1/runtime-observations/review', { as, body });
  }
  const stops = [tenant, neighbour].map(trickle);

  await server.ok('PUT', path, { as, body: { name: 'renamed' } });
  const { applied } = await server.ok('POST', `${path}/recommendations/apply`, { as, body: {} });
  expect(applied).toHaveLength(RECOMMENDATIONS);
  // The platform administrator belongs to no tenant, so the gate of the provider's tenant is used.
  await server.ok('POST', `/v1/recommendations/${applied[0].id}/undo`, { as: server.admin });
  await server.ok('DELETE', path, { as: server.admin });

  const [own, others] = await Promise.all(stops.map((stop) => stop()));
  expect(own).toContain(200);
  // Senders try again after 503. Other tenants were never delayed.
  expect(own?.filter((status) => status !== 200 && status !== 503)).toEqual([]);
  expect(others?.filter((status) => status !== 200)).toEqual([]);
});
