import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Database } from '../database.ts';
import { timeOfBlock } from '../ids.ts';
import { type PageKey, placeOf } from '../queries.ts';
import { multiRowStatement } from '../multi-row-statement.ts';
import { BlockReader } from '../span-block.ts';
import { decompress } from '../zstd.ts';
import { type BlockKey, blockKeyOf, isOneOfBlocks } from './block-keys.ts';
import type { TraceRow } from './trace-rows.ts';

/** The most bytes of JSON in a page. One span alone may have more. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

/** The most uncompressed bytes of blocks that are read for a page. One block alone may have more. */
const MAX_READ_BYTES = 32 * 1024 * 1024;

/** The most uncompressed bytes of blocks that are read with one query. */
const BATCH_BYTES = 4 * 1024 * 1024;

export type SpanPlace = Pick<TraceRow, 'tenant_id' | 'sub_tenant_id' | 'trace_id'>;

/** A span of an index, and the position of its text. */
export type FoundSpan = {
  place: SpanPlace;
  block: { id: string; sender: string };
  spanId: string;
  parentSpanId: string | null;
  startTime: string;
  offset: number;
  length: number;
  hasOwnTimes: boolean;
  isConflicting: boolean;
  sortKey: PageKey;
};

type PlaceKey = Pick<SpanPlace, 'tenant_id' | 'sub_tenant_id'>;

/**
 * Reads spans as JSON texts for an answer, in their order: at least one, and as many as fit into {@link MAX_ANSWER_BYTES} and
 * {@link MAX_READ_BYTES}.
 *
 * @returns the texts; null if a block is missing
 */
export async function readSpanTexts(db: Database, spans: readonly FoundSpan[]): Promise<string[] | null> {
  const sizes = await sizesOfBlocks(db, spans);
  const read = withinLimits(spans, sizes);
  if (read === null) return null;
  const texts = new Map<FoundSpan, string>();
  for (const batch of batchesOf(read, sizes)) {
    await yieldToEventLoop();
    const blocks = await readBlocks(db, batch);
    for (const [key, ofBlock] of batch) {
      const body = blocks.get(key);
      if (!body) return null;
      const reader = new BlockReader(await decompress(body, sizes.get(key) ?? 0));
      const shared = sharedTextOf(ofBlock);
      for (const span of ofBlock) texts.set(span, textOf(span, reader, shared));
    }
  }
  const answered: string[] = [];
  let bytes = 0;
  for (const span of read) {
    const text = texts.get(span) ?? '';
    bytes += text.length;
    if (answered.length > 0 && bytes > MAX_ANSWER_BYTES) break;
    answered.push(text);
  }
  return answered;
}

/** A key for a block with its place. Ids are unique, unless someone has copied rows by hand. */
function keyOf({ place, block }: FoundSpan): string {
  return `${place.tenant_id}\n${place.sub_tenant_id}\n${block.id}`;
}

/** The first spans that can be read within the limits. Null if the block of one is missing. */
function withinLimits(spans: readonly FoundSpan[], sizes: ReadonlyMap<string, number>): FoundSpan[] | null {
  const met = new Set<string>();
  const read: FoundSpan[] = [];
  let [lines, bytes] = [0, 0];
  for (const span of spans) {
    const key = keyOf(span);
    const size = sizes.get(key);
    if (size === undefined) return null;
    lines += span.length;
    if (!met.has(key)) bytes += size;
    met.add(key);
    if (read.length > 0 && (lines > MAX_ANSWER_BYTES || bytes > MAX_READ_BYTES)) break;
    read.push(span);
  }
  return read;
}

