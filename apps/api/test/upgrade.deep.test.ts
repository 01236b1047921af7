import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@quartermaster/db/testing/free-port.ts';
import { newTestDatabase, onPostgres } from '@quartermaster/db/testing/test-database.ts';
import { expect, onTestFinished, test } from 'vitest';
import { runDoctor } from '../src/commands/doctor/run-doctor.ts';
import { VERSION } from '../src/config.ts';
import { runInProcess } from './support/command.ts';
import { newBootstrapKey } from './support/environment.ts';
import { MAIN, type ServiceProcess, startProcess } from './support/process.ts';
import { type Body, SECRET_KEY } from './support/server.ts';
import { chat, exportRequest, newSpanId, newTraceId } from './telemetry/traces/sending.ts';

const NEXT_VERSION = '0.2.0';
const NEXT_RELEASE = fileURLToPath(new URL('support/next-release.ts', import.meta.url));

/** How long a process that stops still listens. A load balancer that polls more often sends nothing to it after that. */
const SHUTDOWN_DELAY_MS = 3000;
const POLL_MS = 50;

/** How many requests of each kind a process answers in each stage of the upgrade. */
const REQUESTS_OF_STAGE = 5;

/** The pause of a client between two requests. Without it, the clients would take the CPU time that a process needs to start. */
const PAUSE_MS = 20;

const WRITE_PAUSE_MS = 250;

const ADMIN = newBootstrapKey();
const MODELS = ['gpt-5', 'o9-preview'];

/*
 * The upgrade that docs/upgrading.md promises, with processes: this release, then the next one with one more migration, then this
 * release again on the newer schema. Clients never stop. Each request is sent once, and any answer but 200 is a failure.
 */
test('an upgrade to a release with one more migration, and back, fails no request', async () => {
  const database = await newTestDatabase('migrated');
  onTestFinished(database.remove);
  const environment = {
    DATABASE_URL: database.url,
    ...(onPostgres() && { QM_SECRET_KEY: SECRET_KEY }),
    QM_BOOTSTRAP_API_KEY: ADMIN,
    QM_PUBLIC_URL: 'https://quartermaster.example',
    QM_LOG_LEVEL: 'warn',
    QM_SHUTDOWN_DELAY_MS: String(SHUTDOWN_DELAY_MS),
  };
  const port = String(await freePort());
  const start = (release: 'this' | 'next') => {
    const program = release === 'this' ? MAIN : ['--import', NEXT_RELEASE, MAIN];
    // On SQLite the processes follow one another at one address.
    return startProcess({ ...environment, ...(!onPostgres() && { PORT: port }) }, program);
  };

  const first = await start('this');
  const world = await createWorld(first.url);
  const balancer = new Balancer();
  balancer.add(first);
  const load = startLoad(balancer, world);
  onTestFinished(load.stop);
  await load.answered(first);

  const next = await replace(first, () => start('next'), { balancer, load });
  expect(await versionOf(first)).toBe('stopped');
  expect(await versionOf(next)).toBe(NEXT_VERSION);
  const again = await replace(next, () => start('this'), { balancer, load });
  expect(await versionOf(again)).toBe(VERSION);
  const { findings } = await doctor(environment, again);
  expect(findings).toContainEqual({
    check: 'database',
    status: 'ok',
    found: expect.stringMatching(/has the schema of a newer version, and this version runs on it$/),
    fix: null,
  });
  await load.stop();

  expect(load.failures).toEqual([]);
  // Between two processes on one SQLite file nobody listens. A refused connection carried no request, so the clients try again. What
  // they send while the new process starts waits until it is ready.
  if (onPostgres()) expect(load.refusedConnections()).toBe(0);
  else expect(load.refusedConnections()).toBeGreaterThan(0);
  await expectNothingLost(again.url, world, load.acknowledged);
  expect(await stop(again)).toEqual({ code: 0, signal: null });
  for (const { output } of [first, next, again]) expect(output()).not.toMatch(/"level":50|rror:/);
});

type World = {
  operator: Record<string, string>;
  /** Of another tenant, because each new provider of a tenant makes PostgreSQL repeat the transactions that store its spans. */
  writer: Record<string, string>;
  sender: Record<string, string>;
  session: Record<string, string>;
  gatewayId: string;
};

