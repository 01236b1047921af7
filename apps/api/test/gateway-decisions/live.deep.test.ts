import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { FULL, scaled } from '@quartermaster/db/testing/scale.ts';
import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import { startProcess } from '../support/process.ts';
import { type Body, exchange, SECRET_KEY, startTestServer } from '../support/server.ts';
import { type DecidingWorld, decidingWorld } from './sessions.ts';

/** What the documentation promises, in milliseconds. */
const PROMISED_MS = 5000;

/** How many gateways are changed in all, and at the same time. Each is asked ten times a second meanwhile. */
const ROUNDS = scaled({ usual: 12, full: 200 });
const AT_ONCE = 10;

/** Connections that ask for one decision after the other, about another gateway of the same process. */
const FLOODING = 4;

test('what one process approves, blocks and revokes counts for decisions of another within 5 s, under load', async () => {
  const environment = { QM_PUBLIC_URL: 'https://quartermaster.example' };
  const writer = await startTestServer(environment);
  // SQLite has one process.
  const decider = onPostgres()
    ? await startProcess({ ...environment, DATABASE_URL: writer.databaseUrl, QM_SECRET_KEY: SECRET_KEY })
    : writer;
  const decide = async ({ gatewayId, providerName, token }: DecidingWorld, name: string): Promise<string> => {
    const { status, text } = await exchange(`${decider.url}/v1/gateways/${gatewayId}/decisions`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ provider: providerName, kind: 'tool', name }),
    });
    const answer = JSON.parse(text) as { allowed: boolean; code: string };
    return status === 200 ? String(answer.allowed) : answer.code;
  };
  /** How long it takes until decisions have an answer, after a change. */
  const timeUntil = async (world: DecidingWorld, wanted: string, change: () => Promise<unknown>): Promise<number> => {
    await change();
    const started = performance.now();
    while ((await decide(world, 'later')) !== wanted && performance.now() - started < 2 * PROMISED_MS) await sleep(100);
    return performance.now() - started;
  };
  const round = async () => {
    const world = await decidingWorld(writer);
    const { as, providerId, gatewayId, session } = world;
    expect(await decide(world, 'later')).toBe('false');
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
    return { approved, blocked, revoked };
  };

  const busy = await decidingWorld(writer);
  const flood = { ends: false, decisions: 0 };
  const flooding = Array.from({ length: FLOODING }, async () => {
    for (; !flood.ends; flood.decisions += 2) {
      expect(await decide(busy, 'search')).toBe('true');
      expect(await decide(busy, 'drop_table')).toBe('false');
    }
  });
  const began = performance.now();
  const rounds: Awaited<ReturnType<typeof round>>[] = [];
  try {
    while (rounds.length < ROUNDS) {
      rounds.push(...(await Promise.all(Array.from({ length: Math.min(AT_ONCE, ROUNDS - rounds.length) }, round))));
    }
  } finally {
    flood.ends = true;
    await Promise.all(flooding);
  }
  const seconds = (performance.now() - began) / 1000;

  if (FULL) {
    for (const change of ['approved', 'blocked', 'revoked'] as const) {
      process.stdout.write(`${change}: ${percentiles(rounds.map((times) => times[change]))}\n`);
    }
    process.stdout.write(
      `beside ${Math.round(flood.decisions / seconds)} other decisions a second, ${Math.round(seconds)} s\n`,
    );
  }
  const times = rounds.flatMap((one) => Object.values(one));
  expect(Math.max(...times)).toBeLessThan(PROMISED_MS);
  // Otherwise nothing was kept, and the test would show nothing.
  expect(Math.max(...times)).toBeGreaterThan(100);
  if ('child' in decider) {
    decider.child.kill('SIGTERM');
    await decider.ended;
  }
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

function percentiles(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN);
  return `p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, p100 ${at(1)} ms`;
}
