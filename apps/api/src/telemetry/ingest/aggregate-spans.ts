import type { Database } from '@quartermaster/db/database.ts';
import { yieldWhenDue } from '@quartermaster/db/turns.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { AggregationLimits } from '../../governance/observations/aggregate.ts';
import { NOTHING_UNOBSERVED, type Unobserved } from '../../governance/observations/admit-sightings.ts';
import type { InterpretedSpan } from '../calls/interpreted-span.ts';
import { applyChanges } from './apply-changes.ts';
import { type CallChange, diffCalls } from '../calls/call-changes.ts';
import { allUsesOf, type CallSpan } from '../calls/call-span.ts';
import { addParent, type SenderTrace, readSenderTraces, type StoredTrace } from '../calls/sender-trace.ts';
import { makeCallSpan } from '../calls/make-call-span.ts';
import { replaceRecords } from '../calls/replace-records.ts';
import type { MatchedUses } from '../calls/match-uses.ts';
import { findProvidersOfCalls, type ProvidersOfCalls } from '../calls/providers-of-calls.ts';
import { NO_REPLACEMENTS, type Replacements, replaceProviders } from '../calls/replacements.ts';
import { resolve } from '../calls/resolve.ts';
import { spellingsReader } from '../calls/same-name.ts';
import { encodeCalls } from '../calls/stored-calls.ts';

/** A new span, which this transaction stores. */
type FreshSpan = {
  traceId: string;
  spanId: string;
  parentSpanId: string | null;
  /** Null if no dialect found a model, tool or agent in the span. */
  interpreted: InterpretedSpan | null;
};

export type CallBatch = {
  /** The providers of all spans of the batch, because a child span may name its parent's provider. */
  matched: MatchedUses;
  fresh: readonly FreshSpan[];
  /** The traces of the batch that have stored spans. */
  known: ReadonlyMap<string, StoredTrace>;
  sender: string;
  limits: AggregationLimits;
};

/**
 * Aggregates the calls that new spans report, in the transaction that stores the spans. If spans of one call come in different
 * batches, the call counts once: what was counted for the earlier spans is corrected. Each sender's spans are resolved
 * separately, so no sender can change what another one reported.
 *
 * @returns how many calls were not observed because a limit is full, the encoded call spans to store with each trace, and how
 *   many keys of calls were stored
 */
export async function aggregateSpanCalls(
  db: Database,
  place: TenantPlace,
  { matched, fresh, known: stored, sender, limits }: CallBatch,
  now: Date,
): Promise<{ unobserved: Unobserved; calls: Map<string, Uint8Array>; keys: number }> {
  if (fresh.length === 0) return { unobserved: NOTHING_UNOBSERVED, calls: new Map(), keys: 0 };
  const { matchOf } = matched;
  const callSpans = new Map<FreshSpan, CallSpan>();
  const signalled: { span: InterpretedSpan; call: CallSpan }[] = [];
  for (const freshSpan of fresh) {
    const span = freshSpan.interpreted;
    const call = span && makeCallSpan(span, (use) => matchOf(span, use), { now, limits });
    if (!span || !call) continue;
    callSpans.set(freshSpan, call);
    signalled.push({ span, call });
  }
  const known = readSenderTraces(stored, sender);
  const earlierOf = (traceId: string) => {
    const trace = known.get(traceId);
    if (trace === undefined) return [];
    return trace.isComplete ? trace.calls : null;
  };
  const { removed, keys } = await replaceRecords(db, place, { spans: signalled, earlierOf, sender }, now);
  const spellingsOf = spellingsReader();
  const traces: ChangedTrace[] = [];
  for (const [traceId, spans] of Map.groupBy(fresh, (span) => span.traceId)) {
    const freshCalls = spans.flatMap((span) => callSpans.get(span) ?? []);
    const trace = { traceId, spans, freshCalls, known: known.get(traceId), spellingsOf, replacements: NO_REPLACEMENTS };
    traces.push({ ...trace, changes: await changesInTrace(trace) });
    await yieldWhenDue();
  }
  const { providers, newProviders } = matched;
  let changes = changesOf({ traces, removed });
  let found = await findProvidersOfCalls(db, place, { changes, providers, newProviders }, now);
  if (found.replacements.size > 0) {
    found = await moveTraces(db, place, { traces, removed, matched, replaced: found.replacements }, now);
    changes = changesOf({ traces, removed });
  }
  const calls = new Map<string, Uint8Array>();
  for (const { traceId, freshCalls, replacements } of traces) {
    if (freshCalls.length > 0 || replacements.size > 0) calls.set(traceId, encodeCalls(freshCalls, replacements));
  }
  const sorted = inOrderOf([...callSpans.values()], changes);
  const unobserved = await applyChanges(db, place, { changes: sorted, found, sender, limits }, now);
  return { unobserved, calls, keys };
}

