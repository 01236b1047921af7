import type { CallSpan } from './call-span.ts';
import type { Call } from './resolve.ts';

/** How the counts of a call's subject change. */
export type CallChange = {
  call: Call;
  traceId: string | null;
  /** 0 where the call is counted already, and was seen again with something new in its evidence. */
  by: 1 | 0 | -1;
  /** The call is counted elsewhere: only its tokens are added, and nothing is observed. */
  isTokensOnly?: boolean;
};

/**
 * What changes when spans are added to a trace.
 *
 * @param before the calls of the trace without the new spans
 * @param after the calls with them
 */
export function changesOf(
  traceId: string,
  { before, after, fresh }: { before: readonly Call[]; after: readonly Call[]; fresh: ReadonlySet<CallSpan> },
): CallChange[] {
  const counted = Map.groupBy(before, contributionOf);
  const changes: CallChange[] = [];
  for (const call of after) {
    const same = counted.get(contributionOf(call))?.pop();
    const isSeen = call.told.some(({ span }) => fresh.has(span));
    if (!same) changes.push({ call, traceId, by: 1 });
    else if (isSeen) changes.push({ call, traceId, by: 0 });
  }
  for (const gone of counted.values()) {
    for (const call of gone) changes.push({ call, traceId, by: -1 });
  }
  return changes;
}

/** Everything of a call that is counted somewhere. */
function contributionOf(call: Call): string {
  const { kind, name, provider, agent, countedAt, durationUs, failed, inputTokens, outputTokens } = call;
  return JSON.stringify([kind, name, provider.id, agent, countedAt, durationUs, failed, inputTokens, outputTokens]);
}
