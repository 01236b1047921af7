import { inTransaction } from '@quartermaster/db/transaction.ts';
import { beforeAll, expect, test } from 'vitest';
import { foldDecisions, type NotedCalls, type NotedDenial } from '../../src/governance/denials/fold.ts';
import { unique } from '../support/people.ts';
import type { TestServer } from '../support/server.ts';
import { decidingWorld } from './sessions.ts';
import { type Denying, startDenying } from './denying.ts';

let server: TestServer;
let decide: Denying['decide'];
let observationsOf: Denying['observationsOf'];
beforeAll(async () => {
  ({ server, decide, observationsOf } = await startDenying());
  return () => server.stop();
});

test('a denial opens an observation with a review task, and approving and applying it lets the next call through', async () => {
  const world = await decidingWorld(server);
  const { as } = world;
  const { observationId, allowed, reviewUrl } = await decide(world, 'drop_table');
  expect(allowed).toBe(false);
  expect(new URL(reviewUrl).searchParams.get('item')).toBe(observationId);
  expect(await server.ok('GET', `/v1/runtime-observations/${observationId}`, { as })).toMatchObject({
    name: 'drop_table',
    unknown: true,
    status: 'open',
    occurrences: 0,
    denials: 1,
    evidence: { deniedReasons: ['not_in_inventory'], accounts: [world.session.subject] },
    risk: { level: 'medium', factors: expect.arrayContaining([expect.objectContaining({ factor: 'denied_use' })]) },
  });
  const tasks = await server.ok('GET', '/v1/operator/tasks?kind=review_observation', { as });
  expect(tasks.items).toMatchObject([{ subject: { id: observationId }, title: expect.stringContaining('denied at') }]);

  const review = `/v1/runtime-observations/${observationId}/review`;
  await server.ok('POST', review, { as, body: { decision: 'approved' } });
  const { items } = await server.ok('GET', '/v1/recommendations?kind=register_item', { as });
  expect(items).toMatchObject([
    { status: 'open', reason: expect.stringContaining('Gateways deny the tool drop_table') },
  ]);
  await server.ok('POST', `/v1/providers/${world.providerId}/recommendations/apply`, { as, body: {} });
  expect((await decide(world, 'drop_table')).allowed).toBe(true);
  expect(await server.ok('GET', `/v1/runtime-observations/${observationId}`, { as })).toMatchObject({
    status: 'resolved',
  });
});

test('denials of one name are one observation, which counts each attempt', async () => {
  const world = await decidingWorld(server);
  const { observationId } = await decide(world, 'x', { attempts: 3 });
  for (let index = 0; index < 5; index += 1) await decide(world, 'x');
  await server.decisions.flush();
  expect(await observationsOf(world)).toMatchObject([{ id: observationId, denials: 8, occurrences: 0 }]);
});

test('regression: the answer names the observation of a name with hidden characters', async () => {
  const world = await decidingWorld(server);
  const { observationId } = await decide(world, 'drop\u200b_table');
  expect(await observationsOf(world)).toMatchObject([{ id: observationId, name: 'drop\\u{200b}_table' }]);
});

test('in the mode observe, what would have been denied is counted as well', async () => {
  const world = await decidingWorld(server, { gateway: { enforcement: 'observe' } });
  const { allowed, observationId } = await decide(world, 'x');
  expect(allowed).toBe(true);
  expect(await observationsOf(world)).toMatchObject([{ id: observationId, denials: 1 }]);
});

test('a rejected observation stays rejected: an attempt that was stopped is no use', async () => {
  const world = await decidingWorld(server);
  const { observationId } = await decide(world, 'x');
  const path = `/v1/runtime-observations/${observationId}`;
  await server.ok('POST', `${path}/review`, { as: world.as, body: { decision: 'rejected' } });
  await decide(world, 'x');
  await server.decisions.flush();
  expect(await server.ok('GET', path, { as: world.as })).toMatchObject({ status: 'rejected', denials: 2 });
});