type Changes = { traces: ChangedTrace[]; removed: readonly CallChange[] };

function changesOf({ traces, removed }: Changes): CallChange[] {
  return [...removed, ...traces.flatMap(({ changes }) => changes)];
}

/**
 * Moves traces from deleted providers to the providers that replace them. A trace moves if one of its new calls would count at
 * a deleted provider. All of its calls move, and its changes in `traces` are replaced.
 *
 * @returns the providers of all calls after the move
 */
async function moveTraces(
  db: Database,
  place: TenantPlace,
  {
    traces,
    removed,
    matched: { providers, newProviders },
    replaced,
  }: Changes & { matched: MatchedUses; replaced: Replacements },
  now: Date,
): Promise<ProvidersOfCalls> {
  const isMoved = ({ call, by }: CallChange) => by > 0 && replaced.has(call.provider.id);
  const moved = [...traces.entries()].filter(([, { changes }]) => changes.some(isMoved));
  const changes = changesOf({ traces, removed });
  const uses = moved.flatMap(([, { freshCalls, known }]) =>
    [...freshCalls, ...(known?.calls ?? [])].flatMap(allUsesOf),
  );
  const found = await findProvidersOfCalls(db, place, { changes, uses, providers, newProviders }, now);
  for (const [index, trace] of moved) {
    for (const use of trace.freshCalls.flatMap(allUsesOf))
      use.provider = found.replacements.get(use.provider.id) ?? use.provider;
    const ids = new Set((trace.known?.calls ?? []).flatMap(allUsesOf).map(({ provider }) => provider.id));
    const replacements = new Map([...found.replacements].filter(([id]) => ids.has(id)));
    traces[index] = { ...trace, replacements, changes: await changesInTrace({ ...trace, replacements }) };
    await yieldWhenDue();
  }
  const replacing = [...found.replacements.values()].map((provider) => [provider.id, provider] as const);
  return { ...found, byId: new Map([...found.byId, ...replacing]) };
}

/** Sorts changes in the order in which the spans came, because at a limit the first ones are observed. */
function inOrderOf(spans: readonly CallSpan[], changes: readonly CallChange[]): CallChange[] {
  const positions = new Map<CallSpan, number>();
  for (const span of spans) positions.set(span, positions.size);
  const positionOf = ({ call }: CallChange) => {
    let first = spans.length;
    for (const { span } of call.reports) first = Math.min(first, positions.get(span) ?? first);
    return first;
  };
  const placed = changes.map((change) => ({ change, position: positionOf(change) }));
  return placed.toSorted((a, b) => a.position - b.position).map(({ change }) => change);
}

/** The new spans of a trace. */
type TraceOfBatch = {
  traceId: string;
  spans: readonly FreshSpan[];
  /** The new spans that report calls. */
  freshCalls: readonly CallSpan[];
  known: SenderTrace | undefined;
  spellingsOf: ReturnType<typeof spellingsReader>;
  /** The providers that replace deleted providers of earlier spans, by the ids of the deleted ones. */
  replacements: Replacements;
};

type ChangedTrace = TraceOfBatch & { changes: readonly CallChange[] };

async function changesInTrace(trace: TraceOfBatch): Promise<CallChange[]> {
  const { traceId, spans, freshCalls, known, spellingsOf, replacements } = trace;
  if (!known) return callsOfNewTrace(trace);
  const earlier = known.calls;
  if (freshCalls.length === 0 && earlier.length === 0) return [];
  const parents = known.parents();
  const before = resolve(parents, earlier, spellingsOf);
  await yieldWhenDue();
  for (const span of spans) addParent(parents, span);
  const after = resolve(parents, [...replaceProviders(earlier, replacements), ...freshCalls], spellingsOf);
  await yieldWhenDue();
  return diffCalls(traceId, { before, after, fresh: new Set(freshCalls) });
}

/** A shortcut for the usual case, a trace without stored spans: every call is new. */
function callsOfNewTrace({ traceId, spans, freshCalls, spellingsOf }: TraceOfBatch): CallChange[] {
  if (freshCalls.length === 0) return [];
  const parents = new Map<string, string | null>();
  for (const span of spans) addParent(parents, span);
  return resolve(parents, freshCalls, spellingsOf).map((call) => ({ call, traceId, by: 1 }));
}
