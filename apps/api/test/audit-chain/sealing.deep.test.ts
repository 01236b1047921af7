import { createHash, randomBytes } from 'node:crypto';
import type { Database } from '@quartermaster/db/database.ts';
import { openDatabase } from '@quartermaster/db/open-database.ts';
import type { NewAuditEvent } from '@quartermaster/db/repositories/audit-events.ts';
import { scaled } from '@quartermaster/db/testing/scale.ts';
import { newTestDatabase, onPostgres } from '@quartermaster/db/testing/test-database.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import canonicalize from 'canonicalize';
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import pino from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { emptyChainHash, hashOf, leafOf } from '../../src/platform/audit/chain.ts';
import { appendAuditEvents } from '../../src/platform/audit/mac.ts';
import { auditedWriteAsSystem } from '../../src/platform/audit/audited-write.ts';
import { readConfig } from '../../src/config.ts';
import { startServer } from '../../src/server/start.ts';
import { newBootstrapKey } from '../support/environment.ts';
import { unique } from '../support/people.ts';
import { startProcess } from '../support/process.ts';
import { startService } from '../support/start.ts';
import { ownTimeOf } from '../support/own-time.ts';
import { type Body, serverOfTest, type TestServer } from '../support/server.ts';
import { wire } from '../support/wire.ts';
import { eventsOf, expectFaults, linksOf, run, sealedTenant, tamper, verified, writeOne } from './tampering.ts';

const DAY_MS = 24 * 3600 * 1000;

/** How often a process is killed while it seals. A start takes a second of computing. */
const KILLS = scaled({ usual: onPostgres() ? 1 : 2, full: 3 });

/** A pass seals 100 events in a transaction. */
const MORE_THAN_A_BATCH = 330;

test('events are sealed within a second, without a request', async () => {
  const server = await serverOfTest();
  const { tenantId, key } = await sealedTenant(server, 1);
  let shortest = Number.POSITIVE_INFINITY;
  // Again if it took longer, because other processes use the machine as well.
  for (let count = 0; count < 5 && shortest >= 1000; count += 1) {
    await writeOne(server, key);
    const sealed = () => expect.poll(async () => (await verified(server, key)).unsealed, { interval: 10 }).toBe(0);
    shortest = Math.min(shortest, await ownTimeOf(sealed));
  }
  expect(shortest).toBeLessThan(1000);
  expect(await linksOf(server.services.db, tenantId)).toHaveLength((await verified(server, key)).size);
});

test('the chain can be computed and its head verified from the events and the published key alone', async () => {
  const server = await serverOfTest();
  const { tenantId, key } = await sealedTenant(server);
  const { items } = await server.ok('GET', '/v1/audit-events?limit=100', { as: { key } });
  const hash = items
    .toReversed()
    .reduce((previous: string, event: Body) => hashOf(previous, leafOf(event)), emptyChainHash(tenantId));
  const { head } = await verified(server, key);
  const keys = (await server.call('GET', '/.well-known/jwks.json')).body;
  const { payload } = await jwtVerify(head, createLocalJWKSet(keys), {
    typ: 'qm-audit-head+jwt',
    issuer: server.publicUrl,
  });
  expect(payload).toMatchObject({ tenant_id: tenantId, size: items.length, hash });
});

