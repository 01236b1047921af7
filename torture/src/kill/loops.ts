import { openDatabase } from '@quartermaster/db/database.ts';
import { Connection } from '../connection.ts';
import { finding, type Options, type Part } from '../part.ts';
import { randomOf } from '../random.ts';
import { ADMIN, type Service, startService, stopService } from '../service.ts';
import type { Store } from '../stores.ts';
import type { Ledger } from './ledger.ts';
import { faultsOf } from './verify.ts';
import { writeUntilKilled } from './writing.ts';

const LOOPS = { long: 500, short: 20 };

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

async function runLoops(store: Store, options: Options) {
  const random = randomOf(options.seed);
  const loops = options.loops ?? (options.short ? LOOPS.short : LOOPS.long);
  const ledgers: Ledger[] = [];
  const faults: string[] = [];
  const recovery: number[] = [];
  let service = await startService({ databaseUrl: store.url });
  const db = await openDatabase(store.url, '/');
  try {
    for (let loop = 1; loop <= loops; loop += 1) {
      const ledger = await writeUntilKilled(service, `loop-${loop}`, random);
      ledgers.push(ledger);
      const killed = performance.now();
      service = await startService({ databaseUrl: store.url });
      recovery.push(performance.now() - killed);
      faults.push(...(await faultsOf(db, ledger)), ...(await readFaults(service, ledger)));
      faults.push(...(await store.integrityFaults()));
    }
    // What later loops did must not have touched what earlier ones left.
    for (const ledger of ledgers) faults.push(...(await faultsOf(db, ledger)));
    const code = await stopService(service);
    if (code !== 0) faults.push(`the last stop ended with ${code}`);
  } finally {
    service.process.kill('SIGKILL');
    await service.ended;
    await db.destroy();
  }
  const figures = {
    loops,
    acknowledged: sum(ledgers.map((ledger) => ledger.acknowledged)),
    leastInALoop: Math.min(...ledgers.map((ledger) => ledger.acknowledged)),
    inDoubt: sum(ledgers.map((ledger) => ledger.inDoubt.size)),
    slowestStartMs: Math.round(Math.max(...recovery)),
    faults: faults.length,
  };
  return finding({
    promise: `${store.name}: what is acknowledged survives kill -9, whole, counted and audited`,
    measured: `${loops} kills, ${figures.acknowledged} acknowledged (at least ${figures.leastInALoop} a loop), ${figures.inDoubt} in doubt, ${faults.length} faults, restart at most ${figures.slowestStartMs} ms`,
    figures,
    faults,
  });
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

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
