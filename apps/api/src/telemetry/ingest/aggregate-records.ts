import type { Database } from '@quartermaster/db/database.ts';
import { changeCountedCalls, insertTelemetryCalls } from '@quartermaster/db/repositories/telemetry-calls.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { AggregationLimits } from '../../governance/observations/aggregate.ts';
import { NOTHING_UNOBSERVED, type Unobserved } from '../../governance/observations/admit-sightings.ts';
import { applyChanges } from './apply-changes.ts';
import type { CallChange } from '../calls/call-changes.ts';
import type { InterpretedRecord } from '../calls/interpreted-record.ts';
import { makeCallSpan } from '../calls/make-call-span.ts';
import { matchUses } from '../calls/match-uses.ts';
import { findProvidersOfCalls } from '../calls/providers-of-calls.ts';
import { findNewReports, type NewReports } from '../calls/new-reports.ts';
import { type RecordReport, reportsOf } from '../calls/record-reports.ts';
import { type Call, callsOfOne, failureOf } from '../calls/resolve.ts';
import { decodeCalls, encodeCalls } from '../calls/stored-calls.ts';

type RecordBatch = { records: readonly InterpretedRecord[]; sender: string; limits: AggregationLimits };

/**
 * Aggregates the calls that log records report, in the caller's transaction:
 * - If both spans and records report a call, it counts once, as the spans report it. A later span replaces the record's call.
 * - A record and a span are about the same call if they have the same call id, or if the record was written in the call's span or
 *   in its parent.
 * - If only the record says that the call failed, the call counts as failed.
 * - A record that is sent again counts once.
 * - A record that reports only tokens adds them to usage. A record that reports only a failure adds the failure.
 * - A call does not count if a record says that it was rejected.
 *
 * @returns how many reports were counted, how many were known before, how many keys were stored, and how many calls were not
 *   observed because a limit is full
 */
export async function aggregateRecordCalls(
  db: Database,
  place: TenantPlace,
  { records, sender, limits }: RecordBatch,
  now: Date,
): Promise<{ counted: number; known: number; keys: number; unobserved: Unobserved }> {
  const all = records.flatMap((record) => reportsOf(record, sender));
  if (all.length === 0) return { counted: 0, known: 0, keys: 0, unobserved: NOTHING_UNOBSERVED };
  const reports = await findNewReports(db, place, { all, sender });
  const { fresh, failed, failedRecords, added, keysOfRecords, keysOfSpans } = reports;
  const { matchOf, providers, newProviders } = await matchUses(
    db,
    place,
    [...fresh, ...failed.flatMap(({ report, call }) => (call ? [] : [report]))].map(({ span }) => span),
    now,
  );
  const callSpanOf = ({ span, use }: RecordReport) =>
    makeCallSpan({ ...span, uses: [use] }, (reportedUse) => matchOf(span, reportedUse), { now, limits });
  const changeOf = ({ record }: RecordReport, call: Call): CallChange => {
    return { call, traceId: record.spanId === null ? null : record.traceId, by: 1 };
  };
  const countedCalls = new Map<string, Uint8Array>();
  const counted: CallChange[] = [];
  for (const report of fresh) {
    const span = report.isRejection ? null : callSpanOf(report);
    if (span === null) continue;
    counted.push(...callsOfOne(span).map((call) => changeOf(report, call)));
    if (report.recordKey !== null && span.uses.length > 0) countedCalls.set(report.recordKey, encodeCalls([span]));
  }
  const failures = failed.flatMap(({ report, call }) =>
    (call ? [call] : callsOfOne(callSpanOf(report))).map((one) => changeOf(report, failureOf(one))),
  );
  const ofStored = failStoredCalls(failedRecords);
  for (const [report, calls] of ofStored.failed) failures.push(...calls.map((call) => changeOf(report, call)));
  await changeCountedCalls(db, place, ofStored.changed, now);
  const isStored = (recordKey: string) => countedCalls.has(recordKey) || failedRecords.has(recordKey);
  const ofSpans = [...keysOfSpans].map((key) => ({ key }));
  const ofRecords = [...keysOfRecords].map(([key, recordKey]) => ({
    key,
    recordKey: recordKey !== null && isStored(recordKey) ? recordKey : null,
    countedCall: countedCalls.get(key) ?? null,
  }));
  const ofSpanKeys = await insertTelemetryCalls(db, place, { calls: ofSpans, signal: 'span', sender }, now);
  const ofRecordKeys = await insertTelemetryCalls(db, place, { calls: ofRecords, signal: 'log', sender }, now);
  const evidence = added.map(({ report, call }) => {
    const { responseModel } = report.span.facts;
    const reportsOfCall = call.reports.map(({ span, use }) => ({ span, use: { ...use, responseModel } }));
    return { ...changeOf(report, { ...call, reports: reportsOfCall }), by: 0 as const };
  });
  const changes = [...counted, ...failures, ...evidence];
  const found = await findProvidersOfCalls(db, place, { changes, providers, newProviders }, now);
  const unobserved = await applyChanges(db, place, { changes, found, sender, limits }, now);
  const keys = ofSpanKeys + ofRecordKeys;
  return { counted: counted.length, known: all.length - counted.length, keys, unobserved };
}

/**
 * Makes calls that stored records counted into failed ones.
 *
 * @returns the failures to count, by their reports, and the changed calls, by the keys of the records
 */
function failStoredCalls(failedRecords: NewReports['failedRecords']) {
  const failed = new Map<RecordReport, Call[]>();
  const changed = new Map<string, Uint8Array>();
  for (const [recordKey, { report, countedCall }] of failedRecords) {
    const [span] = decodeCalls(countedCall);
    if (span === undefined || span.failed) continue;
    const asFailed = { ...span, failed: true };
    failed.set(report, callsOfOne(asFailed).map(failureOf));
    changed.set(recordKey, encodeCalls([asFailed]));
  }
  return { failed, changed };
}
