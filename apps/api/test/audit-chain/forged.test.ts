import { randomBytes } from 'node:crypto';
import type { Database } from '@quartermaster/db/database.ts';
import { newTestDatabase } from '@quartermaster/db/testing/test-database.ts';
import pino from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { formerBox } from '../support/former-box.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { type EventRow, eventAt, expectFaults, run, sealedTenant, tamper, verified, writeOne } from './tampering.ts';

/*
 * What somebody does who can write to the database, and has no key: the passes of the sealer below are all there are.
 */
const lines: string[] = [];
const log = pino({}, { write: (line: string) => void lines.push(line) });

async function testServer(environment: Record<string, string> = {}): Promise<TestServer> {
  const server = await startTestServer(environment, { log, noHousekeeping: true });
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= server.stop();
    return stopped;
  };
  onTestFinished(stop);
  return { ...server, stop };
}

/** A copy of an event under an id that sorts before it, with a note that it waits to be sealed. */
async function insertForged(db: Database, row: EventRow, change: Partial<EventRow>): Promise<string> {
  const forged = { ...row, id: `${row.id.slice(0, 10)}${'0'.repeat(row.id.length - 10)}`, ...change };
  await db.insertInto('audit_events').values(forged).execute();
  await run(db, 'insert into audit_unsealed (tenant_id, event_id) values (?, ?)', row.tenant_id, forged.id);
  return forged.id;
}

function refusedIn(tenantId: string): Body[] {
  const told: Body[] = lines.map((line) => JSON.parse(line));
  return told.filter((line) => line.tenantId === tenantId && /are not sealed/.test(line.msg));
}

test.each([
  ['the MAC of another event', {}],
  ['no MAC', { mac: null }],
  ['a MAC that was made up', { mac: randomBytes(32).toString('base64url') }],
  ['a column that cannot be read', { changed_fields: '[' }],
])(
  'regression: an event that was inserted with its note, with %s, is not sealed and is named',
  async (_what, change) => {
    const server = await testServer();
    const { tenantId, key } = await sealedTenant(server, 1);
    const { size } = await verified(server, key);
    const row = await eventAt(server.services.db, tenantId, 1);
    const id = await tamper(server, (db) => insertForged(db, row, { actor_id: 'somebody-else', ...change }));
    await writeOne(server, key);
    // Named while it waits, and after the sealer has refused it.
    expectFaults(await verified(server, key), 'forged@');
    await server.services.sealer.pass();
    const answer = await verified(server, key);
    expectFaults(answer, 'forged@');
    expect(answer.faults[0].eventId).toBe(id);
    expect(answer).toMatchObject({ status: 'broken', size: size + 1, unsealed: 0 });
    expect(refusedIn(tenantId)).toMatchObject([{ level: 50, count: 1, eventIds: [id] }]);
    expect(await server.services.metrics.registry.metrics()).toMatch(/^quartermaster_audit_forged_total 1$/m);
    // The service goes on, and the event stays named.
    await writeOne(server, key);
    await server.services.sealer.pass();
    expectFaults(await verified(server, key), 'forged@');
    expect(refusedIn(tenantId)).toHaveLength(1);
  },
);

test('regression: an event that was changed while it waits is not sealed, and is named', async () => {
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
  await server.services.sealer.pass();
  const answer = await verified(server, key);
  expectFaults(answer, 'forged@');
  expect(answer.unsealed).toBe(0);
});

test('more forged events than a batch, in front of all others, do not hold up the real ones', async () => {
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
  await server.services.sealer.pass();
  const answer = await verified(server, key);
  expect(answer).toMatchObject({ status: 'broken', size: size + 1, unsealed: 0 });
  expect(answer.faults).toHaveLength(250);
  expect(refusedIn(tenantId).map(({ count }) => count)).toEqual([100, 100, 50]);
});

test('an event of the service whose note was removed is named, and can be made to wait again', async () => {
  const server = await testServer();
  const { tenantId, key } = await sealedTenant(server, 1);
  await writeOne(server, key);
  await tamper(server, (db) => run(db, 'delete from audit_unsealed where tenant_id = ?', tenantId));
  await server.services.sealer.pass();
  const answer = await verified(server, key);
  expectFaults(answer, 'inserted@');
  expect(answer.faults[0].detail).toMatch(/^the service wrote the event/);
  const { eventId } = answer.faults[0];
  await tamper(server, (db) => run(db, 'insert into audit_unsealed values (?, ?)', tenantId, eventId));
  await server.services.sealer.pass();
  expectFaults(await verified(server, key));
});

