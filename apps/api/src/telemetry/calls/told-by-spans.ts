import type { Database } from '@quartermaster/db/database.ts';
import { findKnownSpans } from '@quartermaster/db/repositories/known-spans.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { Use } from '../dialects/facts.ts';
import type { CallSpan } from './call-span.ts';
import { decodeCalls } from './stored-calls.ts';

type InTrace = { traceId: string | null; spanId: string | null };

/**
 * Answers whether a stored span of the sender told of the call that a log record tells of: the span that the record was
 * written in, or one of the same trace with the same call id.
 */
export async function toldBySpans(
  db: Database,
  place: TenantPlace,
  { records, sender }: { records: readonly InTrace[]; sender: string },
): Promise<(record: InTrace, use: Use, callId: string | null) => boolean> {
  const asked = records.flatMap(({ traceId, spanId }) => (traceId && spanId ? [{ traceId, spanId }] : []));
  const tellers = new Set<string>();
  const known = asked.length === 0 ? [] : await findKnownSpans(db, place, asked);
  for (const [traceId, { calls }] of known) {
    const own = calls.filter((call) => call.sender === sender).flatMap(({ value }) => decodeCalls(value));
    for (const span of own) for (const key of keysOf(traceId, span)) tellers.add(key);
  }
  return ({ traceId, spanId }, { kind }, callId) =>
    tellers.has(`${traceId} span ${kind} ${spanId}`) ||
    (callId !== null && tellers.has(`${traceId} id ${kind} ${callId}`));
}

function keysOf(traceId: string, { spanId, callId, uses }: CallSpan): string[] {
  return uses.flatMap(({ kind }) => [
    `${traceId} span ${kind} ${spanId}`,
    ...(callId === null ? [] : [`${traceId} id ${kind} ${callId}`]),
  ]);
}
