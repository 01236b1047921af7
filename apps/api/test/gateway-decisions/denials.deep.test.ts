import { beforeAll, expect, test } from 'vitest';
import { type Decided, DecisionLog } from '../../src/resources/gateway-decisions/decision-log.ts';
import { unique } from '../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { type DecidingWorld, decidingWorld } from './sessions.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({}, { decisionsFreshMs: 0 });
  // The first batch of a server takes longer than a denial waits for the id of its observation.
  await decide(await decidingWorld(server), 'first');
  await server.decisions.flush();
  return () => server.stop();
});

async function decide(
  { gatewayId, providerName, token }: DecidingWorld,
  name: string,
  more: object = {},
): Promise<Body> {
  const answer = await server.call('POST', `/v1/gateways/${gatewayId}/decisions`, {
    headers: { Authorization: `Bearer ${token}` },
    body: { provider: providerName, kind: 'tool', name, ...more },
  });
  expect(answer.status).toBe(200);
  return answer.body;
}

const observationsOf = async ({ as, providerId }: DecidingWorld): Promise<Body[]> =>
  (await server.ok('GET', `/v1/runtime-observations?provider_id=${providerId}`, { as })).items;

test('a flood of invented names leaves 20 observations, their tasks and one task about the account', async () => {
  const world = await decidingWorld(server);
  const names = Array.from({ length: 60 }, (_, index) => `invented-${index}`);
  await Promise.all(names.map((name) => decide(world, name, { attempts: 10 })));
  await server.decisions.flush();
  expect((await observationsOf(world)).length).toBe(20);
  const { items } = await server.ok('GET', '/v1/operator/tasks?limit=100', { as: world.as });
  expect(items.filter(({ kind }: Body) => kind === 'review_observation').length).toBe(20);
  expect(items.filter(({ kind }: Body) => kind === 'review_cardinality')).toMatchObject([
    { title: expect.stringContaining('was denied 20 names') },
  ]);
});

test('regression: a flood of the names of one tenant does not hide the denials of another', async () => {
  const world = await decidingWorld(server);
  const log = new DecisionLog(server.services);
  const denial: Omit<Decided, 'name' | 'account' | 'place'> = {
    gatewayId: world.gatewayId,
    sessionId: null,
    providerId: world.providerId,
    kind: 'tool',
    point: 'guard',
    mode: 'enforce',
    reason: 'not_in_inventory',
    attempts: 1,
  };
  const flooding = { tenantId: unique('flooding'), subTenantId: null };
  for (let index = 0; index < 20_000; index += 1)
    log.note({ ...denial, place: flooding, account: `user:${index % 100}`, name: `invented-${index}` });
  const place = { tenantId: world.tenantId, subTenantId: null };
  log.note({ ...denial, place, account: world.session.subject, name: 'drop_table' });
  await log.flush();
  expect(await observationsOf(world)).toMatchObject([{ name: 'drop_table', denials: 1 }]);
});