test('the digest of an event without a caller’s request id and a decision is the same as before these members existed', async () => {
  const server = await serverOfTest();
  const { key } = await sealedTenant(server, 1);
  const headers = { 'x-request-id': 'sent-by-caller' };
  await server.ok('POST', '/v1/gateways', { as: { key }, headers, body: { name: unique('gateway') } });
  const page = await server.ok('GET', '/v1/audit-events?limit=2', { as: { key } });
  // A list adds the name that a target has now. It is not stored in the event.
  const items = page.items.map(({ target: { type, id }, ...event }: Body) => ({ ...event, target: { type, id } }));
  const [{ decision: undecided, ...sent }, { callerRequestId: none, decision, ...event }] = items;
  const { callerRequestId, ...named } = sent;
  expect([callerRequestId, none, undecided, decision]).toEqual(['sent-by-caller', null, null, null]);
  const digestOf = (members: object) =>
    createHash('sha256')
      .update(`quartermaster audit event v1\0${canonicalize(members)}`)
      .digest('hex');
  expect(leafOf(items[1])).toBe(digestOf(event));
  expect(leafOf(items[0])).toBe(digestOf(sent));
  expect(leafOf({ ...items[0], decision: 'approved' })).toBe(digestOf({ ...sent, decision: 'approved' }));
  expect(leafOf(items[0])).not.toBe(digestOf(named));
  const unusual = { operation: 'é \u2028 "\\" \u0001 \u{1f600}', target: null, count: 1e21, changedFields: ['b', 'a'] };
  expect(leafOf({ ...items[0], ...unusual })).toBe(digestOf({ ...sent, ...unusual }));
});

test('events of one transaction are sealed in order, and an event that is committed late is sealed last', async () => {
  const server = await serverOfTest();
  const { tenantId, key } = await sealedTenant(server, 1);
  const target = (id: string) => ({ place: { tenantId, subTenantId: null }, target: { type: 'gateway', id } });
  const ids = Array.from({ length: 20 }, (_, index) => `target-${index}`);
  await auditedWriteAsSystem(server.services, 'remove_expired_invitation', async (_trx, record) => {
    for (const id of ids) record(target(id));
  });
  await server.services.audit.sealer.pass();
  // Has an earlier time, but is committed after the others were sealed.
  await auditedWriteAsSystem(
    { ...server.services, now: () => new Date('2026-01-01T00:00:00.000Z') },
    'remove_unclaimed_user',
    async (_trx, record) => record(target('late')),
  );
  await server.services.audit.sealer.pass();
  const sealed = await eventsOf(server.services.db, tenantId);
  expect(sealed.map(({ target_id }) => target_id).slice(-21)).toEqual([...ids, 'late']);
  expectFaults(await verified(server, key));
});

test('one head is kept for each day, and the first one of a day is logged', async () => {
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const server = await serverOfTest({}, { log });
  // Start at the beginning of a day, so that each round below is on a different day.
  server.travel(DAY_MS - (server.services.now().getTime() % DAY_MS));
  const { tenantId, key } = await sealedTenant(server, 1);
  for (let day = 0; day < 3; day += 1) {
    for (let count = 0; count < 3; count += 1) {
      await writeOne(server, key);
      await server.services.audit.sealer.pass();
    }
    server.travel(DAY_MS);
  }
  const heads = server.services.db.selectFrom('audit_heads').selectAll().where('tenant_id', '=', tenantId);
  const days = (await heads.execute()).map(({ sealed_at }) => sealed_at.slice(0, 10));
  expect(days).toHaveLength(3);
  expect(new Set(days).size).toBe(3);
  const logged = lines.map((line) => JSON.parse(line)).filter((line) => line.msg === 'audit head');
  const own = logged.filter((line) => line.tenantId === tenantId);
  expect(own).toHaveLength(3);
  for (const { head } of own) expectFaults(await verified(server, key, { head }));
});

test('two processes that seal at once seal each event once', async () => {
  const { environment, admin } = await processDatabase();
  const [first, second] = await Promise.all([startLogged(environment), startLogged(environment)]);
  await Promise.all([first, second].map((service) => createMany(service, admin, 60)));
  const verification = () => verifiedOver(first, admin);
  await expect.poll(async () => (await verification()).unsealed).toBe(0);
  const answer = await verification();
  expect(answer).toMatchObject({ status: 'intact', faults: [] });
  // One event for each account, and one for the tenant.
  expect(answer.size).toBeGreaterThanOrEqual(120);
  // Neither process took the other's sealed events for tampering.
  for (const { output } of [first, second]) expect(output()).not.toContain('not sealed any further');
});

