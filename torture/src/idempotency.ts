import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from '@quartermaster/db/database.ts';
import { openDatabase } from '@quartermaster/db/open-database.ts';
import { type Answered, type Body, Connection } from './connection.ts';
import { type Finding, finding, type Options, type Part } from './part.ts';
import { between, randomOf } from './random.ts';
import { ADMIN, killService, type Service, startService } from './service.ts';
import { onEachStore, openPostgresStore, type Store } from './stores.ts';
import { until } from './until.ts';

const LOOPS = { long: 50, short: 1 };
const CLIENTS = 6;

/** Requests that are answered before each kill: at least 30, and a random number up to 40 more. */
const LEAST_ANSWERED = 30;
const MORE_ANSWERED = 40;

/** The kill comes at most this long after the last of them, in milliseconds. */
const MOMENT_MS = 5;

/** The lease of a dead process expires after 60 s. Some seconds more for a busy machine. */
const LEASE_ENDS_MS = 75_000;

/** How many secrets the test searches for in the files of the database. */
const SECRETS_SOUGHT = 20;

/** Kills the service during writes with an Idempotency-Key. When repeated, each is done once and gets its first answer. */
export const idempotency: Part = {
  name: 'idempotency',
  // The short form runs only on PostgreSQL, because a suite of the API does the same on SQLite.
  run: (options: Options) =>
    onEachStore((store) => runLoops(store, options), options.short ? [openPostgresStore] : undefined),
};

/** One write: its request, and its first answer; null if there was no answer. */
type Asked = { what: 'account' | 'key' | 'session'; name: string; key: string; first: string | null };

type World = { tenantId: string; holder: string; gatewayId: string };

/** What became of the writes of one loop. */
type Outcome = { answered: number; unanswered: number; replayed: number; takenOver: number };

async function runLoops(store: Store, options: Options): Promise<Finding> {
  const random = randomOf(options.seed);
  const loops = options.loops ?? (options.short ? LOOPS.short : LOOPS.long);
  const total: Outcome = { answered: 0, unanswered: 0, replayed: 0, takenOver: 0 };
  const faults: string[] = [];
  const secrets: string[] = [];
  let service = await startService({ databaseUrl: store.url });
  const db = await openDatabase(store.url, '/');
  try {
    for (let loop = 1; loop <= loops; loop += 1) {
      const world = await makeWorld(service, `keys-${loop}`);
      const enough = between(random, LEAST_ANSWERED, LEAST_ANSWERED + MORE_ANSWERED);
      const asked = await askUntilKilled({ service, world, enough, moment: random() * MOMENT_MS });
      service = await startService({ databaseUrl: store.url });
      // One loop waits for the lease to expire. The others make it expire in the database.
      const waits = !options.short && loop === loops;
      const again = await askAgain({ service, db, world, asked, waits });
      faults.push(...again.faults, ...(await effectFaults(db, world, asked)));
      for (const name of Object.keys(total) as (keyof Outcome)[]) total[name] += again.outcome[name];
      secrets.push(...asked.flatMap(({ first }) => secretsIn(first)));
    }
    faults.push(...(await plainFaults(await store.folder(), secrets)));
  } finally {
    await killService(service);
    await db.destroy();
  }
  return finding({
    promise: `${store.name}: a write with an Idempotency-Key is done once, whatever kill -9 comes between`,
    measured: `${loops} kills; ${total.answered} answered before and byte for byte the same again; ${total.unanswered} unanswered, of which ${total.replayed} had been done and were not done again, ${total.takenOver} were claimed and taken over; ${Math.min(secrets.length, SECRETS_SOUGHT)} secrets of answers in no file of the database`,
    figures: { loops, ...total },
    faults,
  });
}

async function makeWorld(service: Service, tenantId: string): Promise<World> {
  const connection = new Connection(service.url, ADMIN);
  const holder = `holder-of-${tenantId}`;
  await connection.ok('POST', '/v1/service-accounts', { body: { id: holder, name: holder, tenantId } });
  const gateway = await connection.ok('POST', '/v1/gateways', { body: { name: 'edge', tenantId } });
  // The first session creates the signing key.
  await connection.ok('POST', `/v1/gateways/${gateway.id}/sessions`, { body: { metadata: { tag: 'first' } } });
  connection.close();
  return { tenantId, holder, gatewayId: gateway.id };
}

function ask(connection: Connection, world: World, { what, name, key }: Asked): Promise<Answered> {
  const headers = { 'idempotency-key': key };
  const post = (path: string, body: object) => connection.send('POST', path, { body, headers });
  const { tenantId, holder, gatewayId } = world;
  if (what === 'account') return post('/v1/service-accounts', { name, tenantId });
  if (what === 'session') return post(`/v1/gateways/${gatewayId}/sessions`, { metadata: { tag: name } });
  return post(`/v1/service-accounts/${holder}/keys?tenant_id=${tenantId}`, { name, scopes: ['providers:read'] });
}

type Asking = { service: Service; world: World; enough: number; moment: number };

/** Lets several clients write until enough is answered, then kills the service. */
async function askUntilKilled({ service, world, enough, moment }: Asking): Promise<Asked[]> {
  const all: Asked[] = [];
  const kinds = ['account', 'key', 'session'] as const;
  let answered = 0;
  const client = async (index: number) => {
    const connection = new Connection(service.url, ADMIN);
    try {
      for (let count = 0; ; count += 1) {
        const what = kinds[(index + count) % kinds.length] ?? 'account';
        const asked: Asked = { what, name: `${what}-${index}-${count}`, key: randomUUID(), first: null };
        all.push(asked);
        const { status, text } = await ask(connection, world, asked);
        if (status === 503 && answered >= enough) return;
        if (status !== 200) throw new Error(`${asked.name} was answered ${status}: ${text}`);
        asked.first = text;
        answered += 1;
        // Not exactly at the answer, when the other writes may all be at the same step.
        if (answered === enough) setTimeout(() => service.process.kill('SIGKILL'), moment);
      }
    } catch (error) {
      // The kill breaks the connection. Any other error is a failure.
      if (!(error instanceof Error && 'code' in error && answered >= enough)) throw error;
    } finally {
      connection.close();
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, index) => client(index)));
  await service.ended;
  return all;
}

