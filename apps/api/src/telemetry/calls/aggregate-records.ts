import type { Database } from '@quartermaster/db/database.ts';
import {
  findTelemetryCalls,
  insertTelemetryCalls,
  type NewTelemetryCall,
} from '@quartermaster/db/repositories/telemetry-calls.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { AggregationLimits } from '../../governance/observations/aggregate.ts';
import { NOTHING_UNOBSERVED, type Unobserved } from '../../governance/observations/admit-sightings.ts';
import type { InterpretedSpan } from './interpreted-span.ts';
import type { Facts, Reading, Use } from '../dialects/facts.ts';
import { applyChanges } from './apply-changes.ts';
import type { CallChange } from './call-changes.ts';
import type { CallSpan } from './call-span.ts';
import {
  type CallsBelow,
  keyOfCallBelow,
  keyOfFailure,
  keyOfRecord,
  keysOfCallId,
  keysOfSpan,
  namesOfCall,
} from './call-keys.ts';
import { makeCallSpan } from './make-call-span.ts';
import { matchUses } from './match-uses.ts';
import { type Call, failureOf, isOfRecord, resolve } from './resolve.ts';
import { encodeCalls } from './stored-calls.ts';
import { comparableName } from './same-name.ts';
import { MAX_RECORDS_BELOW, findRecordsBelow } from './records-below.ts';
import { findSpanReports } from './span-reports.ts';

/** A log record with what a dialect found in it. Plain data, because it may cross threads. */
export type InterpretedRecord = {
  reading: Reading;
  /** `service.name` of the resource, as `InterpretedSpan.serviceName`. */
  serviceName: string | null;
  environment: string | null;
  /** RFC 3339, UTC. */
  time: string;
  /** Null if the record does not say how long the call took. */
  durationMs: number | null;
  failed: boolean;
  traceId: string | null;
  spanId: string | null;
  /** Identifies the record when it is sent again. */
  digest: string;
};

type RecordBatch = { records: readonly InterpretedRecord[]; sender: string; limits: AggregationLimits };

/** Keys of a failure, like those of a call. */
type Failure = {
  recognised: readonly string[];
  remembered: readonly string[];
  /**
   * Of the span that the record was written in. They are stored for the signal `log` if the record counted a call of its own, and for
   * the signal `span` if it added the failure to a call of the span.
   */
  ofSpan: readonly string[];
  /** Of a span inside the call's span, which does not name the tool. Stored by it, the record's failure is known. */
  unnamed: readonly string[];
};

/** A record's report of a call, with the keys that identify the call. */
type RecordReport = {
  record: InterpretedRecord;
  span: InterpretedSpan;
  use: Use;
  /** If one of these keys is stored, the call was counted before. */
  recognised: string[];
  /** The keys that identify the record when it is sent again. */
  own: string[];
  /** The keys that are stored once the call is counted. */
  remembered: string[];
  /** The record says that the call failed or was rejected, and these keys identify the failure. */
  failure: Failure | null;
  /** The calls that it may report if it was written in their parent span. Null for a record with a call id. */
  below: CallsBelow | null;
  /** The call was rejected. It does not count, and its keys are stored so that no other record or span counts it. */
  isRejection: boolean;
};

/**
 * Aggregates the calls that log records report, in the caller's transaction. A call that spans and records report counts
 * once, as the spans report it: a span that comes later replaces the record's call. It is recognised by its call id, or by the
 * span that the record was written in: the call's span or its parent. If only the record says that the call failed, its failure is
 * added. A record that is sent again counts once. A record that reports only tokens adds them to usage. A call that a record says
 * was rejected does not count.
 *
 * @returns how many reports were counted, how many were known before, and how many calls were not observed because a limit
 *   is full
 */
