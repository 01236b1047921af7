import type { Database } from '@quartermaster/db/database.ts';
import { yieldWhenDue } from '@quartermaster/db/turns.ts';
import { findKnownSpans } from '@quartermaster/db/repositories/known-spans.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { Reading, Use } from '../reading/facts.ts';
import type { CallSpan } from './call-span.ts';
import { type CallsBelow, namesOfCall } from './call-keys.ts';
import { type SenderTrace, readSenderTraces } from './sender-trace.ts';
import { type Call, resolveAll } from './resolve.ts';
import { SpansBelow } from './spans-below.ts';

type InTrace = { traceId: string | null; spanId: string | null };
type RecordInTrace = InTrace & { reading: Reading; failed: boolean };

export type SpanReports = {
  /**
   * The keys of a call that a span reported: the span that the record was written in, or a span of the same trace with the same
   * call id. A failed attempt to call a model may have an id of its own. Such an attempt is a separate call if its span did not
   * fail, or if another attempt is already the call of the span.
   */
  keysOfReport(record: RecordInTrace, use: Use, isSpanTaken: boolean): ReadonlySet<string> | undefined;
  /** The call as the spans with these keys report it. Null if it does not count, because it was rejected, for example. */
  callOf(record: InTrace, keys: ReadonlySet<string>): Call | null;
  /** How many spans reported such calls. */
  countBelow(below: CallsBelow): number;
};

/** Finds what stored spans of the sender reported about the calls that log records report now. */
export async function findSpanReports(
  db: Database,
  place: TenantPlace,
  { records, sender }: { records: readonly InTrace[]; sender: string },
): Promise<SpanReports> {
  const asked = records.flatMap(({ traceId, spanId }) => (traceId && spanId ? [{ traceId, spanId }] : []));
  const reported = new Set<string>();
  const succeeded = new Set<string | null>();
  const below = new SpansBelow();
  const stored = asked.length === 0 ? undefined : await findKnownSpans(db, place, { spans: asked, sender });
  const known = readSenderTraces(stored ?? new Map(), sender);
  for (const [traceId, trace] of known) {
    await yieldWhenDue();
    for (const span of trace.calls) {
      for (const key of keysOf(traceId, span)) reported.add(key);
      if (span.callId === null && !span.failed) succeeded.add(span.spanId);
      below.add(traceId, span);
    }
  }
  const callsIn = new Map<string, Map<string, Call>>();
  const callsByKey = (traceId: string, trace: SenderTrace) => {
    const { all } = resolveAll(trace.parents(), trace.calls);
    const keyed = all.flatMap((call) =>
      call.reports.flatMap(({ span, use }) =>
        keysOf(traceId, { ...span, uses: [use] }).map((key) => [key, call] as const),
      ),
    );
    return new Map(keyed);
  };
  return {
    keysOfReport: ({ traceId, spanId, reading: { facts }, failed }, { kind, name }, isSpanTaken) => {
      if (facts === null) return undefined;
      const { callId } = facts;
      const isAttempt = failed && kind === 'model' && callId !== null && (isSpanTaken || succeeded.has(spanId));
      const names = namesOfCall({ kind, name }, facts).asked;
      const bySpan = isAttempt ? [] : names.map((one) => reportKey(traceId, 'span', kind, one, spanId));
      const byId = callId === null ? [] : names.map((one) => reportKey(traceId, 'id', kind, one, callId));
      const keys = new Set([...byId, ...bySpan]);
      return [...keys].some((key) => reported.has(key)) ? keys : undefined;
    },
    callOf: ({ traceId }, keys) => {
      const trace = known.get(traceId ?? '');
      if (traceId === null || !trace) return null;
      const calls = callsIn.get(traceId) ?? callsByKey(traceId, trace);
      callsIn.set(traceId, calls);
      return [...keys].map((key) => calls.get(key)).find((call) => call !== undefined) ?? null;
    },
    countBelow: (one) => below.idsOf(one).size,
  };
}

function keysOf(traceId: string, { spanId, callId, uses }: CallSpan): string[] {
  return uses.flatMap(({ kind, written, responseModel, server }) =>
    namesOfCall({ kind, name: written }, { responseModel, toolServer: server }).stored.flatMap((name) => [
      reportKey(traceId, 'span', kind, name, spanId),
      ...(callId === null ? [] : [reportKey(traceId, 'id', kind, name, callId)]),
    ]),
  );
}

function reportKey(...parts: (string | null)[]): string {
  return JSON.stringify(parts);
}
