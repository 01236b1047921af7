import { nanoTime, timeParts } from './nano-time.ts';

/**
 * The index of the spans of one row of `trace_blocks`. It says where each span is stored, and allows finding duplicates and
 * sorting without reading a block. It is binary, because a trace has up to 100,000 spans: 44 bytes for each, sorted by span id.
 *
 *     1 byte    version
 *     2 bytes   number of senders; for each: 2 bytes of length, UTF-8
 *     2 bytes   number of blocks; for each: 26 bytes of id, 2 bytes of the sender's number
 *     4 bytes   number of entries; for each:
 *       8 span id, 8 parent's id (zeros if there is none), 8 digest of the content,
 *       6 start time in milliseconds, 3 remaining nanoseconds, 1 flags,
 *       2 number of the block, 4 offset and 4 length in the decompressed body
 *
 * Numbers are big-endian, so that ids and times compare bytewise.
 */
const VERSION = 1;
const ENTRY_BYTES = 44;
const BLOCK_ID_BYTES = 26;
const NO_PARENT = '0'.repeat(16);

const IS_VARIANT = 1;

/** A block, and the sender of its spans. */
type BlockOfIndex = { id: string; sender: string };

/** A span and its position in a block. */
export type PlacedSpan = {
  spanId: string;
  parentSpanId: string | null;
  /** RFC 3339, UTC, nanoseconds. */
  startTime: string;
  /** A digest of the content: 16 hex digits. */
  digest: string;
  /** In the decompressed body, in bytes. */
  offset: number;
  length: number;
  /** Whether another span with the same id was stored before. */
  isVariant: boolean;
};

/** Writes the indexes of the traces with spans in one block. */
export function spanIndexWriter(block: BlockOfIndex): (spans: readonly PlacedSpan[]) => Buffer {
  const head = encodeHead([block], 0);
  return (spans) => writeIndex(head, spans);
}

function writeIndex(head: Buffer, spans: readonly PlacedSpan[]): Buffer {
  const bytes = Buffer.allocUnsafe(head.length + spans.length * ENTRY_BYTES);
  head.copy(bytes);
  // The number of entries is the last field of the head.
  bytes.writeUInt32BE(spans.length, head.length - 4);
  const sorted = spans.length === 1 ? spans : spans.toSorted((a, b) => (a.spanId < b.spanId ? -1 : 1));
  let at = head.length;
  for (const span of sorted) {
    bytes.write(`${span.spanId}${span.parentSpanId ?? NO_PARENT}${span.digest}`, at, 'hex');
    const { milliseconds, nanoseconds } = timeParts(span.startTime);
    // Written in two parts each, since `writeUIntBE` takes ten times as long.
    bytes.writeUInt16BE(Math.floor(milliseconds / 2 ** 32), at + 24);
    bytes.writeUInt32BE(milliseconds % 2 ** 32, at + 26);
    bytes.writeUInt16BE(nanoseconds >>> 8, at + 30);
    bytes[at + 32] = nanoseconds & 0xff;
    bytes[at + 33] = span.isVariant ? IS_VARIANT : 0;
    bytes.writeUInt16BE(0, at + 34);
    bytes.writeUInt32BE(span.offset, at + 36);
    bytes.writeUInt32BE(span.length, at + 40);
    at += ENTRY_BYTES;
  }
  return bytes;
}

function encodeHead(blocks: readonly BlockOfIndex[], entries: number): Buffer {
  const senders = [...new Set(blocks.map(({ sender }) => sender))];
  const numberOf = new Map(senders.map((sender, index) => [sender, index]));
  const texts = senders.map((sender) => Buffer.from(sender));
  const sendersSize = texts.reduce((sum, text) => sum + 2 + text.length, 0);
  const bytes = Buffer.allocUnsafe(1 + 2 + sendersSize + 2 + blocks.length * (BLOCK_ID_BYTES + 2) + 4);
  let at = bytes.writeUInt8(VERSION, 0);
  at = bytes.writeUInt16BE(texts.length, at);
  for (const text of texts) {
    at = bytes.writeUInt16BE(text.length, at);
    at += text.copy(bytes, at);
  }
  at = bytes.writeUInt16BE(blocks.length, at);
  for (const { id, sender } of blocks) {
    at += bytes.write(id, at, 'latin1');
    at = bytes.writeUInt16BE(numberOf.get(sender) ?? 0, at);
  }
  bytes.writeUInt32BE(entries, at);
  return bytes;
}

/** Reads an index. Entries are decoded on access. */
export class SpanIndex {
  readonly count: number;
  readonly blocks: readonly BlockOfIndex[];
  readonly #bytes: Buffer;
  readonly #start: number;

  constructor(bytes: Buffer) {
    if (bytes[0] !== VERSION) throw new Error(`a span index has the unknown version ${bytes[0]}`);
    let at = 3;
    const senders: string[] = [];
    for (let left = bytes.readUInt16BE(1); left > 0; left -= 1) {
      const length = bytes.readUInt16BE(at);
      senders.push(bytes.toString('utf8', at + 2, at + 2 + length));
      at += 2 + length;
    }
    const blocks: BlockOfIndex[] = [];
    let left = bytes.readUInt16BE(at);
    for (at += 2; left > 0; left -= 1) {
      const id = bytes.toString('latin1', at, at + BLOCK_ID_BYTES);
      blocks.push({ id, sender: senders[bytes.readUInt16BE(at + BLOCK_ID_BYTES)] ?? '' });
      at += BLOCK_ID_BYTES + 2;
    }
    this.blocks = blocks;
    this.count = bytes.readUInt32BE(at);
    this.#bytes = bytes;
    this.#start = at + 4;
  }

