import type { Database } from '@quartermaster/db/database.ts';
import {
  type CallSignal,
  findCountedCalls,
  findTelemetryCalls,
  hasCallsFromLogs,
  insertTelemetryCalls,
  removeCountedCalls,
  type TelemetryCall,
} from '@quartermaster/db/repositories/telemetry-calls.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { InterpretedSpan } from './interpreted-span.ts';
import { REJECTION } from '../reading/operations.ts';
import { DIALECTS } from '../frameworks/list.ts';
import type { CallChange } from './call-changes.ts';
import { keyOfFailure, keysOfCallId, keysOfSpan, namesOfCall, type SignalledCall } from './call-keys.ts';
import { type CallSpan, type CallUse, TOKEN_COUNTS } from './call-span.ts';
import { findRecordsBelow } from './records-below.ts';
import { callsOfOne } from './resolve.ts';
import { callsBelow, SpansBelow } from './spans-below.ts';
import { decodeCalls } from './stored-calls.ts';

/**
 * Dialects of agents that may write log records without a trace. `genai` is not one of them: events of the general
 * conventions name the span that they were written in, so no other keys are needed.
 */
const LOGGING_DIALECTS: ReadonlySet<string | null> = new Set(
  DIALECTS.filter(({ name, logs }) => logs !== undefined && name !== 'genai').map(({ name }) => name),
);

type Signalled = { span: InterpretedSpan; call: CallSpan };

type NamedUse = Pick<CallUse, 'kind' | 'written' | 'responseModel' | 'server'>;

type SpanBatch = {
  spans: readonly Signalled[];
  /** The stored call spans of the sender in a trace. Null if the sender's spans are not known completely. */
  earlierOf: (traceId: string) => readonly CallSpan[] | null;
  sender: string;
};

/** A new span's report of a call. */
type SpanReport = { span: InterpretedSpan; call: CallSpan; use: CallUse };

/** The keys of the log records that counted the calls of reports, with one record for each report at most. */
type RecordsOf = Map<CallUse, SpanReport & { recordKey: string }>;

/**
 * Finds the calls of new spans that log records counted before. The span replaces the record's call, because a span says more. The call
 * keeps what only the record says: its tokens, its failure, and its owner. For frameworks that write both signals, stores keys by which
 * later log records of the same calls are recognised.
 *
 * @returns the removal of the calls as the records counted them, and how many keys were stored
 */
export async function replaceRecords(
  db: Database,
  place: TenantPlace,
  { spans, earlierOf, sender }: SpanBatch,
  now: Date,
): Promise<{ removed: CallChange[]; keys: number }> {
  if (spans.length === 0) return { removed: [], keys: 0 };
  const hasLogs = await hasCallsFromLogs(db, place);
  const removed = hasLogs ? await removeRecords(db, place, { spans, earlierOf, sender }) : [];
  const remembered = hasLogs ? spans : spans.filter(({ span }) => LOGGING_DIALECTS.has(span.dialect));
  const distinct = new Set(remembered.flatMap((one) => rememberedKeys(one, sender)));
  const calls = [...distinct].map((key) => ({ key }));
  const keys = await insertTelemetryCalls(db, place, { calls, signal: 'span', sender }, now);
  return { removed, keys };
}