/** Groups spans by block, in batches of blocks that are read with one query. */
function* batchesOf(
  spans: readonly FoundSpan[],
  sizes: ReadonlyMap<string, number>,
): Generator<Map<string, FoundSpan[]>> {
  let batch = new Map<string, FoundSpan[]>();
  let [bytes, tenancy] = [0, ''];
  for (const [key, ofBlock] of Map.groupBy(spans, keyOf)) {
    const place = key.slice(0, key.lastIndexOf('\n'));
    if (batch.size > 0 && (place !== tenancy || bytes + (sizes.get(key) ?? 0) > BATCH_BYTES)) {
      yield batch;
      [batch, bytes] = [new Map(), 0];
    }
    tenancy = place;
    bytes += sizes.get(key) ?? 0;
    batch.set(key, ofBlock);
  }
  if (batch.size > 0) yield batch;
}

async function sizesOfBlocks(db: Database, spans: readonly FoundSpan[]): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for (const ofPlace of Map.groupBy(spans, ({ place }) => place).values()) {
    const rows = await selectSizes(db, blockKeys(ofPlace), placeColumnsOf(ofPlace));
    const keyOfId = new Map(ofPlace.map((span) => [span.block.id, keyOf(span)]));
    for (const { id, bytes } of rows) sizes.set(keyOfId.get(id) ?? '', bytes);
  }
  return sizes;
}

/** @param batch blocks of one place */
async function readBlocks(db: Database, batch: ReadonlyMap<string, FoundSpan[]>): Promise<Map<string, Buffer>> {
  const spans = [...batch.values()].flat();
  const keyOfId = new Map(spans.map((span) => [span.block.id, keyOf(span)]));
  const rows = await selectBodies(db, blockKeys(spans), placeColumnsOf(spans));
  return new Map(rows.map(({ id, body }) => [keyOfId.get(id) ?? '', body]));
}

function blockKeys(spans: readonly FoundSpan[]): BlockKey[] {
  return [...new Set(spans.map(({ block }) => block.id))].map(blockKeyOf);
}

function placeColumnsOf([span]: readonly FoundSpan[]): PlaceKey {
  return { tenant_id: span?.place.tenant_id ?? '', sub_tenant_id: span?.place.sub_tenant_id ?? '' };
}

const selectSizes = multiRowStatement((db, rows: readonly BlockKey[], place: PlaceKey) =>
  db.selectFrom('span_blocks').select(['id', 'bytes']).where(isOneOfBlocks(place, rows)),
);

const selectBodies = multiRowStatement((db, rows: readonly BlockKey[], place: PlaceKey) =>
  db.selectFrom('span_blocks').select(['id', 'body']).where(isOneOfBlocks(place, rows)),
);

/** The JSON members that all spans of one block share. */
function sharedTextOf([span]: readonly FoundSpan[]): { common: string; times: string } {
  if (!span) throw new Error('a block is read for the spans in it');
  const { tenantId, subTenantId } = placeOf(span.place);
  const createdAt = timeOfBlock(span.block.id).toISOString();
  const place = `"tenantId":${JSON.stringify(tenantId)},"subTenantId":${JSON.stringify(subTenantId)}`;
  return {
    common: `${place},"receivedFrom":${JSON.stringify(span.block.sender)}`,
    times: `"createdAt":"${createdAt}","updatedAt":"${createdAt}",`,
  };
}

/** A span as JSON, concatenated from texts. Parsing and serializing it takes ten times as long. */
function textOf(span: FoundSpan, reader: BlockReader, { common, times }: { common: string; times: string }): string {
  const { line, resource, scope } = reader.read(span.offset, span.length);
  const parent = span.parentSpanId === null ? 'null' : `"${span.parentSpanId}"`;
  const ids = `"traceId":"${span.place.trace_id}","spanId":"${span.spanId}","parentSpanId":${parent}`;
  // The line of a span that was moved into its block later contains its own times.
  const own = `"startTime":"${span.startTime}",${span.hasOwnTimes ? '' : times}${line.slice(1, -1)}`;
  return `{${ids},${own},"scope":${scope},"resource":${resource},${common},"conflicting":${span.isConflicting}}`;
}