/** A tenant with a provider, an account that sends spans, and a gateway with a session. */
async function createWorld(url: string): Promise<World> {
  const admin = { 'x-api-key': ADMIN };
  const post = async (path: string, headers: Record<string, string>, body: object): Promise<Body> => {
    const answer = await fetch(url + path, postOf(headers, body));
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`POST ${path} answers ${text}`);
    return JSON.parse(text);
  };
  const account = { id: 'agent', name: 'agent', tenantId: 'acme', createTenant: 'always' };
  await post('/v1/service-accounts', admin, account);
  const keys = '/v1/service-accounts/agent/keys?tenant_id=acme';
  const operator = { 'x-api-key': (await post(keys, admin, { scopes: ['*'] })).key };
  const sender = { 'x-api-key': (await post(keys, admin, { scopes: ['traces:write'] })).key };
  await post('/v1/service-accounts', admin, {
    id: 'writer',
    name: 'writer',
    tenantId: 'other',
    createTenant: 'always',
  });
  const writerKeys = '/v1/service-accounts/writer/keys?tenant_id=other';
  const writer = { 'x-api-key': (await post(writerKeys, admin, { scopes: ['*'] })).key };
  const { id } = await post('/v1/providers', operator, { name: 'tools', kind: 'mcp' });
  await post(`/v1/providers/${id}/inventory`, operator, { kind: 'tool', name: 'search' });
  const gateway = { name: 'edge', providerIds: [id], enforcement: 'enforce' };
  const { id: gatewayId } = await post('/v1/gateways', operator, gateway);
  const { token } = await post(`/v1/gateways/${gatewayId}/sessions`, operator, {});
  return { operator, writer, sender, session: { authorization: `Bearer ${token}` }, gatewayId };
}