test('sealers of two processes that pass at once do not fail, and seal each event once', async () => {
  const one = await serverOfTest();
  const two = await serverOfTest({ DATABASE_URL: one.databaseUrl });
  const { key } = await sealedTenant(one);
  for (let round = 0; round < 10; round += 1) {
    await writeOne(one, key);
    await Promise.all([one, two].map(({ services }) => services.audit.sealer.pass()));
  }
  expect(await verified(one, key)).toMatchObject({ status: 'intact', faults: [], unsealed: 0 });
});

test('a process that is killed while it seals leaves an intact chain, and the next process continues it', async () => {
  const { environment, admin, db } = await processDatabase();
  const sizes: number[] = [];
  for (let round = 0; round < KILLS; round += 1) {
    const service = await startProcess(environment);
    const writing = createMany(service, admin, 5000).catch(() => {});
    // Kill it as soon as the chain grows: then it is sealing, because it seals while events are written.
    await expect.poll(() => sizeIn(db), { interval: 1 }).toBeGreaterThan((sizes.at(-1) ?? 0) + 5);
    service.child.kill('SIGKILL');
    await Promise.all([service.ended, writing]);
    sizes.push(await sizeIn(db));
  }
  const service = await startService(environment);
  await expect.poll(async () => (await verifiedOver(service, admin)).unsealed).toBe(0);
  const answer = await verifiedOver(service, admin);
  expect(answer).toMatchObject({ status: 'intact', faults: [] });
  expect(answer.size).toBeGreaterThanOrEqual(sizes.at(-1) ?? 0);
});

test('a chain that was changed is not continued: later events stay unsealed, and the log says so once', async () => {
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const server = await serverOfTest({}, { log });
  const rows: [string, string[]][] = [
    ['its end was removed', ['delete from audit_heads where tenant_id = ?']],
    ['it does not end as signed', [`update audit_chain set hash = 'x' where tenant_id = ?`]],
    [
      'it was computed again',
      ['audit_chain', 'audit_heads'].map((table) => `update ${table} set hash = 'x' where tenant_id = ?`),
    ],
    [
      'it was computed again',
      [
        `update audit_chain set position = position + 1 where tenant_id = ? and position =
         (select max(size) from audit_heads where audit_heads.tenant_id = audit_chain.tenant_id)`,
        'update audit_heads set size = size + 1 where tenant_id = ?',
      ],
    ],
    ['its head is forged', [`update audit_heads set token = 'x' where tenant_id = ?`]],
  ];
  for (const [reason, statements] of rows) {
    const { tenantId, key } = await sealedTenant(server);
    const { size } = await verified(server, key);
    const backup = await chainOf(server.services.db, tenantId);
    await tamper(server, async (db) => {
      for (const statement of statements) await run(db, statement, tenantId);
    });
    for (let count = 0; count < 2; count += 1) {
      await writeOne(server, key);
      await server.services.audit.sealer.pass();
    }
    expect(await linksOf(server.services.db, tenantId)).toHaveLength(size);
    expect(await verified(server, key)).toMatchObject({ status: 'broken', unsealed: 2 });
    const logged = lines
      .map((line) => JSON.parse(line))
      .filter((line) => line.level === 50 && line.tenantId === tenantId);
    expect(logged.map(({ err }) => err.message)).toEqual([reason]);
    // Once the chain is restored, sealing continues.
    await tamper(server, async (db) => {
      await run(db, 'delete from audit_chain where tenant_id = ?', tenantId);
      await run(db, 'delete from audit_heads where tenant_id = ?', tenantId);
      await db.insertInto('audit_chain').values(backup.links).execute();
      await db.insertInto('audit_heads').values(backup.heads).execute();
    });
    await server.services.audit.sealer.pass();
    expect(await verified(server, key)).toMatchObject({ status: 'intact', size: size + 2, unsealed: 0 });
  }
  // Other tenants are still sealed.
  expectFaults(await verified(server, (await sealedTenant(server)).key));
});

