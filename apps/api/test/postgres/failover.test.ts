import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  administer,
  createDatabase,
  type PostgresServer,
  startPostgres,
} from '@quartermaster/db/testing/postgres-server.ts';
import { scaled } from '@quartermaster/db/testing/scale.ts';
import pino from 'pino';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { accountWithKey } from '../support/people.ts';
import { type Answered, startTestServer, type TestServer } from '../support/server.ts';
import { chat, exportRequest, newTraceId } from '../telemetry/traces/sending.ts';

/*
 * The database fails under load and comes back: the server is restarted, or its connections are terminated. This suite has its
 * own PostgreSQL server, with fsync on.
 */
let postgres: PostgresServer;
let server: TestServer;
beforeAll(async () => {
  postgres = await startPostgres({ durable: true });
  await createDatabase(postgres.urlOf('postgres'), 'quartermaster');
  server = await startTestServer({ DATABASE_URL: postgres.urlOf('quartermaster') });
});
afterAll(async () => {
  await server.stop();
  await postgres.stop();
});

const CONNECTIONS = 8;

/** How often the connections are terminated, and how often the server is restarted, while clients write. */
const CUTS = scaled({ usual: 7, full: 15 });
const RESTARTS = scaled({ usual: 2, full: 3 });

const RECOVERY = { timeout: 60_000, interval: 20 };

/** Clients that write and read continuously until they are stopped. */
function load(tenantId: string) {
  const acknowledged: string[] = [];
  const unknown: string[] = [];
  const refused: Answered[] = [];
  const state = { stopped: false, reads: 0 };
  const client = async (name: string) => {
    for (let count = 0; !state.stopped; count += 1) {
      const id = `${name}-${count}`;
      const body = { id, name: id, tenantId, metadata: { name, count } };
      const written = await server.call('POST', '/v1/service-accounts', { as: server.admin, body });
      if (written.status === 200) acknowledged.push(id);
      else {
        refused.push(written);
        if (written.body.code === 'outcome_unknown') unknown.push(id);
      }
      const read = await server.call('GET', '/v1/providers', { as: server.admin });
      if (read.status === 200) state.reads += 1;
      else refused.push(read);
    }
  };
  const clients = Array.from({ length: CONNECTIONS }, (_, index) => client(`${tenantId}-${index}`));
  return {
    acknowledged,
    unknown,
    refused,
    reads: () => state.reads,
    stop: async () => {
      state.stopped = true;
      await Promise.all(clients);
    },
  };
}

/** The ids of the tenant's accounts, and the ids in its audit events. Expects each to occur once. */
async function stored(tenantId: string): Promise<{ accounts: string[]; audited: string[] }> {
  const { db } = server.services;
  const accounts = db.selectFrom('service_accounts').select('id').where('tenant_id', '=', tenantId);
  const events = db.selectFrom('audit_events').select('target_id').where('tenant_id', '=', tenantId);
  const audited = events.where('operation', '=', 'create_service_account').where('target_type', '=', 'service_account');
  return {
    accounts: (await accounts.execute()).map(({ id }) => id).toSorted(),
    audited: (await audited.execute()).map((event) => event.target_id ?? '').toSorted(),
  };
}

/** Expects every acknowledged write to be stored with its audit event, and no others except those with an unknown outcome. */
async function expectNothingLost(tenantId: string, { acknowledged, unknown }: ReturnType<typeof load>): Promise<void> {
  const { accounts, audited } = await stored(tenantId);
  expect(acknowledged.filter((id) => !accounts.includes(id))).toEqual([]);
  expect(accounts.filter((id) => !acknowledged.includes(id) && !unknown.includes(id))).toEqual([]);
  expect(audited).toEqual(accounts);
}