function postOf(headers: Record<string, string>, body: object): RequestInit {
  return { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

/**
 * Replaces a process. On PostgreSQL the new one starts beside it, and the old one stops once both have answered requests. On SQLite it
 * starts after the old one has ended.
 */
async function replace(
  old: ServiceProcess,
  start: () => Promise<ServiceProcess>,
  { balancer, load }: { balancer: Balancer; load: Load },
): Promise<ServiceProcess> {
  if (!onPostgres()) expect(await stop(old)).toEqual({ code: 0, signal: null });
  const started = await start();
  balancer.add(started);
  if (onPostgres()) {
    await Promise.all([load.answered(old), load.answered(started)]);
    expect(await stop(old)).toEqual({ code: 0, signal: null });
  }
  await load.answered(started);
  return started;
}

function stop({ child, ended }: ServiceProcess): ServiceProcess['ended'] {
  child.kill('SIGTERM');
  return ended;
}

async function versionOf({ url, child }: ServiceProcess): Promise<string> {
  if (child.exitCode !== null) return 'stopped';
  return ((await (await fetch(`${url}/openapi.json`)).json()) as Body).info.version;
}

async function doctor(environment: Record<string, string>, { url }: ServiceProcess): Promise<Body> {
  const { QM_LOG_LEVEL: _, ...settings } = environment;
  return JSON.parse((await runInProcess(runDoctor, ['--json'], { ...settings, PORT: new URL(url).port })).stdout);
}

/**
 * Chooses a process for each request, as a load balancer does: one of those that were ready at its last look. On SQLite no
 * process is ready while one stops. Once it has ended, its address is that of the next one.
 */
class Balancer {
  #ready: ServiceProcess[] = [];
  #last: ServiceProcess | null = null;
  #turn = 0;

  add(service: ServiceProcess): void {
    this.#ready.push(service);
    this.#last = service;
    void this.#watch(service);
  }

  next(): ServiceProcess | null {
    this.#turn += 1;
    const ready = this.#ready[this.#turn % this.#ready.length];
    if (ready !== undefined) return ready;
    return this.#last?.child.exitCode === null ? null : this.#last;
  }

  async #watch(service: ServiceProcess): Promise<void> {
    const isReady = () =>
      fetch(`${service.url}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    while (await isReady()) await sleep(POLL_MS);
    this.#ready = this.#ready.filter((other) => other !== service);
  }
}

type Kind = 'read' | 'write' | 'export' | 'decide';
type Acknowledged = { providers: string[]; spans: number };
type Load = {
  failures: string[];
  acknowledged: Acknowledged;
  refusedConnections: () => number;
  /** Waits until a process has answered some more requests of each kind. */
  answered: (service: ServiceProcess) => Promise<void>;
  stop: () => Promise<void>;
};

/** Clients of each kind that send one request after the other. */
function startLoad(balancer: Balancer, { operator, writer, sender, session, gatewayId }: World): Load {
  const stopping = new AbortController();
  const failures: string[] = [];
  const acknowledged: Acknowledged = { providers: [], spans: 0 };
  const answers = new Map<string, number>();
  let refused = 0;
  const started = performance.now();
  const fail = (kind: Kind, what: string) => {
    const at = ((performance.now() - started) / 1000).toFixed(1);
    failures.push(`${kind} at ${at} s, after ${answers.size / 4} processes: ${what}`);
  };

  /** Sends a request again only if the connection was refused, because then nothing was sent. @returns the body of a 200 */
  const send = async (kind: Kind, path: string, init: RequestInit): Promise<Body> => {
    for (;;) {
      const service = balancer.next();
      if (service === null) {
        if (stopping.signal.aborted) return null;
        await sleep(POLL_MS);
        continue;
      }
      try {
        const answer = await fetch(service.url + path, init);
        const text = await answer.text();
        if (answer.status !== 200) fail(kind, `${answer.status} ${text}`);
        const counter = `${service.child.pid} ${kind}`;
        answers.set(counter, (answers.get(counter) ?? 0) + 1);
        return answer.status === 200 ? JSON.parse(text) : null;
      } catch (error) {
        if (!isRefusedConnection(error) || stopping.signal.aborted) {
          fail(kind, causeOf(error));
          return null;
        }
        refused += 1;
        await sleep(POLL_MS);
      }
    }
  };

  let written = 0;
  const requests: Record<Kind, () => Promise<void>> = {
    read: async () => {
      const { items } = (await send('read', '/v1/providers?limit=5', { headers: operator })) ?? { items: [] };
      if (items.length === 0) fail('read', 'no providers');
    },
    write: async () => {
      written += 1;
      const name = `written-${written}`;
      const provider = await send('write', '/v1/providers', postOf(writer, { name, kind: 'llm' }));
      // A tenant has at most 1,000 providers.
      await sleep(WRITE_PAUSE_MS);
      if (provider !== null) acknowledged.providers.push(name);
    },
    export: async () => {
      const traceId = newTraceId();
      const spans = MODELS.map((model) => ({
        ...chat(model, { 'gen_ai.provider.name': 'openai' }),
        traceId,
        spanId: newSpanId(),
        start: BigInt(Date.now()) * 1_000_000n,
      }));
      const answer = await send('export', '/v1/traces', postOf(sender, exportRequest(spans)));
      if (answer !== null) acknowledged.spans += 1;
      if (JSON.stringify(answer) !== '{}') fail('export', JSON.stringify(answer));
    },
    decide: async () => {
      const asked = { provider: 'tools', kind: 'tool', name: 'search' };
      const answer = await send('decide', `/v1/gateways/${gatewayId}/decisions`, postOf(session, asked));
      if (answer?.allowed !== true) fail('decide', JSON.stringify(answer));
    },
  };
  const clients = [...Object.values(requests), requests.read, requests.decide];
  const done = Promise.all(
    clients.map(async (request) => {
      // After a hundred failures nothing new can be learnt.
      while (!stopping.signal.aborted && failures.length < 100) {
        await request();
        await sleep(PAUSE_MS);
      }
    }),
  );
  return {
    failures,
    acknowledged,
    refusedConnections: () => refused,
    answered: async ({ child }) => {
      const kinds = Object.keys(requests).map((kind) => `${child.pid} ${kind}`);
      const before = new Map(kinds.map((counter) => [counter, answers.get(counter) ?? 0]));
      const has = (counter: string) => (answers.get(counter) ?? 0) - (before.get(counter) ?? 0) >= REQUESTS_OF_STAGE;
      while (!kinds.every(has) && failures.length < 100) await sleep(POLL_MS);
    },
    stop: async () => {
      stopping.abort();
      await done;
    },
  };
}

function isRefusedConnection(error: unknown): boolean {
  return causeOf(error) === 'ECONNREFUSED';
}

function causeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : null;
  return cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause ?? error);
}

/** Everything that was acknowledged is stored, once. */
async function expectNothingLost(
  url: string,
  { operator, writer }: World,
  { providers, spans }: Acknowledged,
): Promise<void> {
  const list = async (path: string, headers: Record<string, string>): Promise<Body[]> => {
    const items: Body[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const more = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const page: Body = await (await fetch(`${url}${path}${more}`, { headers })).json();
      items.push(...page.items);
      cursor = page.nextCursor;
    }
    return items;
  };
  const stored = (await list('/v1/providers?limit=100', writer)).map(({ name }) => String(name));
  expect(stored.toSorted()).toEqual(providers.toSorted());
  const observations = await list('/v1/runtime-observations?kind=model&limit=100', operator);
  const counts = Object.fromEntries(observations.map(({ name, occurrences }) => [name, occurrences]));
  expect(counts).toEqual(Object.fromEntries(MODELS.map((model) => [model, spans])));
}