test('a chain whose end was removed is not continued, although the rest is genuine', async () => {
  const server = await serverOfTest();
  const { tenantId, key } = await sealedTenant(server, 1);
  const first = await verified(server, key);
  const { db } = server.services;
  const before = await db
    .selectFrom('audit_heads')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .executeTakeFirstOrThrow();
  await writeOne(server, key);
  await server.services.audit.sealer.pass();
  await tamper(server, async (trx) => {
    await run(trx, 'delete from audit_chain where tenant_id = ? and position > ?', tenantId, first.size);
    await run(trx, 'delete from audit_heads where tenant_id = ?', tenantId);
    await trx.insertInto('audit_heads').values(before).execute();
  });
  await writeOne(server, key);
  await server.services.audit.sealer.pass();
  expect(await verified(server, key)).toMatchObject({ size: first.size, head: first.head, unsealed: 1 });
});

test('an event that was removed before it was sealed is reported as removed', async () => {
  const server = await serverOfTest();
  const { tenantId, key } = await sealedTenant(server, 1);
  const { size } = await verified(server, key);
  await tamper(server, (db) =>
    run(db, `insert into audit_unsealed (tenant_id, event_id) values (?, 'aud_gone')`, tenantId),
  );
  await server.services.audit.sealer.pass();
  expectFaults(await verified(server, key), `removed@${size + 1}`);
});

test('one pass seals more events than one batch, while other requests write', async () => {
  const server = await serverOfTest();
  const { tenantId, key } = await sealedTenant(server, 1);
  const { size } = await verified(server, key);
  const event = await eventOf(server, tenantId);
  await inTransaction(server.services.db, (trx) =>
    appendAuditEvents(
      trx,
      { secrets: server.services.secrets, now: server.services.now() },
      Array.from({ length: MORE_THAN_A_BATCH }, () => event),
    ),
  );
  const [write] = await Promise.all([
    server.call('POST', '/v1/gateways', { as: { key }, body: { name: unique('gateway') } }),
    server.services.audit.sealer.pass(),
  ]);
  expect(write.status).toBe(200);
  await server.services.audit.sealer.pass();
  expect(await verified(server, key)).toMatchObject({
    status: 'intact',
    size: size + MORE_THAN_A_BATCH + 1,
    unsealed: 0,
  });
});

test('a head can be verified even after its signing key is no longer published', async () => {
  const server = await serverOfTest();
  const { key } = await sealedTenant(server, 1);
  const { head: early } = await verified(server, key);
  const write = async () => {
    await writeOne(server, key);
    await server.services.audit.sealer.pass();
  };
  server.travel(91 * DAY_MS);
  await write();
  server.travel(2 * DAY_MS);
  await write();
  const { keys } = (await server.call('GET', '/.well-known/jwks.json')).body;
  expect(keys.map(({ kid }: Body) => kid)).not.toContain(decodeProtectedHeader(early).kid);
  const answer = await verified(server, key, { head: early });
  expectFaults(answer);
  expect(answer.unverifiableHeads).toBe(0);
  expect(decodeProtectedHeader(answer.head).kid).not.toBe(decodeProtectedHeader(early).kid);
});

