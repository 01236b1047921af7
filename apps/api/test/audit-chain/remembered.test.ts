import { inTransaction } from '@quartermaster/db/transaction.ts';
import pino from 'pino';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { appendAuditEvents } from '../../src/platform/audit/mac.ts';
import type { Sealer } from '../../src/platform/audit/sealer.ts';
import { sealer } from '../../src/resources/audit-events/seal.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { eventAt, expectFaults, linksOf, run, sealedTenant, tamper, verified, writeOne } from './tampering.ts';

/*
 * Several of the service on one database, each with a memory of its own. None seals by itself: the passes below are all
 * there are.
 */
const lines: string[] = [];
const log = pino({}, { write: (line: string) => void lines.push(line) });
let one: TestServer;
let two: TestServer;
beforeAll(async () => {
  one = await startTestServer({}, { log, noHousekeeping: true });
  two = await startTestServer({ DATABASE_URL: one.databaseUrl }, { log, noHousekeeping: true });
});
afterAll(async () => {
  await two.stop();
  await one.stop();
});

/** Changes an event of a tenant, and lets all of them wait as if none had ever been sealed. */
async function forge(tenantId: string): Promise<void> {
  const { id } = await eventAt(one.services.db, tenantId, 1);
  await tamper(one, async (db) => {
    await run(db, `update audit_events set actor_id = 'somebody-else' where id = ?`, id);
    await run(
      db,
      'insert into audit_unsealed (tenant_id, event_id) select tenant_id, event_id from audit_chain where tenant_id = ?',
      tenantId,
    );
    for (const table of ['audit_chain', 'audit_heads'])
      await run(db, `delete from ${table} where tenant_id = ?`, tenantId);
  });
}

/** Why a tenant is sealed no further, by what the log says: once for each process that has noticed. */
function reasons(tenantId: string): string[] {
  const told: Body[] = lines.map((line) => JSON.parse(line));
  return told.filter((line) => line.err && line.tenantId === tenantId).map(({ err }) => err.message);
}

async function sealsNothing({ services }: TestServer, tenantId: string): Promise<void> {
  await services.sealer.pass();
  expect(await linksOf(services.db, tenantId)).toEqual([]);
}

test('regression: a chain that the sealer refuses, since its end was removed, is not answered as intact', async () => {
  const { tenantId, key } = await sealedTenant(one, 4);
  const { size } = await verified(one, key);
  await forge(tenantId);
  await sealsNothing(one, tenantId);
  const answer = await verified(one, key);
  expectFaults(answer, 'tail_removed@1', 'forged@');
  expect(answer).toMatchObject({ size: 0, unsealed: size });
  expect(reasons(tenantId)).toEqual(['its end was removed']);
});

test('regression: a process that never sealed anything of a tenant does not seal forged events of it anew', async () => {
  const { tenantId, key } = await sealedTenant(one, 4);
  // Whatever was sealed before it started, it knows before it seals anything.
  const late = await startTestServer({ DATABASE_URL: one.databaseUrl }, { log, noHousekeeping: true });
  try {
    await late.services.sealer.pass();
    await forge(tenantId);
    await sealsNothing(late, tenantId);
    expectFaults(await verified(late, key), 'tail_removed@1', 'forged@');
  } finally {
    await late.stop();
  }
});

test('what one process seals the others remember: a new chain, and one that has grown', async () => {
  await two.services.sealer.pass();
  const { tenantId, key } = await sealedTenant(one, 1);
  await two.services.sealer.pass();
  const { size } = await verified(one, key);
  expect(two.services.sealer.remembered(tenantId)?.size).toBe(size);
  await writeOne(one, key);
  await one.services.sealer.pass();
  await two.services.sealer.pass();
  expect(two.services.sealer.remembered(tenantId)?.size).toBe(size + 1);
  await forge(tenantId);
  await sealsNothing(two, tenantId);
  expectFaults(await verified(two, key), 'tail_removed@1', 'forged@');
});