test('while the database server restarts under load, requests get 503; then the service recovers, and no acknowledged write is lost', async () => {
  const clients = load('stopped');
  await vi.waitFor(() => expect(clients.acknowledged.length).toBeGreaterThan(50), { timeout: 60_000 });
  await postgres.halt();
  await vi.waitFor(async () => expect((await server.call('GET', '/readyz')).status).toBe(503), RECOVERY);
  expect((await server.call('GET', '/healthz')).status).toBe(200);
  await vi.waitFor(() => expect(clients.refused.length).toBeGreaterThan(20), RECOVERY);
  const spans = exportRequest([{ traceId: newTraceId(), ...chat('gpt-5') }]);
  const ingested = await server.call('POST', '/v1/traces', { as: server.admin, body: spans });
  expect([ingested.status, ingested.body.code]).toEqual([503, 14]);
  expect(ingested.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);

  await postgres.resume();
  const [written, read] = [clients.acknowledged.length, clients.reads()];
  await vi.waitFor(() => {
    expect(clients.acknowledged.length).toBeGreaterThan(written);
    expect(clients.reads()).toBeGreaterThan(read);
  }, RECOVERY);
  expect((await server.call('GET', '/readyz')).status).toBe(200);
  await clients.stop();
  for (const { status, body, headers } of clients.refused) {
    expect(`${status} ${body.code}`).toMatch(/^503 (database_unavailable|outcome_unknown)$/);
    expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  }
  await expectNothingLost('stopped', clients);
  await server.ok('POST', '/v1/traces', { as: await accountWithKey(server, { tenantId: 'stopped-too' }), body: spans });
});

test('while connections are terminated under load, each request is answered, and no acknowledged write is lost', async () => {
  const clients = load('cut');
  for (let cut = 1; cut <= CUTS; cut += 1) {
    const written = clients.acknowledged.length;
    await vi.waitFor(() => expect(clients.acknowledged.length).toBeGreaterThan(written + 20), { timeout: 60_000 });
    await administer(
      postgres.urlOf('postgres'),
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = 'quartermaster'`,
    );
  }
  await clients.stop();
  expect(clients.refused.length).toBeGreaterThan(0);
  expect(new Set(clients.refused.map(({ status }) => status))).toEqual(new Set([503]));
  await expectNothingLost('cut', clients);
});

// Regression: an Idempotency-Key whose claim could not be released stayed blocked until its lease ended, a minute later.
test('a write with an Idempotency-Key that failed while the database was down can be repeated as soon as it is back', async () => {
  const done: string[] = [];
  const pending = new Map<string, string>();
  const state = { stopped: false };
  const send = (id: string, key: string) =>
    server.call('POST', '/v1/service-accounts', {
      as: server.admin,
      body: { id, name: id, tenantId: 'keyed' },
      headers: { 'idempotency-key': key },
    });
  const client = async (name: string) => {
    for (let count = 0; !state.stopped; count += 1) {
      const [id, key] = [`${name}-${count}`, randomUUID()];
      const { status } = await send(id, key);
      if (status === 200) done.push(id);
      else {
        pending.set(id, key);
        await sleep(20);
      }
    }
  };
  const clients = Array.from({ length: CONNECTIONS }, (_, index) => client(`keyed-${index}`));
  for (let stop = 1; stop <= RESTARTS; stop += 1) {
    const acknowledged = done.length;
    await vi.waitFor(() => expect(done.length).toBeGreaterThan(acknowledged + 30), { timeout: 60_000 });
    const failed = pending.size;
    await postgres.halt();
    await vi.waitFor(() => expect(pending.size).toBeGreaterThan(failed + CONNECTIONS), RECOVERY);
    await postgres.resume();
  }
  await vi.waitFor(async () => expect((await server.call('GET', '/readyz')).status).toBe(200), RECOVERY);
  state.stopped = true;
  await Promise.all(clients);
  expect(pending.size).toBeGreaterThan(0);
  for (const [id, key] of pending) {
    await vi.waitFor(async () => expect((await send(id, key)).status).toBe(200), RECOVERY);
    done.push(id);
  }
  const { accounts, audited } = await stored('keyed');
  expect(accounts).toEqual(done.toSorted());
  expect(audited).toEqual(accounts);
});

test('regression: while the database is down, the log has the cause of each refusal, whatever the path', async () => {
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  await createDatabase(postgres.urlOf('postgres'), 'logged');
  const logged = await startTestServer({ DATABASE_URL: postgres.urlOf('logged') }, { log });
  onTestFinished(() => logged.stop());
  await postgres.halt();
  for (const path of ['/v1/providers', '/trpc/providers.list', '/.well-known/jwks.json']) {
    const refused = await logged.call('GET', path, { as: logged.admin });
    expect(refused.status, path).toBe(503);
    const requestId = refused.headers.get('x-request-id');
    const line = lines.map((each) => JSON.parse(each)).find((each) => each.requestId === requestId);
    expect(line, path).toMatchObject({ msg: 'database unavailable', cause: expect.stringMatching(/./) });
  }
  await postgres.resume();
});