  /** The positions of the entries with a span id: the first one, and the one after the last. */
  rangeOf(spanId: string): [number, number] {
    const id = Buffer.from(spanId, 'hex');
    let [low, high] = [0, this.count];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compareId(middle, id) < 0) low = middle + 1;
      else high = middle;
    }
    let end = low;
    while (end < this.count && this.#compareId(end, id) === 0) end += 1;
    return [low, end];
  }

  /** The entries of a range of span ids. @param until the first id after the range; null for no upper bound */
  between(from: string, until: string | null): IndexRange {
    return { index: this, first: this.rangeOf(from)[0], end: until === null ? this.count : this.rangeOf(until)[0] };
  }

  #compareId(index: number, id: Buffer): number {
    const at = this.#at(index);
    return this.#bytes.compare(id, 0, 8, at, at + 8);
  }

  #at(index: number): number {
    return this.#start + index * ENTRY_BYTES;
  }

  spanId(index: number): string {
    return this.#hex(index, 0);
  }

  parentSpanId(index: number): string | null {
    const parent = this.#hex(index, 8);
    return parent === NO_PARENT ? null : parent;
  }

  digest(index: number): string {
    return this.#hex(index, 16);
  }

  #hex(index: number, offset: number): string {
    const at = this.#at(index) + offset;
    return this.#bytes.toString('hex', at, at + 8);
  }

  /** The start time in milliseconds; `nanoseconds` returns the remainder. */
  milliseconds(index: number): number {
    // Read in two parts, since `readUIntBE` takes several times as long.
    const at = this.#at(index) + 24;
    return this.#bytes.readUInt16BE(at) * 2 ** 32 + this.#bytes.readUInt32BE(at + 2);
  }

  nanoseconds(index: number): number {
    const at = this.#at(index) + 30;
    return this.#bytes.readUInt16BE(at) * 2 ** 8 + this.#bytes.readUInt8(at + 2);
  }

  startTime(index: number): string {
    return nanoTime({ milliseconds: this.milliseconds(index), nanoseconds: this.nanoseconds(index) });
  }

  isVariant(index: number): boolean {
    return this.#bytes[this.#at(index) + 33] === IS_VARIANT;
  }

  blockNumber(index: number): number {
    return this.#bytes.readUInt16BE(this.#at(index) + 34);
  }

  block(index: number): BlockOfIndex {
    const block = this.blocks[this.blockNumber(index)];
    if (!block) throw new Error('a span index names a block that it does not list');
    return block;
  }

  offset(index: number): number {
    return this.#bytes.readUInt32BE(this.#at(index) + 36);
  }

  length(index: number): number {
    return this.#bytes.readUInt32BE(this.#at(index) + 40);
  }

  /** The entry as it is stored. */
  entry(index: number): Buffer {
    return this.#bytes.subarray(this.#at(index), this.#at(index) + ENTRY_BYTES);
  }
}

/** A merged index is split when it has more than twice this many spans. */
const MERGED_SPANS = 1024;

/** The index of a range of span ids that begins at `from`. */
export type MergedIndex = { from: string; bytes: Buffer };

type IndexRange = { index: SpanIndex; first: number; end: number };

/**
 * Merges indexes of one trace into indexes of at most about twice {@link MERGED_SPANS} spans, each for a range of span ids.
 *
 * @param from the first span id of the whole range, 16 hex digits
 */
export function mergeSpanIndexes(ranges: readonly IndexRange[], from: string): MergedIndex[] {
  const found = ranges.flatMap(({ index, first, end }) =>
    Array.from({ length: end - first }, (_, offset) => ({
      entry: index.entry(first + offset),
      block: index.block(first + offset),
    })),
  );
  found.sort((a, b) => a.entry.compare(b.entry, 0, 8, 0, 8));
  const parts = found.length <= 2 * MERGED_SPANS ? 1 : Math.ceil(found.length / MERGED_SPANS);
  const size = Math.ceil(found.length / parts);
  const merged: MergedIndex[] = [];
  for (let start = 0; start < found.length; ) {
    let end = Math.min(found.length, start + size);
    // Spans with the same id stay together.
    while (end < found.length && isSameId(found[end - 1]?.entry, found[end]?.entry)) end += 1;
    const first = found[start]?.entry.toString('hex', 0, 8) ?? from;
    merged.push({ from: start === 0 ? from : first, bytes: encodeIndex(found.slice(start, end)) });
    start = end;
  }
  return merged;
}

function isSameId(a: Buffer | undefined, b: Buffer | undefined): boolean {
  return a !== undefined && b !== undefined && a.compare(b, 0, 8, 0, 8) === 0;
}

function encodeIndex(found: readonly { entry: Buffer; block: BlockOfIndex }[]): Buffer {
  const blocks = [...new Map(found.map(({ block }) => [block.id, block])).values()];
  const numberOf = new Map(blocks.map(({ id }, number) => [id, number]));
  const head = encodeHead(blocks, found.length);
  const bytes = Buffer.concat([head, ...found.map(({ entry }) => entry)]);
  for (const [number, { block }] of found.entries()) {
    bytes.writeUInt16BE(numberOf.get(block.id) ?? 0, head.length + number * ENTRY_BYTES + 34);
  }
  return bytes;
}
