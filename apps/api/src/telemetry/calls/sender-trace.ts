import type { CallSpan, CallUse } from './call-span.ts';
import { replaceProviders } from './replacements.ts';
import { decodeCallsUpTo } from './stored-calls.ts';

/**
 * If a sender's stored spans in a trace report more calls than this, its calls are resolved per batch only. Each batch resolves
 * the stored calls of its traces twice, which takes about 10 ms for 1,000 calls. A limit of spans is not enough, because a span
 * may report 64 calls.
 */
const MAX_RESOLVED_REPORTS = 4000;

/** The most stored reports of the sender that are resolved with one batch. Further traces are resolved per batch only. */
const MAX_REPORTS_READ = 10_000;

/** A trace with stored spans, as `findKnownSpans` returns it. */
export type StoredTrace = {
  /** False if the sender has too many spans in the trace to resolve them all again. */
  isComplete: boolean;
  spans(): Iterable<SpanWithParent & { sender: string }>;
  calls: readonly { sender: string; value: Uint8Array }[];
};

/** What a sender has stored in a trace. */
export type SenderTrace = {
  /** False if the sender has too many spans, or reports too many calls, to resolve them all again. Then the rest is empty. */
  isComplete: boolean;
  /** The spans that report calls. */
  calls: readonly CallSpan[];
  /** The parents of all its spans. */
  parents(): Map<string, string | null>;
};

type SpanWithParent = { spanId: string; parentSpanId: string | null };

/** Reads what a sender has stored in the traces of a batch. */
export function readSenderTraces(
  stored: ReadonlyMap<string, StoredTrace>,
  sender: string,
): ReadonlyMap<string, SenderTrace> {
  const known = new Map<string, SenderTrace>();
  let read = 0;
  for (const [traceId, trace] of stored) {
    const most = Math.min(MAX_RESOLVED_REPORTS, MAX_REPORTS_READ - read);
    const decoded = trace.isComplete ? callsOf(trace, { sender, most }) : null;
    read += decoded?.reports ?? 0;
    known.set(
      traceId,
      decoded
        ? { isComplete: true, calls: decoded.calls, parents: () => parentsOf(trace, sender) }
        : { isComplete: false, calls: [], parents: () => new Map() },
    );
  }
  return known;
}

/** The stored call spans of a sender in a trace. Null if they report more than `most` calls. */
function callsOf(
  trace: StoredTrace,
  { sender, most }: { sender: string; most: number },
): { calls: readonly CallSpan[]; reports: number } | null {
  const calls: CallSpan[] = [];
  const replacements = new Map<string, CallUse['provider']>();
  let reports = 0;
  for (const storedCalls of trace.calls) {
    if (storedCalls.sender !== sender) continue;
    const decoded = decodeCallsUpTo(storedCalls.value, most - reports);
    if (decoded === null) return null;
    for (const span of decoded.spans) {
      calls.push(span);
      reports += span.uses.length;
    }
    for (const [id, provider] of decoded.replacements) replacements.set(id, provider);
  }
  return { calls: replaceProviders(calls, replacements), reports };
}

function parentsOf(trace: StoredTrace, sender: string): Map<string, string | null> {
  const parents = new Map<string, string | null>();
  for (const span of trace.spans()) if (span.sender === sender) addParent(parents, span);
  return parents;
}

/** If a span id was reported with several parents, the smallest id is taken, so that the order makes no difference. */
export function addParent(parents: Map<string, string | null>, { spanId, parentSpanId }: SpanWithParent): void {
  const known = parents.get(spanId);
  if (known == null || (parentSpanId !== null && parentSpanId < known)) parents.set(spanId, parentSpanId);
}
