import { beforeAll, expect, test } from 'vitest';
import { type Decided, DecisionLog } from '../../src/resources/gateway-decisions/decision-log.ts';
import { unique } from '../support/people.ts';
import type { Body, TestServer } from '../support/server.ts';
import { decidingWorld } from './sessions.ts';
import { type Denying, startDenying } from './denying.ts';

let server: TestServer;
let decide: Denying['decide'];
let observationsOf: Denying['observationsOf'];
beforeAll(async () => {
  ({ server, decide, observationsOf } = await startDenying());
  return () => server.stop();
});

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
