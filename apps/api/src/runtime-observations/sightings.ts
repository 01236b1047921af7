import { setImmediate as breathe } from 'node:timers/promises';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import { nameKey, plainName } from '@quartermaster/db/name-key.ts';
import type { ObservationSubject } from '@quartermaster/db/repositories/runtime-observations.ts';
import type { Use } from '../telemetry/dialects/facts.ts';
import type { Match, SeenSpan } from './provider-match.ts';
import { subjectKey } from './subject-key.ts';

/** A stored span, as folding counts it. */
export type FoldedSpan = SeenSpan & {
  /** RFC 3339, UTC, milliseconds. */
  startedAt: string;
  failed: boolean;
};

/** What all spans of a batch say of one subject. */
export type Sighting = ObservationSubject & {
  provider: Provider;
  /** As it is shown, if nothing is observed of it yet. */
  name: string;
  count: number;
  errors: number;
  firstSeenAt: string;
  lastSeenAt: string;
  lastTraceId: string | null;
  lastSpanId: string | null;
  /** When the last of the spans began, as they say: that may be later than now. */
  latest: string;
  serviceNames: Set<string>;
  serverAddresses: Set<string>;
  operations: Set<string>;
  /** How the name was written. */
  names: Set<string>;
};

type Evidence = RuntimeObservation['evidence'];

/** Of each list in an evidence. */
const SAMPLES = 10;

/** Spans looked at before the event loop gets a turn. */
const OF_TURN = 2000;

/** Puts together what spans say of one subject; the subjects in the order in which they come first. */
export async function gatherSightings(
  spans: readonly FoldedSpan[],
  match: (span: SeenSpan, use: Use) => Match,
  now: Date,
): Promise<Sighting[]> {
  const sightings = new Map<string, Sighting>();
  // By the name as it is written: to tell the key of a name takes longer than to find it here.
  const written = new Map<string, Sighting>();
  const latest = now.toISOString();
  for (const [index, span] of spans.entries()) {
    if (index % OF_TURN === OF_TURN - 1) await breathe();
    for (const seen of span.uses) {
      const { provider, name } = match(span, seen);
      const said = subjectKey({ providerId: provider.id, kind: seen.kind, nameKey: name });
      let sighting = written.get(said);
      if (!sighting) {
        const found = sightingOf(provider, { kind: seen.kind, name });
        sighting = sightings.get(subjectKey(found)) ?? found;
        sightings.set(subjectKey(sighting), sighting);
        written.set(said, sighting);
      }
      count(sighting, { span, name: seen.name, latest });
    }
  }
  return [...sightings.values()];
}

function sightingOf(provider: Provider, seen: Use): Sighting {
  const name = plainName(seen.kind, seen.name, provider.name);
  return {
    ...{ provider, providerId: provider.id, kind: seen.kind, nameKey: nameKey(seen.kind, name, provider.name), name },
    ...{ count: 0, errors: 0, firstSeenAt: '', lastSeenAt: '', lastTraceId: null, lastSpanId: null, latest: '' },
    ...{ serviceNames: new Set(), serverAddresses: new Set(), operations: new Set(), names: new Set() },
  };
}

/** @param latest no span was seen later, whatever time it claims */
function count(sighting: Sighting, { span, name, latest }: { span: FoldedSpan; name: string; latest: string }): void {
  const { facts, startedAt, serviceName } = span;
  const time = startedAt > latest ? latest : startedAt;
  sighting.count += 1;
  if (span.failed) sighting.errors += 1;
  if (startedAt > sighting.latest) sighting.latest = startedAt;
  if (sighting.firstSeenAt === '' || time < sighting.firstSeenAt) sighting.firstSeenAt = time;
  if (time >= sighting.lastSeenAt) {
    sighting.lastSeenAt = time;
    sighting.lastTraceId = span.traceId;
    sighting.lastSpanId = span.spanId;
  }
  sample(sighting.serviceNames, serviceName);
  sample(sighting.serverAddresses, facts.serverAddress);
  sample(sighting.operations, facts.operation ?? facts.mcpMethod);
  sample(sighting.names, name);
}

function sample(samples: Set<string>, text: string | null): void {
  if (text !== null && samples.size < SAMPLES) samples.add(text);
}

/** First and last seen, by the spans' own start times, whatever order they come in; never later than now. */
export function seenIn(
  former: RuntimeObservation | undefined,
  sighting: Sighting,
): Pick<RuntimeObservation, 'firstSeenAt' | 'lastSeenAt' | 'lastTraceId' | 'lastSpanId'> {
  const { firstSeenAt, lastSeenAt, lastTraceId, lastSpanId } = sighting;
  // What a sync alone reported was not seen in traffic yet.
  if (!former || former.occurrences === 0) return { firstSeenAt, lastSeenAt, lastTraceId, lastSpanId };
  const last = lastSeenAt >= former.lastSeenAt ? sighting : former;
  return {
    firstSeenAt: firstSeenAt < former.firstSeenAt ? firstSeenAt : former.firstSeenAt,
    ...{ lastSeenAt: last.lastSeenAt, lastTraceId: last.lastTraceId, lastSpanId: last.lastSpanId },
  };
}

/** What is known of a subject together with what spans say of it. */
export function evidenceOf(former: Evidence | undefined, sighting: Sighting, accounts: string[]): Evidence {
  return {
    serviceNames: merged(former?.serviceNames, sighting.serviceNames),
    serverAddresses: merged(former?.serverAddresses, sighting.serverAddresses),
    operations: merged(former?.operations, sighting.operations),
    accounts,
    names: merged(former?.names, sighting.names),
    errors: (former?.errors ?? 0) + sighting.errors,
  };
}

/** The last ten accounts: whoever came last is whom the others do not know yet. */
export function accountsOf(former: Evidence | undefined, sender: string): string[] {
  return [...(former?.accounts ?? []).filter((one) => one !== sender), sender].slice(-SAMPLES);
}

/** The first ten of what is known and found. */
function merged(known: readonly string[] = [], found: ReadonlySet<string>): string[] {
  return [...new Set([...known, ...found])].slice(0, SAMPLES);
}