async function removeRecords(db: Database, place: TenantPlace, batch: SpanBatch): Promise<CallChange[]> {
  const { spans, sender } = batch;
  const recordsOf: RecordsOf = new Map();
  const keyed = spans.flatMap((one) => one.call.uses.map((use) => ({ ...one, use, keys: keysOf(one, use, sender) })));
  const known = await findTelemetryCalls(db, place, [...new Set(keyed.flatMap(({ keys }) => keys))]);
  for (const { keys, ...report } of keyed) addRecord(recordsOf, report, knownOf(known, keys, 'log'));
  await addFailedAttempts(db, place, { spans, sender, recordsOf });
  await addRecordsInParents(db, place, { ...batch, recordsOf });
  const recordKeys = new Set([...recordsOf.values()].map(({ recordKey }) => recordKey));
  const counted = await findCountedCalls(db, place, [...recordKeys]);
  await removeCountedCalls(db, place, [...counted.keys()]);
  const failedThemselves = new Set(spans.flatMap(({ call }) => (call.failed ? [call] : [])));
  const changes: CallChange[] = [];
  for (const { recordKey, ...report } of recordsOf.values()) {
    const bytes = counted.get(recordKey);
    // If the call is missing here, another span has already replaced the record.
    if (bytes === undefined) continue;
    counted.delete(recordKey);
    const [ofRecord] = decodeCalls(bytes);
    if (ofRecord === undefined) continue;
    if (ofRecord.failed && !failedThemselves.has(report.call)) addFailure(report);
    keepWhatRecordKnows(report, ofRecord);
    for (const call of callsOfOne(ofRecord)) changes.push({ call, traceId: null, by: -1 });
  }
  return changes;
}

/**
 * Adds the record that counted the call of a report. If all records are ones that no span can replace, the call was rejected,
 * and the report does not count.
 */
function addRecord(recordsOf: RecordsOf, report: SpanReport, records: readonly TelemetryCall[]): void {
  const recordKey = records.find((record) => record.recordKey !== null)?.recordKey ?? null;
  if (recordKey !== null) recordsOf.set(report.use, { ...report, recordKey });
  else if (records.length > 0) report.use.isCounted = true;
}

/** Adds a failure to one use of a span that does not say that it failed. The other uses of the span did not fail. */
function addFailure({ call, use }: SpanReport): void {
  if (!call.failed) for (const eachUse of call.uses) eachUse.isFailureCounted = true;
  call.failed = true;
  use.isFailureCounted = false;
}

/** Copies tokens from the record into the span's call, and the owner as well if the span says nothing about it. */
function keepWhatRecordKnows({ call, use }: SpanReport, record: CallSpan): void {
  for (const count of TOKEN_COUNTS) call[count] ??= record[count];
  const [ofRecord] = record.uses;
  if (ofRecord === undefined || use.certainty > 0 || ofRecord.certainty === 0) return;
  const { provider, server, certainty, isOfModel } = ofRecord;
  Object.assign(use, { provider, server, certainty, isOfModel });
  // A span names a model as exactly as a record does, but it may name a tool without its server.
  if (use.kind === 'tool') use.name = ofRecord.name;
}

function knownOf(
  known: ReadonlyMap<string, TelemetryCall>,
  keys: readonly string[],
  signal: CallSignal,
): readonly TelemetryCall[] {
  return keys.flatMap((key) => known.get(key) ?? []).filter((one) => one.signal === signal);
}

function keysOf({ span, call }: Signalled, use: NamedUse, sender: string): string[] {
  const signalled = signalledCall(span, use, sender);
  const bySpan = keysOfSpan(signalled, span).recognised;
  return call.callId === null ? bySpan : [...keysOfCallId(signalled, call.callId).recognised, ...bySpan];
}

function rememberedKeys({ span, call }: Signalled, sender: string): string[] {
  const { callId, uses, failed, operation } = call;
  if (callId === null) return [];
  const keysOfUse = (use: NamedUse) => keysOfCallId(signalledCall(span, use, sender), callId).remembered;
  const ofCalls = uses.filter(({ isCounted }) => !isCounted).flatMap(keysOfUse);
  const hasFailure = failed || operation === REJECTION;
  const ofFailures = hasFailure ? (uses.length > 0 ? uses : [UNNAMED_TOOL]).flatMap(keysOfUse) : [];
  return [...ofCalls, ...ofFailures.map(keyOfFailure)];
}

/** The tool of a span that only says that the call around it failed or was rejected. */
const UNNAMED_TOOL: NamedUse = { kind: 'tool', written: '', responseModel: null, server: null };

