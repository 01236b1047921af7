import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import SqliteDatabase from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { CONNECTION_LIMITS } from '../src/http/messages/limits.ts';
import { databaseFile, newBootstrapKey } from './support/environment.ts';
import { startProcess } from './support/process.ts';
import { serverOfTest } from './support/server.ts';

const ADMIN = newBootstrapKey();
const HEADERS = { 'x-api-key': ADMIN, 'content-type': 'application/json' };

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

test('regression: a Ctrl-C that arrives twice, from the terminal and from npm, still answers requests in flight', async () => {
  const service = await startProcess(environment(await databaseFile()));
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const { finish } = await begin(service.url, { id: 'one' }, agent);
  service.child.kill('SIGINT');
  service.child.kill('SIGINT');
  await refusesConnections(service.url);
  service.child.kill('SIGINT');
  expect((await finish()).status).toBe(200);
  expect(await service.ended).toEqual({ code: 0, signal: null });
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
  await expect.poll(refused, { interval: 20 }).toBe(true);
}