type Again = { service: Service; db: Database; world: World; asked: readonly Asked[]; waits: boolean };

async function askAgain({ service, db, world, asked, waits }: Again): Promise<{ outcome: Outcome; faults: string[] }> {
  const connection = new Connection(service.url, ADMIN);
  const outcome: Outcome = { answered: 0, unanswered: 0, replayed: 0, takenOver: 0 };
  const faults: string[] = [];
  const claimed: Asked[] = [];
  const isReplayed = ({ headers }: Answered) => headers['idempotency-replayed'] === 'true';
  try {
    for (const one of asked) {
      const answer = await ask(connection, world, one);
      if (one.first !== null) {
        outcome.answered += 1;
        if (answer.status !== 200 || !isReplayed(answer)) faults.push(`${one.name} was answered ${answer.status} anew`);
        else if (answer.text !== one.first) faults.push(`${one.name} was answered ${answer.text}, first ${one.first}`);
        continue;
      }
      outcome.unanswered += 1;
      if (answer.status === 409 && answer.body.code === 'idempotency_key_in_use') claimed.push(one);
      else if (answer.status !== 200) faults.push(`${one.name} was answered ${answer.status}: ${answer.text}`);
      else one.first = answer.text;
      if (answer.status === 200 && isReplayed(answer)) outcome.replayed += 1;
    }
    if (!waits) {
      const over = new Date(Date.now() - 1000).toISOString();
      await db.updateTable('idempotency_keys').set({ lease_expires_at: over }).where('answer', 'is', null).execute();
    }
    for (const one of claimed) {
      let answer = await ask(connection, world, one);
      const taken = async () => (answer = await ask(connection, world, one)).status !== 409;
      if (answer.status === 409 && waits) await until(taken, `the lease of ${one.name} to be over`, LEASE_ENDS_MS);
      if (answer.status !== 200)
        faults.push(`${one.name} was answered ${answer.status} after its lease: ${answer.text}`);
      else one.first = answer.text;
      outcome.takenOver += 1;
    }
    // From now on every repetition has to get this answer.
    for (const one of asked) {
      const answer = await ask(connection, world, one);
      if (!isReplayed(answer) || answer.text !== one.first) faults.push(`${one.name} was answered otherwise at last`);
    }
    return { outcome, faults: faults.map((fault) => `${world.tenantId}: ${fault}`) };
  } finally {
    connection.close();
  }
}

/** Checks that every requested record exists once, has one audit event, and that nothing else exists. */
async function effectFaults(db: Database, { tenantId, holder }: World, asked: readonly Asked[]): Promise<string[]> {
  const accounts = await db.selectFrom('service_accounts').select('name').where('tenant_id', '=', tenantId).execute();
  const keys = await db.selectFrom('credentials').select('name').where('tenant_id', '=', tenantId).execute();
  const sessions = await db
    .selectFrom('gateway_sessions')
    .select('metadata')
    .where('tenant_id', '=', tenantId)
    .execute();
  const made = [
    ...accounts.map(({ name }) => name),
    ...keys.map(({ name }) => name),
    ...sessions.map(({ metadata }) => (JSON.parse(metadata) as { tag: string }).tag),
  ];
  const wanted = [holder, 'first', ...asked.map(({ name }) => name)];
  const events = await db
    .selectFrom('audit_events')
    .select(['operation', 'target_id', (eb) => eb.fn.countAll<number>().as('count')])
    .where('tenant_id', '=', tenantId)
    .where('operation', 'in', ['create_service_account', 'create_service_account_key', 'create_gateway_session'])
    .where('target_type', '!=', 'tenant')
    .groupBy(['operation', 'target_id'])
    .execute();
  const faults = wanted.flatMap((name) => {
    const times = made.filter((one) => one === name).length;
    return times === 1 ? [] : [`${name} was made ${times} times`];
  });
  if (made.length !== wanted.length) faults.push(`${made.length} records were made, and ${wanted.length} asked for`);
  if (events.length !== wanted.length) faults.push(`${events.length} writes were audited of ${wanted.length}`);
  for (const { operation, target_id, count } of events) {
    if (Number(count) !== 1) faults.push(`${operation} of ${target_id} was audited ${count} times`);
  }
  return faults.map((fault) => `${tenantId}: ${fault}`);
}

function secretsIn(text: string | null): string[] {
  const { key, token }: Body = JSON.parse(text ?? '{}');
  return [key, token].filter((secret) => typeof secret === 'string');
}

/** Searches all files of the database, including logs, for secrets of answers. A text that is no secret has to be found. */
async function plainFaults(folder: string, secrets: readonly string[]): Promise<string[]> {
  const sought = secrets.slice(-SECRETS_SOUGHT);
  const found = new Set<string>();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const bytes = await readFile(join(entry.parentPath, entry.name));
    for (const text of ['holder-of-keys-1', ...sought]) if (bytes.includes(text)) found.add(text);
  }
  if (!found.delete('holder-of-keys-1'))
    return [`the files in ${folder} were searched in vain: nothing is found there`];
  if (sought.length === 0) return ['no answer held a secret'];
  return [...found].map((secret) => `a file contains a secret of an answer: ${secret.slice(0, 12)}...`);
}
