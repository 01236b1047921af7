import { rewrittenName } from '@quartermaster/naming/name-family.ts';
import { productFamily } from '@quartermaster/naming/vendors.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { recordingOf } from '../written/program.ts';
import { PROGRAMS } from '../written/programs.ts';
import { compare } from './compare.ts';
import { KNOWN_DEVIATIONS } from './known-deviations.ts';
import { type Recording, readRecordings } from './recording.ts';
import {
  byAnyAgent,
  callsInSpans,
  type Counted,
  countCalls,
  hasCallsInLogs,
  reversed,
  servicesIn,
  type Telemetry,
  telemetryOf,
} from './undeclared-calls.ts';
import { UNKNOWN_SERVERS } from './unknown-servers.ts';

// `recordings.test.ts` declares everything that a recording uses, which corrects wrong owners. Here nothing is declared. Most
// recordings are read without a database, which takes a hundredth of the time of a replay.

const recordings = [...readRecordings(), ...PROGRAMS.map(recordingOf)].map((recording) => {
  const telemetry = telemetryOf(recording);
  return { recording, telemetry, hasLogs: hasCallsInLogs(telemetry) };
});

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const counts = new Map<readonly Telemetry[], Promise<Counted[]>>();

function countsOf({ telemetry, hasLogs }: (typeof recordings)[number]): Promise<Counted[]> {
  const known = counts.get(telemetry) ?? read(telemetry, hasLogs);
  counts.set(telemetry, known);
  return known;
}

async function read(telemetry: readonly Telemetry[], hasLogs: boolean): Promise<Counted[]> {
  return hasLogs ? countCalls(server, telemetry) : callsInSpans(telemetry);
}

/** The truth as it can be read without a declaration. */
function asUndeclared(recording: Recording): Recording {
  const unknown = UNKNOWN_SERVERS.get(recording.id);
  if (!unknown) return recording;
  const tools = recording.truth.tools.map((tool) =>
    tool.server === null ? tool : { ...tool, server: unknown.server, name: unknown.written(tool.name) },
  );
  return { ...recording, truth: { ...recording.truth, tools } };
}

/**
 * The names of an owner and a tool as the truth has them. Senders write `google` for each product of Google, and rewrite the names
 * of tools.
 */
function asInTruth({ kind, provider, name }: Counted, { truth }: Recording): Pick<Counted, 'provider' | 'name'> {
  const vendors = truth.models.map(({ vendor }) => vendor);
  const product = vendors.includes(provider) ? provider : vendors.find((vendor) => isSameVendor(vendor, provider));
  const tool = kind === 'tool' ? truth.tools.find((one) => rewrittenName(one.name) === rewrittenName(name)) : undefined;
  return { provider: product ?? provider, name: tool?.name ?? name };
}

describe('owners and counts are right if nothing is declared', () => {
  test.each(recordings.map((one) => [one.recording.id, one] as const))('%s', async (id, one) => {
    const recording = asUndeclared(one.recording);
    const counted = byAnyAgent(await countsOf(one)).filter(({ occurrences }) => occurrences > 0);
    const observed = counted.map((seen) => ({
      ...seen,
      ...asInTruth(seen, recording),
      unknown: true,
      blockedBy: null,
    }));
    const outcome = { observed, usage: null, services: servicesIn(one.telemetry), texts: [] };
    const { deviations } = compare(recording, { outcome, blocked: { ...outcome, observed: [] } });
    const { cannotKnow = [], gaps = [] } = KNOWN_DEVIATIONS[id] ?? {};
    expect(deviations.filter((line) => !line.endsWith('block not noticed')).toSorted()).toEqual(
      [...cannotKnow, ...gaps].filter((line) => !/ (?:tokens|failures) counted/.test(line)).toSorted(),
    );
    // No vendor has two names, unless the recording calls two products of it.
    const models = counted.filter(({ kind }) => kind === 'model');
    const seen = new Set(models.map(({ provider }) => provider));
    const called = new Set(recording.truth.models.map(({ vendor }) => vendor));
    const others = [...seen].filter((name) => !called.has(name));
    expect(others.filter((name) => [...seen].some((other) => other !== name && isSameVendor(name, other)))).toEqual([]);
  });
});

function isSameVendor(one: string, other: string): boolean {
  return productFamily(one) === productFamily(other);
}

test('every recording with an unknown server exists', () => {
  const ids = new Set(recordings.map(({ recording }) => recording.id));
  expect([...UNKNOWN_SERVERS.keys()].filter((id) => !ids.has(id))).toEqual([]);
});

describe('the order of spans makes no difference', () => {
  test.each(recordings.filter(({ hasLogs }) => !hasLogs).map((one) => [one.recording.id, one] as const))(
    '%s',
    async (_id, one) => {
      expect(callsInSpans(reversed(one.telemetry))).toEqual(await countsOf(one));
    },
  );
});

test('spans alone say that a built-in tool of Claude Code failed', () => {
  const { telemetry } = recordings.find(({ recording }) => recording.id === 'claude-code') ?? { telemetry: [] };
  const failed = callsInSpans(telemetry).filter(({ errors }) => errors > 0);
  expect(failed.map(({ name, errors }) => [name, errors])).toEqual([
    ['claude-sonnet-5', 1],
    ['Read', 1],
  ]);
});

/** Enough requests that most calls are in another one than the calls around them. */
const SPANS_PER_REQUEST = 40;

describe('calls that spans and log records report count once, in any order and if each request is sent twice', () => {
  const withLogs = recordings.filter(({ hasLogs }) => hasLogs);
  test.each(withLogs.map((one) => [one.recording.id, one] as const))('%s', async (_id, one) => {
    const counted = await countsOf(one);
    const twice = one.telemetry.flatMap((request) => [request, request]);
    expect(await countCalls(server, twice)).toEqual(counted);
    const turned = await countCalls(server, reversed(one.telemetry, SPANS_PER_REQUEST));
    expect(turned).toEqual(counted);
  });
});
