import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Sealer } from '../../src/platform/audit/sealer.ts';
import { sealer } from '../../src/resources/audit-events/seal.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { eventAt, expectFaults, linksOf, run, sealedTenant, tamper, verified, writeOne } from './tampering.ts';

/*
 * Two servers on one database. Each remembers heads in its own memory. The sealer runs only when a test calls `pass`.
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

/** Changes an event of a tenant, removes its chain, and marks all of its events as unsealed. */
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

/** The logged reasons why a tenant's events are no longer sealed: one for each process that noticed it. */
function reasons(tenantId: string): string[] {
  const logged: Body[] = lines.map((line) => JSON.parse(line));
  return logged.filter((line) => line.err && line.tenantId === tenantId).map(({ err }) => err.message);
}

async function expectNothingSealed({ services }: TestServer, tenantId: string): Promise<void> {
  await services.audit.sealer.pass();
  expect(await linksOf(services.db, tenantId)).toEqual([]);
}

test('regression: a chain that the sealer refuses because its end was removed is not reported as intact', async () => {
  const { tenantId, key } = await sealedTenant(one, 4);
  const { size } = await verified(one, key);
  await forge(tenantId);
  await expectNothingSealed(one, tenantId);
  const answer = await verified(one, key);
  expectFaults(answer, 'tail_removed@1', 'forged@');
  expect(answer).toMatchObject({ size: 0, unsealed: size });
  expect(reasons(tenantId)).toEqual(['its end was removed']);
});

test('regression: a process that never sealed events of a tenant does not seal forged ones', async () => {
  const { tenantId, key } = await sealedTenant(one, 4);
  // Before it seals, it learns the heads of all chains that exist.
  const late = await startTestServer({ DATABASE_URL: one.databaseUrl }, { log, noHousekeeping: true });
  try {
    await late.services.audit.sealer.pass();
    await forge(tenantId);
    await expectNothingSealed(late, tenantId);
    expectFaults(await verified(late, key), 'tail_removed@1', 'forged@');
  } finally {
    await late.stop();
  }
});

test('a process remembers the heads that another process sealed, of a new chain and of a longer one', async () => {
  await two.services.audit.sealer.pass();
  const { tenantId, key } = await sealedTenant(one, 1);
  await two.services.audit.sealer.pass();
  const { size } = await verified(one, key);
  expect(two.services.audit.sealer.remembered(tenantId)?.size).toBe(size);
  await writeOne(one, key);
  await one.services.audit.sealer.pass();
  await two.services.audit.sealer.pass();
  expect(two.services.audit.sealer.remembered(tenantId)?.size).toBe(size + 1);
  await forge(tenantId);
  await expectNothingSealed(two, tenantId);
  expectFaults(await verified(two, key), 'tail_removed@1', 'forged@');
});

test('a chain that a newly started process begins again is broken for the processes that remember it', async () => {
  const { tenantId, key } = await sealedTenant(one, 4);
  const { size } = await verified(one, key);
  const before = one.services.audit.sealer.remembered(tenantId);
  await two.services.audit.sealer.pass();
  await forge(tenantId);
  // It starts after the change, so only a head that was kept elsewhere could prove the change.
  const late = await startTestServer({ DATABASE_URL: one.databaseUrl }, { log, noHousekeeping: true });
  try {
    for (let count = 0; count < 2; count += 1) await writeOne(one, key);
    await late.services.audit.sealer.pass();
    const answer = await verified(late, key);
    // It does not know the former chain, but it does not seal the changed event.
    expectFaults(answer, 'forged@');
    expect(answer).toMatchObject({ size: size + 1, unsealed: 0 });
  } finally {
    await late.stop();
  }
  for (const server of [one, two]) {
    // No event is unsealed. They notice it because they read the heads.
    await server.services.audit.sealer.pass();
    expectFaults(await verified(server, key), `recomputed@${size}`, 'forged@');
    expect(server.services.audit.sealer.remembered(tenantId)).toMatchObject({ size, hash: before?.hash });
    await writeOne(one, key);
    await server.services.audit.sealer.pass();
    expect((await verified(server, key)).size).toBe(size + 1);
  }
  expect(reasons(tenantId)).toEqual(['it was computed again', 'it was computed again']);
});

test('a head with an invalid signature does not replace a remembered one', async () => {
  const { tenantId, key } = await sealedTenant(one, 2);
  const known = one.services.audit.sealer.remembered(tenantId);
  await tamper(one, (db) =>
    run(db, `insert into audit_heads values (?, 1000, 'x', '2026-01-01T00:00:00.000Z', 'x')`, tenantId),
  );
  await one.services.audit.sealer.pass();
  expect(one.services.audit.sealer.remembered(tenantId)).toEqual(known);
  await tamper(one, (db) => run(db, 'delete from audit_heads where tenant_id = ? and size = 1000', tenantId));
  await writeOne(one, key);
  await one.services.audit.sealer.pass();
  expect(await verified(one, key)).toMatchObject({ status: 'intact', unsealed: 0 });
});

test('memory is bounded: the chain that grew the longest ago is forgotten, except for chains that are refused', async () => {
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
  // Now the sealer refuses the older one of the two.
  await forge(ids[0] ?? '');
  await small.pass();
  await grow(3);
  expect(known(small)).toEqual([ids[0], ids[3]]);
  await small.pass();
  expect(await linksOf(one.services.db, ids[0] ?? '')).toEqual([]);
});
