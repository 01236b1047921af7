import type { Denial } from '@quartermaster/contracts/denials.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { CallSource, RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { ObservationSubject } from '@quartermaster/db/repositories/runtime-observations.ts';
import { nameKey } from '@quartermaster/naming/name-key.ts';

/** Numbers of calls, and of errors among them. */
type Counts = { count: number; errors: number };

/** The change that a batch of calls makes to the observation of one subject. */
export type Sighting = ObservationSubject & {
  provider: Provider;
  /** The name that a new observation gets. */
  name: string;
  /** Calls that are added. */
  count: number;
  errors: number;
  /** Earlier calls that are taken back, because they belong to another subject or are counted in another way now. */
  removed: Counts;
  firstSeenAt: string;
  lastSeenAt: string;
  lastTraceId: string | null;
  lastSpanId: string | null;
  /** Start of the last call by the sender's clock, so possibly in the future. Empty if no call was added. */
  latest: string;
  /**
   * Whether a call was added that was not counted before. Otherwise the spans only add details to calls that were counted
   * before.
   */
  hasNewCall: boolean;
  serviceNames: Set<string>;
  /** The agents that telemetry names as callers. */
  agents: Set<string>;
  serverAddresses: Set<string>;
  operations: Set<string>;
  /** The spellings of the name. */
  names: Set<string>;
  /** Models that answered under another name. */
  responseModels: Set<string>;
  /** The environments of the services. */
  environments: Set<string>;
  /** What told of the calls. */
  source: CallSource;
  /** Uses that gateways denied. They do not count as calls. */
  denied?: { count: number; lastAt: string; reasons: ReadonlySet<Denial> };
};

/** A sighting of a name at a provider, to which nothing is added yet. */
export function emptySighting(provider: Provider, { kind, name }: Pick<Sighting, 'kind' | 'name'>): Sighting {
  return {
    provider,
    providerId: provider.id,
    kind,
    nameKey: nameKey(kind, name, provider.name),
    name,
    count: 0,
    errors: 0,
    removed: { count: 0, errors: 0 },
    firstSeenAt: '',
    lastSeenAt: '',
    lastTraceId: null,
    lastSpanId: null,
    latest: '',
    hasNewCall: false,
    serviceNames: new Set(),
    agents: new Set(),
    serverAddresses: new Set(),
    operations: new Set(),
    names: new Set(),
    responseModels: new Set(),
    environments: new Set(),
    source: 'telemetry',
  };
}

type Evidence = RuntimeObservation['evidence'];

/** The maximum number of entries of a list in an observation's evidence. */
export const MAX_SAMPLES = 10;

/** The maximum number of response models of an observation. Routers choose among many models, and each one may be blocked. */
const MAX_RESPONSE_MODELS = 50;

/** The maximum number of environments of an observation. Further ones are {@link OTHER_ENVIRONMENT}. */
const MAX_ENVIRONMENTS = 8;

/** Stands for environments beyond the maximum, and for environments without a plain name. */
export const OTHER_ENVIRONMENT = 'other';

/** When a subject was first and last seen, by the start times of its spans. They may come in any order. */
export function seenTimes(
  former: RuntimeObservation | undefined,
  sighting: Sighting,
): Pick<RuntimeObservation, 'firstSeenAt' | 'lastSeenAt' | 'lastTraceId' | 'lastSpanId'> {
  const isSeen = sighting.latest !== '';
  if (former && !isSeen && sighting.denied && former.occurrences === 0) {
    const { firstSeenAt, lastSeenAt, lastTraceId, lastSpanId } = former;
    return { firstSeenAt, lastSeenAt: laterOf(lastSeenAt, sighting.lastSeenAt), lastTraceId, lastSpanId };
  }
  const { firstSeenAt, lastSeenAt, lastTraceId, lastSpanId } = former && !isSeen ? former : sighting;
  if (!isSeen) return { firstSeenAt, lastSeenAt, lastTraceId, lastSpanId };
  // An observation that only a sync reported was not seen in traffic before.
  if (!former || former.occurrences === 0) return { firstSeenAt, lastSeenAt, lastTraceId, lastSpanId };
  const last = lastSeenAt >= former.lastSeenAt ? sighting : former;
  return {
    firstSeenAt: firstSeenAt < former.firstSeenAt ? firstSeenAt : former.firstSeenAt,
    lastSeenAt: last.lastSeenAt,
    lastTraceId: last.lastTraceId,
    lastSpanId: last.lastSpanId,
  };
}

export function laterOf(one: string, other: string): string {
  return one > other ? one : other;
}

/** The evidence of an observation, together with that of a sighting. */
export function addEvidence(
  former: Evidence | undefined,
  sighting: Sighting,
  { accounts, errors, blockedModels }: Pick<Evidence, 'accounts' | 'errors'> & { blockedModels: readonly string[] },
): Evidence {
  return {
    serviceNames: merged(former?.serviceNames, sighting.serviceNames),
    agents: merged(former?.agents, sighting.agents),
    serverAddresses: merged(former?.serverAddresses, sighting.serverAddresses),
    operations: merged(former?.operations, sighting.operations),
    accounts,
    names: merged(former?.names, sighting.names),
    responseModels: mergedResponseModels(former?.responseModels, sighting.responseModels, blockedModels),
    environments: mergedEnvironments(former?.environments ?? [], sighting.environments),
    errors,
    deniedReasons: [...new Set([...(former?.deniedReasons ?? []), ...(sighting.denied?.reasons ?? [])])],
    sources: [...new Set([...(former?.sources ?? []), ...(sighting.latest === '' ? [] : [sighting.source])])],
  };
}

/** Beyond the limit, blocked models replace others: otherwise a sender could hide a blocked one behind invented ones. */
export function mergedResponseModels(
  known: readonly string[] = [],
  found: Iterable<string>,
  blockedModels: readonly string[],
): string[] {
  const all = [...new Set([...known, ...found])];
  if (all.length <= MAX_RESPONSE_MODELS) return all;
  const blocked = new Set(blockedModels);
  const [first, others] = [all.filter((model) => blocked.has(model)), all.filter((model) => !blocked.has(model))];
  return [...first, ...others].slice(0, MAX_RESPONSE_MODELS);
}

export function mergedEnvironments(known: readonly string[], found: Iterable<string>): string[] {
  const all = new Set([...known, ...found]);
  const hasOther = all.delete(OTHER_ENVIRONMENT);
  const named = [...all];
  return hasOther || named.length > MAX_ENVIRONMENTS ? [...named.slice(0, MAX_ENVIRONMENTS), OTHER_ENVIRONMENT] : named;
}

/** Adds an account to the most recent ones. The newest are kept, because a new account matters most to a reviewer. */
export function addRecentAccount(accounts: readonly string[], sender: string): string[] {
  return [...accounts.filter((one) => one !== sender), sender].slice(-MAX_SAMPLES);
}

function merged(known: readonly string[] = [], found: ReadonlySet<string>, limit = MAX_SAMPLES): string[] {
  return [...new Set([...known, ...found])].slice(0, limit);
}
