import type { Database } from '@quartermaster/db/database.ts';
import { findKnownSpans } from '@quartermaster/db/repositories/known-spans.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { Reading, Use } from '../dialects/facts.ts';
import type { CallSpan } from './call-span.ts';
import { type CallsBelow, namesOfCall } from './call-keys.ts';
import { comparableName } from './same-name.ts';
import { decodeCalls } from './stored-calls.ts';

type InTrace = { traceId: string | null; spanId: string | null };
type ToldInTrace = InTrace & { reading: Reading };

type ToldBySpans = {
  /** Whether a span told of the call: the one that the record was written in, or one of its trace with the same call id. */
  isTold(record: ToldInTrace, use: Use): boolean;
  /** How many spans told of such calls. */
  countBelow(below: CallsBelow): number;
};

/** What stored spans of the sender told of the calls that log records tell of. */
export async function toldBySpans(
  db: Database,
  place: TenantPlace,
  { records, sender }: { records: readonly InTrace[]; sender: string },
): Promise<ToldBySpans> {
  const asked = records.flatMap(({ traceId, spanId }) => (traceId && spanId ? [{ traceId, spanId }] : []));
  const tellers = new Set<string>();
  const below = new Map<string, Set<string>>();
  const known = asked.length === 0 ? [] : await findKnownSpans(db, place, { spans: asked, sender });
  for (const [traceId, { calls }] of known) {
    const own = calls.filter((call) => call.sender === sender).flatMap(({ value }) => decodeCalls(value));
    for (const span of own) {
      for (const key of keysOf(traceId, span)) tellers.add(key);
      for (const one of callsBelow(traceId, span)) {
        const key = JSON.stringify(one);
        below.set(key, (below.get(key) ?? new Set()).add(span.spanId));
      }
    }
  }
  return {
    isTold: ({ traceId, spanId, reading: { facts } }, use) => {
      if (facts === null) return false;
      const { callId } = facts;
      return namesOfCall(use, facts).some(
        (name) =>
          tellers.has(tellerKey(traceId, 'span', use.kind, name, spanId)) ||
          (callId !== null && tellers.has(tellerKey(traceId, 'id', use.kind, name, callId))),
      );
    },
    countBelow: (one) => below.get(JSON.stringify(one))?.size ?? 0,
  };
}

/** Where a log record would be written that tells of a call of the span, but names the span's parent. */
export function callsBelow(traceId: string, { parentSpanId, uses }: CallSpan): CallsBelow[] {
  if (parentSpanId === null) return [];
  return uses.map(({ kind, written }) => ({ traceId, parentSpanId, kind, name: comparableName(kind, written) }));
}

function keysOf(traceId: string, { spanId, callId, uses }: CallSpan): string[] {
  return uses.flatMap(({ kind, written, responseModel, server }) =>
    namesOfCall({ kind, name: written }, { responseModel, toolServer: server }).flatMap((name) => [
      tellerKey(traceId, 'span', kind, name, spanId),
      ...(callId === null ? [] : [tellerKey(traceId, 'id', kind, name, callId)]),
    ]),
  );
}

function tellerKey(...parts: (string | null)[]): string {
  return JSON.stringify(parts);
}
