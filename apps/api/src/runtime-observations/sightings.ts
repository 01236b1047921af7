import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import { nameKey, plainName } from '@quartermaster/db/name-key.ts';
import type { ObservationSubject } from '@quartermaster/db/repositories/runtime-observations.ts';
import type { CallChange } from '../telemetry/calls/call-changes.ts';
import type { Call } from '../telemetry/calls/resolve.ts';
import type { Use } from '../telemetry/dialects/facts.ts';
import type { SeenSpan } from './provider-match.ts';
import { subjectKey } from './subject-key.ts';

/** A span that says something of models, tools or agents, as it is prepared for folding. Plain data: it may cross threads. */
export type FoldedSpan = SeenSpan & {
  /** The name of the dialect; null for an unknown one. */
  dialect: string | null;
  /** The name of the instrumentation scope. */
  scope: string;
  spanName: string;
  /** Microseconds since 1970. */
  start: number;
  end: number;
  failed: boolean;
};

/** How the calls of a batch change what is observed of one subject. */
export type Sighting = ObservationSubject & {
  provider: Provider;
  /** As it is shown, if nothing is observed of it yet. */
  name: string;
  /** Calls that are added; negative where more calls turned out to be of another subject. */
  count: number;
  errors: number;
  firstSeenAt: string;
  lastSeenAt: string;
  lastTraceId: string | null;
  lastSpanId: string | null;
  /** When the last of the calls began, as the spans say: that may be later than now. '' where none was seen. */
  latest: string;
  serviceNames: Set<string>;
  serverAddresses: Set<string>;
  operations: Set<string>;
  /** How the name was written. */
  names: Set<string>;
  /** The models that answered under another name. */
  responseModels: Set<string>;
};

type Evidence = RuntimeObservation['evidence'];

/** Of each list in an evidence. */
const SAMPLES = 10;

/** Models that answered, of one observation: routers choose among many, and each may be blocked. */
export const RESPONSE_MODELS = 50;

/** Changes looked at before the event loop gets a turn. */
const BATCH_SIZE = 2000;

/** Adds up what changes at each subject; the subjects in the order in which they come first. */
export async function gatherSightings(
  changes: readonly CallChange[],
  providerOf: (call: Call) => Provider | undefined,
  now: Date,
): Promise<Sighting[]> {
  const sightings = new Map<string, Counted>();
  // By the written name: to compute the key of a name takes longer than to find it here.
  const written = new Map<string, Counted>();
  for (const [index, change] of changes.entries()) {
    if (index % BATCH_SIZE === BATCH_SIZE - 1) await yieldToEventLoop();
    const provider = providerOf(change.call);
    // Its provider was deleted, and its observations with it.
    if (!provider) continue;
    const { kind, name } = change.call;
    const key = `${provider.id} ${kind} ${name}`;
    let counted = written.get(key);
    if (!counted) {
      const found = sightingOf(provider, { kind, name });
      counted = sightings.get(subjectKey(found)) ?? { sighting: found, times: null };
      sightings.set(subjectKey(found), counted);
      written.set(key, counted);
    }
    count(counted, change, now.getTime());
  }
  return [...sightings.values()].map(withTimes);
}

/** Times in milliseconds: to write one as text for each call takes longer than all the rest. */
type Counted = { sighting: Sighting; times: { first: number; last: number; latest: number } | null };

function withTimes({ sighting, times }: Counted): Sighting {
  if (times === null) return sighting;
  const text = (time: number) => new Date(time).toISOString();
  return {
    ...sighting,
    firstSeenAt: text(times.first),
    lastSeenAt: text(times.last),
    latest: text(times.latest),
  };
}

function sightingOf(provider: Provider, seen: Use): Sighting {
  const name = plainName(seen.kind, seen.name, provider.name);
  return {
    ...{ provider, providerId: provider.id, kind: seen.kind, nameKey: nameKey(seen.kind, name, provider.name), name },
    ...{ count: 0, errors: 0, firstSeenAt: '', lastSeenAt: '', lastTraceId: null, lastSpanId: null, latest: '' },
    ...{ serviceNames: new Set(), serverAddresses: new Set(), operations: new Set(), names: new Set() },
    responseModels: new Set(),
  };
}

/** @param now no call was seen later, whatever time its spans claim */
function count(counted: Counted, { call, traceId, by }: CallChange, now: number): void {
  const { sighting } = counted;
  sighting.count += by;
  if (call.failed) sighting.errors += by;
  if (by < 0) return;
  const startedAt = Math.floor(call.span.start / 1000);
  const time = Math.min(startedAt, now);
  const times = (counted.times ??= { first: time, last: time, latest: startedAt });
  times.latest = Math.max(times.latest, startedAt);
  times.first = Math.min(times.first, time);
  if (time >= times.last) {
    times.last = time;
    sighting.lastTraceId = traceId;
    sighting.lastSpanId = traceId === null ? null : call.span.spanId;
  }
  for (const { span, use } of call.told) {
    sample(sighting.serviceNames, span.serviceName);
    sample(sighting.serverAddresses, span.serverAddress);
    sample(sighting.operations, span.operation);
    sample(sighting.names, use.written);
    if (use.responseModel !== use.written) sample(sighting.responseModels, use.responseModel, RESPONSE_MODELS);
  }
}

function sample(samples: Set<string>, text: string | null, most = SAMPLES): void {
  if (text !== null && samples.size < most) samples.add(text);
}

/** First and last seen, by the spans' own start times, whatever order they come in; never later than now. */
export function seenIn(
  former: RuntimeObservation | undefined,
  sighting: Sighting,
): Pick<RuntimeObservation, 'firstSeenAt' | 'lastSeenAt' | 'lastTraceId' | 'lastSpanId'> {
  const isSeen = sighting.latest !== '';
  const { firstSeenAt, lastSeenAt, lastTraceId, lastSpanId } = former && !isSeen ? former : sighting;
  if (!isSeen) return { firstSeenAt, lastSeenAt, lastTraceId, lastSpanId };
  // What a sync alone reported was not seen in traffic yet.
  if (!former || former.occurrences === 0) return { firstSeenAt, lastSeenAt, lastTraceId, lastSpanId };
  const last = lastSeenAt >= former.lastSeenAt ? sighting : former;
  return {
    firstSeenAt: firstSeenAt < former.firstSeenAt ? firstSeenAt : former.firstSeenAt,
    ...{ lastSeenAt: last.lastSeenAt, lastTraceId: last.lastTraceId, lastSpanId: last.lastSpanId },
  };
}

/** What is known of a subject together with what its calls say of it. */
export function evidenceOf(former: Evidence | undefined, sighting: Sighting, accounts: string[]): Evidence {
  return {
    serviceNames: merged(former?.serviceNames, sighting.serviceNames),
    serverAddresses: merged(former?.serverAddresses, sighting.serverAddresses),
    operations: merged(former?.operations, sighting.operations),
    accounts,
    names: merged(former?.names, sighting.names),
    responseModels: merged(former?.responseModels, sighting.responseModels, RESPONSE_MODELS),
    errors: Math.max(0, (former?.errors ?? 0) + sighting.errors),
  };
}

/** The last ten accounts: whoever came last is whom the others do not know yet. */
export function accountsOf(former: Evidence | undefined, sender: string): string[] {
  return [...(former?.accounts ?? []).filter((one) => one !== sender), sender].slice(-SAMPLES);
}

/** The first ones of what is known and found. */
function merged(known: readonly string[] = [], found: ReadonlySet<string>, most = SAMPLES): string[] {
  return [...new Set([...known, ...found])].slice(0, most);
}
