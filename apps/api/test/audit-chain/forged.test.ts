import { randomBytes } from 'node:crypto';
import type { Database } from '@quartermaster/db/database.ts';
import { newTestDatabase } from '@quartermaster/db/testing/test-database.ts';
import pino from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { type Body, serverOfTest, type TestServer } from '../support/server.ts';
import { type EventRow, eventAt, expectFaults, run, sealedTenant, tamper, verified, writeOne } from './tampering.ts';

/*
 * Attacks by someone who can write to the database and has no key. The sealer runs only when a test calls `pass`.
 */
const lines: string[] = [];
const log = pino({}, { write: (line: string) => void lines.push(line) });

function testServer(environment: Record<string, string> = {}): Promise<TestServer> {
  return serverOfTest(environment, { log, noHousekeeping: true });
}

/** Inserts a copy of an event under an id that sorts before it, and marks it as unsealed. */
async function insertForged(db: Database, row: EventRow, change: Partial<EventRow>): Promise<string> {
  const forged = { ...row, id: `${row.id.slice(0, 10)}${'0'.repeat(row.id.length - 10)}`, ...change };
  await db.insertInto('audit_events').values(forged).execute();
  await run(db, 'insert into audit_unsealed (tenant_id, event_id) values (?, ?)', row.tenant_id, forged.id);
  return forged.id;
}

function refusedIn(tenantId: string): Body[] {
  const logged: Body[] = lines.map((line) => JSON.parse(line));
  return logged.filter((line) => line.tenantId === tenantId && /are not sealed/.test(line.msg));
}

test.each([
  ['the MAC of another event', {}],
  ['no MAC', { mac: null }],
  ['an invented MAC', { mac: randomBytes(32).toString('base64url') }],
  ['a column that cannot be read', { changed_fields: '[' }],
  ['another value after a change', { changes: '[{"field":"role","before":"viewer","after":"admin"}]' }],
])(
  'regression: an event inserted with %s and marked as unsealed is not sealed, and is reported',
  async (_what, change) => {
    const server = await testServer();
    const { tenantId, key } = await sealedTenant(server, 1);
    const { size } = await verified(server, key);
    const row = await eventAt(server.services.db, tenantId, 1);
    const id = await tamper(server, (db) => insertForged(db, row, { actor_id: 'somebody-else', ...change }));
    await writeOne(server, key);
    // It is reported while it waits, and after the sealer has refused it.
    expectFaults(await verified(server, key), 'forged@');
    await server.services.audit.sealer.pass();
    const answer = await verified(server, key);
    expectFaults(answer, 'forged@');
    expect(answer.faults[0].eventId).toBe(id);
    expect(answer).toMatchObject({ status: 'broken', size: size + 1, unsealed: 0 });
    expect(refusedIn(tenantId)).toMatchObject([{ level: 50, count: 1, eventIds: [id] }]);
    expect(await server.services.metrics.registry.metrics()).toMatch(/^quartermaster_audit_forged_total 1$/m);
    // The service goes on sealing other events, and still reports this one.
    await writeOne(server, key);
    await server.services.audit.sealer.pass();
    expectFaults(await verified(server, key), 'forged@');
    expect(refusedIn(tenantId)).toHaveLength(1);
  },
);

test('regression: an event that is changed before it is sealed is not sealed, and is reported', async () => {
  const server = await testServer();
  const { tenantId, key } = await sealedTenant(server, 1);
  await writeOne(server, key);
  await tamper(server, (db) =>
    run(
      db,
      `update audit_events set actor_id = 'somebody-else' where tenant_id = ?
       and id in (select event_id from audit_unsealed)`,
      tenantId,
    ),
  );
  await writeOne(server, key);
  await server.services.audit.sealer.pass();
  const answer = await verified(server, key);
  expectFaults(answer, 'forged@');
  expect(answer.unsealed).toBe(0);
});

test('more forged events than one batch, sorted before all others, do not delay the genuine ones', async () => {
  const server = await testServer();
  const { tenantId, key } = await sealedTenant(server, 1);
  const { size } = await verified(server, key);
  const row = await eventAt(server.services.db, tenantId, 1);
  await tamper(server, async (db) => {
    for (let count = 0; count < 250; count += 1) {
      await insertForged(db, row, { id: `aud_0${String(count).padStart(25, '0')}`, mac: null });
    }
  });
  await writeOne(server, key);
  await server.services.audit.sealer.pass();
  const answer = await verified(server, key);
  expect(answer).toMatchObject({ status: 'broken', size: size + 1, unsealed: 0 });
  expect(answer.faults).toHaveLength(250);
  expect(refusedIn(tenantId).map(({ count }) => count)).toEqual([100, 100, 50]);
});

