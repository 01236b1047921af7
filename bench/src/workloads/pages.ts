import { statSync } from 'node:fs';
import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { type Asked, ask } from '../answers.ts';
import { requestBytes } from '../load/plan.ts';
import { type Finding, number } from '../report.ts';
import { type Measured, measure, median } from '../rounds.ts';
import { type Quartermaster, startQuartermaster } from '../servers/quartermaster.ts';
import { cursorAfter } from '../world/cursors.ts';
import { addObservations, addServiceAccounts } from '../world/rows.ts';
import { copyOf, removeCopy, type World } from '../world/world.ts';
import type { Bench, Workload } from './workload.ts';

const SMALL = 10_000;
const LIMIT = 25;

/** The agreed maximum ratio of a page's time to that of the first page of the small table. */
const AGREED = 1.2;

type List = {
  title: string;
  table: 'service_accounts' | 'runtime_observations';
  fill: (file: string, world: World, rows: number) => Promise<void>;
  /** The request for a page; null: the first page. */
  asked: (world: World, after: readonly [string, string] | null) => Asked;
};

/** The first and the last page of service accounts (#7), with ten thousand rows and with many. */
export const pages: Workload = (bench) =>
  comparePages(bench, {
    title: 'service accounts (#7)',
    table: 'service_accounts',
    fill: addServiceAccounts,
    asked: (world, after) => {
      const operation = { operationId: 'search_service_accounts', path: null };
      const cursor = after === null ? {} : { cursor: cursorAfter(world, operation, after) };
      return {
        method: 'POST',
        path: '/v1/service-accounts/search',
        headers: { 'X-API-Key': world.key, 'Content-Type': 'application/json' },
        body: JSON.stringify({ limit: LIMIT, ...cursor }),
      };
    },
  });

/** The first and the last page of a provider's runtime observations (#1). */
export const observationPages: Workload = (bench) =>
  comparePages(bench, {
    title: 'runtime observations (#1)',
    table: 'runtime_observations',
    fill: addObservations,
    asked: (world, after) => {
      const path = { provider_id: world.providerId };
      const operation = { operationId: 'list_provider_runtime_observations', path };
      const cursor = after === null ? '' : `&cursor=${cursorAfter(world, operation, after)}`;
      return {
        method: 'GET',
        path: `/v1/providers/${world.providerId}/observations?limit=${LIMIT}${cursor}`,
        headers: { 'X-API-Key': world.key },
      };
    },
  });

async function comparePages(bench: Bench, list: List): Promise<Finding> {
  const { world, load, rounds, seconds } = bench;
  const sizes = [SMALL, bench.rows];
  const files: string[] = [];
  const servers: Quartermaster[] = [];
  try {
    const contenders = [];
    for (const rows of sizes) {
      const file = copyOf(world, `${list.table}-${rows}`);
      files.push(file);
      const began = performance.now();
      await list.fill(file, world, rows);
      const gigabytes = number(statSync(file).size / 1e9);
      bench.say(`${rows} rows written in ${number((performance.now() - began) / 1000)} s, ${gigabytes} GB`);
      const server = await startQuartermaster({
        core: bench.cores.server,
        databaseUrl: `sqlite:${file}`,
        secretKey: world.secretKey,
        logPath: join(world.folder, `${list.table}.log`),
        profileFolder: bench.profileFolder,
      });
      servers.push(server);
      for (const [which, after] of [
        ['first', null],
        ['last', beforeLast(file, world, list.table)],
      ] as const) {
        const asked = list.asked(world, after);
        await expectPage(server.port, asked, which);
        contenders.push({
          name: `${which} page of ${rows}`,
          pids: [server.pid],
          plan: {
            ports: [server.port],
            requests: { kind: 'ready' as const, requests: [requestBytes(asked)] },
            connections: 1,
            rate: null,
          },
        });
      }
    }
    return findingOf(list, await measure(contenders, { load, rounds, seconds }));
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    for (const file of files) removeCopy(file);
  }
}

/** The row before the last page. */
function beforeLast(file: string, { tenantId }: World, table: List['table']): readonly [string, string] {
  const db = new SqliteDatabase(file, { readonly: true });
  try {
    const row = db
      .prepare<[string, number], { created_at: string; id: string }>(
        `select created_at, id from ${table} where tenant_id = ? order by created_at, id limit 1 offset ?`,
      )
      .get(tenantId, LIMIT);
    if (!row) throw new Error(`${table} has not a page of rows`);
    return [row.created_at, row.id];
  } finally {
    db.close();
  }
}

/** Checks that a response is the expected page before it is measured. */
async function expectPage(port: number, asked: Asked, which: 'first' | 'last'): Promise<void> {
  const answer = await ask(port, asked);
  const text = answer.body.toString('utf8');
  if (answer.status !== 200) throw new Error(`${asked.path}: ${answer.status} ${text}`);
  const { items, nextCursor } = JSON.parse(text) as { items: unknown[]; nextCursor: string | null };
  if (items.length !== LIMIT || (nextCursor === null) !== (which === 'last')) {
    throw new Error(`${asked.path} did not answer the ${which} page`);
  }
}

function findingOf({ title, table }: List, measured: Measured[]): Finding {
  const [base, ...others] = measured;
  if (!base) throw new Error('nothing was measured');
  return {
    title: `Pages of ${LIMIT} ${title}`,
    table: {
      columns: ['', 'p50 ms', 'p99 ms', 'CPU us/answer', 'p50, of the first'],
      rows: measured.map((one) => [
        one.name,
        number(one.median.latency.p50),
        number(one.median.latency.p99),
        number(one.median.cpuMicroseconds),
        number(slownessOf(one, base)),
      ]),
    },
    figures: others.map((one) => ({
      name: `${table}: p50 of the ${one.name}, of the ${base.name}'s`,
      value: slownessOf(one, base),
      agreed: AGREED,
      better: 'less',
      unit: '',
    })),
    notes: [],
  };
}

/** The ratio of two times, round by round. */
function slownessOf(one: Measured, other: Measured): number {
  return median(one.rounds.map(({ latency }, index) => latency.p50 / (other.rounds[index]?.latency.p50 ?? Number.NaN)));
}
