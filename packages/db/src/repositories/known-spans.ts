import { yieldWhenDue } from '../turns.ts';
import type { Database } from '../database.ts';
import { isMerged, MERGED_PREFIX, readMergedName, senderDigestOf } from '../merged-part.ts';
import { placeColumns } from '../queries.ts';
import { multiRowStatement } from '../prepared-statement.ts';
import { SpanIndex } from '../span-index.ts';
import type { TenantPlace } from '../tenancy.ts';
import { decodeAllCalls, type StoredCalls } from '../trace-calls.ts';
import { selectTraceRows, type TraceRow } from './trace-rows.ts';

/**
 * If a sender has more spans in a trace, its calls are resolved per batch only. Resolving the stored spans of a trace together
 * with each new batch takes about 10 ms for 1,000 spans.
 */
export const MAX_RESOLVED_SPANS = 4000;

/** The most stored spans of the sender that are resolved with one batch. Further traces are resolved per batch only. */
const MAX_SPANS_READ = 10_000;

type KnownSpan = {
  spanId: string;
  parentSpanId: string | null;
  /** RFC 3339, UTC, nanoseconds. */
  startTime: string;
  /** A digest of the content: 16 hex digits. */
  digest: string;
  /** `user:<id>` or `service_account:<tenant>/<id>`. */
  sender: string;
};

type SpanWithParent = Pick<KnownSpan, 'spanId' | 'parentSpanId' | 'sender'>;

/**
 * What is stored of a trace at one place, from the view of one sender. All limits count the sender's own spans, so that other
 * senders cannot influence how they are processed.
 */
export type KnownTrace = {
  traceId: string;
  /** Spans of the sender. */
  spanCount: number;
  /**
   * Whether `spans` and `calls` contain all spans and calls of the sender. Otherwise they are empty: the sender has more than
   * {@link MAX_RESOLVED_SPANS} spans in the trace, or too many bytes of calls, or the batch has too many large traces.
   */
  isComplete: boolean;
  /** The stored spans of all senders with an id. Only for ids of the batch. */
  find(spanId: string): readonly KnownSpan[];
  /** All spans of the sender with their parents, decoded lazily. */
  spans(): Iterable<SpanWithParent>;
  /** The calls of the sender's blocks, in the order in which they were stored. */
  calls: readonly StoredCalls[];
  /** For storing the batch: the trace's row, and how much of its index is not merged. */
  row: TraceRow;
  unmerged: { rows: number; spans: number };
};

type AskedSpan = { traceId: string; spanId: string };
type PartRow = { trace_id: string; part: string; spans: Buffer; calls: Buffer | null };
type PlaceColumns = ReturnType<typeof placeColumns>;
type TraceKey = Pick<TraceRow, 'tenant_id' | 'sub_tenant_id' | 'trace_id'>;

/** The sender of the batch, and how many of its spans in one trace may be read. */
type Reader = { sender: string; maxSpans: number };

/**
 * The traces of a batch that already have spans, by trace id. Call it in the transaction that stores the batch. If all traces are
 * new, as usual, it takes one look-up.
 *
 * @param spans the spans of the batch
 * @param sender the sender of the batch
 */
export async function findKnownSpans(
  trx: Database,
  place: TenantPlace,
  { spans, sender }: { spans: readonly AskedSpan[]; sender: string },
): Promise<ReadonlyMap<string, KnownTrace>> {
  const columns = placeColumns(place);
  const asked = Map.groupBy(spans, ({ traceId }) => traceId);
  const ids = [...asked.keys()].map((traceId) => ({ traceId }));
  const rows = await selectTraceRows(trx, ids, columns);
  const small = smallTraces(rows);
  const parts = await selectParts(trx, small, columns);
  const partsOf = Map.groupBy(parts, (part) => part.trace_id);
  const isSmall = new Set(small.map(({ traceId }) => traceId));
  const rowOf = new Map(rows.map((row) => [row.trace_id, row]));
  const known = new Map<string, KnownTrace>();
  let read = 0;
  // In the order of the batch, so that only the sender's own spans decide which traces are complete.
  for (const [traceId, ofTrace] of asked) {
    const row = rowOf.get(traceId);
    if (!row) continue;
    const reader = { sender, maxSpans: Math.min(MAX_RESOLVED_SPANS, MAX_SPANS_READ - read) };
    let trace: KnownTrace;
    if (isSmall.has(traceId)) trace = wholeTrace(row, [...firstPart(row), ...(partsOf.get(traceId) ?? [])], reader);
    else {
      trace = await largeTrace(trx, row, { asked: ofTrace, reader });
      await yieldWhenDue();
    }
    if (trace.spanCount <= reader.maxSpans) read += trace.spanCount;
    known.set(traceId, trace);
  }
  return known;
}

