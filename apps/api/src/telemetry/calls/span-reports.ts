import type { Database } from '@quartermaster/db/database.ts';
import { findKnownSpans } from '@quartermaster/db/repositories/known-spans.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { Reading, Use } from '../dialects/facts.ts';
import type { CallSpan } from './call-span.ts';
import { type CallsBelow, namesOfCall } from './call-keys.ts';
import { comparableName } from './same-name.ts';
import { decodeCalls } from './stored-calls.ts';

type InTrace = { traceId: string | null; spanId: string | null };
type RecordInTrace = InTrace & { reading: Reading; failed: boolean };

type SpanReports = {
  /**
   * Whether a span reported the call: the span that the record was written in, or one of its trace with the same call id. A failed
   * attempt with an id of its own is another call than that of its span, if the span did not fail.
   */
  isReported(record: RecordInTrace, use: Use): boolean;
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
  const below = new Map<string, Set<string>>();
  const known = asked.length === 0 ? [] : await findKnownSpans(db, place, { spans: asked, sender });
  for (const [traceId, { calls }] of known) {
    const own = calls.filter((call) => call.sender === sender).flatMap(({ value }) => decodeCalls(value));
    for (const span of own) {
      for (const key of keysOf(traceId, span)) reported.add(key);
      if (span.callId === null && !span.failed) succeeded.add(span.spanId);
      for (const one of callsBelow(traceId, span)) {
        const key = JSON.stringify(one);
        below.set(key, (below.get(key) ?? new Set()).add(span.spanId));
      }
    }
  }
  return {
    isReported: ({ traceId, spanId, reading: { facts }, failed }, use) => {
      if (facts === null) return false;
      const { callId } = facts;
      const isAttempt = failed && callId !== null && succeeded.has(spanId);
      return namesOfCall(use, facts).some(
        (name) =>
          (!isAttempt && reported.has(reportKey(traceId, 'span', use.kind, name, spanId))) ||
          (callId !== null && reported.has(reportKey(traceId, 'id', use.kind, name, callId))),
      );
    },
    countBelow: (one) => below.get(JSON.stringify(one))?.size ?? 0,
  };
}

/** Identifies the calls of a span for log records that were written in the span's parent. */
export function callsBelow(traceId: string, { parentSpanId, uses }: CallSpan): CallsBelow[] {
  if (parentSpanId === null) return [];
  return uses.map(({ kind, written }) => ({ traceId, parentSpanId, kind, name: comparableName(kind, written) }));
}

function keysOf(traceId: string, { spanId, callId, uses }: CallSpan): string[] {
  return uses.flatMap(({ kind, written, responseModel, server }) =>
    namesOfCall({ kind, name: written }, { responseModel, toolServer: server }).flatMap((name) => [
      reportKey(traceId, 'span', kind, name, spanId),
      ...(callId === null ? [] : [reportKey(traceId, 'id', kind, name, callId)]),
    ]),
  );
}

function reportKey(...parts: (string | null)[]): string {
  return JSON.stringify(parts);
}
