import { createAccounts, Load, listProviders, type Sender, type Sent } from './load.ts';
import { type Finding, finding, type Options, type Part } from './part.ts';
import { type Service, startService } from './service.ts';
import { openSqliteStore, type Store } from './stores.ts';
import { until } from './until.ts';

const STOPS = { long: 50, short: 1 };
const READERS = 6;
const WRITERS = 6;

const ready: Sender = (connection, _count, headers) => ({
  name: 'readiness',
  answer: connection.send('GET', '/readyz', { headers: { ...headers, connection: 'close' } }),
});

/** SIGTERM under load: every accepted request is answered, and readiness fails before connections are refused. */
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
      refused: total(({ refused }) => refused),
      reset: total(({ reset }) => reset),
      answeredAfterSignal: total(({ afterSignal }) => afterSignal),
      leastNotReadyMs: Math.round(Math.min(...rounds.map(({ notReadyMs }) => notReadyMs))),
      slowestExitMs: Math.round(Math.max(...rounds.map(({ exitMs }) => exitMs))),
    };
    return [
      finding({
        promise: 'SIGTERM under load drops no request',
        measured: `${stops} stops, ${figures.answered} requests answered, ${figures.answeredAfterSignal} of them sent after the signal; ${figures.dropped} dropped; of those that came after it had stopped listening ${figures.refused} connections refused, ${figures.reset} reset unread; exit after at most ${figures.slowestExitMs} ms`,
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
  /** Requests without an answer, or with an unexpected one. */
  dropped: string[];
  /** Connections that were refused because the service no longer listened. */
  refused: number;
  /** Connections that the system had accepted and the service had not. Closing the listening socket resets them. */
  reset: number;
  notReady: string[];
  notReadyMs: number;
  exitMs: number;
};

async function stopUnderLoad(store: Store, stop: number): Promise<Round> {
  // At this level the log has a line for every request that the service read.
  const service = await startService({ databaseUrl: store.url, environment: { QM_LOG_LEVEL: 'info' } });
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
    ...roundOf(load, signalled, service.output()),
    exitMs,
    ...(code !== 0 && { dropped: [exitFault(service, code)] }),
  };
}

function roundOf(load: Load, signalled: number, log: string): Omit<Round, 'exitMs'> {
  const requests = load.sent.filter(({ name }) => name !== 'readiness');
  const refusedAt = Math.min(...load.sent.filter(({ code }) => code === 'ECONNREFUSED').map(({ at }) => at));
  const unanswered = requests.filter(({ status, code }) => status === null && code !== 'ECONNREFUSED');
  const taken = new Set([...log.matchAll(/"callerRequestId":"([^"]+)"/g)].map(([, id]) => id));
  // Dropped: the connection carried other requests before, or the service had read this one.
  const isDropped = ({ reused, requestId, code }: Sent) => reused || code !== 'ECONNRESET' || taken.has(requestId);
  const dropped = unanswered.filter(isDropped);
  const strange = requests.filter(({ status }) => status !== null && status !== 200);
  // If the log were not a complete list of the requests that were read, it would prove nothing.
  const unlogged = requests.filter(({ status, requestId }) => status === 200 && !taken.has(requestId));
  const readiness = load.sent.filter(({ name }) => name === 'readiness');
  const notReadyAt = Math.min(...readiness.filter(({ status }) => status === 503).map(({ at }) => at));
  return {
    answered: requests.filter(({ status }) => status === 200).length,
    afterSignal: requests.filter(({ status, at }) => status === 200 && at > signalled).length,
    dropped: [...dropped, ...strange, ...unlogged].map(described),
    refused: requests.filter(({ code }) => code === 'ECONNREFUSED').length,
    reset: unanswered.length - dropped.length,
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