/**
 * Adds the records of failed attempts. Each attempt has its own id. If the span around the attempts failed too, that failure is one of
 * the attempts. Marks the failures that records added to calls.
 */
async function addFailedAttempts(
  db: Database,
  place: TenantPlace,
  { spans, sender, recordsOf }: { spans: readonly Signalled[]; sender: string; recordsOf: RecordsOf },
): Promise<void> {
  const keysOfFailure = ({ span, call }: Signalled, use: NamedUse) => {
    const signalled = signalledCall(span, use, sender);
    const byId = call.callId === null ? [] : keysOfCallId(signalled, call.callId).recognised;
    return { byId: byId.map(keyOfFailure), ofSpan: keysOfSpan(signalled, span).recognised.map(keyOfFailure) };
  };
  const unnamed = spans
    .filter(({ call }) => call.failed && call.uses.length === 0)
    .map((one) => ({ call: one.call, ...keysOfFailure(one, UNNAMED_TOOL) }));
  const named = spans.flatMap((one) =>
    one.call.uses
      .filter((use) => one.call.failed || use.isCounted || recordsOf.has(use))
      .map((use) => ({ ...one, use, ...keysOfFailure(one, use) })),
  );
  const keys = new Set([...unnamed, ...named].flatMap(({ byId, ofSpan }) => [...byId, ...ofSpan]));
  const known = await findTelemetryCalls(db, place, [...keys]);
  for (const { call, byId } of unnamed) call.failed = knownOf(known, byId, 'log').length === 0;
  for (const { byId, ofSpan, ...report } of named) {
    const { call, use } = report;
    const inSpan = knownOf(known, ofSpan, 'log');
    if (call.failed && call.callId === null && !recordsOf.has(use)) addRecord(recordsOf, report, inSpan);
    const added = [...knownOf(known, byId, 'log'), ...(use.isCounted ? inSpan : [])];
    // The other failures are those of counted calls, and move to the span with the call.
    const isAdded = added.some(({ recordKey }) => recordKey === null);
    use.isFailureCounted = isAdded || knownOf(known, ofSpan, 'span').length > 0;
  }
}

function signalledCall({ facts, traceId }: InterpretedSpan, use: NamedUse, sender: string): SignalledCall {
  const { kind, written, responseModel, server } = use;
  const names = namesOfCall({ kind, name: written }, { responseModel, toolServer: server });
  return { sender, kind, names, traceId, conversationId: facts.conversationId };
}

/** Adds the records that were written in the parents of the spans. Without all spans of a trace, no record has its place in it. */
async function addRecordsInParents(
  db: Database,
  place: TenantPlace,
  { spans, earlierOf, sender, recordsOf }: SpanBatch & { recordsOf: RecordsOf },
): Promise<void> {
  const reports = spans.flatMap(({ span, call }) =>
    callsBelow(span.traceId, call).map((below, index) => ({ below, span, call, use: call.uses[index] })),
  );
  const recordsBelow = await findRecordsBelow(db, place, { below: reports.map(({ below }) => below), sender });
  const spansBelow = new SpansBelow();
  const isComplete = new Map<string, boolean>();
  /** Reads the earlier spans of a trace, once. @returns whether all of them are known */
  const readTrace = (traceId: string): boolean => {
    const read = isComplete.get(traceId);
    if (read !== undefined) return read;
    const spans = earlierOf(traceId);
    for (const span of spans ?? []) spansBelow.add(traceId, span);
    isComplete.set(traceId, spans !== null);
    return spans !== null;
  };
  for (const { below, span, call, use } of reports) {
    const records = recordsBelow(below);
    if (records.length === 0 || !readTrace(below.traceId)) continue;
    const known = spansBelow.idsOf(below);
    const record = known.has(call.spanId) ? undefined : records[known.size];
    known.add(call.spanId);
    if (!use || !record || recordsOf.has(use)) continue;
    addRecord(recordsOf, { span, call, use }, [record]);
    if (use.isCounted) use.isFailureCounted = true;
  }
}