export async function aggregateRecordCalls(
  db: Database,
  place: TenantPlace,
  { records, sender, limits }: RecordBatch,
  now: Date,
): Promise<{ counted: number; known: number; unobserved: Unobserved }> {
  const all = records.flatMap((record) => reportsOf(record, sender));
  if (all.length === 0) return { counted: 0, known: 0, unobserved: NOTHING_UNOBSERVED };
  const { fresh, failed, remembered, ofSpans } = await findNewReports(db, place, { all, sender });
  const { matchOf, providers, newProviders } = await matchUses(
    db,
    place,
    [...fresh, ...failed.flatMap(({ report, call }) => (call ? [] : [report]))].map(({ span }) => span),
    now,
  );
  const callSpanOf = ({ span, use }: RecordReport) =>
    makeCallSpan({ ...span, uses: [use] }, (own) => matchOf(span, own), { now, limits });
  const changeOf = ({ record }: RecordReport, call: Call): CallChange => {
    return { call, traceId: record.spanId === null ? null : record.traceId, by: 1 };
  };
  const spans = new Map(fresh.flatMap((one) => (one.isRejection ? [] : [[one, callSpanOf(one)] as const])));
  const counted = [...spans].flatMap(([one, span]) => callsOfRecord(span).map((call) => changeOf(one, call)));
  const failures = failed.flatMap(({ report, call }) =>
    (call ? [call] : callsOfRecord(callSpanOf(report))).map((one) => changeOf(report, failureOf(one))),
  );
  const ofRecords = [...remembered].map(([key, report]) => storedKey(key, report, report && spans.get(report)));
  await insertTelemetryCalls(db, place, { calls: ofSpans.map((key) => storedKey(key)), signal: 'span' }, now);
  await insertTelemetryCalls(db, place, { calls: ofRecords, signal: 'log' }, now);
  const changes = [...counted, ...failures];
  const unobserved = await applyChanges(db, place, { changes, providers, newProviders, sender, limits }, now);
  return { counted: counted.length, known: all.length - counted.length, unobserved };
}

/** @param span the call as the report counts it */
function storedKey(key: string, report?: RecordReport | null, span?: CallSpan | null): NewTelemetryCall {
  const recordKey = report?.own[0];
  if (recordKey === undefined || !span || span.uses.length === 0) return { key, recordKey: null, countedCall: null };
  return { key, recordKey, countedCall: key === recordKey ? encodeCalls([span]) : null };
}

/** The calls of a record that has become a span. */
export function callsOfRecord(span: CallSpan | null): Call[] {
  return span === null ? [] : resolve(new Map([[span.spanId, null]]), [span]);
}

type NewReports = {
  /** The reports of calls that no signal reported before. */
  fresh: RecordReport[];
  /** Reports of calls that are counted, whose failure no signal reported before. `call`: the call, if spans counted it. */
  failed: { report: RecordReport; call: Call | undefined }[];
  /** The keys to store, so that all calls and failures are recognised later, with the reports that count the calls. */
  remembered: ReadonlyMap<string, RecordReport | null>;
  /** The keys to store for calls that spans reported first. */
  ofSpans: string[];
};

async function findNewReports(
  db: Database,
  place: TenantPlace,
  { all, sender }: { all: readonly RecordReport[]; sender: string },
): Promise<NewReports> {
  const asked = all.flatMap(({ recognised, failure }) => [
    ...recognised,
    ...(failure?.recognised ?? []),
    ...(failure?.ofSpan ?? []),
    ...(failure?.unnamed ?? []),
  ]);
  const found = await findTelemetryCalls(db, place, [...new Set(asked)]);
  const spans = await findSpanReports(db, place, { records: all.map(({ record }) => record), sender });
  const unknown = all.filter(({ recognised }) => !recognised.some((key) => found.has(key)));
  const recordsBelow = await findRecordsBelow(db, place, {
    below: unknown.flatMap(({ below }) => below ?? []),
    sender,
  });
  const keys = new Set(found.keys());
  const positions = new Map<string, number>();
  const fresh: RecordReport[] = [];
  const failed: NewReports['failed'] = [];
  const remembered = new Map<string, RecordReport | null>();
  const ofSpans = new Set<string>();
  const isKnown = (some: readonly string[]) => some.some((key) => keys.has(key));
  /** Stores keys that are not known: the first signal of a key stays. */
  const store = (some: readonly string[], storeOne: (key: string) => unknown) => {
    for (const key of some) if (!keys.has(key)) storeOne(key);
    for (const key of some) keys.add(key);
  };
  const storeOfRecord = (some: readonly string[], counted: RecordReport | null) => {
    store(some, (key) => remembered.set(key, counted));
  };
  /** Adds the failure of a call that is counted, unless it is known. */
  const addFailure = (report: RecordReport, reportKeys: ReadonlySet<string> | undefined) => {
    const { record, failure, isRejection } = report;
    if (failure === null || isRejection || isKnown(failure.recognised)) return;
    if (failure.unnamed.some((key) => found.get(key)?.signal === 'span')) return;
    const call = reportKeys && spans.callOf(record, reportKeys);
    if (call === null) return;
    storeOfRecord(failure.remembered, null);
    store([...failure.ofSpan, ...(isKnown(report.recognised) ? [] : report.own)], (key) => ofSpans.add(key));
    if (!call?.failed) failed.push({ report, call: call && !isOfRecord(call) ? call : undefined });
  };
  for (const one of all) {
    const { record, use, below, failure } = one;
    const isRecognised = isKnown(one.recognised);
    const reportKeys = use.times === 0 ? undefined : spans.keysOfReport(record, use, isKnown(failure?.ofSpan ?? []));
    if (isRecognised || reportKeys) {
      addFailure(one, reportKeys);
      continue;
    }
    if (below !== null) {
      const id = JSON.stringify(below);
      const position = positions.get(id) ?? recordsBelow(below).length;
      positions.set(id, position + 1);
      const hasSpan = position < spans.countBelow(below);
      if (position < MAX_RECORDS_BELOW) remembered.set(keyOfCallBelow(sender, below, position), hasSpan ? null : one);
      if (hasSpan) {
        storeOfRecord([...one.own, ...(failure?.remembered ?? [])], null);
        continue;
      }
    }
    fresh.push(one);
    storeOfRecord(one.remembered, one);
    if (failure) storeOfRecord([...failure.remembered, ...failure.ofSpan], one);
  }
  return { fresh, failed, remembered, ofSpans: [...ofSpans] };
}

