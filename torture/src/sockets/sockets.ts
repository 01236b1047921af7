import { type ChildProcess, spawn } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Load, listProviders, percentile } from '../load.ts';
import { finding, type Options, type Part } from '../part.ts';
import { type Service, startService, stopService } from '../service.ts';
import { temporaryFolder } from '../stores.ts';
import { until } from '../until.ts';

const DRIPPER = join(import.meta.dirname, 'dripper.ts');

/** Rounds without and with the sockets follow each other, so that what else the machine does meets both alike. */
const SETTINGS = {
  long: { sockets: 5000, rounds: 5, roundMs: 4000, noiseMs: 10 },
  // Beside other suites on the same cores: only what blocks the service stands out there.
  short: { sockets: 600, rounds: 2, roundMs: 1000, noiseMs: 250 },
};
const CLIENTS = 4;

/** With the sockets, the healthy p99 stays within so many times that without; below `noiseMs` it is noise. */
const TIMES = 2;

/** What a socket may cost the service, in KiB: Node's own share of one is about a third of it. */
const KIB_OF_SOCKET = 60;

/** After so long no socket is left that does not send whole requests: 60 s for a request, and Node's look every 30 s. */
const LIMIT_MS = 95_000;

export const sockets: Part = {
  name: 'sockets',
  async run({ short }: Options) {
    const setting = short ? SETTINGS.short : SETTINGS.long;
    const folder = await temporaryFolder();
    const service = await startService({ databaseUrl: `sqlite:${join(folder, 'torture.db')}` });
    try {
      const p99 = { without: [] as number[], with: [] as number[] };
      await healthyP99(service, setting.roundMs);
      const before = await memoryOf(service);
      let peak = before;
      for (let round = 0; round < setting.rounds; round += 1) {
        p99.without.push(await healthyP99(service, setting.roundMs));
        const dripper = await drip(service, setting.sockets);
        p99.with.push(await healthyP99(service, setting.roundMs));
        peak = Math.max(peak, await memoryOf(service));
        await dripper.end();
      }
      const findings = [latencyFinding(setting, p99), memoryFinding(setting.sockets, before, peak)];
      if (!short) findings.push(await limitsFinding(service, setting.sockets));
      await stopService(service);
      return findings;
    } finally {
      service.process.kill('SIGKILL');
      await service.ended;
      await rm(folder, { recursive: true });
    }
  },
};

type P99 = { without: number[]; with: number[] };

function latencyFinding({ sockets: count, noiseMs }: { sockets: number; noiseMs: number }, p99: P99) {
  const [alone, beset] = [percentile(p99.without, 0.5), percentile(p99.with, 0.5)];
  const times = beset / alone;
  const faults = times > TIMES && beset > noiseMs ? [`the healthy p99 is ${times.toFixed(2)} times as long`] : [];
  return finding({
    promise: `${count} idle and dripping sockets: the healthy p99 stays within ${TIMES} times, or ${noiseMs} ms`,
    measured: `p99 ${alone.toFixed(1)} ms without, ${beset.toFixed(1)} ms with: ${times.toFixed(2)} times (medians of ${p99.with.length} interleaved rounds)`,
    figures: { sockets: count, p99WithoutMs: alone, p99WithMs: beset, times },
    faults,
  });
}

function memoryFinding(count: number, before: number, peak: number) {
  const grown = peak - before;
  const most = count * KIB_OF_SOCKET;
  return finding({
    promise: `${count} idle and dripping sockets: memory is bounded`,
    measured: `${Math.round(before / 1024)} MiB before, ${Math.round(peak / 1024)} MiB with them`,
    figures: { beforeKiB: before, peakKiB: peak },
    faults: grown > most ? [`it grew by ${grown} KiB, more than ${most}`] : [],
  });
}

/** Leaves the sockets alone until the service has closed every one. */
async function limitsFinding(service: Service, count: number) {
  const dripper = await drip(service, count);
  const closed = () => dripper.closed().length;
  await until(() => closed() >= count, 'the sockets to be closed', LIMIT_MS + 10_000).catch(() => 0);
  const slowest = (kind: string) =>
    Math.max(0, ...dripper.closed().flatMap((one) => (one.kind === kind ? [one.afterMs] : [])));
  const figures = { closed: closed(), idleMs: slowest('idle'), headMs: slowest('head'), bodyMs: slowest('body') };
  await dripper.end();
  const faults = figures.closed < count ? [`${count - figures.closed} of ${count} sockets are still open`] : [];
  for (const [name, took] of Object.entries(figures)) {
    if (name.endsWith('Ms') && took > LIMIT_MS) faults.push(`${name}: ${took}`);
  }
  const seconds = (ms: number) => (ms / 1000).toFixed(1);
  return finding({
    promise: `${count} idle and dripping sockets: the limits close them`,
    measured: `idle ones after ${seconds(figures.idleMs)} s, slow heads after ${seconds(figures.headMs)} s, slow bodies after ${seconds(figures.bodyMs)} s at the latest`,
    figures,
    faults,
  });
}

async function healthyP99(service: Service, roundMs: number): Promise<number> {
  const load = new Load();
  for (let index = 0; index < CLIENTS; index += 1) load.add(service.url, listProviders);
  await sleep(roundMs);
  await load.stop();
  const failed = load.sent.find(({ status }) => status !== 200);
  if (failed) throw new Error(`a healthy request was answered ${failed.status ?? failed.code}`);
  return percentile(
    load.sent.map(({ tookMs }) => tookMs),
    0.99,
  );
}

type Dripper = { closed: () => { kind: string; afterMs: number }[]; end: () => Promise<void> };

/** Opens sockets from another process, and waits until they are. */
async function drip(service: Service, count: number): Promise<Dripper> {
  const { port } = new URL(service.url);
  const child: ChildProcess = spawn(process.execPath, [DRIPPER, port, String(count)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
  await until(() => text.includes('open\n'), `${count} sockets to be open`, 60_000);
  return {
    closed: () => [...text.matchAll(/^(\w+) (\d+)$/gm)].map(([, kind = '', ms]) => ({ kind, afterMs: Number(ms) })),
    async end() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** What the service holds in memory, in KiB; 0 where the system does not say. */
async function memoryOf({ process: { pid } }: Service): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0);
}
