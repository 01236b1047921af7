import type { Database } from '@quartermaster/db/database.ts';
import { insertTelemetryCalls, type NewTelemetryCall } from '@quartermaster/db/repositories/telemetry-calls.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { AggregationLimits } from '../../governance/observations/aggregate.ts';
import { NOTHING_UNOBSERVED, type Unobserved } from '../../governance/observations/admit-sightings.ts';
import { applyChanges } from './apply-changes.ts';
import type { CallChange } from './call-changes.ts';
import type { CallSpan } from './call-span.ts';
import type { InterpretedRecord } from './interpreted-record.ts';
import { makeCallSpan } from './make-call-span.ts';
import { matchUses } from './match-uses.ts';
import { findNewReports } from './new-reports.ts';
import { type RecordReport, reportsOf } from './record-reports.ts';
import { type Call, callsOfOne, failureOf } from './resolve.ts';
import { encodeCalls } from './stored-calls.ts';

type RecordBatch = { records: readonly InterpretedRecord[]; sender: string; limits: AggregationLimits };

/**
 * Aggregates the calls that log records report, in the caller's transaction. A call that spans and records report counts
 * once, as the spans report it: a span that comes later replaces the record's call. It is recognised by its call id, or by the
 * span that the record was written in: the call's span or its parent. If only the record says that the call failed, its failure is
 * added. A record that is sent again counts once. A record that reports only tokens adds them to usage, and one that reports only a
 * failure adds that. A call that a record says was rejected does not count.
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
  const { fresh, failed, keysOfRecords, keysOfSpans } = await findNewReports(db, place, { all, sender });
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
  const counted = [...spans].flatMap(([one, span]) => callsOfOne(span).map((call) => changeOf(one, call)));
  const failures = failed.flatMap(({ report, call }) =>
    (call ? [call] : callsOfOne(callSpanOf(report))).map((one) => changeOf(report, failureOf(one))),
  );
  const ofRecords = [...keysOfRecords].map(([key, report]) => storedKey(key, report, report && spans.get(report)));
  const ofSpans = [...keysOfSpans].map((key) => storedKey(key));
  await insertTelemetryCalls(db, place, { calls: ofSpans, signal: 'span' }, now);
  await insertTelemetryCalls(db, place, { calls: ofRecords, signal: 'log' }, now);
  const changes = [...counted, ...failures];
  const unobserved = await applyChanges(db, place, { changes, providers, newProviders, sender, limits }, now);
  return { counted: counted.length, known: all.length - counted.length, unobserved };
}

/** A key to store, with the record that counted its call, and under the record's key with the call. @param span that call */
function storedKey(key: string, report?: RecordReport | null, span?: CallSpan | null): NewTelemetryCall {
  const recordKey = report?.recordKey ?? null;
  if (recordKey === null || !span || span.uses.length === 0) return { key, recordKey: null, countedCall: null };
  return { key, recordKey, countedCall: key === recordKey ? encodeCalls([span]) : null };
}
