import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { fileURLToPath } from 'node:url';
import SqliteDatabase from 'better-sqlite3';
import { expect, test } from 'vitest';
import { databaseFile, newBootstrapKey } from '../support/environment.ts';
import { startProcess } from '../support/process.ts';
import { startService } from '../support/start.ts';
import { type WireAnswer, wire } from '../support/wire.ts';

const ADMIN = newBootstrapKey();
const DYING = fileURLToPath(new URL('./dying-server.ts', import.meta.url));
const WRITERS = 8;
const ACKNOWLEDGED = 100;

function environment(file: string): Record<string, string> {
  return { DATABASE_URL: `sqlite:${file}`, QM_BOOTSTRAP_API_KEY: ADMIN, QM_LOG_LEVEL: 'error' };
}

function create(url: string, { name, key }: { name: string; key: string }, agent?: Agent): Promise<WireAnswer> {
  const headers = { 'x-api-key': ADMIN, 'content-type': 'application/json', 'idempotency-key': key };
  const body = JSON.stringify({ name, tenantId: 'acme' });
  return wire(url, { method: 'POST', target: '/v1/service-accounts', headers, body, ...(agent && { agent }) });
}

/** The number of accounts by name, and the number of audit events about their creation. */
function effects(file: string): { accounts: Record<string, number>; events: number } {
  const db = new SqliteDatabase(file, { readonly: true });
  const rows = db.prepare(`select name, count(*) from service_accounts where tenant_id = 'acme' group by name`);
  const events = `select count(*) from audit_events
    where operation = 'create_service_account' and target_type = 'service_account' and tenant_id = 'acme'`;
  const found = {
    accounts: Object.fromEntries(rows.raw().all() as [string, number][]),
    events: db.prepare(events).pluck().get() as number,
  };
  db.close();
  return found;
}

/** Serves the same database in this process, so that the test can move the clock. */
async function restarted(file: string) {
  let shift = 0;
  const { url } = await startService(environment(file), { now: () => new Date(Date.now() + shift) });
  return {
    url,
    travel: (ms: number) => {
      shift += ms;
    },
  };
}

test('killed between commit and reply: a retry gets the answer, and changes nothing', async () => {
  const file = await databaseFile();
  const request = { name: 'once', key: randomUUID() };
  const dying = await startProcess({ ...environment(file), DIE_AT: 'reply' }, DYING);
  await expect(create(dying.url, request)).rejects.toThrow();
  expect(await dying.ended).toEqual({ code: null, signal: 'SIGKILL' });
  const done = { accounts: { once: 1 }, events: 1 };
  expect(effects(file)).toEqual(done);

  const { url } = await restarted(file);
  const answers = [await create(url, request), await create(url, request)];
  for (const { status, headers } of answers) expect([status, headers['idempotency-replayed']]).toEqual([200, 'true']);
  expect(JSON.parse(answers[0]?.text ?? '')).toMatchObject({ name: 'once', tenantId: 'acme' });
  expect(effects(file)).toEqual(done);
});

test('killed before the commit: nothing is done, and a retry after the lease is done once', async () => {
  const file = await databaseFile();
  const request = { name: 'once', key: randomUUID() };
  const dying = await startProcess({ ...environment(file), DIE_AT: 'commit' }, DYING);
  await expect(create(dying.url, request)).rejects.toThrow();
  expect(await dying.ended).toEqual({ code: null, signal: 'SIGKILL' });
  expect(effects(file)).toEqual({ accounts: {}, events: 0 });

  const { url, travel } = await restarted(file);
  expect((await create(url, request)).status).toBe(409);
  travel(61_000);
  const answer = await create(url, request);
  expect([answer.status, answer.headers['idempotency-replayed']]).toEqual([200, undefined]);
  expect((await create(url, request)).headers['idempotency-replayed']).toBe('true');
  expect(effects(file)).toEqual({ accounts: { once: 1 }, events: 1 });
});

test('killed under load: each request is done once after a retry', async () => {
  const file = await databaseFile();
  const first = await startProcess(environment(file));
  const requests: { name: string; key: string }[] = [];
  let acknowledged = 0;
  const writer = async (index: number) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    try {
      for (let count = 0; ; count += 1) {
        const request = { name: `writer-${index}-${count}`, key: randomUUID() };
        requests.push(request);
        const { status } = await create(first.url, request, agent);
        if (status !== 200) throw new Error(`${request.name} was answered ${status}`);
        acknowledged += 1;
        if (acknowledged === ACKNOWLEDGED) first.child.kill('SIGKILL');
      }
    } catch (error) {
      // The connection ends with the process. Any other error fails the test.
      if (!(error instanceof Error && 'code' in error)) throw error;
    } finally {
      agent.destroy();
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, (_, index) => writer(index)));
  expect(await first.ended).toEqual({ code: null, signal: 'SIGKILL' });

  const { url, travel } = await restarted(file);
  travel(61_000);
  for (const request of requests) expect((await create(url, request)).status, request.name).toBe(200);
  const { accounts, events } = effects(file);
  expect(accounts).toEqual(Object.fromEntries(requests.map(({ name }) => [name, 1])));
  expect(events).toBe(requests.length);
});
