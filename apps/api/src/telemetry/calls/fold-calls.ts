import type { Database } from '@quartermaster/db/database.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { FoldLimits } from '../../runtime-observations/fold.ts';
import { NOTHING_UNOBSERVED, type Unobserved } from '../../runtime-observations/within-limits.ts';
import type { SeenSpan } from '../../runtime-observations/provider-match.ts';
import type { FoldedSpan } from '../../runtime-observations/sightings.ts';
import { applyChanges } from './apply-changes.ts';
import { type CallChange, changesOf } from './call-changes.ts';
import type { CallSpan } from './call-span.ts';
import { makeCallSpan } from './make-call-span.ts';
import { markCounted } from './mark-counted.ts';
import { matchUses } from './match-uses.ts';
import { resolve } from './resolve.ts';
import { spellingsReader } from './same-name.ts';
import { decodeCalls, encodeCalls } from './stored-calls.ts';

/** A span that is stored in this transaction. */
type FreshSpan = {
  traceId: string;
  spanId: string;
  parentSpanId: string | null;
  /** Null for a span that says nothing of models, tools or agents. */
  folded: FoldedSpan | null;
};

/** What is stored of a trace. */
type KnownTrace = {
  /** False for a trace with too many spans to look at all of them. */
  isComplete: boolean;
  spans(): Iterable<{ spanId: string; parentSpanId: string | null; sender: string }>;
  calls: readonly { sender: string; value: Uint8Array }[];
};

export type CallBatch = {
  /** All spans of the batch, since children tell of their parents' provider. */
  batch: readonly SeenSpan[];
  fresh: readonly FreshSpan[];
  /** The traces of the batch that have earlier spans. */
  known: ReadonlyMap<string, KnownTrace>;
  sender: string;
  limits: FoldLimits;
};

/**
 * Counts the calls that new spans tell of, in observations and in usage, in the transaction that stores the spans. Spans of
 * one call that come in different batches count once: what was counted for the earlier ones is corrected. Each sender's
 * spans are resolved by themselves, so that no sender can change what another one reported.
 *
 * @returns how many calls were not observed, because the tenant has as many subjects as it may; and what is to be stored
 *   with each trace for later batches
 */
export async function foldCalls(
  db: Database,
  place: TenantPlace,
  { batch, fresh, known, sender, limits }: CallBatch,
  now: Date,
): Promise<{ unobserved: Unobserved; calls: Map<string, Uint8Array> }> {
  if (fresh.length === 0) return { unobserved: NOTHING_UNOBSERVED, calls: new Map() };
  const { matchOf, providers, made } = await matchUses(db, place, batch, now);
  const told = new Map<FreshSpan, CallSpan>();
  const signalled: { span: FoldedSpan; call: CallSpan }[] = [];
  for (const one of fresh) {
    const span = one.folded;
    const call = span && makeCallSpan(span, (use) => matchOf(span, use), { now, limits });
    if (!span || !call) continue;
    told.set(one, call);
    signalled.push({ span, call });
  }
  const earlierOf = (traceId: string) => {
    const trace = known.get(traceId);
    return trace?.isComplete ? callsOf(trace, sender) : [];
  };
  await markCounted(db, place, { spans: signalled, earlierOf, sender }, now);
  const changes: CallChange[] = [];
  const calls = new Map<string, Uint8Array>();
  const spellingsOf = spellingsReader();
  for (const [traceId, spans] of Map.groupBy(fresh, (span) => span.traceId)) {
    const own = spans.flatMap((span) => told.get(span) ?? []);
    changes.push(...changesInTrace(traceId, { spans, own, known: known.get(traceId), sender, spellingsOf }));
    if (own.length > 0) calls.set(traceId, encodeCalls(own));
  }
  const sorted = inOrderOf([...told.values()], changes);
  const unobserved = await applyChanges(db, place, { changes: sorted, providers, made, sender, limits }, now);
  return { unobserved, calls };
}

/** In the order in which the spans came: at a limit, what came first is observed. */
function inOrderOf(spans: readonly CallSpan[], changes: readonly CallChange[]): CallChange[] {
  const positions = new Map<CallSpan, number>();
  for (const span of spans) positions.set(span, positions.size);
  const positionOf = ({ call }: CallChange) => {
    let first = spans.length;
    for (const { span } of call.told) first = Math.min(first, positions.get(span) ?? first);
    return first;
  };
  return changes
    .map((change) => ({ change, position: positionOf(change) }))
    .toSorted((a, b) => a.position - b.position)
    .map(({ change }) => change);
}

/** The new spans of a trace, and those of them that tell of calls. */
type TraceOfBatch = {
  spans: readonly FreshSpan[];
  own: readonly CallSpan[];
  spellingsOf: ReturnType<typeof spellingsReader>;
};

function changesInTrace(
  traceId: string,
  { spans, own, known, sender, spellingsOf }: TraceOfBatch & { known: KnownTrace | undefined; sender: string },
): CallChange[] {
  if (!known) return callsOfNewTrace(traceId, { spans, own, spellingsOf });
  const earlier = known?.isComplete ? callsOf(known, sender) : [];
  if (own.length === 0 && earlier.length === 0) return [];
  const parents = new Map<string, string | null>();
  if (known?.isComplete) {
    for (const span of known.spans()) if (span.sender === sender) addParent(parents, span);
  }
  const before = resolve(parents, earlier, spellingsOf);
  for (const span of spans) addParent(parents, span);
  const after = resolve(parents, [...earlier, ...own], spellingsOf);
  return changesOf(traceId, { before, after, fresh: new Set(own) });
}

/** The usual case: all of them are new. */
function callsOfNewTrace(traceId: string, { spans, own, spellingsOf }: TraceOfBatch): CallChange[] {
  if (own.length === 0) return [];
  const parents = new Map<string, string | null>();
  for (const span of spans) addParent(parents, span);
  return resolve(parents, own, spellingsOf).map((call) => ({ call, traceId, by: 1 }));
}

/** Of several parents that one span id was reported with, always the same one, whichever comes first. */
function addParent(
  parents: Map<string, string | null>,
  { spanId, parentSpanId }: { spanId: string; parentSpanId: string | null },
): void {
  const known = parents.get(spanId);
  if (known == null || (parentSpanId !== null && parentSpanId < known)) parents.set(spanId, parentSpanId);
}

function callsOf({ calls }: KnownTrace, sender: string): CallSpan[] {
  return calls.filter((call) => call.sender === sender).flatMap(({ value }) => decodeCalls(value));
}
