import type { CallSpan, CallUse } from './call-span.ts';
import { ByteReader, ByteWriter } from './byte-writer.ts';
import { NO_REPLACEMENTS, type Replacements } from './replacements.ts';

/*
 * The compact form in which call spans are stored with the blocks of a trace. It is binary and not compressed: most traces have
 * few calls, and setting up a compressor takes longer than everything else here.
 *
 *     1 byte   version
 *     texts    a count, and each distinct text of the shapes
 *     shapes   a count, and each distinct shape: the fields that many spans of a trace have in common. Texts are numbers, 0 for null
 *     since    the start of the first span, in microseconds since 1970
 *     spans    a count, and for each span its ids, its times relative to `since`, its shape, and its tokens
 *     replaced a count, and for each replaced provider its id and the provider that replaces it. Missing if none is replaced
 *
 * `ByteWriter` says how numbers and texts are written.
 */
const VERSION = 3;

const ID = /^[0-9a-f]{16}$/;
const ID_BYTES = 8;

/** How the id of a span or of its parent is written. */
const [NO_ID, HEX_ID, TEXT_ID, IN_SPANS] = [0, 1, 2, 3];

/** Bits of a shape. */
const [FAILED, HAS_OWN_TIME, HAS_TOKENS_OF] = [1, 2, 4];

/** Bits of a use. */
const [IS_MCP, IS_COUNTED, HAS_TIMES, IS_OF_MODEL, IS_FAILURE_COUNTED] = [1, 2, 4, 8, 16];

// Reused for every trace, which is safe because encoding is synchronous.
const shapeBytes = new ByteWriter();
const spanBytes = new ByteWriter();
const result = new ByteWriter();

export function encodeCalls(spans: readonly CallSpan[], replacements: Replacements = NO_REPLACEMENTS): Uint8Array {
  shapeBytes.clear();
  spanBytes.clear();
  const texts = new Map<string, number>();
  const shapes = new Map<string, number>();
  const positions = new Map<string, number>();
  for (const [index, { spanId }] of spans.entries()) positions.set(spanId, index);
  const since = spans[0]?.start ?? 0;
  for (const span of spans) {
    const { spanId, parentSpanId, callId, start, end, inputTokens, outputTokens } = span;
    writeId(spanId);
    const parent = parentSpanId === null ? undefined : positions.get(parentSpanId);
    if (parent === undefined) writeId(parentSpanId);
    else {
      spanBytes.byte(IN_SPANS);
      spanBytes.count(parent);
    }
    spanBytes.text(callId);
    spanBytes.integer(start - since);
    spanBytes.integer(end - start);
    spanBytes.count(shapeOf(span, { shapes, texts }));
    writeOptional(inputTokens);
    writeOptional(outputTokens);
  }
  result.clear();
  result.byte(VERSION);
  result.count(texts.size);
  for (const text of texts.keys()) result.text(text);
  result.count(shapes.size);
  result.append(shapeBytes);
  result.integer(since);
  result.count(spans.length);
  result.append(spanBytes);
  if (replacements.size > 0) {
    result.count(replacements.size);
    for (const [replacedId, { id, name, kind }] of replacements) {
      for (const text of [replacedId, id, name, kind]) result.text(text);
    }
  }
  return result.toBytes();
}

function writeId(id: string | null): void {
  if (id === null) spanBytes.byte(NO_ID);
  else if (ID.test(id)) {
    spanBytes.byte(HEX_ID);
    spanBytes.hex(id);
  } else {
    spanBytes.byte(TEXT_ID);
    spanBytes.text(id);
  }
}

function writeOptional(count: number | null): void {
  spanBytes.count(count === null ? 0 : count + 1);
}

type Known = { shapes: Map<string, number>; texts: Map<string, number> };

/** The number of a span's shape. A new shape is written to `shapeBytes`. */
function shapeOf(span: CallSpan, { shapes, texts }: Known): number {
  const before = shapeBytes.length;
  writeShape(span, texts);
  const key = shapeBytes.keyFrom(before);
  const known = shapes.get(key);
  if (known !== undefined) {
    shapeBytes.cutAt(before);
    return known;
  }
  const number = shapes.size;
  shapes.set(key, number);
  return number;
}