test('a denied use of a blocked item raises no task about a blocked use', async () => {
  const world = await decidingWorld(server, { items: [{ kind: 'tool', name: 'x', status: 'blocked' }] });
  const { observationId, reason } = await decide(world, 'x');
  expect(reason).toBe('blocked');
  const path = `/v1/runtime-observations/${observationId}`;
  expect(await server.ok('GET', path, { as: world.as })).toMatchObject({ status: 'resolved', denials: 1 });
  const { items } = await server.ok('GET', '/v1/operator/tasks', { as: world.as });
  expect(items).toEqual([]);
  const blocked = await server.ok('GET', '/v1/runtime-observations?view=blocked', { as: world.as });
  expect(blocked.items).toEqual([]);
  const denied = await server.ok('GET', '/v1/runtime-observations?view=denied', { as: world.as });
  expect(denied.items).toMatchObject([{ id: observationId }]);
});

test('the denials of an observation and of a gateway are listed, the last first, and sessions count their decisions', async () => {
  const world = await decidingWorld(server, { gateway: { enforcement: 'observe' } });
  const { as, gatewayId, session } = world;
  const { observationId } = await decide(world, 'first');
  await decide(world, 'second', { attempts: 2 });
  await decide(world, 'search');
  await server.decisions.flush();
  const denied = { gatewayId, account: session.subject, reason: 'not_in_inventory', lastSessionId: session.id };
  const path = `/v1/runtime-observations/${observationId}/denials`;
  expect((await server.ok('GET', path, { as })).items).toMatchObject([{ ...denied, name: 'first', denials: 1 }]);
  const ofGateway = `/v1/gateways/${gatewayId}/denials`;
  const { items, nextCursor } = await server.ok('GET', `${ofGateway}?limit=1`, { as });
  expect(items).toMatchObject([{ ...denied, name: 'second', denials: 2 }]);
  const next = await server.ok('GET', `${ofGateway}?limit=1&cursor=${nextCursor}`, { as });
  expect(next).toMatchObject({ items: [{ name: 'first' }], nextCursor: null });
  expect(await server.ok('GET', `/v1/gateways/${gatewayId}/sessions/${session.id}`, { as })).toMatchObject({
    decisions: { allowed: 1, denied: 3, lastAt: expect.any(String) },
  });
});

test('a batch that is written twice, because its commit may have failed, counts once', async () => {
  const world = await decidingWorld(server);
  const { tenantId, gatewayId, providerId, session } = world;
  const time = new Date().toISOString();
  const denial: NotedDenial = {
    gatewayId,
    place: { tenantId, subTenantId: null },
    providerId,
    kind: 'tool',
    name: 'x',
    account: session.subject,
    reason: 'not_in_inventory',
    count: 3,
    firstAt: time,
    lastAt: time,
    lastSessionId: session.id,
  };
  const { reason: _reason, gatewayId: _gateway, lastSessionId: _session, ...uses } = denial;
  const called: NotedCalls = { ...uses, name: 'search', count: 2 };
  const sessions = [{ sessionId: session.id, allowed: 2, denied: 3, lastAt: time }];
  const batch = { id: unique('batch'), denials: [denial], calls: [called], counts: [], sessions };
  const { db, tenantLimits, telemetry } = server.services;
  const limits = { observations: telemetry.maxObservations, tenantLimits };
  for (let attempt = 0; attempt < 2; attempt += 1) {
    await inTransaction(db, (trx) => foldDecisions(trx, tenantId, { batch, limits }, new Date()));
  }
  const observations = await observationsOf(world);
  expect(observations.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toMatchObject([
    { name: 'search', status: 'resolved', occurrences: 2, denials: 0, lastSeenAt: time },
    { name: 'x', status: 'open', occurrences: 0, denials: 3 },
  ]);
  const path = `/v1/gateways/${gatewayId}/sessions/${session.id}`;
  expect((await server.ok('GET', path, { as: world.as })).decisions).toMatchObject({ denied: 3 });
});
