import type { Recording } from './recording.ts';
import { type Observed, type Outcome, withoutDate } from './replay.ts';

/** How many items (`of`) there are, and how many of them (`right`) were read correctly. */
export type Score = { right: number; of: number };

/** One row of the table in docs/frameworks.md. */
export type Row = {
  models: Score;
  tools: Score;
  agents: Score;
  /** Models and tools whose calls were each counted once. */
  counts: Score;
  /** Models whose tokens are correct. Null if the telemetry contains no usage. */
  tokens: Score | null;
  /** Blocked models, and blocked tools of MCP servers and vendors, whose use was noticed. */
  blocks: Score;
  markers: string[];
  spurious: string[];
  /** Each difference from the truth, as a text. */
  deviations: string[];
};

type Expected = {
  kind: 'model' | 'tool' | 'agent';
  providers: string[];
  name: string;
  calls: number | null;
  failed?: number | undefined;
};

/**
 * @param outcome the result of a replay with everything declared
 * @param blocked the result of a replay with everything blocked
 */
export function compare(recording: Recording, { outcome, blocked }: { outcome: Outcome; blocked: Outcome }): Row {
  const expected = expectedOf(recording, outcome.services);
  const found = new Map(expected.map((one) => [one, outcome.observed.filter((seen) => isSame(one, seen))]));
  const isSeen = (one: Expected) => (found.get(one) ?? []).length > 0;
  const callsOf = (one: Expected) => (found.get(one) ?? []).reduce((sum, { occurrences }) => sum + occurrences, 0);
  const counted = expected.filter(({ calls }) => calls !== null);
  const blockable = expected.filter(({ kind, providers }) => {
    return kind !== 'agent' && !providers.some((name) => outcome.services.includes(name));
  });
  const isNoticed = ({ kind, providers, name }: Expected) =>
    blocked.observed.some((seen) => seen.kind === kind && providers.includes(seen.provider) && seen.blockedBy === name);
  const spurious = outcome.observed
    .filter((seen) => !expected.some((one) => isSame(one, seen)))
    .map(({ kind, provider, name, occurrences }) => `${kind} ${provider}/${name}, ${callsText(occurrences)}`);
  const markers = recording.markers.filter((marker) =>
    [...outcome.texts, ...blocked.texts].some((text) => text.includes(marker)),
  );
  const tokens = tokenDeviations(recording, outcome);
  return {
    models: scoreOf(expected, 'model', isSeen),
    tools: scoreOf(expected, 'tool', isSeen),
    agents: scoreOf(expected, 'agent', isSeen),
    counts: { right: counted.filter((one) => callsOf(one) === one.calls).length, of: counted.length },
    tokens: tokens && { right: recording.truth.models.length - tokens.length, of: recording.truth.models.length },
    blocks: { right: blockable.filter(isNoticed).length, of: blockable.length },
    markers,
    spurious,
    deviations: [
      ...expected.filter((one) => !isSeen(one)).map((one) => `${textOf(one)}: not seen`),
      ...counted
        .filter((one) => isSeen(one) && callsOf(one) !== one.calls)
        .map((one) => `${textOf(one)}: ${callsText(callsOf(one))} counted, ${one.calls} made`),
      ...(tokens ?? []),
      ...expected.flatMap((one) => failureDeviations(one, outcome)),
      ...blockable.filter((one) => isSeen(one) && !isNoticed(one)).map((one) => `${textOf(one)}: block not noticed`),
      ...spurious.map((text) => `spurious: ${text}`),
      ...markers.map((marker) => `stored: ${marker}`),
    ],
  };
}

function expectedOf({ truth }: Recording, services: string[]): Expected[] {
  const vendors = [...new Set(truth.models.map(({ vendor }) => vendor))];
  return [
    ...truth.models.map(({ name, vendor, calls, failed }): Expected => {
      return { kind: 'model', providers: [vendor], name, calls, failed };
    }),
    ...truth.tools.map(({ name, server, runsAt, calls, failed }): Expected => {
      const providers = server !== null ? [server] : runsAt === 'vendor' ? vendors : services;
      return { kind: 'tool', providers, name, calls, failed };
    }),
    // The programs do not count how often an agent ran.
    ...truth.agents.map(({ name }): Expected => ({ kind: 'agent', providers: services, name, calls: null })),
  ];
}

/** Whether the names are equal, or differ by the date of a model. */
function isSame(expected: Expected, seen: Observed): boolean {
  if (expected.kind !== seen.kind || !expected.providers.includes(seen.provider)) return false;
  if (expected.name === seen.name) return true;
  return expected.kind === 'model' && withoutDate(seen.name) === expected.name;
}

function scoreOf(expected: Expected[], kind: Expected['kind'], isSeen: (one: Expected) => boolean): Score {
  const own = expected.filter((one) => one.kind === kind);
  return { right: own.filter(isSeen).length, of: own.length };
}

function tokenDeviations({ truth }: Recording, { usage }: Outcome): string[] | null {
  if (usage === null) return null;
  return truth.models.flatMap(({ name, vendor, inputTokens, outputTokens }) => {
    const sum = usage.get(`model ${vendor}/${name}`) ?? { inputTokens: 0, outputTokens: 0 };
    if (sum.inputTokens === inputTokens && sum.outputTokens === outputTokens) return [];
    const text = `${sum.inputTokens} + ${sum.outputTokens} tokens counted, ${inputTokens} + ${outputTokens} used`;
    return [`model ${vendor}/${name}: ${text}`];
  });
}

function failureDeviations({ kind, providers, name, failed }: Expected, { usage }: Outcome): string[] {
  if (failed === undefined || usage === null) return [];
  const counts = providers.map((provider) => usage.get(`${kind} ${provider}/${name}`)?.errors ?? 0);
  const counted = counts.reduce((sum, count) => sum + count, 0);
  return counted === failed ? [] : [`${kind} ${providers[0]}/${name}: ${counted} failures counted, ${failed} made`];
}

function textOf({ kind, providers, name }: Expected): string {
  return `${kind} ${providers[0]}/${name}`;
}

function callsText(calls: number): string {
  return calls === 1 ? '1 call' : `${calls} calls`;
}
