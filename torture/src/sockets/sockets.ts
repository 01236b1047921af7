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

/** Short rounds without and with the sockets alternate, so that other work of the machine affects both equally. */
const SETTINGS = {
  long: { sockets: 5000, rounds: { least: 20, most: 20 }, roundMs: 1000, noiseMs: 10, compared: 'median' },
  // Other suites run on the same cores then, so only a blocked service is noticeable: it is slow even in its fastest round,
  // so rounds go on until one is fast enough.
  short: { sockets: 600, rounds: { least: 3, most: 12 }, roundMs: 700, noiseMs: 250, compared: 'fastest' },
} as const;
const RANKS = { median: 0.5, fastest: 0 };
const CLIENTS = 4;

/**
 * Requests before the first round. The service's memory grows once by about 60 MiB, as its young generation fills: within the
 * first 4,000 requests.
 */
const WARM_UP_REQUESTS = 10_000;

/** With the sockets, the p99 of healthy clients stays within this multiple of that without. Below `noiseMs` it is noise. */
const TIMES = 2;

/** Memory that a socket may cost the service, in KiB. Node itself uses about a third of it. */
const KIB_PER_SOCKET = 60;

/** Usual variation of the service's memory, in KiB. */
const MEMORY_VARIATION_KIB = 32 * 1024;

/** By then all sockets without complete requests are closed: a request may take 60 s, and Node checks every 30 s. */
const LIMIT_MS = 95_000;

export const sockets: Part = {
  name: 'sockets',
  async run({ short }: Options) {
    const setting = short ? SETTINGS.short : SETTINGS.long;
    const folder = await temporaryFolder();
    const service = await startService({ databaseUrl: `sqlite:${join(folder, 'torture.db')}` });
    try {
      const rounds: Rounds = { without: [], with: [] };
      for (let sent = 0; sent < WARM_UP_REQUESTS; ) sent += (await healthy(service, setting.roundMs)).requests;
      // Healthy requests use memory, too, so each round is compared with its half without sockets.
      let before = await memoryOf(service);
      let peak = before;
      const { least, most } = setting.rounds;
      const goesOn = (round: number) => round < least || latencyFinding(setting, rounds).faults.length > 0;
      for (let round = 0; round < most && goesOn(round); round += 1) {
        rounds.without.push(await healthy(service, setting.roundMs));
        const alone = await memoryOf(service);
        const dripper = await drip(service, setting.sockets);
        rounds.with.push(await healthy(service, setting.roundMs));
        const together = await memoryOf(service);
        if (together - alone > peak - before) [before, peak] = [alone, together];
        await dripper.end();
      }
      const findings = [latencyFinding(setting, rounds), memoryFinding(setting.sockets, before, peak)];
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

/** The latencies of healthy clients in a round, and the CPU time of the service. */
type Round = { requests: number; p99Ms: number; cpuMsOfRequest: number };
type Rounds = { without: Round[]; with: Round[] };

type Setting = (typeof SETTINGS)[keyof typeof SETTINGS];

function latencyFinding({ sockets: count, noiseMs, compared }: Setting, rounds: Rounds) {
  const typical = (of: Round[], name: keyof Round) =>
    percentile(
      of.map((round) => round[name]),
      RANKS[compared],
    );
  const [alone, beset] = [typical(rounds.without, 'p99Ms'), typical(rounds.with, 'p99Ms')];
  const [cpuAlone, cpuBeset] = [typical(rounds.without, 'cpuMsOfRequest'), typical(rounds.with, 'cpuMsOfRequest')];
  const times = beset / alone;
  const faults = times > TIMES && beset > noiseMs ? [`the healthy p99 is ${times.toFixed(2)} times as long`] : [];
  return finding({
    promise: `${count} idle and dripping sockets: the healthy p99 stays within ${TIMES} times, or ${noiseMs} ms`,
    measured: `p99 ${alone.toFixed(1)} ms without, ${beset.toFixed(1)} ms with: ${times.toFixed(2)} times; ${cpuAlone.toFixed(2)} and ${cpuBeset.toFixed(2)} ms of CPU a healthy request (${compared} of ${rounds.with.length} interleaved rounds)`,
    figures: {
      sockets: count,
      p99WithoutMs: alone,
      p99WithMs: beset,
      times,
      cpuMsWithout: cpuAlone,
      cpuMsWith: cpuBeset,
    },
    faults,
  });
}

function memoryFinding(count: number, before: number, peak: number) {
  const grown = peak - before;
  const most = count * KIB_PER_SOCKET + MEMORY_VARIATION_KIB;
  return finding({
    promise: `${count} idle and dripping sockets: memory is bounded`,
    measured: `${Math.round(before / 1024)} MiB before, ${Math.round(peak / 1024)} MiB with them`,
    figures: { beforeKiB: before, peakKiB: peak },
    faults: grown > most ? [`it grew by ${grown} KiB, more than ${most}`] : [],
  });
}

/** Waits until the service has closed every socket. */
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

async function healthy(service: Service, roundMs: number): Promise<Round> {
  const load = new Load();
  const before = await cpuOf(service);
  for (let index = 0; index < CLIENTS; index += 1) load.add(service.url, listProviders);
  await sleep(roundMs);
  await load.stop();
  const failed = load.sent.find(({ status }) => status !== 200);
  if (failed) throw new Error(`a healthy request was answered ${failed.status ?? failed.code}`);
  const p99Ms = percentile(
    load.sent.map(({ tookMs }) => tookMs),
    0.99,
  );
  const requests = load.sent.length;
  return { requests, p99Ms, cpuMsOfRequest: ((await cpuOf(service)) - before) / requests };
}

type Dripper = { closed: () => { kind: string; afterMs: number }[]; end: () => Promise<void> };

/** Opens sockets from another process, and waits until all are open. */
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

/** The service's memory in KiB; 0 if the system does not tell. */
async function memoryOf({ process: { pid } }: Service): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0);
}

/** Clock ticks per second that Linux reports to programs. */
const TICKS = 100;

/** The CPU time of the service in milliseconds; 0 if the system does not tell. */
async function cpuOf({ process: { pid } }: Service): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // Skip the program's name, which may contain any character: proc(5), fields 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS || 0;
}