test('a chain that a process without memory has begun anew is broken for all that remember it', async () => {
  const { tenantId, key } = await sealedTenant(one, 4);
  const { size } = await verified(one, key);
  const before = one.services.sealer.remembered(tenantId);
  await two.services.sealer.pass();
  await forge(tenantId);
  // It starts after what was done: only a head kept elsewhere tells it.
  const late = await startTestServer({ DATABASE_URL: one.databaseUrl }, { log, noHousekeeping: true });
  try {
    for (let count = 0; count < 2; count += 1) await writeOne(one, key);
    await late.services.sealer.pass();
    const answer = await verified(late, key);
    // It does not know what the chain was, but it does not seal an event that was changed.
    expectFaults(answer, 'forged@');
    expect(answer).toMatchObject({ size: size + 1, unsealed: 0 });
  } finally {
    await late.stop();
  }
  for (const server of [one, two]) {
    // Nothing waits: they learn of it by looking.
    await server.services.sealer.pass();
    expectFaults(await verified(server, key), `recomputed@${size}`, 'forged@');
    expect(server.services.sealer.remembered(tenantId)).toMatchObject({ size, hash: before?.hash });
    await writeOne(one, key);
    await server.services.sealer.pass();
    expect((await verified(server, key)).size).toBe(size + 1);
  }
  expect(reasons(tenantId)).toEqual(['it was computed again', 'it was computed again']);
});

test('a head that was not signed here does not take the place of one that is remembered', async () => {
  const { tenantId, key } = await sealedTenant(one, 2);
  const known = one.services.sealer.remembered(tenantId);
  await tamper(one, (db) =>
    run(db, `insert into audit_heads values (?, 1000, 'x', '2026-01-01T00:00:00.000Z', 'x')`, tenantId),
  );
  await one.services.sealer.pass();
  expect(one.services.sealer.remembered(tenantId)).toEqual(known);
  await tamper(one, (db) => run(db, 'delete from audit_heads where tenant_id = ? and size = 1000', tenantId));
  await writeOne(one, key);
  await one.services.sealer.pass();
  expect(await verified(one, key)).toMatchObject({ status: 'intact', unsealed: 0 });
});

test('heads of more tenants than one look takes are all known before anything is sealed', async () => {
  const tenants = Array.from({ length: 450 }, (_, index) => `many-${String(index).padStart(3, '0')}`);
  // A server of its own: the others would need several passes to learn of so many heads.
  const server = await startTestServer({}, { log, noHousekeeping: true });
  onTestFinished(() => server.stop());
  const { db, now, secrets } = server.services;
  const event = { actor: { type: 'system' as const, id: null, tenantId: null }, scheme: null, keyId: null };
  const said = { operation: 'x', target: { type: 'x', id: 'x' }, outcome: 'success' as const, reason: null };
  const rest = { changedFields: [], count: 1, requestId: '' };
  await inTransaction(db, (trx) =>
    appendAuditEvents(
      trx,
      { secrets, now: now() },
      tenants.map((tenantId) => ({ ...event, ...said, ...rest, place: { tenantId, subTenantId: null } })),
    ),
  );
  await server.services.sealer.pass();
  const fresh = sealer(server.services);
  await fresh.pass();
  for (const tenantId of tenants) expect(fresh.remembered(tenantId)?.size).toBe(1);
}, 60_000);

test('memory is bounded: what grew the longest ago is forgotten, but for chains that are not sealed any further', async () => {
  const all: { tenantId: string; key: string }[] = [];
  for (let count = 0; count < 4; count += 1) all.push(await sealedTenant(one, 1));
  const ids = all.map(({ tenantId }) => tenantId);
  const small = sealer(one.services, 2);
  const known = (of: Sealer) => ids.filter((id) => of.remembered(id) !== undefined);
  const grow = async (index: number) => {
    await writeOne(one, all[index]?.key ?? '');
    await small.pass();
  };
  for (const index of [0, 1, 0, 2]) await grow(index);
  expect(known(small)).toEqual([ids[0], ids[2]]);
  // The older one of the two, and it halts.
  await forge(ids[0] ?? '');
  await small.pass();
  await grow(3);
  expect(known(small)).toEqual([ids[0], ids[3]]);
  await small.pass();
  expect(await linksOf(one.services.db, ids[0] ?? '')).toEqual([]);
});
