import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { type BlockCache, blockCacheOf } from '../block-cache.ts';
import type { Database } from '../database.ts';
import { timeOfBlock } from '../ids.ts';
import { type PageKey, placeOf } from '../queries.ts';
import { multiRowStatement } from '../prepared-statement.ts';
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
  isConflicting: boolean;
  sortKey: PageKey;
};

type PlaceKey = Pick<SpanPlace, 'tenant_id' | 'sub_tenant_id'>;

/** A block that a page needs. */
type WantedBlock = {
  id: string;
  sender: string;
  place: SpanPlace;
  /** The key in the cache. Ids are unique, unless someone has copied rows by hand. */
  key: string;
  /** Its uncompressed size. Null if no row has the block. */
  bytes: number | null;
  /** Its decompressed body, if the page before needed it too. */
  cached: Buffer | undefined;
  /** Which spans of the page are in it. */
  spans: number[];
};

/**
 * Reads spans as JSON texts for an answer, in their order: at least one, and as many as fit into {@link MAX_ANSWER_BYTES} and
 * {@link MAX_READ_BYTES}.
 *
 * @param hasNextPage whether to keep the decompressed blocks for the next page
 * @returns the texts; null if a block is missing
 */
export async function readSpanTexts(
  db: Database,
  spans: readonly FoundSpan[],
  { hasNextPage }: { hasNextPage: boolean },
): Promise<string[] | null> {
  const cache = blockCacheOf(db);
  const blocks = blocksOf(spans, cache);
  await readSizes(db, blocks);
  const count = withinLimits(spans, blocks);
  if (count === null) return null;
  const texts: string[] = [];
  for (const batch of batchesOf(blocks, count)) {
    await yieldToEventLoop();
    const bodies = await readBodies(db, batch);
    for (const block of batch) {
      const stored = bodies.get(block.id);
      const body = block.cached ?? (stored && (await decompress(stored, block.bytes ?? 0)));
      if (!body) return null;
      if (hasNextPage) cache.add(block.key, body);
      const reader = new BlockReader(body);
      const shared = sharedTextOf(block);
      for (const number of block.spans) {
        const span = spans[number];
        if (span && number < count) texts[number] = textOf(span, reader, shared);
      }
    }
  }
  let bytes = 0;
  const fitting = texts.findIndex((text, number) => (bytes += text.length) > MAX_ANSWER_BYTES && number > 0);
  return fitting === -1 ? texts : texts.slice(0, fitting);
}

/** The blocks of the spans, in the order of the spans. */
function blocksOf(spans: readonly FoundSpan[], cache: BlockCache): WantedBlock[] {
  const byPlace = new Map<SpanPlace, Map<string, WantedBlock>>();
  for (const [number, { place, block }] of spans.entries()) {
    let ofPlace = byPlace.get(place);
    if (!ofPlace) byPlace.set(place, (ofPlace = new Map()));
    const known = ofPlace.get(block.id);
    if (known) {
      known.spans.push(number);
      continue;
    }
    const key = `${place.tenant_id}\n${place.sub_tenant_id}\n${block.id}`;
    const cached = cache.get(key);
    ofPlace.set(block.id, { ...block, place, key, bytes: cached?.length ?? null, cached, spans: [number] });
  }
  return [...byPlace.values()].flatMap((ofPlace) => [...ofPlace.values()]);
}

/** How many spans can be read within the limits. Null if the block of one is missing. */
function withinLimits(spans: readonly FoundSpan[], blocks: readonly WantedBlock[]): number | null {
  const firstIn = new Map(blocks.map((block) => [block.spans[0], block]));
  let [lines, bytes] = [0, 0];
  for (const [number, { length }] of spans.entries()) {
    const block = firstIn.get(number);
    if (block?.bytes === null) return null;
    lines += length;
    bytes += block?.bytes ?? 0;
    if (number > 0 && (lines > MAX_ANSWER_BYTES || bytes > MAX_READ_BYTES)) return number;
  }
  return spans.length;
}

/** Groups the blocks of the first `count` spans in batches that are read with one query. */
function* batchesOf(blocks: readonly WantedBlock[], count: number): Generator<WantedBlock[]> {
  let batch: WantedBlock[] = [];
  let bytes = 0;
  for (const block of blocks) {
    if ((block.spans[0] ?? count) >= count) continue;
    const size = block.bytes ?? 0;
    const [first] = batch;
    if (first && (block.place !== first.place || bytes + size > BATCH_BYTES)) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    bytes += size;
    batch.push(block);
  }
  if (batch.length > 0) yield batch;
}

/** Sets the sizes of the blocks that are not cached. */
async function readSizes(db: Database, blocks: readonly WantedBlock[]): Promise<void> {
  const missing = blocks.filter(({ bytes }) => bytes === null);
  for (const [place, ofPlace] of Map.groupBy(missing, (block) => block.place)) {
    const rows = await selectSizes(db, blockKeys(ofPlace), placeKeyOf(place));
    const sizes = new Map(rows.map(({ id, bytes }) => [id, bytes]));
    for (const block of ofPlace) block.bytes = sizes.get(block.id) ?? null;
  }
}

/** The compressed bodies of the blocks that are not cached, by id. @param batch blocks of one place */
async function readBodies(db: Database, batch: readonly WantedBlock[]): Promise<Map<string, Buffer>> {
  const missing = batch.filter(({ cached }) => cached === undefined);
  const [first] = missing;
  if (!first) return new Map();
  const rows = await selectBodies(db, blockKeys(missing), placeKeyOf(first.place));
  return new Map(rows.map(({ id, body }) => [id, body]));
}

function blockKeys(blocks: readonly WantedBlock[]): BlockKey[] {
  return blocks.map(({ id }) => blockKeyOf(id));
}

function placeKeyOf({ tenant_id, sub_tenant_id }: SpanPlace): PlaceKey {
  return { tenant_id, sub_tenant_id };
}

const selectSizes = multiRowStatement((db, rows: readonly BlockKey[], place: PlaceKey) =>
  db.selectFrom('span_blocks').select(['id', 'bytes']).where(isOneOfBlocks(place, rows)),
);

const selectBodies = multiRowStatement((db, rows: readonly BlockKey[], place: PlaceKey) =>
  db.selectFrom('span_blocks').select(['id', 'body']).where(isOneOfBlocks(place, rows)),
);

/** The JSON members that all spans of one block share. */
function sharedTextOf({ id, sender, place: row }: WantedBlock): { common: string; times: string } {
  const { tenantId, subTenantId } = placeOf(row);
  const createdAt = timeOfBlock(id).toISOString();
  const place = `"tenantId":${JSON.stringify(tenantId)},"subTenantId":${JSON.stringify(subTenantId)}`;
  return {
    common: `${place},"receivedFrom":${JSON.stringify(sender)}`,
    times: `"createdAt":"${createdAt}","updatedAt":"${createdAt}",`,
  };
}

/** A span as JSON, concatenated from texts. Parsing and serializing it takes ten times as long. */
function textOf(span: FoundSpan, reader: BlockReader, { common, times }: { common: string; times: string }): string {
  const { line, resource, scope } = reader.read(span.offset, span.length);
  const parent = span.parentSpanId === null ? 'null' : `"${span.parentSpanId}"`;
  const ids = `"traceId":"${span.place.trace_id}","spanId":"${span.spanId}","parentSpanId":${parent}`;
  const members = `"startTime":"${span.startTime}",${times}${line.slice(1, -1)}`;
  return `{${ids},${members},"scope":${scope},"resource":${resource},${common},"conflicting":${span.isConflicting}}`;
}
