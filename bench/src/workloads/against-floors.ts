import { join } from 'node:path';
import { type Answer, type Asked, ask, differences, ownHeaders } from '../answers.ts';
import type { FloorSettings } from '../floors/floor.ts';
import { fillSpanRows } from '../floors/spans.ts';
import type { LoadPlan } from '../load/plan.ts';
import { requestBytes } from '../load/plan.ts';
import { type Finding, number, type Table } from '../report.ts';
import { cpuRatioOf, type Measured, measure, ratioOf } from '../rounds.ts';
import { startFloor } from '../servers/floor.ts';
import type { MeasuredServer } from '../servers/measured-server.ts';
import { PUBLIC_URL, startQuartermaster } from '../servers/quartermaster.ts';
import { cursorKeyOf } from '../world/cursors.ts';
import { countRows, countSpans } from '../world/rows.ts';
import { copyOf, fileOfWorld, removeCopy, type World } from '../world/world.ts';
import type { Bench } from './workload.ts';

/** One operation of this API and of the floors, measured under the same load. */
export type Comparison = {
  name: string;
  title: string;
  work: FloorSettings['work'];
  /** The request that all servers have to answer identically. */
  asked: Asked;
  /** The table that it inserts into. All servers have to write the same number of rows. */
  writes?: 'service_accounts' | 'gateway_sessions' | 'spans';
  /** The requests of the load, if it does not repeat one request. */
  requests?: LoadPlan['requests'];
  connections: number;
  floors: readonly ('bare' | 'fastify')[];
  /** The agreed ratio to the bare floor, by rate and by CPU time. */
  agreed: number | null;
  agreedByCpu?: number;
  /** Whether this API should also be faster than Fastify. */
  aheadOfFastify?: boolean;
  /** What is counted, if one request contains several. */
  unit?: { name: string; perRequest: number };
};

/** Starts the servers, each on a copy of the world, checks that they answer identically, and measures them in turn. */
export async function compareWithFloors(bench: Bench, comparison: Comparison): Promise<Finding> {
  const { cores, world, load, rounds, seconds } = bench;
  const { asked, connections, floors } = comparison;
  const files: string[] = [];
  const servers: MeasuredServer[] = [];
  const fileOf = (name: string) => {
    const path = copyOf(world, `${comparison.name}-${name}`);
    files.push(path);
    return path;
  };
  try {
    const ours = await startQuartermaster({
      core: cores.server,
      databaseUrl: `sqlite:${fileOf('quartermaster')}`,
      secretKey: world.secretKey,
      logPath: join(world.folder, `${comparison.name}.log`),
      profileFolder: bench.profileFolder,
    });
    servers.push(ours);
    const answer = await ask(ours.port, asked);
    if (answer.status !== 200) throw new Error(`${asked.path}: ${answer.status} ${answer.body.toString('utf8')}`);
    for (const name of floors) {
      const file = fileOf(name);
      if (comparison.work === 'spans') {
        fillSpanRows(file, JSON.parse(answer.body.toString('utf8')) as { items: Record<string, unknown>[] });
      }
      const floor = await startFloor(name, cores.server, settingsOf(bench, comparison, answer, file));
      servers.unshift(floor);
      const found = differences(answer, await ask(floor.port, asked));
      if (found.length > 0) throw new Error(`${name} does not answer like this API: ${found.join('; ')}`);
    }
    if (comparison.writes !== undefined) expectSameRows(world, comparison.writes, files);
    const requests = comparison.requests ?? { kind: 'ready', requests: [requestBytes(asked)] };
    const contenders = servers.map(({ name, pid, port }) => ({
      name,
      pids: [pid],
      plan: { ports: [port], requests, connections, rate: null },
    }));
    return findingOf(comparison, await measure(contenders, { load, rounds, seconds }));
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    for (const file of files) removeCopy(file);
  }
}

/** Checks the number of written rows, because a response alone does not prove that anything was written. */
function expectSameRows(world: World, table: string, files: readonly string[]): void {
  const count = table === 'spans' ? countSpans : (file: string) => countRows(file, table);
  const before = count(fileOfWorld(world));
  const counts = files.map(count);
  if (counts.some((count) => count === before || count !== counts[0])) {
    throw new Error(`${table}: ${counts.join(', ')} rows after the same request, ${before} before it`);
  }
}

function settingsOf(bench: Bench, { work, asked }: Comparison, answer: Answer, database: string): FloorSettings {
  return {
    work,
    database,
    method: asked.method,
    path: asked.path,
    headers: ownHeaders(answer),
    publicUrl: PUBLIC_URL,
    cursorKey: cursorKeyOf(bench.world),
  };
}

function findingOf(comparison: Comparison, measured: Measured[]): Finding {
  const find = (name: string) => measured.find((one) => one.name === name);
  const [ours, bare, fastify] = [find('quartermaster'), find('bare'), find('fastify')];
  if (!ours || !bare) throw new Error('this API and the bare floor are always measured');
  const { title, agreed, aheadOfFastify } = comparison;
  const ratio = (value: number, name: string, wanted: number | null) => ({
    name,
    value,
    agreed: wanted,
    better: 'more' as const,
    unit: '',
  });
  const figures = [
    ratio(ratioOf(ours, bare), `${comparison.name}: rate, of the bare floor's`, agreed),
    ratio(cpuRatioOf(ours, bare), `${comparison.name}: the same by CPU time an answer`, comparison.agreedByCpu ?? null),
  ];
  if (fastify) {
    figures.push(ratio(ratioOf(fastify, bare), `${comparison.name}: Fastify's rate, of the bare floor's`, null));
    figures.push(
      ratio(ratioOf(ours, fastify), `${comparison.name}: rate, of Fastify's`, aheadOfFastify === true ? 1 : null),
    );
  }
  return { title, table: tableOf(comparison, measured, bare), figures, notes: [] };
}

function tableOf(
  { unit = { name: 'answers', perRequest: 1 } }: Comparison,
  measured: Measured[],
  bare: Measured,
): Table {
  return {
    columns: ['', `${unit.name}/s`, 'p50 ms', 'p99 ms', 'CPU us/answer', 'of bare', 'of bare by CPU'],
    rows: measured.map((one) => [
      one.name,
      number(one.median.rate * unit.perRequest),
      number(one.median.latency.p50),
      number(one.median.latency.p99),
      number(one.median.cpuMicroseconds),
      number(ratioOf(one, bare)),
      number(cpuRatioOf(one, bare)),
    ]),
  };
}
