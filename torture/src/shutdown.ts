import { createAccounts, Load, listProviders, type Sender, type Sent } from './load.ts';
import { type Finding, finding, type Options, type Part } from './part.ts';
import { type Service, startService } from './service.ts';
import { openSqliteStore, type Store } from './stores.ts';
import { until } from './until.ts';

const STOPS = { long: 50, short: 5 };
const READERS = 6;
const WRITERS = 6;

const ready: Sender = (connection) => ({
  name: 'readiness',
  answer: connection.send('GET', '/readyz', { headers: { connection: 'close' } }),
});

/** SIGTERM under load: what was taken is answered, and readiness fails before anything else does. */
export const shutdown: Part = {
  name: 'shutdown',
  async run(options: Options): Promise<Finding[]> {
    const stops = options.loops ?? (options.short ? STOPS.short : STOPS.long);
    const store = await openSqliteStore();
    const rounds: Round[] = [];
    try {
      for (let stop = 1; stop <= stops; stop += 1) rounds.push(await stopUnderLoad(store, stop));
    } finally {
      await store.close();
    }
    const total = (of: (round: Round) => number) => rounds.reduce((sum, round) => sum + of(round), 0);
    const figures = {
      stops,
      answered: total(({ answered }) => answered),
      dropped: total(({ dropped }) => dropped.length),
      unanswered: total(({ unanswered }) => unanswered),
      answeredAfterSignal: total(({ afterSignal }) => afterSignal),
      leastNotReadyMs: Math.round(Math.min(...rounds.map(({ notReadyMs }) => notReadyMs))),
      slowestExitMs: Math.round(Math.max(...rounds.map(({ exitMs }) => exitMs))),
    };
    return [
      finding({
        promise: 'SIGTERM under load drops no request',
        measured: `${stops} stops, ${figures.answered} requests answered, ${figures.answeredAfterSignal} of them sent after the signal; ${figures.dropped} dropped, ${figures.unanswered} connections refused; exit after at most ${figures.slowestExitMs} ms`,
        figures,
        faults: rounds.flatMap(({ dropped }) => dropped),
      }),
      finding({
        promise: 'readiness fails first',
        measured: `/readyz answered 503 for at least ${figures.leastNotReadyMs} ms before the first connection was refused`,
        figures: {},
        faults: rounds.flatMap(({ notReady }) => notReady),
      }),
    ];
  },
};

type Round = {
  answered: number;
  afterSignal: number;
  /** What was sent and not answered, or answered otherwise. */
  dropped: string[];
  /** Requests that came when nobody listened any more. */
  unanswered: number;
  notReady: string[];
  notReadyMs: number;
  exitMs: number;
};

async function stopUnderLoad(store: Store, stop: number): Promise<Round> {
  const service = await startService({ databaseUrl: store.url });
  const load = new Load();
  for (let index = 0; index < READERS; index += 1) load.add(service.url, listProviders);
  for (let index = 0; index < WRITERS; index += 1) load.add(service.url, createAccounts(`of-${stop}-${index}`));
  load.add(service.url, ready, 5);
  await until(() => load.sent.length > 200, 'the load to be under way');
  const signalled = load.now();
  service.process.kill('SIGTERM');
  const { code } = await service.ended;
  const exitMs = load.now() - signalled;
  await load.stop();
  return {
    ...roundOf(load, signalled),
    exitMs,
    ...(code !== 0 && { dropped: [exitFault(service, code)] }),
  };
}

function roundOf(load: Load, signalled: number): Omit<Round, 'exitMs'> {
  const requests = load.sent.filter(({ name }) => name !== 'readiness');
  const refusedAt = Math.min(...load.sent.filter(({ code }) => code === 'ECONNREFUSED').map(({ at }) => at));
  // Without an answer, although the system had taken the connection: only who is refused met a closed door.
  const dropped = requests.filter(({ status, code }) => status === null && code !== 'ECONNREFUSED');
  const strange = requests.filter(({ status }) => status !== null && status !== 200);
  const readiness = load.sent.filter(({ name }) => name === 'readiness');
  const notReadyAt = Math.min(...readiness.filter(({ status }) => status === 503).map(({ at }) => at));
  return {
    answered: requests.filter(({ status }) => status === 200).length,
    afterSignal: requests.filter(({ status, at }) => status === 200 && at > signalled).length,
    dropped: [...dropped, ...strange].map(described),
    unanswered: requests.filter(({ status }) => status === null).length - dropped.length,
    notReady: notReadyAt < refusedAt ? [] : ['connections were refused before /readyz had answered 503'],
    notReadyMs: refusedAt - notReadyAt,
  };
}

function described({ name, at, status, code, reused }: Sent): string {
  return `${name} at ${at.toFixed(0)} ms: ${status ?? `${code} on a ${reused ? 'used' : 'new'} connection`}`;
}

function exitFault(service: Service, code: number | null): string {
  return `the process ended with ${code}: ${service.output().slice(-500)}`;
}
