import { inBatches } from '../batches.ts';
import { multiRowStatement, together } from '../prepared-statement.ts';
import type { Database } from '../database.ts';
import { newBlockId } from '../ids.ts';
import { placeColumns } from '../queries.ts';
import type { BlockSpan, SpanBlock, SpanInBlock } from '../span-block.ts';
import { type PlacedSpan, spanIndexWriter } from '../span-index.ts';
import type { TenantPlace } from '../tenancy.ts';
import { encodeCallsColumn } from '../trace-calls.ts';
import { addAccountBytes } from './account-bytes.ts';
import type { KnownTrace } from './known-spans.ts';
import { mergeParts } from './merged-parts.ts';
import { addStoredBytes } from './tenant-usage.ts';
import { addToTraces, type TraceAddition } from './trace-rows.ts';

/** The unmerged index rows of a trace are merged when there are more of them, or more spans in them. */
const MAX_UNMERGED = { rows: 64, spans: 4096 };

/** A larger index of a first block gets its own row, because the trace's row is rewritten with each batch. */
const MAX_INDEX_BYTES_IN_TRACE = 2048;

/** Index rows inserted before yielding to the event loop. */
const BATCH_SIZE = 256;

type NewBlocks<Span> = {
  /** `user:<id>` or `service_account:<tenant>/<id>`. */
  sender: string;
  blocks: readonly SpanBlock<Span>[];
  /** What the spans add to their traces, one for each trace. */
  additions: readonly TraceAddition[];
  /** The result of `findKnownSpans` in the same transaction. */
  known: ReadonlyMap<string, KnownTrace>;
  /** The spans whose id another span already has. */
  variants: ReadonlySet<Span>;
  /** The calls that the spans of each trace report, opaque to storage. */
  calls: ReadonlyMap<string, Uint8Array>;
};

type PlaceColumns = ReturnType<typeof placeColumns>;
type PartRow = { traceId: string; part: string; spans: Buffer; calls: Buffer | null };

/**
 * Stores blocks, the index of their traces, and the traces' rows.
 *
 * @returns the stored bytes, which are counted for the tenant
 */
export async function insertSpanBlocks<Span extends BlockSpan>(
  trx: Database,
  place: TenantPlace,
  { sender, blocks, additions, known, variants, calls }: NewBlocks<Span>,
  now: Date,
): Promise<number> {
  const placed = placeBlocks({ sender, blocks, known, variants, calls }, now);
  const { blockRows, parts, firstOf } = placed;
  const added = additions.map((addition) => ({ ...addition, first: firstOf.get(addition.traceId) ?? null }));
  const storedBytes = blockRows.reduce((sum, block) => sum + block.storedBytes, 0);
  await together(trx, [
    () => insertPlacedBlocks(trx, place, placed, { sender, now }),
    () => addToTraces(trx, place, added, (traceId) => known.get(traceId)?.row, now),
    () => addStoredBytes(trx, place.tenantId, storedBytes, now),
  ]);
  for (const [traceId, ofTrace] of parts) {
    const trace = known.get(traceId);
    if (trace && needsMerge(trace.unmerged, ofTrace)) await mergeParts(trx, trace.row);
  }
  await addAccountBytes(trx, { tenantId: place.tenantId, account: sender, bytes: storedBytes });
  return storedBytes;
}

/** Whether to merge the index of a trace: it has many unmerged rows, or many spans in them. */
function needsMerge({ rows, spans }: KnownTrace['unmerged'], added: number): boolean {
  return rows + added > MAX_UNMERGED.rows || spans > MAX_UNMERGED.spans;
}

type PlacedBlocks = {
  blockRows: readonly BlockRow[];
  partRows: readonly PartRow[];
  /** The number of new index rows of each trace. */
  parts: ReadonlyMap<string, number>;
  /** Small indexes of new traces, which are stored in the traces' rows. */
  firstOf: ReadonlyMap<string, PartRow>;
};

