import type { Database } from '@quartermaster/db/database.ts';
import {
  findTelemetryCalls,
  hasCallsFromLogs,
  insertTelemetryCalls,
  type Signal,
} from '@quartermaster/db/repositories/telemetry-calls.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { InterpretedSpan } from './interpreted-span.ts';
import { REJECTION } from '../dialects/operations.ts';
import { DIALECTS } from '../dialects/table.ts';
import {
  type CallsBelow,
  keyOfFailure,
  keysOfCallId,
  keysOfSpan,
  namesOfCall,
  type SignalledCall,
} from './call-keys.ts';
import type { CallSpan, CallUse } from './call-span.ts';
import { countRecordsBelow } from './records-below.ts';
import { callsBelow } from './span-reports.ts';

/**
 * Dialects of agents that may write log records without a trace. `genai` is not one of them: events of the general
 * conventions name the span that they were written in, so no other keys are needed.
 */
const LOGGING_DIALECTS: ReadonlySet<string | null> = new Set(
  DIALECTS.filter(({ name, logs }) => logs !== undefined && name !== 'genai').map(({ name }) => name),
);

type Signalled = { span: InterpretedSpan; call: CallSpan };

type NamedUse = Pick<CallUse, 'kind' | 'written' | 'responseModel' | 'server'>;

type MarkedUse = NamedUse & Pick<CallUse, 'isCounted' | 'isFailureCounted'>;

type SpanBatch = {
  spans: readonly Signalled[];
  /** The stored call spans of the sender in a trace. */
  earlierOf: (traceId: string) => readonly CallSpan[];
  sender: string;
};

/**
 * Marks the uses in new spans that log records counted before, because the first signal counts a call, and those whose failure they
 * counted. Stores keys for the calls that log records may still report, for frameworks that write both signals.
 */
export async function markCounted(
  db: Database,
  place: TenantPlace,
  { spans, earlierOf, sender }: SpanBatch,
  now: Date,
): Promise<void> {
  if (spans.length === 0) return;
  const hasLogs = await hasCallsFromLogs(db, place);
  if (hasLogs) {
    const keyed = spans.flatMap((one) => one.call.uses.map((use) => ({ use, keys: keysOf(one, use, sender) })));
    const known = await findTelemetryCalls(db, place, [...new Set(keyed.flatMap(({ keys }) => keys))]);
    for (const { use, keys } of keyed) use.isCounted = keys.some((key) => known.get(key) === 'log');
    await markFailures(db, place, { spans, sender });
    await markReportedBelow(db, place, { spans, earlierOf, sender });
  }
  const remembered = hasLogs ? spans : spans.filter(({ span }) => LOGGING_DIALECTS.has(span.dialect));
  const keys = remembered.flatMap((one) => usesOf(one.call).flatMap((use) => rememberedKeys(one, use, sender)));
  await insertTelemetryCalls(db, place, { keys: [...new Set(keys)], signal: 'span' }, now);
}

function keysOf({ span, call }: Signalled, use: CallUse, sender: string): string[] {
  const signalled = signalledCall(span, use, sender);
  const bySpan = keysOfSpan(signalled, span);
  return call.callId === null ? bySpan : [...keysOfCallId(signalled, call.callId).recognised, ...bySpan];
}

function rememberedKeys({ span, call }: Signalled, use: MarkedUse, sender: string): string[] {
  if (call.callId === null) return [];
  const { remembered } = keysOfCallId(signalledCall(span, use, sender), call.callId);
  const hasFailure = call.failed || call.operation === REJECTION;
  const ofCall = use.isCounted || use === UNNAMED_TOOL ? [] : remembered;
  return [...ofCall, ...(hasFailure ? remembered.map(keyOfFailure) : [])];
}

/** The tool of a span that only says that the call around it failed or was rejected. */
const UNNAMED_TOOL: MarkedUse = {
  kind: 'tool',
  written: '',
  responseModel: null,
  server: null,
  isCounted: false,
  isFailureCounted: false,
};

function usesOf({ uses }: CallSpan): readonly MarkedUse[] {
  return uses.length > 0 ? uses : [UNNAMED_TOOL];
}

/** Marks the failures that log records counted. */
async function markFailures(
  db: Database,
  place: TenantPlace,
  { spans, sender }: { spans: readonly Signalled[]; sender: string },
): Promise<void> {
  const asked = spans.flatMap(({ span, call }) => {
    return usesOf(call)
      .filter(({ isCounted }) => call.failed || isCounted)
      .map((use) => {
        const signalled = signalledCall(span, use, sender);
        const byId = call.callId === null ? [] : keysOfCallId(signalled, call.callId).recognised.map(keyOfFailure);
        return { call, use, byId, ofSpan: keysOfSpan(signalled, span).map(keyOfFailure) };
      });
  });
  const keys = new Set(asked.flatMap(({ byId, ofSpan }) => [...byId, ...ofSpan]));
  const known = await findTelemetryCalls(db, place, [...keys]);
  for (const { call, use, byId, ofSpan } of asked) {
    const isKnown = (some: readonly string[], signal: Signal) => some.some((key) => known.get(key) === signal);
    if (use === UNNAMED_TOOL) {
      call.failed = !isKnown(byId, 'log');
      continue;
    }
    // Records of attempts have ids of their own. If all of them failed, the span around them is one of them.
    use.isCounted ||= call.failed && call.callId === null && isKnown(ofSpan, 'log');
    use.isFailureCounted = isKnown(byId, 'log') || isKnown(ofSpan, 'span') || (use.isCounted && isKnown(ofSpan, 'log'));
  }
}

function signalledCall({ facts, traceId }: InterpretedSpan, use: NamedUse, sender: string): SignalledCall {
  const { kind, written, responseModel, server } = use;
  const names = namesOfCall({ kind, name: written }, { responseModel, toolServer: server });
  return { sender, kind, names, traceId, conversationId: facts.conversationId };
}

/** Marks the uses that were counted by log records which were written in the parents of the spans. */
async function markReportedBelow(
  db: Database,
  place: TenantPlace,
  { spans, earlierOf, sender }: SpanBatch,
): Promise<void> {
  const calls = spans.flatMap(({ span: { traceId }, call }) =>
    callsBelow(traceId, call).map((below, index) => ({ below, call, use: call.uses[index] })),
  );
  const recordsBelow = await countRecordsBelow(db, place, { below: calls.map(({ below }) => below), sender });
  const spansBelow = new Map<string, Set<string>>();
  for (const { below, call, use } of calls) {
    const count = recordsBelow(below);
    if (count === 0) continue;
    const id = JSON.stringify(below);
    const known = spansBelow.get(id) ?? spanIdsBelow(below, earlierOf(below.traceId));
    spansBelow.set(id, known);
    if (use && !known.has(call.spanId) && known.size < count) {
      use.isCounted = true;
      use.isFailureCounted = true;
    }
    known.add(call.spanId);
  }
}

function spanIdsBelow(below: CallsBelow, spans: readonly CallSpan[]): Set<string> {
  const id = JSON.stringify(below);
  const at = spans.filter((span) => callsBelow(below.traceId, span).some((one) => JSON.stringify(one) === id));
  return new Set(at.map(({ spanId }) => spanId));
}
