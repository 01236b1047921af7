import type { Database } from '@quartermaster/db/database.ts';
import { findTelemetryCalls, insertTelemetryCalls } from '@quartermaster/db/repositories/telemetry-calls.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { FoldLimits } from '../../runtime-observations/fold.ts';
import { NOTHING_UNOBSERVED, type Unobserved } from '../../runtime-observations/within-limits.ts';
import type { FoldedSpan } from '../../runtime-observations/sightings.ts';
import type { Facts, Reading, Use } from '../dialects/facts.ts';
import { applyChanges } from './apply-changes.ts';
import type { CallChange } from './call-changes.ts';
import { type CallsBelow, keyOfCallBelow, keyOfRecord, keysOfCallId, keysOfSpan, namesOfCall } from './call-keys.ts';
import { makeCallSpan } from './make-call-span.ts';
import { matchUses } from './match-uses.ts';
import { resolve } from './resolve.ts';
import { comparableName } from './same-name.ts';
import { MAX_TOLD_BELOW, toldBelow } from './told-below.ts';
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
type Told = {
  record: ToldRecord;
  span: FoldedSpan;
  use: Use;
  /** Any of these keys says that the call is known. */
  recognised: string[];
  /** What the record itself is known by, when it is sent again. */
  own: string[];
  /** What the call is known by, once it is counted. */
  remembered: string[];
  /** The calls that it may tell of, if the span that it was written in is their parent. Null for a record with a call id. */
  below: CallsBelow | null;
  /** Another record counts the call. */
  isTokensOnly: boolean;
};

/**
 * Counts the calls that log records tell of, in the transaction of the caller. A call counts once, whichever signal tells of
 * it first: spans and records of one call are recognised by its id, or by the span that the record was written in, which is
 * the call's or its parent. A record that is sent again counts once. Records that only tell of tokens add them to usage.
 *
 * @returns how many records counted, how many were known before, and how many calls were not observed, because the tenant
 *   has as many subjects as it may
 */
export async function foldReadings(
  db: Database,
  place: TenantPlace,
  { records, sender, limits }: RecordBatch,
  now: Date,
): Promise<{ counted: number; known: number; unobserved: Unobserved }> {
  const all = records.flatMap((record) => toldBy(record, sender));
  if (all.length === 0) return { counted: 0, known: 0, unobserved: NOTHING_UNOBSERVED };
  const { fresh, remembered } = await freshOf(db, place, { all, sender });
  await insertTelemetryCalls(db, place, { keys: remembered, signal: 'log' }, now);
  const { matchOf, providers, made } = await matchUses(
    db,
    place,
    fresh.map(({ span }) => span),
    now,
  );
  const changes = fresh.flatMap(({ record, span, use, isTokensOnly }): CallChange[] => {
    const call = makeCallSpan({ ...span, uses: [use] }, (own) => matchOf(span, own), { now, limits });
    if (!call) return [];
    const calls = resolve(new Map([[call.spanId, null]]), [call]);
    const traceId = record.spanId === null ? null : record.traceId;
    return calls.map((one) => ({ call: one, traceId, by: 1, isTokensOnly }));
  });
  const unobserved = await applyChanges(db, place, { changes, providers, made, sender, limits }, now);
  return { counted: changes.length, known: all.length - changes.length, unobserved };
}

/** Those that tell of calls that no signal told of before, and the keys by which the calls of all are recognised later. */
async function freshOf(
  db: Database,
  place: TenantPlace,
  { all, sender }: { all: readonly Told[]; sender: string },
): Promise<{ fresh: Told[]; remembered: string[] }> {
  const found = await findTelemetryCalls(db, place, [...new Set(all.flatMap(({ recognised }) => recognised))]);
  const spans = await toldBySpans(db, place, { records: all.map(({ record }) => record), sender });
  const unknown = all.filter(({ recognised }) => !recognised.some((key) => found.has(key)));
  const countTold = await toldBelow(db, place, { below: unknown.flatMap(({ below }) => below ?? []), sender });
  const keys = new Set<string>();
  const positions = new Map<string, number>();
  const fresh: Told[] = [];
  const remembered = new Set<string>();
  for (const one of unknown) {
    const { record, use, below, isTokensOnly } = one;
    if (one.recognised.some((key) => keys.has(key))) continue;
    for (const key of one.own) keys.add(key);
    if (!isTokensOnly && spans.isTold(record, use)) continue;
    if (below !== null) {
      const id = JSON.stringify(below);
      const position = positions.get(id) ?? countTold(below);
      positions.set(id, position + 1);
      if (position < MAX_TOLD_BELOW) remembered.add(keyOfCallBelow(sender, below, position));
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

function toldBy(record: ToldRecord, sender: string): Told[] {
  const { facts, uses, tokensOf } = record.reading;
  if (facts === null) return [];
  const span = asSpan(record, facts);
  const told = uses.map((use) => ({
    record,
    span,
    use,
    isTokensOnly: false,
    ...keysOf(record, use, { facts, sender }),
  }));
  if (tokensOf === undefined) return told;
  const own = [keyOfRecord(sender, `${record.digest} tokens`)];
  const keys = { recognised: own, own, remembered: own, below: null };
  return [...told, { record, span, use: tokensOf, ...keys, isTokensOnly: true }];
}

function keysOf(
  { traceId, spanId, digest }: ToldRecord,
  use: Use,
  { facts, sender }: { facts: Facts; sender: string },
): Pick<Told, 'recognised' | 'own' | 'remembered' | 'below'> {
  const { kind, name } = use;
  const { callId, conversationId } = facts;
  const told = { sender, kind, names: namesOfCall(use, facts), traceId, conversationId };
  if (callId !== null) {
    const { recognised, remembered } = keysOfCallId(told, callId);
    return { recognised, own: remembered, remembered, below: null };
  }
  const own = [keyOfRecord(sender, `${digest} ${kind}`)];
  if (traceId === null || spanId === null) return { recognised: own, own, remembered: own, below: null };
  const below = { traceId, parentSpanId: spanId, kind, name: comparableName(kind, name) };
  return { recognised: own, own, remembered: [...own, ...keysOfSpan(told, { traceId, spanId })], below };
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
