import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { compress } from './zstd.ts';

/** A block is closed when it reaches this many uncompressed bytes, or spans. One span alone may be larger. */
const MAX_BLOCK_BYTES = 1024 * 1024;
const MAX_BLOCK_SPANS = 2000;

/** A span as it is written into a block. */
export type BlockSpan = {
  traceId: string;
  spanId: string;
  parentSpanId: string | null;
  /** RFC 3339, UTC, nanoseconds. */
  startTime: string;
  /** A digest of the content: 16 hex digits. */
  digest: string;
  /**
   * The rest of the span, as a JSON object in UTF-8. Bytes, because the garbage collector does not copy them as it does
   * texts.
   */
  line: Uint8Array;
  /** Indexes into the shared texts, which are JSON objects. */
  resource: number;
  scope: number;
};

/** A span of a block, and the position of its line in the uncompressed body, in bytes. */
export type SpanInBlock<Span> = { span: Span; offset: number; length: number };

/**
 * Spans that are stored together. The body contains the shared texts, each once, and then a line for each span. The spans of
 * a trace follow each other. A line begins with the offset and length of its resource and of its scope, so that a span can be
 * read with these two texts alone:
 *
 *     {"service.name":"shop"}
 *     {"name":"openai","version":"1.0","attributes":{}}
 *     [0,23,24,49]{"name":"chat gpt-5",...}
 */
export type SpanBlock<Span = BlockSpan> = {
  /** Compressed with zstd. */
  body: Buffer;
  /** The size of the uncompressed body. */
  bytes: number;
  spans: number;
  traces: ReadonlyMap<string, readonly SpanInBlock<Span>[]>;
};

/** Groups spans into blocks, and compresses them. @param texts the shared texts that `resource` and `scope` index */
export async function buildSpanBlocks<Span extends BlockSpan>(
  spans: readonly Span[],
  texts: readonly string[],
): Promise<SpanBlock<Span>[]> {
  const blocks: SpanBlock<Span>[] = [];
  let open = new BlockWriter<Span>(texts);
  const close = async () => {
    if (open.spans > 0) blocks.push(await open.close());
    open = new BlockWriter<Span>(texts);
  };
  for (const ofTrace of Map.groupBy(spans, ({ traceId }) => traceId).values()) {
    for (const span of ofTrace) {
      if (open.isFull) {
        await close();
        await yieldToEventLoop();
      }
      open.add(span);
    }
  }
  await close();
  return blocks;
}

const NOTHING = Buffer.alloc(0);
const LINE_BREAK = Buffer.from('\n');

class BlockWriter<Span extends BlockSpan> {
  spans = 0;
  #bytes = 0;
  readonly #texts: readonly string[];
  readonly #shared: string[] = [];
  readonly #placeOf = new Map<number, string>();
  #sharedBytes = 0;
  readonly #lines: Uint8Array[] = [];
  readonly #traces = new Map<string, SpanInBlock<Span>[]>();
  #head = { resource: -1, scope: -1, bytes: NOTHING };

  constructor(texts: readonly string[]) {
    this.#texts = texts;
  }

  get isFull(): boolean {
    return this.spans >= MAX_BLOCK_SPANS || this.#bytes + this.#sharedBytes >= MAX_BLOCK_BYTES;
  }

  add(span: Span): void {
    const head = this.#headOf(span);
    const length = head.length + span.line.length;
    const placed = { span, offset: this.#bytes, length };
    const ofTrace = this.#traces.get(span.traceId);
    if (ofTrace) ofTrace.push(placed);
    else this.#traces.set(span.traceId, [placed]);
    this.#lines.push(head, span.line, LINE_BREAK);
    this.#bytes += length + 1;
    this.spans += 1;
  }

  async close(): Promise<SpanBlock<Span>> {
    const body = Buffer.concat([Buffer.from(this.#shared.join('')), ...this.#lines]);
    // The shared texts come first in the body, but their size is only known now.
    for (const placed of this.#traces.values()) for (const span of placed) span.offset += this.#sharedBytes;
    return { body: await compress(body), bytes: body.length, spans: this.spans, traces: this.#traces };
  }

  #headOf({ resource, scope }: Span): Uint8Array {
    if (this.#head.resource !== resource || this.#head.scope !== scope) {
      const bytes = Buffer.from(`[${this.#place(resource)},${this.#place(scope)}]`);
      this.#head = { resource, scope, bytes };
    }
    return this.#head.bytes;
  }

  /** The offset and length of a shared text. It is written at its first use. */
  #place(number: number): string {
    const known = this.#placeOf.get(number);
    if (known !== undefined) return known;
    const text = this.#texts[number];
    if (text === undefined) throw new Error('a span names a resource or scope that was not given');
    const length = Buffer.byteLength(text);
    const place = `${this.#sharedBytes},${length}`;
    this.#placeOf.set(number, place);
    this.#shared.push(text, '\n');
    this.#sharedBytes += length + 1;
    return place;
  }
}

/** Reads spans from an uncompressed body. */
export class BlockReader {
  readonly #body: Buffer;
  /** Shared texts by the head of a line. A block has few distinct heads. */
  readonly #shared = new Map<string, { resource: string; scope: string }>();

  constructor(body: Buffer) {
    this.#body = body;
  }

  /** Reads the texts of a span. Each is a JSON object. */
  read(offset: number, length: number): { line: string; resource: string; scope: string } {
    const text = this.#body.toString('utf8', offset, offset + length);
    const end = text.indexOf(']') + 1;
    const head = text.slice(0, end);
    let shared = this.#shared.get(head);
    if (!shared) {
      const [resourceAt = 0, resourceLength = 0, scopeAt = 0, scopeLength = 0] = JSON.parse(head) as number[];
      shared = { resource: this.#slice(resourceAt, resourceLength), scope: this.#slice(scopeAt, scopeLength) };
      this.#shared.set(head, shared);
    }
    return { line: text.slice(end), resource: shared.resource, scope: shared.scope };
  }

  #slice(offset: number, length: number): string {
    return this.#body.toString('utf8', offset, offset + length);
  }
}