test('verification in calls of one event each names a forged one once', async () => {
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

/** A database of its own for several starts, and keys for them. */
async function restarts() {
  const { url, remove } = await newTestDatabase('migrated');
  onTestFinished(() => remove());
  const [old, current] = [randomBytes(32), randomBytes(32)];
  const [OLD, CURRENT] = [old.toString('base64'), current.toString('base64')];
  return { start: (keys: Record<string, string>) => testServer({ DATABASE_URL: url, ...keys }), old, OLD, CURRENT };
}

test('events that wait while QM_SECRET_KEY is changed are sealed by a start that has the new key alone', async () => {
  const { start, OLD, CURRENT } = await restarts();
  const first = await start({ QM_SECRET_KEY: OLD });
  const { key } = await sealedTenant(first, 1);
  await writeOne(first, key);
  await first.stop();
  const second = await start({ QM_SECRET_KEY: CURRENT, QM_SECRET_KEY_PREVIOUS: OLD });
  await second.stop();
  const third = await start({ QM_SECRET_KEY: CURRENT });
  expect((await verified(third, key)).unsealed).toBe(1);
  await third.services.sealer.pass();
  expectFaults(await verified(third, key));
});

test('a process that has the former key alone leaves the events of the new one to those that have it', async () => {
  const { start, OLD, CURRENT } = await restarts();
  const former = await start({ QM_SECRET_KEY: OLD });
  const { tenantId, key } = await sealedTenant(former, 1);
  const current = await start({ QM_SECRET_KEY: CURRENT, QM_SECRET_KEY_PREVIOUS: OLD });
  await writeOne(current, key);
  await former.services.sealer.pass();
  expect((await verified(current, key)).unsealed).toBe(1);
  await current.services.sealer.pass();
  expectFaults(await verified(current, key));
  expect(refusedIn(tenantId)).toEqual([]);
});

test('with QM_SECRET_KEY_LOST=1 events that wait are vouched for, once, and the log says how many', async () => {
  const { start, OLD, CURRENT } = await restarts();
  const first = await start({ QM_SECRET_KEY: OLD });
  const { tenantId, key } = await sealedTenant(first, 1);
  await writeOne(first, key);
  await first.stop();
  const second = await start({ QM_SECRET_KEY: CURRENT, QM_SECRET_KEY_LOST: '1' });
  await second.services.sealer.pass();
  expectFaults(await verified(second, key));
  expect(lines.map((line) => JSON.parse(line)).filter((line) => /vouched for/.test(line.msg))).toMatchObject([
    { vouched: 1 },
  ]);
  await second.stop();
  const third = await start({ QM_SECRET_KEY: CURRENT });
  const row = await eventAt(third.services.db, tenantId, 1);
  await tamper(third, (db) => insertForged(db, row, { mac: null }));
  await third.services.sealer.pass();
  expectFaults(await verified(third, key), 'forged@');
});

test('an upgrade vouches for the events that wait at its first start, and no later start does', async () => {
  const { start, old, OLD } = await restarts();
  const first = await start({ QM_SECRET_KEY: OLD });
  const { tenantId, key } = await sealedTenant(first, 1);
  await writeOne(first, key);
  const { db, secrets } = first.services;
  // As the version before left it: no MACs, and signing keys in its format.
  await db.updateTable('audit_events').set({ mac: null }).execute();
  const keys = await db.selectFrom('credentials').selectAll().where('kind', '=', 'signing_key').execute();
  for (const { id, secret } of keys) {
    const identity = `signing_key:${id}`;
    const box = formerBox(old, secrets.open(secret ?? '', identity), identity);
    await db.updateTable('credentials').set({ secret: box }).where('id', '=', id).execute();
  }
  await first.stop();
  const second = await start({ QM_SECRET_KEY: OLD });
  await second.services.sealer.pass();
  expectFaults(await verified(second, key));
  const row = await eventAt(second.services.db, tenantId, 1);
  await tamper(second, (inside) => insertForged(inside, row, { mac: null }));
  await second.stop();
  const third = await start({ QM_SECRET_KEY: OLD });
  await third.services.sealer.pass();
  expectFaults(await verified(third, key), 'forged@');
});
