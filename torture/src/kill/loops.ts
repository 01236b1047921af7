import { openDatabase } from '@quartermaster/db/database.ts';
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

const LOOPS = { long: 500, short: 4 };

/** kill -9 under mixed writes, again and again on one database. */
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

/** Every so manieth time it is the database's server that is killed, where it has one. */
const DATABASE_EVERY = 4;

/** The service goes on by itself within this time after its database is there again, in milliseconds. */
const RECOVERY_MS = 5000;

/** A loop takes a few seconds, and on a busy machine a good many. */
const LOOP_MS = 120_000;

/** Of so many loops the progress is told. */
const TOLD_EVERY = 25;

async function runLoops(store: Store, options: Options): Promise<Finding> {
  const random = randomOf(options.seed);
  const loops = options.loops ?? (options.short ? LOOPS.short : LOOPS.long);
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
      const database = loop % DATABASE_EVERY === 0 ? store.server : undefined;
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
      if (loop % TOLD_EVERY === 0) options.progress?.(`${loop} of ${loops} loops, ${faults.length} faults`);
    }
    // What later loops did must not have touched what earlier ones left.
    for (const ledger of ledgers) found(await faultsOf(db, ledger));
    const tenantIds = ledgers.map(({ tenantId }) => tenantId);
    found(await chainFaults(service, db, tenantIds));
    const code = await stopService(service);
    if (code !== 0) found([`the last stop ended with ${code}`]);
  } catch (error) {
    // What the service wrote to its log says more than an answer may; the last of it is written as it ends.
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

/** What the service itself answers after its restart, for every account that was acknowledged. */
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
