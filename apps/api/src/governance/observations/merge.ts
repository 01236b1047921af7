import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { ObservationChange } from '@quartermaster/db/repositories/runtime-observations.ts';
import { MAX_SAMPLES, mergedEnvironments, mergedResponseModels } from './sightings.ts';

type Evidence = RuntimeObservation['evidence'];

/**
 * Merges two observations whose subjects turned out to be one. The survivor is the one that was reviewed last, otherwise
 * the declared one, otherwise the older one. It gets the counts and the evidence of both.
 *
 * @param blockedModels the models of both that answered although they are blocked
 * @returns the change to the survivor. The caller stores it, and deletes the duplicate
 */
export function mergeObservations(
  a: RuntimeObservation,
  b: RuntimeObservation,
  blockedModels: readonly string[],
): { survivor: RuntimeObservation; duplicate: RuntimeObservation; change: ObservationChange } {
  const [survivor, duplicate] = hasPrecedence(a, b) ? [a, b] : [b, a];
  // If only a sync reported an observation, its times are not times of calls.
  const inTraffic = [survivor, duplicate].filter(({ occurrences }) => occurrences > 0);
  const seen = inTraffic.length === 0 ? [survivor, duplicate] : inTraffic;
  const [last = survivor] = seen.toSorted((one, other) => (one.lastSeenAt > other.lastSeenAt ? -1 : 1));
  const [firstSeenAt = survivor.firstSeenAt] = seen.map((observation) => observation.firstSeenAt).toSorted();
  const { lastSeenAt, lastTraceId, lastSpanId } = last;
  const change = {
    occurrences: survivor.occurrences + duplicate.occurrences,
    denials: survivor.denials + duplicate.denials,
    lastDeniedAt: [survivor.lastDeniedAt, duplicate.lastDeniedAt].toSorted(latestFirst)[0] ?? null,
    firstSeenAt,
    lastSeenAt,
    lastTraceId,
    lastSpanId,
    evidence: mergedEvidence(survivor.evidence, duplicate.evidence, blockedModels),
    drift: survivor.drift ?? duplicate.drift,
  };
  return { survivor, duplicate, change };
}

function latestFirst(a: string | null, b: string | null): number {
  return (b ?? '').localeCompare(a ?? '');
}

function hasPrecedence(a: RuntimeObservation, b: RuntimeObservation): boolean {
  const reviewedAt = ({ review }: RuntimeObservation) => review?.reviewedAt ?? '';
  if (reviewedAt(a) !== reviewedAt(b)) return reviewedAt(a) > reviewedAt(b);
  if (a.unknown !== b.unknown) return b.unknown;
  return a.createdAt === b.createdAt ? a.id < b.id : a.createdAt < b.createdAt;
}

function mergedEvidence(a: Evidence, b: Evidence, blockedModels: readonly string[]): Evidence {
  const merged = (first: string[], second: string[]) => [...new Set([...first, ...second])].slice(0, MAX_SAMPLES);
  return {
    serviceNames: merged(a.serviceNames, b.serviceNames),
    agents: merged(a.agents, b.agents),
    serverAddresses: merged(a.serverAddresses, b.serverAddresses),
    operations: merged(a.operations, b.operations),
    accounts: merged(a.accounts, b.accounts),
    names: merged(a.names, b.names),
    responseModels: mergedResponseModels(a.responseModels, b.responseModels, blockedModels),
    environments: mergedEnvironments(a.environments, b.environments),
    errors: a.errors + b.errors,
    deniedReasons: [...new Set([...a.deniedReasons, ...b.deniedReasons])],
    sources: [...new Set([...a.sources, ...b.sources])],
  };
}
