import { openDatabase } from '@quartermaster/db/open-database.ts';
import { Connection } from '../connection.ts';
import { type Finding, finding, type Options, type Part } from '../part.ts';
import { randomOf } from '../random.ts';
import { ADMIN, killService, type Service, startService, stopService } from '../service.ts';
import type { Store } from '../stores.ts';
import { until, within } from '../until.ts';
import { chainFaults } from './audit.ts';
import type { Ledger } from './ledger.ts';
import { faultsOf } from './verify.ts';
import { writeUntilKilled } from './writing.ts';

const LOOPS = { long: 500, short: 2 };

/** Repeated kill -9 during mixed writes on one database. */
export function killLoops(name: string, openStore: () => Promise<Store>): Part {
  const run = async (options: Options) => {
    const store = await openStore();
    try {
      return [await runLoops(store, options)];
    } finally {
      await store.close();
    }
  };
  return { name, run };
}

/** Every fourth kill is that of the database server, if there is one; in the short form the second. */
const DATABASE_EVERY = { long: 4, short: 2 };

/** The service has to recover by itself within this time after its database is back, in milliseconds. */
const RECOVERY_MS = 5000;

/** Time limit of a loop. It takes a few seconds, and many more on a busy machine. */
const LOOP_MS = 120_000;

/** Progress is printed after each 25 loops. */
const PROGRESS_EVERY = 25;

async function runLoops(store: Store, options: Options): Promise<Finding> {
  const random = randomOf(options.seed);
  const length = options.short ? 'short' : 'long';
  const loops = options.loops ?? LOOPS[length];
  const ledgers: Ledger[] = [];
  const faults: string[] = [];
  const found = (more: readonly string[]) => {
    faults.push(...more);
    for (const fault of more) options.progress?.(fault);
  };
  const times = { start: [0], recovery: [0] };
  let service = await startService({ databaseUrl: store.url });
  const db = await openDatabase(store.url, '/');
  try {
    const oneLoop = async (loop: number) => {
      const database = loop % DATABASE_EVERY[length] === 0 ? store.server : undefined;
      const kill = database?.kill ?? (() => killService(service));
      const ledger = await writeUntilKilled({ service, tenantId: `loop-${loop}`, random, kill });
      ledgers.push(ledger);
      const killed = performance.now();
      if (database) {
        await database.resume();
        times.recovery.push(await recoveryOf(service));
      } else {
        service = await startService({ databaseUrl: store.url });
        times.start.push(performance.now() - killed);
      }
      found(await faultsOf(db, ledger));
      found(await readFaults(service, ledger));
      found(await store.integrityFaults());
    };
    for (let loop = 1; loop <= loops; loop += 1) {
      await within(LOOP_MS, `loop ${loop} of ${store.name}`, oneLoop(loop));
      if (loop % PROGRESS_EVERY === 0) options.progress?.(`${loop} of ${loops} loops, ${faults.length} faults`);
    }
    // Later loops must not have changed the data of earlier ones.
    for (const ledger of ledgers) found(await faultsOf(db, ledger));
    const tenantIds = ledgers.map(({ tenantId }) => tenantId);
    found(await chainFaults(service, db, tenantIds));
    const code = await stopService(service);
    if (code !== 0) found([`the last stop ended with ${code}`]);
  } catch (error) {
    // The log says more than an answer. The service writes the last lines when it ends, so stop it first.
    await stopService(service);
    throw new Error(`the service wrote: ${service.output().slice(-4000)}`, { cause: error });
  } finally {
    await killService(service);
    await db.destroy();
  }
  const total = (of: (ledger: Ledger) => number) => ledgers.reduce((sum, ledger) => sum + of(ledger), 0);
  const [slowestStartMs, slowestRecoveryMs] = [Math.max(...times.start), Math.max(...times.recovery)].map(Math.round);
  if ((slowestRecoveryMs ?? 0) > RECOVERY_MS) found([`it took ${slowestRecoveryMs} ms to go on after its database`]);
  const figures = {
    loops,
    databaseKills: times.recovery.length - 1,
    acknowledged: total(({ acknowledged }) => acknowledged),
    leastInALoop: Math.min(...ledgers.map(({ acknowledged }) => acknowledged)),
    inDoubt: total(({ inDoubt }) => inDoubt.size),
    refused: total(({ refused }) => refused),
    slowestStartMs: slowestStartMs ?? 0,
    slowestRecoveryMs: slowestRecoveryMs ?? 0,
  };
  const parts = [
    `${loops} kills${store.server ? `, ${figures.databaseKills} of them of the database` : ''}`,
    `${figures.acknowledged} acknowledged, at least ${figures.leastInALoop} a loop`,
    `${faults.length} faults, ${figures.inDoubt} in doubt, ${figures.refused} refused and sent again`,
    `restart at most ${slowestStartMs} ms`,
    ...(store.server ? [`recovery at most ${slowestRecoveryMs} ms`] : []),
    store.checks,
  ];
  const promise = `${store.name}: what is acknowledged survives kill -9, whole, counted, and audited in a chain`;
  return finding({ promise, measured: parts.join('; '), figures, faults });
}

/** How long it takes until a write succeeds. */
async function recoveryOf(service: Service): Promise<number> {
  const connection = new Connection(service.url, ADMIN);
  try {
    const body = { name: 'recovery' };
    const written = async () => (await connection.send('POST', '/v1/service-accounts', { body })).status === 200;
    return await until(written, 'the service to write again');
  } finally {
    connection.close();
  }
}

/** Checks that the restarted service returns every acknowledged account. */
async function readFaults(service: Service, ledger: Ledger): Promise<string[]> {
  const connection = new Connection(service.url, ADMIN);
  try {
    const faults: string[] = [];
    const inDoubt = new Set([...ledger.inDoubt].flatMap(({ effects }) => effects.map(({ record }) => record)));
    for (const [record, { id, state }] of ledger.entries) {
      if (!record.startsWith('account/') || inDoubt.has(record)) continue;
      const { status, body } = await connection.send('GET', `/v1/service-accounts/${id}?tenant_id=${ledger.tenantId}`);
      const read = status === 404 ? 'deleted' : `${body.status}:${body.displayName ?? ''}`;
      if (!state?.startsWith(read)) faults.push(`${ledger.tenantId}: ${record} is ${state}, and is read as ${read}`);
    }
    return faults;
  } finally {
    connection.close();
  }
}
