import type { Load } from './load/load.ts';
import type { LoadPlan, LoadResult } from './load/plan.ts';
import { cpuTimeOf } from './machine.ts';

/** One of several servers that are compared under the same load. */
export type Contender = {
  name: string;
  pids: readonly number[];
  plan: Omit<LoadPlan, 'seconds'>;
  /** The status of each answer; 200 if it is left out. */
  status?: number;
  /** Further processes whose CPU time is measured, by name. */
  besides?: Record<string, () => Promise<readonly number[]>>;
};

export type Round = {
  /** Responses per second. */
  rate: number;
  latency: LoadResult['latency'];
  /** CPU time of the contender per response, in microseconds; NaN if the system does not tell. */
  cpuMicroseconds: number;
  /** CPU time per response of the further processes. */
  besides: Record<string, number>;
};

export type Measured = { name: string; rounds: Round[]; median: Round };

export type RoundOptions = { load: Load; rounds: number; seconds: number };

/** V8 compiles hot code during some thousand requests. The warm-up keeps that out of the measurement. */
const WARM_UP_ANSWERS = 5000;

/** The longest warm-up, in rounds: large requests do much of the same work several times. */
const MAX_WARM_UP_ROUNDS = 5;

/**
 * Measures contenders in turn, round by round (ABCABC...), so that other work of the machine affects all of them. Each is warmed
 * up first, by requests and not by time, because a busy machine needs longer for them.
 */
export async function measure(contenders: readonly Contender[], options: RoundOptions): Promise<Measured[]> {
  const { load, rounds, seconds } = options;
  const measured = new Map<string, Round[]>(contenders.map(({ name }) => [name, []]));
  for (const contender of contenders) {
    let answers = 0;
    for (let round = 0; round < MAX_WARM_UP_ROUNDS && answers < WARM_UP_ANSWERS; round += 1) {
      answers += (await oneRound(load, contender, seconds)).rate * seconds;
    }
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const contender of contenders) measured.get(contender.name)?.push(await oneRound(load, contender, seconds));
  }
  return [...measured].map(([name, all]) => ({ name, rounds: all, median: medianOf(all) }));
}

/** The ratio of two rates: the median over pairs of consecutive rounds. */
export function ratioOf(one: Measured, other: Measured): number {
  return median(one.rounds.map((round, index) => round.rate / (other.rounds[index]?.rate ?? Number.NaN)));
}

/** The ratio by CPU time per response, which a busy machine affects less. */
export function cpuRatioOf(one: Measured, other: Measured): number {
  return other.median.cpuMicroseconds / one.median.cpuMicroseconds;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2;
}

async function oneRound(load: Load, contender: Contender, seconds: number): Promise<Round> {
  const { name, pids, plan, status: expected = 200, besides = {} } = contender;
  const before = cpuTimeOfAll(pids);
  const besidesBefore = await cpuTimesOf(besides);
  const result = await load.apply({ ...plan, seconds });
  const cpuMilliseconds = cpuTimeOfAll(pids) - before;
  const perAnswer = (milliseconds: number) => (milliseconds * 1000) / result.answers;
  const used = Object.entries(await cpuTimesOf(besides)).map(
    ([who, time]) => [who, perAnswer(time - (besidesBefore[who] ?? 0))] as const,
  );
  const refused = Object.keys(result.statuses).filter((status) => status !== String(expected));
  if (refused.length > 0) throw new Error(`${name} answered ${JSON.stringify(result.statuses)}`);
  return {
    rate: result.answers / result.seconds,
    latency: result.latency,
    cpuMicroseconds: perAnswer(cpuMilliseconds),
    besides: Object.fromEntries(used),
  };
}

async function cpuTimesOf(besides: NonNullable<Contender['besides']>): Promise<Record<string, number>> {
  const times: Record<string, number> = {};
  for (const [who, pids] of Object.entries(besides)) times[who] = cpuTimeOfAll(await pids());
  return times;
}

function cpuTimeOfAll(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + cpuTimeOf(pid), 0);
}

function medianOf(rounds: readonly Round[]): Round {
  const of = (value: (round: Round) => number) => median(rounds.map(value));
  return {
    rate: of((round) => round.rate),
    cpuMicroseconds: of((round) => round.cpuMicroseconds),
    besides: Object.fromEntries(
      Object.keys(rounds[0]?.besides ?? {}).map((who) => [who, of((round) => round.besides[who] ?? Number.NaN)]),
    ),
    latency: {
      p50: of((round) => round.latency.p50),
      p90: of((round) => round.latency.p90),
      p99: of((round) => round.latency.p99),
      max: Math.max(...rounds.map((round) => round.latency.max)),
    },
  };
}