test('heads can be verified after QM_SECRET_KEY changed; with QM_SECRET_KEY_LOST=1 the newest head is signed again', async () => {
  const { environment: process, admin: bootstrap } = await processDatabase();
  const [old, current, other] = [key32(), key32(), key32()];
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  let shift = 0;
  const start = (environment: Record<string, string>) =>
    startServer(
      readConfig({
        ...process,
        PORT: '0',
        QM_METRICS_PORT: 'off',
        QM_OTLP_GRPC_PORT: 'off',
        QM_CONSOLE: 'off',
        QM_RATE_LIMITS: 'off',
        QM_SHUTDOWN_DELAY_MS: '0',
        ...environment,
      }),
      { log, now: () => new Date(Date.now() + shift) },
    );
  const run = async (environment: Record<string, string>, query = ''): Promise<Body> => {
    const server = await start(environment);
    const headers = { 'x-api-key': bootstrap, 'content-type': 'application/json' };
    const body = JSON.stringify({ name: unique('gateway') });
    await fetch(`${server.url}/v1/gateways`, { method: 'POST', headers, body });
    await server.services.audit.sealer.pass();
    const answer = await fetch(`${server.url}/v1/audit-events/verify?tenant_id=default${query}`, { headers });
    await server.stop();
    return answer.json();
  };

  const first = await run({ QM_SECRET_KEY: old });
  shift += DAY_MS;
  const changed = await run({ QM_SECRET_KEY: current, QM_SECRET_KEY_PREVIOUS: old }, `&head=${first.head}`);
  expectFaults(changed);
  expect(changed).toMatchObject({ unverifiableHeads: 0, unsealed: 0 });
  expectFaults(await run({ QM_SECRET_KEY: current }, `&head=${first.head}`));

  // After the key was lost, it accepts the chains as they are, and reports how many heads can no longer be verified.
  shift += DAY_MS;
  const lost = await run({ QM_SECRET_KEY: other, QM_SECRET_KEY_LOST: '1' });
  expectFaults(lost);
  expect(lost).toMatchObject({ unsealed: 0, size: first.size + 3 });
  expect(lost.unverifiableHeads).toBe(1);
  const next = await run({ QM_SECRET_KEY: other }, `&head=${first.head}`);
  expectFaults(next, `head_unverifiable@${first.size}`);
  expect(decodeJwt(next.head)).toMatchObject({ size: first.size + 4 });
});

async function chainOf(db: Database, tenantId: string) {
  const heads = db.selectFrom('audit_heads').selectAll().where('tenant_id', '=', tenantId);
  return { links: await linksOf(db, tenantId), heads: await heads.execute() };
}

function key32(): string {
  return randomBytes(32).toString('base64');
}

/** An audit event of a tenant, in the form that the service inserts. */
async function eventOf(server: TestServer, tenantId: string): Promise<NewAuditEvent> {
  const { items } = await server.ok('GET', `/v1/audit-events?limit=1&tenant_id=${tenantId}`, { as: server.admin });
  const { id: _id, tenantId: _tenant, subTenantId, createdAt: _created, updatedAt: _updated, ...event } = items[0];
  return { ...event, place: { tenantId, subTenantId } };
}

async function createMany({ url }: { url: string }, admin: string, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const body = JSON.stringify({ name: 'account', tenantId: 'acme' });
    const headers = { 'x-api-key': admin, 'content-type': 'application/json' };
    const { status } = await wire(url, { method: 'POST', target: '/v1/service-accounts', headers, body });
    expect(status).toBe(200);
  }
}

async function verifiedOver({ url }: { url: string }, admin: string): Promise<Body> {
  const target = '/v1/audit-events/verify?tenant_id=acme';
  return JSON.parse((await wire(url, { target, headers: { 'x-api-key': admin } })).text);
}

async function sizeIn(db: Database): Promise<number> {
  const sealed = db.selectFrom('audit_chain').select(({ fn }) => fn.countAll().as('count'));
  return Number((await sealed.where('tenant_id', '=', 'acme').executeTakeFirstOrThrow()).count);
}

/** Starts a process of the service. On PostgreSQL, to which a process is nothing but its connections, in this process. */
async function startLogged(environment: Record<string, string>): Promise<{ url: string; output: () => string }> {
  if (!onPostgres()) return startProcess(environment);
  let output = '';
  const log = pino(
    { level: environment['QM_LOG_LEVEL'] ?? 'info' },
    { write: (line: string) => void (output += line) },
  );
  const { url } = await startService(environment, { log });
  return { url, output: () => output };
}

/** A database for processes of the service, the key of an administrator, and a connection of the test. */
async function processDatabase(): Promise<{ environment: Record<string, string>; admin: string; db: Database }> {
  const { url, remove } = await newTestDatabase('migrated');
  const db = await openDatabase(url, '/');
  onTestFinished(async () => {
    await db.destroy();
    await remove();
  });
  const admin = newBootstrapKey();
  const environment = { DATABASE_URL: url, QM_BOOTSTRAP_API_KEY: admin, QM_LOG_LEVEL: 'error', QM_SECRET_KEY: key32() };
  return { environment, admin, db };
}
