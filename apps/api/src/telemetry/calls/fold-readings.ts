import type { Database } from '@quartermaster/db/database.ts';
import { findTelemetryCalls, insertTelemetryCalls } from '@quartermaster/db/repositories/telemetry-calls.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { FoldLimits } from '../../runtime-observations/fold.ts';
import { NOTHING_UNOBSERVED, type Unobserved } from '../../runtime-observations/within-limits.ts';
import type { FoldedSpan } from '../../runtime-observations/sightings.ts';
import type { Facts, Reading, Use } from '../dialects/facts.ts';
import { applyChanges } from './apply-changes.ts';
import type { CallChange } from './call-changes.ts';
import { keyOfCallId, keyOfRecord, keyOfSpan } from './call-keys.ts';
import { makeCallSpan } from './make-call-span.ts';
import { matchUses } from './match-uses.ts';
import { resolve } from './resolve.ts';
import { toldBySpans } from './told-by-spans.ts';

/** A log record that was read. Plain data. */
export type ToldRecord = {
  reading: Reading;
  /** `service.name` of the resource, as `FoldedSpan.serviceName`. */
  serviceName: string | null;
  /** RFC 3339, UTC. */
  time: string;
  /** Null where the record does not say how long the call took. */
  durationMs: number | null;
  failed: boolean;
  traceId: string | null;
  spanId: string | null;
  /** The same for the same record sent again, another one for every other record. */
  digest: string;
};

type RecordBatch = { records: readonly ToldRecord[]; sender: string; limits: FoldLimits };

/** A use of a record, with what identifies its call. */
type Told = { record: ToldRecord; span: FoldedSpan; use: Use; key: string; remembered: string[] };

/**
 * Counts the calls that log records tell of, in the transaction of the caller. A call counts once, whichever signal tells of
 * it first: spans and records of one call are recognised by its id, or by the span that the record was written in. A
 * record that is sent again counts once.
 *
 * @returns how many calls were counted, how many were known before, and how many were not observed, because the tenant has
 *   as many subjects as it may
 */
export async function foldReadings(
  db: Database,
  place: TenantPlace,
  { records, sender, limits }: RecordBatch,
  now: Date,
): Promise<{ counted: number; known: number; unobserved: Unobserved }> {
  const all = records.flatMap((record) => toldBy(record, sender));
  if (all.length === 0) return { counted: 0, known: 0, unobserved: NOTHING_UNOBSERVED };
  const found = await findTelemetryCalls(db, place, [...new Set(all.map(({ key }) => key))]);
  const isToldBySpan = await toldBySpans(db, place, { records: all.map(({ record }) => record), sender });
  const keys = new Set(found.keys());
  const fresh = all.filter(({ record, use, key }) => {
    if (keys.has(key) || isToldBySpan(record, use, record.reading.facts?.callId ?? null)) return false;
    keys.add(key);
    return true;
  });
  const remembered = new Set(fresh.flatMap((one) => one.remembered));
  await insertTelemetryCalls(db, place, { keys: [...remembered], signal: 'log' }, now);
  const { matchOf, providers, made } = await matchUses(
    db,
    place,
    fresh.map(({ span }) => span),
    now,
  );
  const changes = fresh.flatMap(({ record, span, use }): CallChange[] => {
    const call = makeCallSpan({ ...span, uses: [use] }, (own) => matchOf(span, own), { now, limits });
    if (!call) return [];
    const calls = resolve(new Map([[call.spanId, null]]), [call]);
    return calls.map((one) => ({ call: one, traceId: record.spanId === null ? null : record.traceId, by: 1 }));
  });
  const unobserved = await applyChanges(db, place, { changes, providers, made, sender, limits }, now);
  return { counted: changes.length, known: all.length - changes.length, unobserved };
}

function toldBy(record: ToldRecord, sender: string): Told[] {
  const { facts, uses } = record.reading;
  if (facts === null) return [];
  const span = asSpan(record, facts);
  return uses.map((use) => {
    const { callId } = facts;
    const { traceId, spanId, digest } = record;
    const inSpan = traceId !== null && spanId !== null ? [keyOfSpan(sender, use.kind, { traceId, spanId })] : [];
    if (callId !== null) {
      const key = keyOfCallId(sender, use.kind, callId);
      return { record, span, use, key, remembered: [key] };
    }
    const key = keyOfRecord(sender, `${digest} ${use.kind}`);
    return { record, span, use, key, remembered: [key, ...inSpan] };
  });
}

/** A record as the span that it stands for: its time is the end of the call. */
function asSpan(
  { reading, serviceName, time, durationMs, failed, traceId, spanId, digest }: ToldRecord,
  facts: Facts,
): FoldedSpan {
  const end = Date.parse(`${time.slice(0, 23).replace(/Z$/, '')}Z`) * 1000;
  return {
    traceId: traceId ?? '',
    spanId: spanId ?? digest,
    parentSpanId: null,
    serviceName,
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
