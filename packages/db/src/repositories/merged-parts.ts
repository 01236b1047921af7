import type { Database } from '../database.ts';
import { isMerged, LOWEST_SPAN_ID, MERGED_PREFIX, mergedName, readMergedName, senderDigestOf } from '../merged-part.ts';
import { mergeSpanIndexes, SpanIndex } from '../span-index.ts';
import { decodeCallsColumn, DROPPED_CALLS, encodeCallsColumn } from '../trace-calls.ts';
import { firstPart, MAX_RESOLVED_SPANS, partsOfTrace } from './known-spans.ts';
import type { TraceRow } from './trace-rows.ts';

type TraceKey = Pick<TraceRow, 'tenant_id' | 'sub_tenant_id' | 'trace_id'>;
type LongTrace = TraceKey & Pick<TraceRow, 'first_spans' | 'first_calls'>;
type FreshPart = { part: string; index: SpanIndex; calls: Buffer | null };

/**
 * Merges the index rows of a trace's blocks into rows for ranges of span ids of one sender. This keeps look-ups cheap in a trace
 * of many small requests. Blocks are not changed. Only the ranges that get new spans are rewritten.
 */
export async function mergeParts(trx: Database, trace: LongTrace): Promise<void> {
  const rows = await partsOfTrace(trx, trace).selectAll().where('part', '<', MERGED_PREFIX).orderBy('part').execute();
  const fresh = [...firstPart(trace), ...rows].map(({ part, spans, calls }) => {
    return { part, index: new SpanIndex(spans), calls };
  });
  const names = await partsOfTrace(trx, trace)
    .select('part')
    .where('part', '>=', MERGED_PREFIX)
    .orderBy('part')
    .execute();
  await deleteParts(trx, trace).where('part', '<', MERGED_PREFIX).execute();
  if (trace.first_spans !== null) await clearFirstPart(trx, trace);
  for (const [sender, own] of Map.groupBy(fresh, ({ index }) => index.blocks[0]?.sender ?? '')) {
    const senderDigest = senderDigestOf(sender);
    const merged = names
      .map(({ part }) => ({ part, ...readMergedName(part) }))
      .filter((one) => one.senderDigest === senderDigest);
    await mergeOfSender(trx, trace, { senderDigest, merged, fresh: own });
  }
}

type PartsOfSender = {
  senderDigest: string;
  /** In the order of their first span ids. */
  merged: readonly { part: string; from: string; count: number }[];
  fresh: readonly FreshPart[];
};

async function mergeOfSender(
  trx: Database,
  trace: TraceKey,
  { senderDigest, merged, fresh }: PartsOfSender,
): Promise<void> {
  const ranges: readonly { part: string | null; from: string }[] =
    merged.length === 0 ? [{ part: null, from: LOWEST_SPAN_ID }] : merged;
  const [first] = merged;
  const oldest = first
    ? await partsOfTrace(trx, trace).select(['part', 'calls']).where('part', '=', first.part).execute()
    : [];
  const spanCount =
    merged.reduce((sum, { count }) => sum + count, 0) + fresh.reduce((sum, { index }) => sum + index.count, 0);
  const calls = spanCount > MAX_RESOLVED_SPANS ? DROPPED_CALLS : mergedCalls([...oldest, ...fresh]);
  for (const [number, { part, from }] of ranges.entries()) {
    const next = ranges[number + 1]?.from ?? null;
    const added = fresh.map(({ index }) => index.between(from, next)).filter((range) => range.end > range.first);
    // The first range is always rewritten, since it holds the calls.
    if (added.length === 0 && from !== LOWEST_SPAN_ID) continue;
    const stored =
      part === null
        ? undefined
        : await partsOfTrace(trx, trace).select('spans').where('part', '=', part).executeTakeFirst();
    const indexes = mergeSpanIndexes([...(stored ? [wholeIndex(stored.spans)] : []), ...added], from);
    if (part !== null) await deleteParts(trx, trace).where('part', '=', part).execute();
    for (const range of indexes) {
      await trx
        .insertInto('trace_blocks')
        .values({
          tenant_id: trace.tenant_id,
          sub_tenant_id: trace.sub_tenant_id,
          trace_id: trace.trace_id,
          part: mergedName({ senderDigest, from: range.from, count: new SpanIndex(range.bytes).count }),
          spans: range.bytes,
          calls: range.from === LOWEST_SPAN_ID ? calls : null,
        })
        .execute();
    }
  }
}

function mergedCalls(parts: readonly { part: string; calls: Buffer | null }[]): Buffer | null {
  const decoded = parts
    .toSorted((a, b) => Number(isMerged(b)) - Number(isMerged(a)))
    .map(({ calls }) => decodeCallsColumn(calls));
  if (decoded.some((calls) => calls === null)) return DROPPED_CALLS;
  return encodeCallsColumn(decoded.flatMap((calls) => calls ?? []));
}

function wholeIndex(bytes: Buffer) {
  return new SpanIndex(bytes).between(LOWEST_SPAN_ID, null);
}

async function clearFirstPart(trx: Database, { tenant_id, sub_tenant_id, trace_id }: TraceKey): Promise<void> {
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