test('a genuine event that is no longer marked as unsealed is reported, and is sealed once it is marked again', async () => {
  const server = await testServer();
  const { tenantId, key } = await sealedTenant(server, 1);
  await writeOne(server, key);
  await tamper(server, (db) => run(db, 'delete from audit_unsealed where tenant_id = ?', tenantId));
  await server.services.audit.sealer.pass();
  const answer = await verified(server, key);
  expectFaults(answer, 'inserted@');
  expect(answer.faults[0].detail).toMatch(/^the service wrote the event/);
  const { eventId } = answer.faults[0];
  await tamper(server, (db) => run(db, 'insert into audit_unsealed values (?, ?)', tenantId, eventId));
  await server.services.audit.sealer.pass();
  expectFaults(await verified(server, key));
});

test('verification in pages of one event reports a forged event once', async () => {
  const server = await testServer();
  const { tenantId, key } = await sealedTenant(server, 2);
  const row = await eventAt(server.services.db, tenantId, 1);
  await tamper(server, (db) => insertForged(db, row, {}));
  const faults: Body[] = [];
  let answer = await verified(server, key, { limit: '1' });
  for (; answer.nextCursor !== null; answer = await verified(server, key, { limit: '1', cursor: answer.nextCursor })) {
    faults.push(...answer.faults);
  }
  faults.push(...answer.faults);
  expect(faults.map(({ kind }) => kind)).toEqual(['forged']);
});

/** A separate database for several starts of the service, and two secret keys. */
async function restarts() {
  const { url, remove } = await newTestDatabase('migrated');
  onTestFinished(() => remove());
  const [old, current] = [randomBytes(32), randomBytes(32)];
  const [OLD, CURRENT] = [old.toString('base64'), current.toString('base64')];
  return { start: (keys: Record<string, string>) => testServer({ DATABASE_URL: url, ...keys }), old, OLD, CURRENT };
}

test('events that are unsealed while QM_SECRET_KEY changes are sealed by a start that has only the new key', async () => {
  const { start, OLD, CURRENT } = await restarts();
  const first = await start({ QM_SECRET_KEY: OLD });
  const { key } = await sealedTenant(first, 1);
  await writeOne(first, key);
  await first.stop();
  const second = await start({ QM_SECRET_KEY: CURRENT, QM_SECRET_KEY_PREVIOUS: OLD });
  await second.stop();
  const third = await start({ QM_SECRET_KEY: CURRENT });
  expect((await verified(third, key)).unsealed).toBe(1);
  await third.services.audit.sealer.pass();
  expectFaults(await verified(third, key));
});

test('a process that has only the former key leaves events of the new key to processes that have it', async () => {
  const { start, OLD, CURRENT } = await restarts();
  const former = await start({ QM_SECRET_KEY: OLD });
  const { tenantId, key } = await sealedTenant(former, 1);
  const current = await start({ QM_SECRET_KEY: CURRENT, QM_SECRET_KEY_PREVIOUS: OLD });
  await writeOne(current, key);
  await former.services.audit.sealer.pass();
  expect((await verified(current, key)).unsealed).toBe(1);
  await current.services.audit.sealer.pass();
  expectFaults(await verified(current, key));
  expect(refusedIn(tenantId)).toEqual([]);
});

test('with QM_SECRET_KEY_LOST=1 unsealed events are accepted once, and the log says how many', async () => {
  const { start, OLD, CURRENT } = await restarts();
  const first = await start({ QM_SECRET_KEY: OLD });
  const { tenantId, key } = await sealedTenant(first, 1);
  await writeOne(first, key);
  await first.stop();
  const second = await start({ QM_SECRET_KEY: CURRENT, QM_SECRET_KEY_LOST: '1' });
  await second.services.audit.sealer.pass();
  expectFaults(await verified(second, key));
  expect(lines.map((line) => JSON.parse(line)).filter((line) => /without a check/.test(line.msg))).toMatchObject([
    { vouched: 1 },
  ]);
  await second.stop();
  const third = await start({ QM_SECRET_KEY: CURRENT });
  const row = await eventAt(third.services.db, tenantId, 1);
  await tamper(third, (db) => insertForged(db, row, { mac: null }));
  await third.services.audit.sealer.pass();
  expectFaults(await verified(third, key), 'forged@');
});

test('a start never accepts events without a MAC, even if all signing keys and heads were removed', async () => {
  const { start, OLD } = await restarts();
  const first = await start({ QM_SECRET_KEY: OLD });
  const { tenantId, key } = await sealedTenant(first, 1);
  const row = await eventAt(first.services.db, tenantId, 1);
  await tamper(first, async (db) => {
    await insertForged(db, row, { mac: null });
    await db.deleteFrom('audit_heads').execute();
    await db.deleteFrom('credentials').where('kind', '=', 'signing_key').execute();
  });
  await first.stop();
  const second = await start({ QM_SECRET_KEY: OLD });
  await second.services.audit.sealer.pass();
  expect((await verified(second, key)).faults).toContainEqual(expect.objectContaining({ kind: 'forged' }));
});
