import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { administer, createDatabase, startPostgres } from '@quartermaster/db/testing/postgres-server.ts';
import { requestBytes } from '../load/plan.ts';
import { type Figure, type Finding, number } from '../report.ts';
import { type Measured, measure, ratioOf } from '../rounds.ts';
import { type Quartermaster, startQuartermaster } from '../servers/quartermaster.ts';
import { makeWorld } from '../world/world.ts';
import type { Workload } from './workload.ts';

const DATABASE = 'bench';
const AGREED = 1.8;

/** Two API processes, the database and the load need one core each. */
const CORES_NEEDED = 4;

/** Reads from one process and from two processes, on one PostgreSQL server. */
export const twoProcesses: Workload = async (bench) => {
  const postgres = await startPostgres({ durable: true });
  const servers: Quartermaster[] = [];
  try {
    await createDatabase(postgres.urlOf('postgres'), DATABASE);
    const databaseUrl = postgres.urlOf(DATABASE);
    const world = await makeWorld(bench.world.folder, databaseUrl, { providers: 100, tenants: 0, spansOfTrace: 10 });
    const { server, others } = bench.cores;
    const enough = server !== null && others.length + 2 >= CORES_NEEDED;
    for (const core of enough ? [server, ...others.slice(0, 1)] : [null, null]) {
      const logPath = join(world.folder, 'two-processes.log');
      const { secretKey } = world;
      servers.push(
        await startQuartermaster({ core, databaseUrl, secretKey, logPath, profileFolder: bench.profileFolder }),
      );
    }
    const request = requestBytes({ method: 'GET', path: '/v1/providers', headers: { 'X-API-Key': world.key } });
    const besides = {
      postgres: async () => {
        const rows = await administer(databaseUrl, 'select pid from pg_stat_activity where pid <> pg_backend_pid()');
        return rows.map(({ pid }) => Number(pid));
      },
      load: async () => [bench.load.pid],
    };
    const of = (name: string, some: readonly Quartermaster[]) => ({
      name,
      besides,
      pids: some.map(({ pid }) => pid),
      plan: {
        ports: some.map(({ port }) => port),
        requests: { kind: 'ready' as const, requests: [request] },
        connections: 32,
        rate: null,
      },
    });
    const contenders = [of('one process', servers.slice(0, 1)), of('two processes', servers)];
    return findingOf(await measure(contenders, bench), enough);
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    await postgres.stop();
  }
};

function findingOf(measured: Measured[], enough: boolean): Finding {
  const [one, two] = measured;
  if (!one || !two) throw new Error('one process and two are always measured');
  const figure = (name: string, value: number, agreed: number | null): Figure => ({
    name: `two processes: ${name}`,
    value,
    agreed,
    better: 'more',
    unit: ' times one',
  });
  const byCpu = (2 * one.median.cpuMicroseconds) / two.median.cpuMicroseconds;
  return {
    title: 'Reads on Postgres, list of 25 (#18)',
    table: {
      columns: [
        '',
        'answers/s',
        'p50 ms',
        'p99 ms',
        'CPU us/answer',
        'of PostgreSQL',
        'of the load',
        'cores the API had',
      ],
      rows: measured.map(({ name, median: { rate, latency, cpuMicroseconds, besides } }) => [
        name,
        number(rate),
        number(latency.p50),
        number(latency.p99),
        number(cpuMicroseconds),
        number(besides['postgres'] ?? Number.NaN),
        number(besides['load'] ?? Number.NaN),
        number((rate * cpuMicroseconds) / 1e6),
      ]),
    },
    figures: [
      figure('rate', ratioOf(two, one), enough ? AGREED : null),
      figure('rate with a core for each, projected from CPU time an answer', byCpu, null),
    ],
    notes: enough
      ? []
      : [
          `rate not judged: ${availableParallelism()} cores carry the load and PostgreSQL, too; at least ${CORES_NEEDED} are needed`,
          'what an answer costs in CPU time, alone and beside another process, says what a core more would buy',
        ],
  };
}
