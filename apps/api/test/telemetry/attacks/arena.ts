import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { Agent, request } from 'undici';
import { newTestDatabase } from '@quartermaster/db/testing/test-database.ts';
import { newBootstrapKey } from '../../support/environment.ts';
import { startSharedProcess } from '../../support/process.ts';
import { exportRequest } from '../traces/sending.ts';
import type { Page, Reading } from './trace-reader.ts';

/** How long the other tenant sends without an attack, as a baseline, in milliseconds. */
const BASELINE_MS = 1500;

/** The pause between two requests of the other tenant, in milliseconds. */
const PAUSE_MS = 20;

export type Sent = { path?: string; contentType?: string; gzip?: boolean; body: Uint8Array; key?: string };
export type Answer = { status: number; retryAfter: string | null; text: string };

/** The effect of an attack on the service and on another tenant. */
export type Outcome<A extends { status: number } = Answer> = {
  answers: A[];
  /** The peak resident memory of the service's process so far, in MiB. */
  peakMiB: number;
  /** The median response times of the other tenant, during the attack and without it. */
  medians: { attacked: number; calm: number };
  /** What a request of the other tenant took that was sent at a random moment of the attack: the median. */
  usualMs: number;
  /** The longest response time of the other tenant during the attack. */
  longestMs: number;
  /** The number of the other tenant's requests that were not answered with 200. */
  failures: number;
};

export type Arena = Awaited<ReturnType<typeof startArena>>;

/**
 * The service in a separate process, accounts that attack, and another tenant that sends one span at a time. All attacks of a file
 * share the process, so each one also runs against the effects of earlier ones on its memory.
 */
export async function startArena() {
  const admin = newBootstrapKey();
  const database = await newTestDatabase('migrated');
  const service = await startSharedProcess({
    DATABASE_URL: database.url,
    QM_BOOTSTRAP_API_KEY: admin,
    QM_OTLP_GRPC_PORT: '0',
    QM_LOG_LEVEL: 'warn',
  });
  const agent = new Agent({ connections: 200, headersTimeout: 120_000, bodyTimeout: 120_000 });

  async function post(path: string, headers: Record<string, string>, body: Uint8Array | string): Promise<Answer> {
    const answer = await request(service.url + path, { method: 'POST', headers, body, dispatcher: agent });
    const retryAfter = answer.headers['retry-after'];
    return {
      status: answer.statusCode,
      retryAfter: typeof retryAfter === 'string' ? retryAfter : null,
      text: await answer.body.text(),
    };
  }

  /** A key that may only send telemetry. */
  async function senderOf(tenantId: string): Promise<string> {
    const headers = { 'content-type': 'application/json', 'x-api-key': admin };
    const body = JSON.stringify({ id: 'sender', name: 'sender', tenantId });
    await post('/v1/service-accounts', headers, body);
    const path = `/v1/service-accounts/sender/keys?tenant_id=${tenantId}`;
    const { text } = await post(path, headers, JSON.stringify({ scopes: ['traces:write'] }));
    return JSON.parse(text).key as string;
  }
  const other = await senderOf('other');
  let attackers = 0;
  let [tenantId, attacker] = ['', ''];

  /** A new tenant attacks from now on. The service lets a tenant wait that has delayed others, for longer than a test takes. */
  async function changeAttacker(): Promise<void> {
    attackers += 1;
    tenantId = `attacker-${attackers}`;
    attacker = await senderOf(tenantId);
  }

  function send({ path = '/v1/traces', contentType = 'application/x-protobuf', gzip = false, body, key }: Sent) {
    const headers = { 'content-type': contentType, 'x-api-key': key ?? attacker };
    return post(path, gzip ? { ...headers, 'content-encoding': 'gzip' } : headers, body);
  }

  /** Sends spans of the other tenant until `isOver` returns true. */
  async function timesOfOther(isOver: () => boolean): Promise<{ times: number[]; failures: number }> {
    const times: number[] = [];
    let failures = 0;
    while (!isOver()) {
      const body = Buffer.from(JSON.stringify(exportRequest([{}])));
      const start = performance.now();
      const { status } = await send({ contentType: 'application/json', body, key: other });
      times.push(performance.now() - start);
      if (status !== 200) failures += 1;
      await sleep(PAUSE_MS);
    }
    return { times, failures };
  }

  async function peakMiB(): Promise<number> {
    const status = await readFile(`/proc/${service.child.pid}/status`, 'utf8');
    return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024;
  }

  /** Lets the attacker's tenant store texts, so that its spans have long answers. */
  async function keepContentOfAttacker(): Promise<void> {
    const headers = { 'content-type': 'application/json', 'x-api-key': admin };
    const body = JSON.stringify({ settings: { captureContent: true } });
    await request(`${service.url}/v1/tenants/${tenantId}`, { method: 'PUT', headers, body, dispatcher: agent });
  }

  /** Reads all pages of a trace, as the administrator. In a thread of its own, so that it does not delay the other tenant's requests. */
  function readTrace(traceId: string): Promise<Page[]> {
    const workerData: Reading = { url: service.url, key: admin, traceId };
    const thread = new Worker(new URL('trace-reader.ts', import.meta.url), { workerData });
    return new Promise((resolve, reject) => {
      thread.once('message', resolve);
      thread.once('error', reject);
    });
  }

  let calm: number[];

  /** Measures what the requests of the other tenant take without an attack. */
  async function measureCalm(): Promise<void> {
    const until = performance.now() + BASELINE_MS;
    calm = (await timesOfOther(() => performance.now() > until)).times;
  }
  await measureCalm();

  /** Runs an attack while the other tenant sends spans. */
  async function runAttack<A extends { status: number }>(attack: () => Promise<A[]>): Promise<Outcome<A>> {
    let over = false;
    const attacked = timesOfOther(() => over);
    const answers = await attack().finally(() => {
      over = true;
    });
    const { times, failures } = await attacked;
    const medians = { attacked: median(times), calm: median(calm) };
    return {
      answers,
      peakMiB: await peakMiB(),
      medians,
      usualMs: usual(times),
      longestMs: Math.max(...times),
      failures,
    };
  }

  async function stop(): Promise<void> {
    await agent.destroy();
    await service.kill();
    await database.remove();
  }

  return {
    send,
    changeAttacker,
    measureCalm,
    keepContentOfAttacker,
    readTrace,
    runAttack,
    stop,
    databaseFile: database.url.slice('sqlite:'.length),
  };
}

function median(times: number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}

/**
 * The median of what a request takes that is sent at a random moment. So a time counts as often as it is long: while the service is
 * blocked for a second, one request waits for it, but fifty would have been sent.
 */
function usual(times: number[]): number {
  const half = times.reduce((sum, time) => sum + time + PAUSE_MS, 0) / 2;
  let passed = 0;
  return times.toSorted((a, b) => a - b).find((time) => (passed += time + PAUSE_MS) >= half) ?? 0;
}

/** How often each status was answered. */
export function statusesOf(answers: readonly { status: number }[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