function reportsOf(record: InterpretedRecord, sender: string): RecordReport[] {
  const { facts, uses, tokensOf, rejected } = record.reading;
  if (facts === null) return [];
  const span = asSpan(record, facts);
  // Without a call id the keys of a rejection would be those of other calls in the same span.
  const reports = [...uses, ...(rejected && facts.callId !== null ? [rejected] : [])].map((use) => ({
    record,
    span,
    use,
    isRejection: use === rejected,
    ...keysOf(record, use, { facts, sender, isRejection: use === rejected }),
  }));
  if (tokensOf === undefined) return reports;
  const own = [keyOfRecord(sender, `${record.digest} tokens`)];
  const keys = { recognised: own, own, remembered: own, failure: null, below: null };
  return [...reports, { record, span, use: { ...tokensOf, times: 0 }, ...keys, isRejection: false }];
}

const NO_KEYS = { recognised: [], remembered: [] };

function keysOf(
  { traceId, spanId, digest, failed }: InterpretedRecord,
  use: Use,
  { facts, sender, isRejection }: { facts: Facts; sender: string; isRejection: boolean },
): Pick<RecordReport, 'recognised' | 'own' | 'remembered' | 'failure' | 'below'> {
  const { kind, name } = use;
  const { callId, conversationId } = facts;
  const call = { sender, kind, names: namesOfCall(use, facts), traceId, conversationId };
  const inSpan = () => (traceId === null || spanId === null ? [] : keysOfSpan(call, { traceId, spanId }));
  if (callId !== null) {
    const { recognised, remembered } = keysOfCallId(call, callId);
    const keys = { recognised, own: remembered, remembered, below: null };
    if (!failed && !isRejection) return { ...keys, failure: null };
    const unnamed = kind === 'tool' ? keysOfCallId({ ...call, names: [''] }, callId) : NO_KEYS;
    const failure = {
      recognised: recognised.map(keyOfFailure),
      remembered: [...remembered, ...unnamed.remembered].map(keyOfFailure),
      ofSpan: isRejection ? [] : inSpan().map(keyOfFailure),
      unnamed: unnamed.recognised.map(keyOfFailure),
    };
    return { ...keys, failure };
  }
  const own = [keyOfRecord(sender, `${digest} ${kind}${kind === 'tool' ? ` ${name}` : ''}`)];
  const spanKeys = inSpan();
  const [ofRecord, ofSpan] = failed ? [own.map(keyOfFailure), spanKeys.map(keyOfFailure)] : [[], []];
  const failure = failed ? { recognised: [...ofRecord, ...ofSpan], remembered: ofRecord, ofSpan, unnamed: [] } : null;
  const remembered = [...own, ...spanKeys];
  if (traceId === null || spanId === null) return { recognised: own, own, remembered, failure, below: null };
  const below = { traceId, parentSpanId: spanId, kind, name: comparableName(kind, name) };
  return { recognised: own, own, remembered, failure, below };
}

/** The span that a record replaces. The record's time is the end of the call. */
function asSpan(
  { reading, serviceName, environment, time, durationMs, failed, traceId, spanId, digest }: InterpretedRecord,
  facts: Facts,
): InterpretedSpan {
  const end = Date.parse(`${time.slice(0, 23).replace(/Z$/, '')}Z`) * 1000;
  return {
    traceId: traceId ?? '',
    spanId: spanId ?? digest,
    parentSpanId: null,
    serviceName,
    environment,
    dialect: reading.dialect,
    scope: '',
    spanName: '',
    start: end - Math.max(0, Math.round((durationMs ?? 0) * 1000)),
    end,
    failed,
    facts,
    uses: reading.uses,
  };
}
