import type { CallSpan } from './call-span.ts';
import { decodeCalls } from './stored-calls.ts';

/** A trace with stored spans. */
export type KnownTrace = {
  /** False if the trace has too many spans to resolve them all again. */
  isComplete: boolean;
  spans(): Iterable<SpanWithParent & { sender: string }>;
  calls: readonly { sender: string; value: Uint8Array }[];
};

type SpanWithParent = { spanId: string; parentSpanId: string | null };

/** The stored call spans of a sender in a trace. */
export function callsOf({ calls }: KnownTrace, sender: string): CallSpan[] {
  return calls.filter((call) => call.sender === sender).flatMap(({ value }) => decodeCalls(value));
}

/** The parents of a sender's stored spans in a trace. */
export function parentsOf(known: KnownTrace, sender: string): Map<string, string | null> {
  const parents = new Map<string, string | null>();
  for (const span of known.spans()) if (span.sender === sender) addParent(parents, span);
  return parents;
}

/** If a span id was reported with several parents, the smallest id is taken, so that the order makes no difference. */
export function addParent(parents: Map<string, string | null>, { spanId, parentSpanId }: SpanWithParent): void {
  const known = parents.get(spanId);
  if (known == null || (parentSpanId !== null && parentSpanId < known)) parents.set(spanId, parentSpanId);
}
