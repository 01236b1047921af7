import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import { type Body, startTestServer } from '../support/server.ts';
import { type DecidingWorld, decidingWorld } from './sessions.ts';

/** What the documentation promises, in milliseconds. */
const PROMISED_MS = 5000;

/** How many gateways are changed at the same time, each while it is asked ten times a second. */
const ROUNDS = 20;

test('what one process approves, blocks and revokes counts for decisions of another within 5 s', async () => {
  const environment = { QM_PUBLIC_URL: 'https://quartermaster.example' };
  const writer = await startTestServer(environment);
  // SQLite has one process.
  const decider = onPostgres() ? await startTestServer({ ...environment, DATABASE_URL: writer.databaseUrl }) : writer;
  const decide = async ({ gatewayId, providerName, token }: DecidingWorld): Promise<string> => {
    const answer = await decider.call('POST', `/v1/gateways/${gatewayId}/decisions`, {
      headers: { Authorization: `Bearer ${token}` },
      body: { provider: providerName, kind: 'tool', name: 'later' },
    });
    return answer.status === 200 ? String(answer.body.allowed) : answer.body.code;
  };
  /** How long it takes until decisions have an answer, after a change. */
  const timeUntil = async (world: DecidingWorld, wanted: string, change: () => Promise<unknown>): Promise<number> => {
    await change();
    const started = performance.now();
    while ((await decide(world)) !== wanted && performance.now() - started < 2 * PROMISED_MS) await sleep(100);
    return performance.now() - started;
  };
  const rounds = Array.from({ length: ROUNDS }, async () => {
    const world = await decidingWorld(writer);
    const { as, providerId, gatewayId, session } = world;
    expect(await decide(world)).toBe('false');
    const items = `/v1/providers/${providerId}/inventory`;
    let itemId = '';
    const approved = await timeUntil(world, 'true', async () => {
      itemId = (await writer.ok('POST', items, { as, body: { kind: 'tool', name: 'later' } })).id;
    });
    // The session does not grant it, so blocking it does not end the session.
    const blocked = await timeUntil(world, 'false', () =>
      writer.ok('PUT', `${items}/${itemId}`, { as, body: { status: 'blocked' } }),
    );
    const revoked = await timeUntil(world, 'gateway_session_ended', () =>
      writer.ok('DELETE', `/v1/gateways/${gatewayId}/sessions/${session.id}`, { as }),
    );
    return [approved, blocked, revoked];
  });
  const times = (await Promise.all(rounds)).flat();
  expect(Math.max(...times)).toBeLessThan(PROMISED_MS);
  // Otherwise nothing was kept, and the test would show nothing.
  expect(Math.max(...times)).toBeGreaterThan(100);
  if (decider !== writer) await decider.end();
  await writer.stop();
});

test('what is allowed in a manifest, or no longer, counts in an open session within 5 s', async () => {
  const server = await startTestServer();
  const world = await decidingWorld(server);
  const { as, gatewayId, providerId, providerName } = world;
  const spec = { allow: [{ provider: providerName, names: ['other'] }] };
  const manifest = await server.ok('POST', '/v1/manifests', { as, body: { name: 'edge', kind: 'gateway', spec } });
  await server.ok('PUT', `/v1/gateways/${gatewayId}`, { as, body: { manifestId: manifest.id } });
  const decide = async (): Promise<Body> => {
    const answer = await server.call('POST', `/v1/gateways/${gatewayId}/decisions`, {
      headers: { Authorization: `Bearer ${world.token}` },
      body: { provider: providerName, kind: 'tool', name: 'search' },
    });
    return answer.body;
  };
  const { reason, observationId } = await decide();
  expect(reason).toBe('manifest');
  const within5s = (allowed: boolean) =>
    expect.poll(async () => (await decide()).allowed, { timeout: PROMISED_MS, interval: 100 }).toBe(allowed);
  await expect
    .poll(async () => (await server.ok('GET', `/v1/runtime-observations/${observationId}`, { as })).status)
    .toBe('open');
  await server.ok('POST', `/v1/runtime-observations/${observationId}/review`, { as, body: { decision: 'approved' } });
  const { applied } = await server.ok('POST', `/v1/providers/${providerId}/recommendations/apply`, { as, body: {} });
  await within5s(true);
  await server.ok('POST', `/v1/recommendations/${applied[0].id}/undo`, { as });
  await within5s(false);
  await server.stop();
});