function writeShape(span: CallSpan, texts: Map<string, number>): void {
  const isOwnTime = span.countedAt !== Math.floor(span.start / 1000);
  const hasTokensOf = span.tokensOf === null ? 0 : HAS_TOKENS_OF;
  shapeBytes.byte((span.failed ? FAILED : 0) | (isOwnTime ? HAS_OWN_TIME : 0) | hasTokensOf);
  if (isOwnTime) shapeBytes.integer(span.countedAt);
  writeText(span.scope, texts);
  writeText(span.spanName, texts);
  writeText(span.serviceName, texts);
  writeText(span.environment, texts);
  writeText(span.agent, texts);
  writeText(span.serverAddress, texts);
  writeText(span.operation, texts);
  shapeBytes.count(span.uses.length);
  for (const use of span.uses) writeUse(use, texts);
  if (span.tokensOf !== null) writeUse(span.tokensOf, texts);
}

function writeUse(use: CallUse, texts: Map<string, number>): void {
  writeText(use.kind, texts);
  writeText(use.name, texts);
  writeText(use.written, texts);
  writeText(use.responseModel, texts);
  writeText(use.server, texts);
  writeText(use.provider.id, texts);
  writeText(use.provider.name, texts);
  writeText(use.provider.kind, texts);
  shapeBytes.byte(use.certainty);
  const hasTimes = use.times !== 1;
  const ofCounts = (use.isCounted ? IS_COUNTED : 0) | (use.isFailureCounted ? IS_FAILURE_COUNTED : 0);
  const ofCall = (use.isMcp ? IS_MCP : 0) | ofCounts;
  shapeBytes.byte(ofCall | (hasTimes ? HAS_TIMES : 0) | (use.isOfModel ? IS_OF_MODEL : 0));
  if (hasTimes) shapeBytes.count(use.times);
}

function writeText(text: string | null, texts: Map<string, number>): void {
  if (text === null) {
    shapeBytes.byte(0);
    return;
  }
  let number = texts.get(text);
  if (number === undefined) {
    number = texts.size + 1;
    texts.set(text, number);
  }
  shapeBytes.count(number);
}

/** Decodes call spans. Spans of one shape share one `uses` array. */
export function decodeCalls(value: Uint8Array): CallSpan[] {
  return decodeCallsUpTo(value, Number.POSITIVE_INFINITY)?.spans ?? [];
}

/**
 * The same, with the providers that replace those of these or other spans of the trace. Null if the spans report more than `most`
 * calls. Then it stops early, so its work is bounded.
 */
export function decodeCallsUpTo(
  value: Uint8Array,
  most: number,
): { spans: CallSpan[]; replacements: Replacements } | null {
  if (value[0] !== VERSION) throw new Error(`stored calls have the unknown version ${value[0]}`);
  const reader = new ByteReader(value.subarray(1));
  const texts = repeat(reader, () => reader.text() ?? '');
  const textAt = () => {
    const number = reader.count();
    return number === 0 ? null : (texts[number - 1] ?? null);
  };
  // Each shape is that of at least one span.
  const shapes = readUsesUpTo(reader, most, () => readShape(reader, textAt));
  if (shapes === null) return null;
  const since = reader.integer();
  const ids: string[] = [];
  const read = readUsesUpTo(reader, most, () => {
    const spanId = readId(reader) ?? '';
    ids.push(spanId);
    return { spanId, parent: readParent(reader), ...readTimesAndTokens(reader, { shapes, since }) };
  });
  if (read === null) return null;
  const spans = read.map(({ parent, ...span }) => ({
    ...span,
    // A parent may come after its child.
    parentSpanId: typeof parent === 'number' ? (ids[parent] ?? null) : parent,
  }));
  if (reader.isAtEnd) return { spans, replacements: NO_REPLACEMENTS };
  return { spans, replacements: new Map(repeat(reader, () => readReplacement(reader))) };
}