/** The traces that are read with one statement, with the spans of all senders. Small traces are chosen first. */
function smallTraces(rows: readonly TraceRow[]): { traceId: string }[] {
  let read = 0;
  return rows
    .toSorted((a, b) => a.span_count - b.span_count)
    .filter((row) => {
      read += row.span_count;
      return row.span_count <= MAX_RESOLVED_SPANS && read <= MAX_SPANS_READ;
    })
    .map((row) => ({ traceId: row.trace_id }));
}

const selectParts = multiRowStatement((db, rows: readonly { traceId: string }[], place: PlaceColumns) =>
  db
    .selectFrom('trace_blocks')
    .select(['trace_id', 'part', 'spans', 'calls'])
    .where('tenant_id', '=', place.tenant_id)
    .where('sub_tenant_id', '=', place.sub_tenant_id)
    .where(
      'trace_id',
      'in',
      rows.map(({ traceId }) => traceId),
    ),
);

function wholeTrace(row: TraceRow, unsorted: readonly PartRow[], { sender, maxSpans }: Reader): KnownTrace {
  // Merged calls are older than those of unmerged blocks, and block ids sort by time.
  const parts = unsorted
    .toSorted((a, b) => Number(isMerged(b)) - Number(isMerged(a)) || (a.part < b.part ? -1 : 1))
    .map((part) => ({ part, index: new SpanIndex(part.spans) }));
  const partsOfSender = parts.filter(({ index }) => isOf(sender, index));
  const spanCount = partsOfSender.reduce((sum, { index }) => sum + index.count, 0);
  const calls = spanCount <= maxSpans ? decodeAllCalls(partsOfSender.map(({ part }) => part.calls)) : null;
  const isComplete = calls !== null;
  return {
    traceId: row.trace_id,
    spanCount,
    isComplete,
    find: (spanId) => parts.flatMap(({ index }) => spansWithId(index, spanId)),
    spans: () => (isComplete ? everySpan(partsOfSender.map(({ index }) => index)) : []),
    calls: calls ?? [],
    row,
    unmerged: unmergedOf(unsorted),
  };
}

/**
 * Reads a trace with many spans. The sender's own spans are all read if they are few. Those of other senders are looked up by the
 * ids of the batch.
 */
