import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '../connection.ts';
import { percentile } from '../load.ts';
import { type Finding, finding, type Options, type Part } from '../part.ts';
import { ADMIN, killService, type Service, startService } from '../service.ts';
import { onEachStore, openPostgresStore, openSqliteStore } from '../stores.ts';
import type { AttackReport } from './attacker.ts';
import { startAttacker } from './attacker-process.ts';
import { makeAccount, NormalTenant, type Sample } from './normal-tenant.ts';

const SETTINGS = {
  long: { aloneMs: 20_000, attackMs: 120_000, hangsUp: false, noiseMs: 15 },
  // Other suites run on the same cores then, so only a stall of the service is noticeable.
  short: { aloneMs: 1500, attackMs: 3000, hangsUp: true, noiseMs: 2500 },
};

/** During an attack the p99 of another tenant stays within this multiple of that without. Below `noiseMs` it is noise. */
const TIMES = 3;

/** Maximum memory of the service in MiB. */
const MAX_MEMORY_MIB = 1024;

/** One tenant with every scope attacks through every kind of operation, while another one works normally. */
export const tenants: Part = {
  name: 'tenants',
  async run({ short, progress }: Options): Promise<Finding[]> {
    const setting = short ? SETTINGS.short : SETTINGS.long;
    const stores = short ? [openSqliteStore] : [openSqliteStore, openPostgresStore];
    return (
      await onEachStore(async (store) => {
        const service = await startService({
          databaseUrl: store.url,
          environment: {
            QM_RATE_LIMITS: 'on',
            QM_ALLOW_PRIVATE_ADDRESSES: '127.0.0.0/8',
            QM_MAX_CONNECTIONS_PER_ADDRESS: '200',
          },
        });
        try {
          return await underAttack(service, { ...setting, name: store.name, progress });
        } finally {
          await killService(service);
        }
      }, stores)
    ).flat();
  },
};

type Setting = (typeof SETTINGS)[keyof typeof SETTINGS] & { name: string; progress: Options['progress'] };

async function underAttack(service: Service, setting: Setting): Promise<Finding[]> {
  const { name, aloneMs, attackMs, hangsUp, noiseMs, progress } = setting;
  const admin = new Connection(service.url, ADMIN);
  const normal = await NormalTenant.found(service.url, admin);
  const attacker = await startAttacker({
    url: service.url,
    key: await makeAccount(admin, { tenantId: 'hostile', id: 'owner' }),
  });
  admin.close();
  try {
    normal.start();
    // Warm-up: the first requests compile and cache what later ones use.
    await sleep(aloneMs / 4);
    const alone = await normal.during(() => sleep(aloneMs));
    const memoryBefore = await peakMemoryOf(service);
    let report: AttackReport | undefined;
    const beset = await normal.during(async () => {
      report = await attacker.attack({ milliseconds: attackMs, hangsUp });
    });
    await normal.stop();
    if (report === undefined) throw new Error('the attack has no report');
    const memory = await peakMemoryOf(service);
    const sent = Object.values(report.answers).reduce((sum, count) => sum + count, 0);
    for (const [attack, figures] of Object.entries(report.attacks)) progress?.(`${name}: ${attack}: ${figures}`);
    const [p99Alone, p99Beset] = [p99Of(alone), p99Of(beset)];
    const times = p99Beset / p99Alone;
    const slow = times > TIMES && p99Beset > noiseMs;
    const refused = beset.filter(({ status }) => status !== 200);
    return [
      finding({
        promise: `${name}: during an attack by one tenant, the p99 of another stays within ${TIMES} times that without`,
        measured: `${ms(p99Alone)} alone, ${ms(p99Beset)} beside ${sent} hostile requests (${times.toFixed(2)} times); longest ${ms(longest(alone))} and ${ms(longest(beset))}`,
        figures: { p99Alone, p99Beset, times, longestAlone: longest(alone), longestBeset: longest(beset), sent },
        faults: slow ? [`the p99 is ${times.toFixed(2)} times as long`] : [],
      }),
      finding({
        promise: `${name}: during an attack by one tenant, no request of another is refused`,
        measured: `${beset.length} requests, ${refused.length} refused; answers to the attacker: ${JSON.stringify(report.answers)}`,
        figures: { requests: beset.length, refused: refused.length },
        faults: refused.slice(0, 5).map(({ what, status, error }) => `${what}: ${status ?? error}`),
      }),
      finding({
        promise: `${name}: during an attack by one tenant, the service stays below ${MAX_MEMORY_MIB} MiB`,
        measured: `${memoryBefore.toFixed(0)} MiB before, ${memory.toFixed(0)} MiB at the most`,
        figures: { memoryBefore, memory },
        faults: memory > MAX_MEMORY_MIB ? [`it took ${memory.toFixed(0)} MiB`] : [],
      }),
    ];
  } finally {
    attacker.end();
    await normal.stop();
  }
}

function p99Of(samples: readonly Sample[]): number {
  return percentile(
    samples.map(({ tookMs }) => tookMs),
    0.99,
  );
}

function longest(samples: readonly Sample[]): number {
  return Math.max(0, ...samples.map(({ tookMs }) => tookMs));
}

function ms(value: number): string {
  return `${value.toFixed(1)} ms`;
}

/** The peak memory of the process in MiB. */
async function peakMemoryOf({ process: { pid } }: Service): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
}
