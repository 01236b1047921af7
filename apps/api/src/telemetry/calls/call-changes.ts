import { type CallSpan, TOKEN_COUNTS } from './call-span.ts';
import type { Call } from './resolve.ts';

/** A change to the counts of a call's subject. */
export type CallChange = {
  call: Call;
  traceId: string | null;
  /** 0: the call is counted already, and a new span adds to its evidence. */
  by: 1 | 0 | -1;
  /** The call was counted at the same subject before, and only counts in another way now, such as for another agent. */
  isRecounted?: boolean;
};

/**
 * The changes that new spans make to the calls of a trace.
 *
 * @param before the calls without the new spans
 * @param after the calls with them
 */
export function diffCalls(
  traceId: string,
  { before, after, fresh }: { before: readonly Call[]; after: readonly Call[]; fresh: ReadonlySet<CallSpan> },
): CallChange[] {
  const counted = Map.groupBy(before, contributionOf);
  const known = new Set(before.flatMap(subjectsOfSpans));
  const changes: CallChange[] = [];
  for (const call of after) {
    const same = counted.get(contributionOf(call))?.pop();
    const isSeen = call.reports.some(({ span }) => fresh.has(span));
    if (!same) {
      const isRecounted = known.size > 0 && subjectsOfSpans(call).some((subject) => known.has(subject));
      changes.push({ call, traceId, by: 1, isRecounted });
    } else if (isSeen) changes.push({ call, traceId, by: 0 });
  }
  for (const removed of counted.values()) {
    for (const call of removed) changes.push({ call, traceId, by: -1 });
  }
  return changes;
}

/** A text of everything that a call adds to counts and sums. Calls with the same text need no change. */
function contributionOf(call: Call): string {
  const { kind, name, provider, agent, countedAt, durationUs, failed, times } = call;
  const subject = [kind, name, provider.id, agent];
  const tokens = TOKEN_COUNTS.map((count) => call[count]);
  return JSON.stringify([...subject, countedAt, durationUs, failed, times, ...tokens]);
}

/** For each span of a call a text of the span and the call's subject. */
function subjectsOfSpans({ kind, name, provider, reports }: Call): string[] {
  return reports.map(({ span }) => JSON.stringify([kind, name, provider.id, span.spanId]));
}
