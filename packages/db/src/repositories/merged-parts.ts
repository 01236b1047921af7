import type { Database } from '../database.ts';
import { mergeSpanIndexes, SpanIndex } from '../span-index.ts';
import { decodeCalls, DROPPED_CALLS, encodeCalls } from '../trace-calls.ts';
import { firstPart, isMerged, MAX_RESOLVED_SPANS, MERGED, partsOfTrace } from './known-spans.ts';
import type { TraceRow } from './trace-rows.ts';

const FIRST_ID = '0'.repeat(16);

/** Holds the merged calls of its trace. */
const FIRST_PART = MERGED + FIRST_ID;

type TraceKey = Pick<TraceRow, 'tenant_id' | 'sub_tenant_id' | 'trace_id' | 'span_count'>;
type LongTrace = TraceKey & Pick<TraceRow, 'first_spans' | 'first_calls'>;

/**
 * Merges the index rows of a trace's blocks into rows that each hold a range of span ids, so that a trace of many tiny
 * requests stays cheap to look into. Blocks stay as they are. It rewrites the ranges that get spans.
 */
export async function mergeParts(trx: Database, trace: LongTrace): Promise<void> {
  const rows = await partsOfTrace(trx, trace).selectAll().where('part', '<', MERGED).orderBy('part').execute();
  const fresh = [...firstPart(trace), ...rows];
  const names = await partsOfTrace(trx, trace).select('part').where('part', '>=', MERGED).orderBy('part').execute();
  const ranges = names.length === 0 ? [FIRST_PART] : names.map(({ part }) => part);
  const indexes = fresh.map(({ spans }) => new SpanIndex(spans));
  await deleteParts(trx, trace).where('part', '<', MERGED).execute();
  if (trace.first_spans !== null) await forgetFirstPart(trx, trace);
  const oldest = await partsOfTrace(trx, trace).selectAll().where('part', '=', FIRST_PART).executeTakeFirst();
  const calls =
    trace.span_count > MAX_RESOLVED_SPANS ? DROPPED_CALLS : mergedCalls([...(oldest ? [oldest] : []), ...fresh]);
  for (const [number, part] of ranges.entries()) {
    const from = part.slice(MERGED.length);
    const next = ranges[number + 1]?.slice(MERGED.length) ?? null;
    const added = indexes.map((index) => index.between(from, next)).filter(({ first, end }) => end > first);
    // The first one gets the calls.
    if (added.length === 0 && part !== FIRST_PART) continue;
    const stored = await partsOfTrace(trx, trace).select('spans').where('part', '=', part).executeTakeFirst();
    const merged = mergeSpanIndexes([...(stored ? [wholeIndex(stored.spans)] : []), ...added], from);
    await deleteParts(trx, trace).where('part', '=', part).execute();
    for (const range of merged) {
      const name = MERGED + range.from;
      await trx
        .insertInto('trace_blocks')
        .values({
          tenant_id: trace.tenant_id,
          sub_tenant_id: trace.sub_tenant_id,
          trace_id: trace.trace_id,
          part: name,
          spans: range.bytes,
          calls: name === FIRST_PART ? calls : null,
        })
        .execute();
    }
  }
}

function mergedCalls(parts: readonly { part: string; calls: Buffer | null }[]): Buffer | null {
  const decoded = parts
    .toSorted((a, b) => Number(isMerged(b)) - Number(isMerged(a)))
    .map(({ calls }) => decodeCalls(calls));
  if (decoded.some((calls) => calls === null)) return DROPPED_CALLS;
  return encodeCalls(decoded.flatMap((calls) => calls ?? []));
}

function wholeIndex(bytes: Buffer) {
  return new SpanIndex(bytes).between(FIRST_ID, null);
}

async function forgetFirstPart(trx: Database, { tenant_id, sub_tenant_id, trace_id }: TraceKey): Promise<void> {
  await trx
    .updateTable('traces')
    .set({ first_spans: null, first_calls: null })
    .where('tenant_id', '=', tenant_id)
    .where('sub_tenant_id', '=', sub_tenant_id)
    .where('trace_id', '=', trace_id)
    .execute();
}

function deleteParts(trx: Database, { tenant_id, sub_tenant_id, trace_id }: TraceKey) {
  return trx
    .deleteFrom('trace_blocks')
    .where('tenant_id', '=', tenant_id)
    .where('sub_tenant_id', '=', sub_tenant_id)
    .where('trace_id', '=', trace_id);
}
