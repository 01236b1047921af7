import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { scaled } from '@quartermaster/db/testing/scale.ts';
import SqliteDatabase from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { CONNECTION_LIMITS } from '../src/http/limits.ts';
import { databaseFile, newBootstrapKey } from './support/environment.ts';
import { startProcess } from './support/process.ts';
import { serverOfTest } from './support/server.ts';
import { startService } from './support/start.ts';
import { wire } from './support/wire.ts';

const ADMIN = newBootstrapKey();
const HEADERS = { 'x-api-key': ADMIN, 'content-type': 'application/json' };
const ACKNOWLEDGED = scaled({ usual: 300, full: 1000 });
const CONNECTIONS = 12;

function environment(file: string): Record<string, string> {
  return { DATABASE_URL: `sqlite:${file}`, QM_BOOTSTRAP_API_KEY: ADMIN, QM_LOG_LEVEL: 'error' };
}

function inFile<T>(file: string, work: (db: SqliteDatabase.Database) => T): T {
  const db = new SqliteDatabase(file);
  try {
    return work(db);
  } finally {
    db.close();
  }
}

test('of 100 concurrent requests that create one id, exactly one answers 200 and the others 409', async () => {
  const server = await serverOfTest();
  const body = { id: 'contended', name: 'contended', tenantId: 'acme' };
  const create = () => server.call('POST', '/v1/service-accounts', { as: server.admin, body });
  const answers = await Promise.all(Array.from({ length: 100 }, create));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  const refused = answers.filter(({ status }) => status === 409);
  expect(refused).toHaveLength(99);
  expect(new Set(refused.map((answer) => answer.body.code))).toEqual(new Set(['id_taken']));
  const audited = await server.ok('GET', '/v1/audit-events?target_id=contended', { as: server.admin });
  expect(audited.items).toHaveLength(1);
});

test('every acknowledged write survives kill -9 completely, with its audit event', { timeout: 120_000 }, async () => {
  const file = await databaseFile();
  const first = await startProcess(environment(file));
  const acknowledged: string[] = [];
  const writer = async (name: string) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    try {
      for (let count = 0; ; count += 1) {
        const id = `${name}-${count}`;
        const body = JSON.stringify({ id, name: id, tenantId: 'acme', metadata: { name, count } });
        const target = '/v1/service-accounts';
        const { status } = await wire(first.url, { method: 'POST', target, headers: HEADERS, body, agent });
        if (status !== 200) throw new Error(`${id} was answered ${status}`);
        acknowledged.push(id);
        if (acknowledged.length === ACKNOWLEDGED) first.child.kill('SIGKILL');
      }
    } catch (error) {
      // The connection ends with the process. Any other error fails the test.
      if (!(error instanceof Error && 'code' in error)) throw error;
    } finally {
      agent.destroy();
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, index) => writer(`writer-${index}`)));
  expect(await first.ended).toEqual({ code: null, signal: 'SIGKILL' });
  expect(acknowledged.length).toBeGreaterThanOrEqual(ACKNOWLEDGED);

  const second = await startService(environment(file));
  const there: string[] = [];
  for (let cursor: string | null = null; ; ) {
    const body = JSON.stringify({ tenantId: 'acme', limit: 100, cursor });
    const target = '/v1/service-accounts/search';
    const answer = await wire(second.url, { method: 'POST', target, headers: HEADERS, body });
    expect(answer.status).toBe(200);
    const page = JSON.parse(answer.text) as { items: { id: string }[]; nextCursor: string | null };
    there.push(...page.items.map(({ id }) => id));
    cursor = page.nextCursor;
    if (cursor === null) break;
  }
  const kept = new Set(there);
  expect(kept.size).toBe(there.length);
  expect(acknowledged.filter((id) => !kept.has(id))).toEqual([]);
  // In addition, at most one request in flight on each connection.
  expect(kept.size - acknowledged.length).toBeLessThanOrEqual(CONNECTIONS);

  inFile(file, (db) => {
    expect(db.pragma('integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    expect(db.pragma('foreign_key_check')).toEqual([]);
    const column = (sql: string) => db.prepare(sql).pluck().all();
    const audited = `select target_id from audit_events
      where operation = 'create_service_account' and target_type = 'service_account' and tenant_id = 'acme'`;
    expect(new Set(column(audited))).toEqual(kept);
    expect(column(audited)).toHaveLength(kept.size);
    const members = `select service_account_id from service_account_metadata group by service_account_id having count(*) = 2`;
    expect(new Set(column(members))).toEqual(kept);
  });
});

test('SIGTERM: requests in flight are answered, new ones are refused, and the exit code is 0', async () => {
  const file = await databaseFile();
  const service = await startProcess(environment(file));
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const ways = [{ id: 'one' }, { id: 'two' }, { id: 'three', overTrpc: true }];
  const started = await Promise.all(ways.map((way) => begin(service.url, way, agent)));
  service.child.kill('SIGTERM');
  await refusesConnections(service.url);
  const answers = await Promise.all(started.map(({ finish }) => finish()));
  // Regression: the answers said that the connection is kept alive, and then it was closed.
  const answer = { status: 200, connection: 'close' };
  expect(answers).toEqual([answer, answer, answer]);
  // The stop does not wait until idle keep-alive connections time out.
  const answered = performance.now();
  expect(await service.ended).toEqual({ code: 0, signal: null });
  expect(performance.now() - answered).toBeLessThan(CONNECTION_LIMITS.keepAliveTimeoutMs / 2);
  inFile(file, (db) => {
    const ids = db.prepare(`select id from service_accounts where tenant_id = 'acme' order by id`).pluck().all();
    expect(ids).toEqual(['one', 'three', 'two']);
  });
});

test('SIGINT stops it as well, and leaves nothing to recover', async () => {
  const file = await databaseFile();
  const service = await startProcess(environment(file));
  service.child.kill('SIGINT');
  expect(await service.ended).toEqual({ code: 0, signal: null });
  expect(service.output()).not.toContain('rror');
  inFile(file, (db) => expect(db.pragma('integrity_check')).toEqual([{ integrity_check: 'ok' }]));
});

type Finished = { status: number; connection: string | undefined };

/** Sends the head of a request. `finish` sends its body, after the service has begun to handle it. */
function begin(
  url: string,
  { id, overTrpc = false }: { id: string; overTrpc?: boolean },
  agent: Agent,
): Promise<{ finish: () => Promise<Finished> }> {
  const account = { id, name: id, tenantId: 'acme' };
  const body = JSON.stringify(overTrpc ? { body: account } : account);
  const path = overTrpc ? '/trpc/serviceAccounts.create' : '/v1/service-accounts';
  const headers = { ...HEADERS, expect: '100-continue', 'content-length': body.length };
  return new Promise((resolve, reject) => {
    const sent = request(url + path, { method: 'POST', headers, agent });
    const answered = new Promise<Finished>((settle, fail) => {
      sent.on('response', (res) => {
        const {
          statusCode: status = 0,
          headers: { connection },
        } = res;
        res.resume().on('end', () => settle({ status, connection }));
      });
      sent.on('error', (error) => {
        fail(error);
        reject(error);
      });
    });
    sent.on('continue', () =>
      resolve({
        finish: () => {
          sent.end(body);
          return answered;
        },
      }),
    );
    sent.flushHeaders();
  });
}

async function refusesConnections(url: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const refused = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(Number(port), hostname);
      socket.on('connect', () => resolve(false));
      socket.on('error', () => resolve(true));
      socket.on('connect', () => socket.destroy());
    });
  await expect.poll(refused, { timeout: 10_000, interval: 20 }).toBe(true);
}
