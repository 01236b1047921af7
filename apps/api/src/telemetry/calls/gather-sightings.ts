import type { Provider } from '@quartermaster/contracts/providers.ts';
import { inBatches } from '@quartermaster/db/batches.ts';
import { subjectKey } from '../../governance/declarations/subject-key.ts';
import { emptySighting, MAX_SAMPLES, type Sighting } from '../../governance/observations/sightings.ts';
import { CacheByParts } from '../cache-by-parts.ts';
import type { CallChange } from './call-changes.ts';
import { errorsOf, nameAt } from './resolve.ts';

/** Changes that are added up before the event loop gets a turn. */
const BATCH_SIZE = 2000;

/** Adds up the changes of each subject. The subjects are in the order of their first changes. */
export async function gatherSightings(
  changes: readonly CallChange[],
  providerOf: (change: CallChange) => Provider | undefined,
  now: Date,
): Promise<Sighting[]> {
  const sightings = new Map<string, Counted>();
  // A cache by the name as it is written, because computing the key of a name takes longer than a look-up.
  const byName = new CacheByParts<Counted>();
  for await (const batch of inBatches(changes, BATCH_SIZE)) {
    for (const change of batch) {
      const provider = providerOf(change);
      // Without a provider: it was deleted, and its observations stay as they are.
      if (!provider) continue;
      const { kind, name, provider: matched } = change.call;
      const counted = byName.get([kind, provider.id, matched.name, name], () => {
        const found = emptySighting(provider, { kind, name: nameAt(provider, change.call) });
        const same = sightings.get(subjectKey(found)) ?? { sighting: found, times: null };
        sightings.set(subjectKey(found), same);
        return same;
      });
      count(counted, change, now.getTime());
    }
  }
  return [...sightings.values()].map(withTimes);
}

/** A sighting with its times in milliseconds. Formatting a time for each call would take longer than everything else. */
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

/** Adds a change to a sighting. @param now a call that claims to be later counts as seen now */
function count(counted: Counted, { call, traceId, by, isRecounted = false }: CallChange, now: number): void {
  const { sighting } = counted;
  if (by < 0) {
    sighting.removed.count += call.times;
    sighting.removed.errors += errorsOf(call);
    return;
  }
  if (by > 0 && !isRecounted) sighting.hasNewCall = true;
  sighting.count += by * call.times;
  sighting.errors += by * errorsOf(call);
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
  sample(sighting.agents, call.namedAgent);
  for (const { span, use } of call.reports) {
    sample(sighting.serviceNames, span.serviceName);
    sample(sighting.serverAddresses, span.serverAddress);
    sample(sighting.environments, span.environment);
    sample(sighting.operations, span.operation);
    sample(sighting.names, use.written);
    // All models of a batch, because any of them may be blocked.
    if (use.responseModel !== use.written) sample(sighting.responseModels, use.responseModel, Infinity);
  }
}

function sample(samples: Set<string>, text: string | null, limit = MAX_SAMPLES): void {
  if (text !== null && samples.size < limit) samples.add(text);
}
