import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Database } from '../database.ts';
import { placeColumns } from '../queries.ts';
import { rowStatement } from '../row-statement.ts';
import { SpanIndex } from '../span-index.ts';
import type { TenantPlace } from '../tenancy.ts';
import { decodeCalls, type StoredCalls } from '../trace-calls.ts';
import { selectTraceRows, type TraceRow } from './trace-rows.ts';

/**
 * Traces with more spans are resolved per batch only. Each batch resolves what is stored of its traces anew, which takes about
 * 20 ms for so many spans.
 */
export const MAX_RESOLVED_SPANS = 2000;

/** Spans of known traces whose index is read whole for one batch. Of further traces only the spans of the batch are looked up. */
const MAX_SPANS_READ = 10_000;

/** What the name of a merged part begins with: it sorts after every block id. */
export const MERGED = 'm';

type KnownSpan = {
  spanId: string;
  parentSpanId: string | null;
  /** RFC 3339, UTC, nanoseconds. */
  startTime: string;
  /** Of the content: 16 hex digits. */
  digest: string;
  /** `user:<id>` or `service_account:<tenant>/<id>`. */
  sender: string;
};

type SpanWithParent = Pick<KnownSpan, 'spanId' | 'parentSpanId' | 'sender'>;

/** What is stored of a trace in one place. */
export type KnownTrace = {
  traceId: string;
  spanCount: number;
  /**
   * Whether all spans and calls are here. They are not beyond {@link MAX_RESOLVED_SPANS} and where a batch has too many
   * large traces: `find` then knows the spans that were asked for, `spans` and `calls` are empty.
   */
  isComplete: boolean;
  /** All spans that have an id: of several senders, or with different content. */
  find(spanId: string): readonly KnownSpan[];
  /** All spans with their parents, decoded one by one. */
  spans(): Iterable<SpanWithParent>;
  /** The calls of its blocks, in the order of storing. */
  calls: readonly StoredCalls[];
  /** For storage: the summary, and how much of the index is not merged. */
  row: TraceRow;
  unmerged: { rows: number; spans: number };
};

type AskedSpan = { traceId: string; spanId: string };
type PartRow = { trace_id: string; part: string; spans: Buffer; calls: Buffer | null };
type PlaceColumns = ReturnType<typeof placeColumns>;
type TraceKey = Pick<TraceRow, 'tenant_id' | 'sub_tenant_id' | 'trace_id'>;

/**
 * The traces of a batch that have spans already, by trace id. In the transaction that stores the batch. Where all traces are
 * new, as usual, it is one look-up.
 */
export async function findKnownSpans(
  trx: Database,
  place: TenantPlace,
  spans: readonly AskedSpan[],
): Promise<ReadonlyMap<string, KnownTrace>> {
  const columns = placeColumns(place);
  const asked = Map.groupBy(spans, ({ traceId }) => traceId);
  const ids = [...asked.keys()].map((traceId) => ({ traceId }));
  const rows = await selectTraceRows(trx, ids, columns);
  // The small ones first: they are read whole.
  rows.sort((a, b) => a.span_count - b.span_count);
  const known = new Map<string, KnownTrace>();
  let read = 0;
  const whole = rows.filter((row) => {
    read += row.span_count;
    return row.span_count <= MAX_RESOLVED_SPANS && read <= MAX_SPANS_READ;
  });
  const parts = await selectParts(
    trx,
    whole.map((row) => ({ traceId: row.trace_id })),
    columns,
  );
  const partsOf = Map.groupBy(parts, (part) => part.trace_id);
  for (const row of whole) {
    known.set(row.trace_id, wholeTrace(row, [...firstPart(row), ...(partsOf.get(row.trace_id) ?? [])]));
  }
  for (const row of rows.slice(whole.length)) {
    known.set(row.trace_id, await partOfTrace(trx, row, asked.get(row.trace_id) ?? []));
    // An embedded database answers without giving the event loop a turn.
    await yieldToEventLoop();
  }
  return known;
}

const selectParts = rowStatement((db, rows: readonly { traceId: string }[], place: PlaceColumns) =>
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

function wholeTrace(row: TraceRow, unsorted: readonly PartRow[]): KnownTrace {
  // Merged calls are older than those of the blocks that are not merged, and block ids sort by time.
  const parts = unsorted.toSorted((a, b) => Number(isMerged(b)) - Number(isMerged(a)) || (a.part < b.part ? -1 : 1));
  const decoded = parts.map(({ calls }) => decodeCalls(calls));
  const isComplete = decoded.every((calls) => calls !== null);
  const indexes = parts.map(({ spans }) => new SpanIndex(spans));
  return {
    traceId: row.trace_id,
    spanCount: row.span_count,
    isComplete,
    find: (spanId) => indexes.flatMap((index) => spansWithId(index, spanId)),
    spans: () => (isComplete ? everySpan(indexes) : []),
    calls: isComplete ? decoded.flatMap((calls) => calls ?? []) : [],
    row,
    unmerged: unmergedOf(parts),
  };
}

/** Looks up single spans of a large trace. */
async function partOfTrace(trx: Database, row: TraceRow, asked: readonly AskedSpan[]): Promise<KnownTrace> {
  const names = await partsOfTrace(trx, row).select('part').where('part', '>=', MERGED).orderBy('part').execute();
  const rows = await partsOfTrace(trx, row).select(['part', 'spans']).where('part', '<', MERGED).execute();
  const unmerged = [...firstPart(row), ...rows];
  const ids = [...new Set(asked.map(({ spanId }) => spanId))];
  const found = new Map<string, KnownSpan[]>();
  const lookIn = (bytes: Buffer, spanIds: readonly string[]) => {
    const index = new SpanIndex(bytes);
    for (const id of spanIds) {
      const spans = spansWithId(index, id);
      if (spans.length > 0) found.set(id, [...(found.get(id) ?? []), ...spans]);
    }
  };
  for (const { spans } of unmerged) lookIn(spans, ids);
  const partOf = (id: string) => names.findLast(({ part }) => part <= MERGED + id)?.part ?? '';
  for (const [part, ofPart] of Map.groupBy(ids, partOf)) {
    const [stored] = await partsOfTrace(trx, row).select('spans').where('part', '=', part).execute();
    if (stored) lookIn(stored.spans, ofPart);
  }
  return {
    traceId: row.trace_id,
    spanCount: row.span_count,
    isComplete: false,
    find: (spanId) => found.get(spanId) ?? [],
    spans: () => [],
    calls: [],
    row,
    unmerged: unmergedOf(unmerged),
  };
}

/** The index that is in the trace's row, as a row of its own would have it. */
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

/** Whether a part was merged out of those of several blocks. */
export function isMerged({ part }: { part: string }): boolean {
  return part >= MERGED;
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