function readReplacement(reader: ByteReader): [string, CallUse['provider']] {
  const [replacedId = '', id = '', name = '', kind] = Array.from({ length: 4 }, () => reader.text() ?? '');
  return [replacedId, { id, name, kind: kind as CallUse['provider']['kind'] }];
}

type Shape = Omit<
  CallSpan,
  'spanId' | 'parentSpanId' | 'callId' | 'start' | 'end' | 'countedAt' | 'inputTokens' | 'outputTokens'
> & { countedAt: number | null };

function readShape(reader: ByteReader, textAt: () => string | null): Shape {
  const bits = reader.byte();
  return {
    failed: (bits & FAILED) !== 0,
    countedAt: (bits & HAS_OWN_TIME) === 0 ? null : reader.integer(),
    scope: textAt() ?? '',
    spanName: textAt() ?? '',
    serviceName: textAt(),
    environment: textAt(),
    agent: textAt(),
    serverAddress: textAt(),
    operation: textAt(),
    uses: repeat(reader, () => readUse(reader, textAt)),
    tokensOf: (bits & HAS_TOKENS_OF) === 0 ? null : readUse(reader, textAt),
  };
}

function readUse(reader: ByteReader, textAt: () => string | null): CallUse {
  const use = {
    kind: textAt() as CallUse['kind'],
    name: textAt() ?? '',
    written: textAt() ?? '',
    responseModel: textAt(),
    server: textAt(),
    provider: {
      id: textAt() ?? '',
      name: textAt() ?? '',
      kind: textAt() as CallUse['provider']['kind'],
    },
    certainty: reader.byte(),
  };
  const bits = reader.byte();
  const times = (bits & HAS_TIMES) === 0 ? 1 : reader.count();
  const has = (bit: number) => (bits & bit) !== 0;
  return {
    ...use,
    isMcp: has(IS_MCP),
    isOfModel: has(IS_OF_MODEL),
    isCounted: has(IS_COUNTED),
    isFailureCounted: has(IS_FAILURE_COUNTED),
    times,
  };
}

function readTimesAndTokens(reader: ByteReader, { shapes, since }: { shapes: readonly Shape[]; since: number }) {
  const callId = reader.text();
  const start = since + reader.integer();
  const end = start + reader.integer();
  const shape = shapes[reader.count()];
  if (!shape) throw new Error('a stored call span has an unknown shape');
  const [inputTokens, outputTokens] = [readOptional(reader), readOptional(reader)];
  return {
    ...shape,
    callId,
    start,
    end,
    countedAt: shape.countedAt ?? Math.floor(start / 1000),
    inputTokens,
    outputTokens,
  };
}

function readId(reader: ByteReader): string | null {
  const parent = readParent(reader);
  return typeof parent === 'number' ? null : parent;
}

/** @returns an id, or the number of a span */
function readParent(reader: ByteReader): string | number | null {
  switch (reader.byte()) {
    case NO_ID:
      return null;
    case HEX_ID:
      return reader.hex(ID_BYTES);
    case TEXT_ID:
      return reader.text();
    default:
      return reader.count();
  }
}

function readOptional(reader: ByteReader): number | null {
  const count = reader.count();
  return count === 0 ? null : count - 1;
}

/** Reads a count, and then as many items. Null as soon as they have more than `most` uses. */
function readUsesUpTo<Item extends Pick<CallSpan, 'uses'>>(
  reader: ByteReader,
  most: number,
  read: () => Item,
): Item[] | null {
  const items: Item[] = [];
  let uses = 0;
  for (let left = reader.count(); left > 0; left -= 1) {
    const item = read();
    uses += item.uses.length;
    if (uses > most) return null;
    items.push(item);
  }
  return items;
}

/** Reads a count, and then as many items. */
function repeat<Item>(reader: ByteReader, read: () => Item): Item[] {
  const items: Item[] = [];
  for (let left = reader.count(); left > 0; left -= 1) items.push(read());
  return items;
}
