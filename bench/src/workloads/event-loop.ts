import { join } from 'node:path';
import { type Asked, ask } from '../answers.ts';
import { type Load, startLoad } from '../load/load.ts';
import { headBytes, type LoadPlan, type LoadResult, requestBytes } from '../load/plan.ts';
import { cpuTimeOf } from '../machine.ts';
import { batchTemplate } from '../otlp/batch.ts';
import { type Figure, type Finding, number } from '../report.ts';
import { type Quartermaster, startQuartermaster } from '../servers/quartermaster.ts';
import { addOldTraces } from '../world/old-traces.ts';
import { addServiceAccounts, countRows } from '../world/rows.ts';
import { copyOf, removeCopy, type World } from '../world/world.ts';
import type { Workload } from './workload.ts';

/** The agreed maximum time that a request blocks the event loop, in milliseconds. */
const AGREED_MS = 100;

const SPANS_PER_BATCH = 500;

/** Requests per second, well within the capacity of one core: it measures who makes others wait, not overload. */
const RATES = { ingest: 4, searches: 3, probes: 50 };

const SIZES = { full: { accounts: 300_000, traces: 20_000 }, quick: { accounts: 10_000, traces: 2000 } };

/**
 * Concurrent ingest, searches and retention: how long the event loop is blocked, and how long a small read waits. Requests are
 * sent when they are due (open loop), so that the measurement has no coordinated omission.
 */
export const eventLoop: Workload = async (bench) => {
  const { world } = bench;
  const { accounts, traces } = SIZES[bench.quick ? 'quick' : 'full'];
  const seconds = Math.max(bench.rounds * bench.seconds, 1);
  const file = copyOf(world, 'event-loop');
  const loads: Load[] = [];
  let server: Quartermaster | null = null;
  try {
    await addServiceAccounts(file, world, accounts);
    await addOldTraces(file, world, traces);
    const before = countRows(file, 'traces', world.tenantId);
    // Retention starts as soon as the server runs.
    server = await startQuartermaster({
      core: bench.cores.server,
      databaseUrl: `sqlite:${file}`,
      secretKey: world.secretKey,
      logPath: join(world.folder, 'event-loop.log'),
      profileFolder: bench.profileFolder,
    });
    const { port, metricsPort } = server;
    // Reading the metrics starts a new measuring period.
    await loopDelay(metricsPort);
    const [began, cpuBefore] = [performance.now(), cpuTimeOf(server.pid)];
    const results: Record<string, LoadResult> = {};
    await Promise.all(
      Object.entries(plansOf(world)).map(async ([name, plan]) => {
        const load = startLoad(bench.cores.load);
        loads.push(load);
        results[name] = await load.apply({ ...plan, ports: [port], seconds });
      }),
    );
    const delay = await loopDelay(metricsPort);
    const cores = (cpuTimeOf(server.pid) - cpuBefore) / (performance.now() - began);
    const removed = before - countRows(file, 'traces', world.tenantId);
    return findingOf({ results, delay, cores, removed, old: traces });
  } finally {
    await Promise.all(loads.map((load) => load.stop()));
    await server?.stop();
    removeCopy(file);
  }
};

function plansOf(world: World): Record<keyof typeof RATES, Omit<LoadPlan, 'ports' | 'seconds'>> {
  const batch = batchTemplate(SPANS_PER_BATCH);
  const heads = world.tenantKeys.map((key) => {
    const headers = { 'X-API-Key': key, 'Content-Type': 'application/x-protobuf' };
    return headBytes({ method: 'POST', path: '/v1/traces', headers, length: batch.bytes.length });
  });
  const search = (body: object): Asked => ({
    method: 'POST',
    path: '/v1/service-accounts/search',
    headers: { 'X-API-Key': world.key, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  // A search with early matches, one without matches, which scans every account, and the spans of a long trace.
  const searches = [
    search({ query: 'invoices' }),
    search({ query: 'no account is called so' }),
    {
      method: 'GET',
      path: `/v1/traces/${world.trace.id}/spans`,
      headers: { 'X-API-Key': world.key },
    },
  ];
  const probe = { method: 'GET', path: '/v1/providers', headers: { 'X-API-Key': world.key } };
  return {
    ingest: { requests: { kind: 'batches', heads, batch }, connections: 4, rate: RATES.ingest },
    searches: {
      requests: { kind: 'ready', requests: searches.map(requestBytes) },
      connections: 4,
      rate: RATES.searches,
    },
    probes: { requests: { kind: 'ready', requests: [requestBytes(probe)] }, connections: 32, rate: RATES.probes },
  };
}

/** The event loop delay that prom-client measured since the last request, in milliseconds. */
async function loopDelay(metricsPort: number): Promise<{ p99: number; max: number }> {
  const answer = await ask(metricsPort, { method: 'GET', path: '/metrics', headers: {} });
  const text = answer.body.toString('utf8');
  const valueOf = (name: string) =>
    Number(new RegExp(`^nodejs_eventloop_lag_${name}_seconds (\\S+)$`, 'm').exec(text)?.[1]);
  return { p99: valueOf('p99') * 1000, max: valueOf('max') * 1000 };
}

function findingOf(measured: {
  results: Record<string, LoadResult>;
  delay: { p99: number; max: number };
  /** The share of a core that the server used. */
  cores: number;
  removed: number;
  old: number;
}): Finding {
  const { results, delay, cores, removed, old } = measured;
  if (removed === 0) throw new Error('retention removed nothing while it was measured');
  const all = Object.values(results);
  const sum = (of: (result: LoadResult) => number) => all.reduce((total, result) => total + of(result), 0);
  const served = sum(({ statuses }) => statuses['200'] ?? 0) / sum(({ answers }) => answers);
  const figure = (name: string, value: number, agreed: number | null): Figure => ({
    name: `event loop: ${name}`,
    value,
    agreed,
    better: 'less',
    unit: ' ms',
  });
  return {
    title: 'Ingest, searches and retention at once',
    table: {
      columns: ['', 'answers/s', 'p50 ms', 'p99 ms', 'max ms', 'by status'],
      rows: Object.entries(results).map(([name, { answers, seconds, latency, statuses }]) => [
        name,
        number(answers / seconds),
        number(latency.p50),
        number(latency.p99),
        number(latency.max),
        Object.entries(statuses)
          .map(([status, count]) => `${status}: ${count}`)
          .join(', '),
      ]),
    },
    figures: [
      figure('p99 of its delay', delay.p99, AGREED_MS),
      figure('its longest delay', delay.max, null),
      figure('p99 of a small read beside it', results['probes']?.latency.p99 ?? Number.NaN, AGREED_MS),
      { name: 'event loop: requests that were served', value: served, agreed: 1, better: 'more', unit: '' },
    ],
    notes: [
      `retention removed ${removed} of ${old} old traces meanwhile`,
      `the server used ${number(cores)} of its core: where it could not have more, its delays are those of the machine`,
      'the delay is sampled every 10 ms, which it includes; a long stall is one sample of many: see its longest, too',
    ],
  };
}
