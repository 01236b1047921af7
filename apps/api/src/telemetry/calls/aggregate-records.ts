import type { Database } from '@quartermaster/db/database.ts';
import { findTelemetryCalls, insertTelemetryCalls } from '@quartermaster/db/repositories/telemetry-calls.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { AggregationLimits } from '../../governance/observations/aggregate.ts';
import { NOTHING_UNOBSERVED, type Unobserved } from '../../governance/observations/admit-sightings.ts';
import type { InterpretedSpan } from './interpreted-span.ts';
import type { Facts, Reading, Use } from '../dialects/facts.ts';
import { applyChanges } from './apply-changes.ts';
import type { CallChange } from './call-changes.ts';
import { type CallsBelow, keyOfCallBelow, keyOfRecord, keysOfCallId, keysOfSpan, namesOfCall } from './call-keys.ts';
import { makeCallSpan } from './make-call-span.ts';
import { matchUses } from './match-uses.ts';
import { resolve } from './resolve.ts';
import { comparableName } from './same-name.ts';
import { MAX_RECORDS_BELOW, countRecordsBelow } from './records-below.ts';
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
  /** The calls that it may report if it was written in their parent span. Null for a record with a call id. */
  below: CallsBelow | null;
  /** The call was rejected. It does not count, and its keys are stored so that no other record or span counts it. */
  isRejection: boolean;
};

/**
 * Aggregates the calls that log records report, in the caller's transaction. A call that spans and records report counts
 * once, by the signal that comes first. It is recognised by its call id, or by the span that the record was written in:
 * the call's span or its parent. A record that is sent again counts once. A record that reports only tokens adds them to
 * usage. A call that a record says was rejected does not count.
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
  const { fresh, remembered } = await findFreshReports(db, place, { all, sender });
  await insertTelemetryCalls(db, place, { keys: remembered, signal: 'log' }, now);
  const { matchOf, providers, newProviders } = await matchUses(
    db,
    place,
    fresh.map(({ span }) => span),
    now,
  );
  const changes = fresh.flatMap(({ record, span, use, isRejection }): CallChange[] => {
    if (isRejection) return [];
    const call = makeCallSpan({ ...span, uses: [use] }, (own) => matchOf(span, own), { now, limits });
    if (!call) return [];
    const calls = resolve(new Map([[call.spanId, null]]), [call]);
    const traceId = record.spanId === null ? null : record.traceId;
    return calls.map((one) => ({ call: one, traceId, by: 1 }));
  });
  const unobserved = await applyChanges(db, place, { changes, providers, newProviders, sender, limits }, now);
  return { counted: changes.length, known: all.length - changes.length, unobserved };
}

/** The reports of calls that no signal reported before, and the keys to store, so that all calls are recognised later. */
async function findFreshReports(
  db: Database,
  place: TenantPlace,
  { all, sender }: { all: readonly RecordReport[]; sender: string },
): Promise<{ fresh: RecordReport[]; remembered: string[] }> {
  const found = await findTelemetryCalls(db, place, [...new Set(all.flatMap(({ recognised }) => recognised))]);
  const spans = await findSpanReports(db, place, { records: all.map(({ record }) => record), sender });
  const unknown = all.filter(({ recognised }) => !recognised.some((key) => found.has(key)));
  const recordsBelow = await countRecordsBelow(db, place, {
    below: unknown.flatMap(({ below }) => below ?? []),
    sender,
  });
  const keys = new Set<string>();
  const positions = new Map<string, number>();
  const fresh: RecordReport[] = [];
  const remembered = new Set<string>();
  for (const one of unknown) {
    const { record, use, below } = one;
    if (one.recognised.some((key) => keys.has(key))) continue;
    for (const key of one.own) keys.add(key);
    if (use.times !== 0 && spans.isReported(record, use)) continue;
    if (below !== null) {
      const id = JSON.stringify(below);
      const position = positions.get(id) ?? recordsBelow(below);
      positions.set(id, position + 1);
      if (position < MAX_RECORDS_BELOW) remembered.add(keyOfCallBelow(sender, below, position));
      if (position < spans.countBelow(below)) {
        for (const key of one.own) remembered.add(key);
        continue;
      }
    }
    fresh.push(one);
    for (const key of one.remembered) remembered.add(key);
  }
  return { fresh, remembered: [...remembered] };
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
    ...keysOf(record, use, { facts, sender }),
  }));
  if (tokensOf === undefined) return reports;
  const own = [keyOfRecord(sender, `${record.digest} tokens`)];
  const keys = { recognised: own, own, remembered: own, below: null };
  return [...reports, { record, span, use: { ...tokensOf, times: 0 }, ...keys, isRejection: false }];
}

function keysOf(
  { traceId, spanId, digest }: InterpretedRecord,
  use: Use,
  { facts, sender }: { facts: Facts; sender: string },
): Pick<RecordReport, 'recognised' | 'own' | 'remembered' | 'below'> {
  const { kind, name } = use;
  const { callId, conversationId } = facts;
  const call = { sender, kind, names: namesOfCall(use, facts), traceId, conversationId };
  if (callId !== null) {
    const { recognised, remembered } = keysOfCallId(call, callId);
    return { recognised, own: remembered, remembered, below: null };
  }
  const own = [keyOfRecord(sender, `${digest} ${kind}${kind === 'tool' ? ` ${name}` : ''}`)];
  if (traceId === null || spanId === null) return { recognised: own, own, remembered: own, below: null };
  const below = { traceId, parentSpanId: spanId, kind, name: comparableName(kind, name) };
  return { recognised: own, own, remembered: [...own, ...keysOfSpan(call, { traceId, spanId })], below };
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