async function largeTrace(
  trx: Database,
  row: TraceRow,
  { asked, reader }: { asked: readonly AskedSpan[]; reader: Reader },
): Promise<KnownTrace> {
  const names = await partsOfTrace(trx, row)
    .select('part')
    .where('part', '>=', MERGED_PREFIX)
    .orderBy('part')
    .execute();
  const merged = names.map(({ part }) => ({ part, ...readMergedName(part) }));
  const rows = await partsOfTrace(trx, row)
    .select(['trace_id', 'part', 'spans', 'calls'])
    .where('part', '<', MERGED_PREFIX)
    .execute();
  const unmerged = [...firstPart(row), ...rows];
  const ownDigest = senderDigestOf(reader.sender);
  const ownNames = merged.filter((part) => part.senderDigest === ownDigest);
  const ownUnmerged = unmerged.filter(({ spans }) => isOf(reader.sender, new SpanIndex(spans)));
  const spanCount =
    ownNames.reduce((sum, { count }) => sum + count, 0) +
    ownUnmerged.reduce((sum, { spans }) => sum + new SpanIndex(spans).count, 0);
  const isRead = spanCount <= reader.maxSpans;
  const ownMerged = isRead ? await readParts(trx, row, ownNames) : [];
  const own = wholeTrace(row, isRead ? [...ownMerged, ...ownUnmerged] : [], reader);
  const ids = [...new Set(asked.map(({ spanId }) => spanId))];
  const found = new Map<string, KnownSpan[]>();
  const lookIn = (bytes: Buffer, spanIds: readonly string[]) => {
    const index = new SpanIndex(bytes);
    for (const id of spanIds) {
      const spans = spansWithId(index, id);
      if (spans.length > 0) found.set(id, [...(found.get(id) ?? []), ...spans]);
    }
  };
  for (const { spans } of [...ownMerged, ...unmerged]) lookIn(spans, ids);
  const others = isRead ? merged.filter((part) => part.senderDigest !== ownDigest) : merged;
  for (const ranges of Map.groupBy(others, (part) => part.senderDigest).values()) {
    const partOf = (id: string) => ranges.findLast(({ from }) => from <= id)?.part ?? '';
    for (const [part, ofPart] of Map.groupBy(ids, partOf)) {
      const [stored] = await partsOfTrace(trx, row).select('spans').where('part', '=', part).execute();
      if (stored) lookIn(stored.spans, ofPart);
    }
    await yieldWhenDue();
  }
  return {
    ...own,
    spanCount,
    isComplete: isRead && own.isComplete,
    find: (spanId) => found.get(spanId) ?? [],
    unmerged: unmergedOf(unmerged),
  };
}

async function readParts(trx: Database, row: TraceRow, names: readonly { part: string }[]): Promise<PartRow[]> {
  if (names.length === 0) return [];
  return partsOfTrace(trx, row)
    .select(['trace_id', 'part', 'spans', 'calls'])
    .where(
      'part',
      'in',
      names.map(({ part }) => part),
    )
    .execute();
}

/** Whether an index row belongs to a sender. Each row has the spans of one sender. */
function isOf(sender: string, { blocks }: Pick<SpanIndex, 'blocks'>): boolean {
  return blocks[0]?.sender === sender;
}

/** The index that is stored in the trace's row, in the form of an index row. */
export function firstPart(row: Pick<TraceRow, 'trace_id' | 'first_spans' | 'first_calls'>): PartRow[] {
  const { first_spans: spans, first_calls: calls } = row;
  if (spans === null) return [];
  return [{ trace_id: row.trace_id, part: new SpanIndex(spans).block(0).id, spans, calls }];
}

/** The index rows of a trace. */
export function partsOfTrace(trx: Database, { tenant_id, sub_tenant_id, trace_id }: TraceKey) {
  return trx
    .selectFrom('trace_blocks')
    .where('tenant_id', '=', tenant_id)
    .where('sub_tenant_id', '=', sub_tenant_id)
    .where('trace_id', '=', trace_id);
}

function unmergedOf(parts: readonly Pick<PartRow, 'part' | 'spans'>[]): KnownTrace['unmerged'] {
  const unmerged = parts.filter((part) => !isMerged(part));
  return {
    rows: unmerged.length,
    spans: unmerged.reduce((sum, { spans }) => sum + new SpanIndex(spans).count, 0),
  };
}

function spansWithId(index: SpanIndex, spanId: string): KnownSpan[] {
  const [first, end] = index.rangeOf(spanId);
  return Array.from({ length: end - first }, (_, offset) => spanAt(index, first + offset));
}

function* everySpan(indexes: readonly SpanIndex[]): Generator<SpanWithParent> {
  for (const index of indexes) {
    for (let number = 0; number < index.count; number += 1) {
      yield {
        spanId: index.spanId(number),
        parentSpanId: index.parentSpanId(number),
        sender: index.block(number).sender,
      };
    }
  }
}

function spanAt(index: SpanIndex, number: number): KnownSpan {
  return {
    spanId: index.spanId(number),
    parentSpanId: index.parentSpanId(number),
    startTime: index.startTime(number),
    digest: index.digest(number),
    sender: index.block(number).sender,
  };
}
