import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { NewAuditEvent } from '@quartermaster/db/repositories/audit-events.ts';
import { scaled } from '@quartermaster/db/testing/scale.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { expect, test } from 'vitest';
import { appendAuditEvents } from '../../src/platform/audit/mac.ts';
import { cpuOfTurns } from '../support/cpu-of-turns.ts';
import { serverOfTest } from '../support/server.ts';
import { expectFaults, run, sealedTenant, tamper, verified } from './tampering.ts';

const EVENTS = scaled({ usual: 20_000, full: 100_000 });
const EVENTS_PER_TRANSACTION = 1000;

/** The most CPU time that one turn of the event loop may take, in milliseconds. CPU time does not depend on other processes. */
const MAX_BLOCKED_CPU_MS = 100;

/** The better one counts, because a turn is also long if it collects much garbage. What blocks the event loop does so in each. */
const ROUNDS = 2;

/** The sampling interval of the event loop monitor, which is part of what it measures. */
const RESOLUTION_MS = 10;

test(`${EVENTS} events are sealed and verified without blocking the event loop`, async () => {
  const server = await serverOfTest();
  const { tenantId, key } = await sealedTenant(server, 1);
  const { size } = await verified(server, key);
  const event: NewAuditEvent = {
    place: { tenantId, subTenantId: null },
    actor: { type: 'service_account', id: 'somebody', tenantId },
    scheme: 'api_key',
    keyId: 'key_1',
    operation: 'update_provider',
    target: { type: 'provider', id: 'prov_1' },
    outcome: 'success',
    reason: null,
    changedFields: ['baseUrl', 'name'],
    count: 1,
    requestId: 'request',
  };
  const { db, now, audit, secrets } = server.services;
  const append = async (count: number) => {
    for (let appended = 0; appended < count; appended += EVENTS_PER_TRANSACTION) {
      await inTransaction(db, (trx) =>
        appendAuditEvents(
          trx,
          { secrets, now: now() },
          Array.from({ length: EVENTS_PER_TRANSACTION }, () => event),
        ),
      );
    }
  };
  const sealing = await leastBlocking(async () => {
    await append(EVENTS / ROUNDS);
    return () => audit.sealer.pass();
  });
  const checking = await leastBlocking(async () => async () => {
    const answer = await verified(server, key, { limit: String(EVENTS) });
    expect(answer).toMatchObject({ status: 'intact', checked: EVENTS });
    const { nextCursor: cursor } = answer;
    const rest = await verified(server, key, { limit: String(EVENTS), cursor });
    expect(rest).toMatchObject({ status: 'intact', checked: size + EVENTS, unsealed: 0 });
    expect((await verified(server, key, { limit: String(EVENTS), cursor: rest.nextCursor })).nextCursor).toBeNull();
  });
  process.stdout.write(
    `${EVENTS} audit events: sealing half of them ${formatBlocking(sealing)}; verifying ${formatBlocking(checking)}\n`,
  );
  for (const { cpu } of [sealing, checking]) expect(cpu).toBeLessThan(MAX_BLOCKED_CPU_MS);

  const position = Math.floor(EVENTS * 0.77);
  const sql = `update audit_events set reason = 'x' where id in (select event_id from audit_chain where tenant_id = ? and position = ?)`;
  await tamper(server, (db) => run(db, sql, tenantId, position));
  expectFaults(await verified(server, key, { limit: String(EVENTS) }), `changed@${position}`);
});

type Blocking = { seconds: number; p99: number; cpu: number };

/** Prepares and measures some work {@link ROUNDS} times, and returns the round with the least CPU time between two turns. */
async function leastBlocking(prepare: () => Promise<() => Promise<unknown>>): Promise<Blocking> {
  const rounds: Blocking[] = [];
  for (let round = 0; round < ROUNDS; round += 1) rounds.push(await measureBlocking(await prepare()));
  return rounds.reduce((least, one) => (one.cpu < least.cpu ? one : least));
}

/** Runs `work`. Measures its time, the p99 delay of the event loop, and the most CPU time between two turns. */
async function measureBlocking(work: () => Promise<unknown>): Promise<Blocking> {
  const monitor = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  const start = performance.now();
  monitor.enable();
  const { longest: cpu } = await cpuOfTurns(work);
  monitor.disable();
  const seconds = (performance.now() - start) / 1000;
  return { seconds, p99: monitor.percentile(99) / 1e6 - RESOLUTION_MS, cpu };
}

function formatBlocking({ seconds, p99, cpu }: Blocking): string {
  return `${seconds.toFixed(1)} s, event loop delay p99 ${p99.toFixed(1)} ms, at most ${cpu.toFixed(1)} ms of its CPU`;
}
