import type { Database } from '@quartermaster/db/database.ts';
import {
  findTelemetryCalls,
  hasToldByLog,
  insertTelemetryCalls,
} from '@quartermaster/db/repositories/telemetry-calls.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { FoldedSpan } from '../../runtime-observations/sightings.ts';
import { DIALECTS } from '../dialects/table.ts';
import { type CallsBelow, keysOfCallId, keysOfSpan, namesOfCall, type SignalledCall } from './call-keys.ts';
import type { CallSpan, CallUse } from './call-span.ts';
import { toldBelow } from './told-below.ts';
import { callsBelow } from './told-by-spans.ts';

/**
 * Dialects of agents that write log records without a trace. Events of the general conventions name the span that they were
 * written in, which is enough.
 */
const LOGGING_DIALECTS: ReadonlySet<string | null> = new Set(
  DIALECTS.filter(({ name, logs }) => logs !== undefined && name !== 'genai').map(({ name }) => name),
);

type Signalled = { span: FoldedSpan; call: CallSpan };

type SpanBatch = {
  spans: readonly Signalled[];
  /** The spans of the sender that were stored of a trace before. */
  earlierOf: (traceId: string) => readonly CallSpan[];
  sender: string;
};

/**
 * Marks the uses of new spans whose calls log records told of before: the first signal counts. Remembers the calls that log
 * records may still tell of, which frameworks do that write both.
 */
export async function markCounted(
  db: Database,
  place: TenantPlace,
  { spans, earlierOf, sender }: SpanBatch,
  now: Date,
): Promise<void> {
  if (spans.length === 0) return;
  const hasLogs = await hasToldByLog(db, place);
  if (hasLogs) {
    const keyed = spans.flatMap((one) => one.call.uses.map((use) => ({ use, keys: keysOf(one, use, sender) })));
    const known = await findTelemetryCalls(db, place, [...new Set(keyed.flatMap(({ keys }) => keys))]);
    for (const { use, keys } of keyed) use.isCounted = keys.some((key) => known.get(key) === 'log');
    await markToldBelow(db, place, { spans, earlierOf, sender });
  }
  const told = hasLogs ? spans : spans.filter(({ span }) => LOGGING_DIALECTS.has(span.dialect));
  const keys = told.flatMap((one) => one.call.uses.flatMap((use) => rememberedKeys(one, use, sender)));
  await insertTelemetryCalls(db, place, { keys: [...new Set(keys)], signal: 'span' }, now);
}

function keysOf({ span, call }: Signalled, use: CallUse, sender: string): string[] {
  const told = signalledCall(span, use, sender);
  const bySpan = keysOfSpan(told, span);
  return call.callId === null ? bySpan : [...keysOfCallId(told, call.callId).recognised, ...bySpan];
}

function rememberedKeys({ span, call }: Signalled, use: CallUse, sender: string): string[] {
  if (call.callId === null || use.isCounted) return [];
  return keysOfCallId(signalledCall(span, use, sender), call.callId).remembered;
}

function signalledCall({ facts, traceId }: FoldedSpan, use: CallUse, sender: string): SignalledCall {
  const { kind, written, responseModel, server } = use;
  const names = namesOfCall({ kind, name: written }, { responseModel, toolServer: server });
  return { sender, kind, names, traceId, conversationId: facts.conversationId };
}

/** Marks the uses that log records told of which name the parents of their spans. */
async function markToldBelow(db: Database, place: TenantPlace, { spans, earlierOf, sender }: SpanBatch): Promise<void> {
  const told = spans.flatMap(({ span: { traceId }, call }) =>
    callsBelow(traceId, call).map((below, index) => ({ below, call, use: call.uses[index] })),
  );
  const countTold = await toldBelow(db, place, { below: told.map(({ below }) => below), sender });
  const spansBelow = new Map<string, Set<string>>();
  for (const { below, call, use } of told) {
    const count = countTold(below);
    if (count === 0) continue;
    const id = JSON.stringify(below);
    const known = spansBelow.get(id) ?? spansAt(below, earlierOf(below.traceId));
    spansBelow.set(id, known);
    if (use && !known.has(call.spanId) && known.size < count) use.isCounted = true;
    known.add(call.spanId);
  }
}

function spansAt(below: CallsBelow, spans: readonly CallSpan[]): Set<string> {
  const id = JSON.stringify(below);
  const at = spans.filter((span) => callsBelow(below.traceId, span).some((one) => JSON.stringify(one) === id));
  return new Set(at.map(({ spanId }) => spanId));
}
