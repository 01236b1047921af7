import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { ObservationChange } from '@quartermaster/db/repositories/runtime-observations.ts';

import { RESPONSE_MODELS } from './sightings.ts';

type Evidence = RuntimeObservation['evidence'];

/** Of each list in an evidence. */
const SAMPLES = 10;

/**
 * What becomes of two observations whose subjects turn out to be one: the one that was reviewed last stays, else the
 * declared one, else the older, with what was counted and seen of both.
 */
export function mergedObservation(
  a: RuntimeObservation,
  b: RuntimeObservation,
): { kept: RuntimeObservation; gone: RuntimeObservation; change: ObservationChange } {
  const [kept, gone] = isBefore(a, b) ? [a, b] : [b, a];
  // What a sync alone reported was not seen in traffic.
  const inTraffic = [kept, gone].filter(({ occurrences }) => occurrences > 0);
  const seen = inTraffic.length === 0 ? [kept, gone] : inTraffic;
  const [last = kept] = seen.toSorted((one, other) => (one.lastSeenAt > other.lastSeenAt ? -1 : 1));
  const [firstSeenAt = kept.firstSeenAt] = seen.map((one) => one.firstSeenAt).toSorted();
  const { lastSeenAt, lastTraceId, lastSpanId } = last;
  const change = {
    ...{ occurrences: kept.occurrences + gone.occurrences, firstSeenAt, lastSeenAt, lastTraceId, lastSpanId },
    ...{ evidence: mergedEvidence(kept.evidence, gone.evidence), drift: kept.drift ?? gone.drift },
  };
  return { kept, gone, change };
}

function isBefore(a: RuntimeObservation, b: RuntimeObservation): boolean {
  const reviewedAt = ({ review }: RuntimeObservation) => review?.reviewedAt ?? '';
  if (reviewedAt(a) !== reviewedAt(b)) return reviewedAt(a) > reviewedAt(b);
  if (a.unknown !== b.unknown) return b.unknown;
  return a.createdAt === b.createdAt ? a.id < b.id : a.createdAt < b.createdAt;
}

function mergedEvidence(a: Evidence, b: Evidence): Evidence {
  const merged = (one: string[], other: string[]) => [...new Set([...one, ...other])].slice(0, SAMPLES);
  return {
    serviceNames: merged(a.serviceNames, b.serviceNames),
    serverAddresses: merged(a.serverAddresses, b.serverAddresses),
    operations: merged(a.operations, b.operations),
    accounts: merged(a.accounts, b.accounts),
    names: merged(a.names, b.names),
    responseModels: [...new Set([...a.responseModels, ...b.responseModels])].slice(0, RESPONSE_MODELS),
    errors: a.errors + b.errors,
  };
}
