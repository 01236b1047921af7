import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import { startTestServer } from '../support/server.ts';
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