/** Makes the rows of blocks and of the index of their traces. */
function placeBlocks<Span extends BlockSpan>(
  { sender, blocks, known, variants, calls }: Omit<NewBlocks<Span>, 'additions'>,
  now: Date,
): PlacedBlocks {
  const blockRows: BlockRow[] = [];
  const partRows: PartRow[] = [];
  const parts = new Map<string, number>();
  const firstOf = new Map<string, PartRow>();
  const callsLeft = new Map(calls);
  for (const block of blocks) {
    const id = newBlockId(now);
    let storedBytes = block.body.length;
    const writeIndex = spanIndexWriter({ id, sender });
    for (const [traceId, spans] of block.traces) {
      const part = partOf({
        traceId,
        spans,
        block: { id, sender },
        writeIndex,
        variants,
        calls: callsLeft.get(traceId),
      });
      // If a trace is in several blocks, its calls are stored with the first one.
      callsLeft.delete(traceId);
      // The row of a new trace can hold the index of its first block.
      const isFirst = !known.has(traceId) && !parts.has(traceId);
      if (isFirst && part.spans.length + (part.calls?.length ?? 0) <= MAX_INDEX_BYTES_IN_TRACE)
        firstOf.set(traceId, part);
      else partRows.push(part);
      parts.set(traceId, (parts.get(traceId) ?? 0) + 1);
      storedBytes += part.spans.length + (part.calls?.length ?? 0);
    }
    blockRows.push({ id, spanCount: block.spans, bytes: block.bytes, storedBytes, body: block.body });
  }
  return { blockRows, partRows, parts, firstOf };
}

async function insertPlacedBlocks(
  trx: Database,
  place: TenantPlace,
  { blockRows, partRows }: PlacedBlocks,
  { sender, now }: { sender: string; now: Date },
): Promise<void> {
  const columns = placeColumns(place);
  const shared = { ...columns, createdAt: now.toISOString(), sender };
  // One statement for each block, because a block may be large.
  await together(
    trx,
    blockRows.map((row) => () => insertBlockRows(trx, [row], shared)),
  );
  for await (const batch of inBatches(partRows, BATCH_SIZE)) await insertParts(trx, batch, columns);
}

type NewPart<Span> = {
  traceId: string;
  spans: readonly SpanInBlock<Span>[];
  block: { id: string; sender: string };
  writeIndex: (spans: readonly PlacedSpan[]) => Buffer;
  variants: ReadonlySet<Span>;
  calls: Uint8Array | undefined;
};

function partOf<Span extends BlockSpan>({
  traceId,
  spans,
  block,
  writeIndex,
  variants,
  calls,
}: NewPart<Span>): PartRow {
  const placed = spans.map(({ span, offset, length }) => ({
    spanId: span.spanId,
    parentSpanId: span.parentSpanId,
    startTime: span.startTime,
    digest: span.digest,
    offset,
    length,
    isVariant: variants.has(span),
  }));
  return {
    traceId,
    part: block.id,
    spans: writeIndex(placed),
    calls: calls === undefined ? null : encodeCallsColumn([{ sender: block.sender, value: calls }]),
  };
}

type BlockRow = { id: string; spanCount: number; bytes: number; storedBytes: number; body: Buffer };

const insertBlockRows = multiRowStatement(
  (db, rows: readonly BlockRow[], shared: PlaceColumns & { createdAt: string; sender: string }) =>
    db.insertInto('span_blocks').values(
      rows.map(({ id, spanCount, bytes, storedBytes, body }) => ({
        tenant_id: shared.tenant_id,
        sub_tenant_id: shared.sub_tenant_id,
        id,
        created_at: shared.createdAt,
        received_from: shared.sender,
        span_count: spanCount,
        bytes,
        stored_bytes: storedBytes,
        body,
      })),
    ),
);

const insertParts = multiRowStatement((db, rows: readonly PartRow[], place: PlaceColumns) =>
  db.insertInto('trace_blocks').values(
    rows.map(({ traceId, part, spans, calls }) => ({
      tenant_id: place.tenant_id,
      sub_tenant_id: place.sub_tenant_id,
      trace_id: traceId,
      part,
      spans,
      calls,
    })),
  ),
);
