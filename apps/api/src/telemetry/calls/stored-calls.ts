import { Decoder, Encoder } from '@msgpack/msgpack';
import type { CallSpan, CallUse } from './call-span.ts';
import { NO_REPLACEMENTS, type Replacements } from './replacements.ts';
import { numberOf } from '../number-of.ts';

/*
 * The form in which call spans are stored with the blocks of a trace: a byte with the version, four bytes with the number of
 * reported calls, and `StoredTrace` as MessagePack. The number comes first, so that a reader who permits fewer calls decodes none.
 *
 * It is not compressed: most traces have few calls, and setting up a compressor takes longer than everything else here.
 */
const VERSION = 5;
const HEADER_BYTES = 5;

/** Times are below it, in microseconds. The latest that OTLP can express is 2^64 nanoseconds. */
const MAX_TIME = 2 ** 56;

const SPAN_ID = /^[0-9a-f]{16}$/;

/** Bits of a use. */
const [IS_MCP, IS_OF_MODEL, IS_COUNTED, IS_FAILURE_COUNTED] = [1, 2, 4, 8];

type StoredTrace = [
  /** Each distinct text of the shapes. */
  texts: string[],
  /** Each distinct shape: the fields that many spans of a trace have in common. */
  shapes: StoredShape[],
  /** The start of the first span, in microseconds since 1970. */
  since: number,
  spans: StoredSpan[],
  /** The ids of replaced providers, and the providers that replace them. */
  replacements: [string, CallUse['provider']][],
];

/** The position of a text in `texts`. */
type Text = number;

type StoredShape = [
  failed: boolean,
  /** Null if it is the start of the span. */
  countedAt: number | null,
  scope: Text,
  spanName: Text,
  serviceName: Text | null,
  environment: Text | null,
  agent: Text | null,
  serverAddress: Text | null,
  operation: Text | null,
  uses: StoredUse[],
  tokensOf: StoredUse | null,
];

type StoredUse = [
  kind: Text,
  name: Text,
  written: Text,
  responseModel: Text | null,
  server: Text | null,
  providerId: Text,
  providerName: Text,
  providerKind: Text,
  certainty: number,
  bits: number,
  times: number,
];

/** The bytes of an id in the usual form, or else the id itself. */
type StoredId = Uint8Array | string;

type StoredSpan = [
  id: StoredId,
  /** A number is the position of a span in `spans`. */
  parent: StoredId | number | null,
  callId: string | null,
  /** Since `since`. */
  start: number,
  duration: number,
  /** The position of a shape in `shapes`. */
  shape: number,
  inputTokens: number | null,
  outputTokens: number | null,
  /** Null if the span reports none of them, as most spans. */
  parts: [cacheReadTokens: number | null, cacheWriteTokens: number | null, reasoningTokens: number | null] | null,
];

// They keep their memory from trace to trace.
const encoder = new Encoder();
const decoder = new Decoder();

export function encodeCalls(spans: readonly CallSpan[], replacements: Replacements = NO_REPLACEMENTS): Uint8Array {
  const texts = new Map<string, number>();
  const shapeKeys = new Map<string, number>();
  const shapes: StoredShape[] = [];
  const positions = new Map(spans.map(({ spanId }, position) => [spanId, position]));
  const since = spans[0]?.start ?? 0;
  const stored = spans.map((span): StoredSpan => {
    const { spanId, parentSpanId, callId, start, end, inputTokens, outputTokens } = span;
    requireTime(start);
    requireTime(end);
    const shape = storedShape(span, texts);
    const number = numberOf(shapeKeys, JSON.stringify(shape));
    if (number === shapes.length) shapes.push(shape);
    const parent = parentSpanId === null ? null : (positions.get(parentSpanId) ?? storedId(parentSpanId));
    const times = [start - since, end - start] as const;
    return [storedId(spanId), parent, callId, ...times, number, inputTokens, outputTokens, storedParts(span)];
  });
  const trace: StoredTrace = [[...texts.keys()], shapes, since, stored, [...replacements]];
  const body = encoder.encodeSharedRef(trace);
  const value = Buffer.allocUnsafe(HEADER_BYTES + body.length);
  value.writeUInt8(VERSION);
  value.writeUInt32BE(
    spans.reduce((reports, { uses }) => reports + uses.length, 0),
    1,
  );
  value.set(body, HEADER_BYTES);
  return value;
}

function storedParts({ cacheReadTokens, cacheWriteTokens, reasoningTokens }: CallSpan): StoredSpan[8] {
  const isNone = cacheReadTokens === null && cacheWriteTokens === null && reasoningTokens === null;
  return isNone ? null : [cacheReadTokens, cacheWriteTokens, reasoningTokens];
}

function requireTime(time: number): void {
  if (!Number.isInteger(time) || Math.abs(time) >= MAX_TIME) throw new RangeError(`${time} is not a time`);
}

function storedId(id: string): StoredId {
  return SPAN_ID.test(id) ? Buffer.from(id, 'hex') : id;
}

function storedShape(span: CallSpan, texts: Map<string, number>): StoredShape {
  const optional = (text: string | null) => (text === null ? null : numberOf(texts, text));
  return [
    span.failed,
    span.countedAt === Math.floor(span.start / 1000) ? null : span.countedAt,
    numberOf(texts, span.scope),
    numberOf(texts, span.spanName),
    optional(span.serviceName),
    optional(span.environment),
    optional(span.agent),
    optional(span.serverAddress),
    optional(span.operation),
    span.uses.map((use) => storedUse(use, texts)),
    span.tokensOf && storedUse(span.tokensOf, texts),
  ];
}

function storedUse(use: CallUse, texts: Map<string, number>): StoredUse {
  const bit = (has: boolean, value: number) => (has ? value : 0);
  return [
    numberOf(texts, use.kind),
    numberOf(texts, use.name),
    numberOf(texts, use.written),
    use.responseModel === null ? null : numberOf(texts, use.responseModel),
    use.server === null ? null : numberOf(texts, use.server),
    numberOf(texts, use.provider.id),
    numberOf(texts, use.provider.name),
    numberOf(texts, use.provider.kind),
    use.certainty,
    bit(use.isMcp, IS_MCP) |
      bit(use.isOfModel, IS_OF_MODEL) |
      bit(use.isCounted, IS_COUNTED) |
      bit(use.isFailureCounted, IS_FAILURE_COUNTED),
    use.times,
  ];
}

/** Decodes call spans. Spans of one shape share one `uses` array. */
export function decodeCalls(value: Uint8Array): CallSpan[] {
  return decodeCallsUpTo(value, Number.POSITIVE_INFINITY)?.spans ?? [];
}

/**
 * Decodes call spans, and the providers that replace deleted ones in the trace.
 *
 * @returns null if the spans report more than `most` calls
 */
export function decodeCallsUpTo(
  value: Uint8Array,
  most: number,
): { spans: CallSpan[]; replacements: Replacements } | null {
  if (value[0] !== VERSION) throw new Error(`stored calls have the unknown version ${value[0]}`);
  const reports = new DataView(value.buffer, value.byteOffset).getUint32(1);
  if (reports > most) return null;
  const body = decoder.decode(value.subarray(HEADER_BYTES)) as StoredTrace;
  const [texts, storedShapes, since, stored, replacements] = body;
  const shapes = storedShapes.map((shape) => readShape(shape, texts));
  const ids = stored.map(([id]) => readId(id));
  const spans = stored.map(([, parent, callId, fromSince, duration, number, ...tokens], position) => {
    const [inputTokens, outputTokens, parts] = tokens;
    const [cacheReadTokens, cacheWriteTokens, reasoningTokens] = parts ?? [null, null, null];
    const shape = shapes[number];
    const spanId = ids[position];
    if (shape === undefined || spanId === undefined) throw new Error('a stored call span has an unknown shape');
    const start = since + fromSince;
    return {
      ...shape,
      spanId,
      parentSpanId: typeof parent === 'number' ? (ids[parent] ?? null) : parent && readId(parent),
      callId,
      start,
      end: start + duration,
      countedAt: shape.countedAt ?? Math.floor(start / 1000),
      inputTokens,
      outputTokens,
      cacheReadTokens,
      cacheWriteTokens,
      reasoningTokens,
    };
  });
  return { spans, replacements: new Map(replacements) };
}

function readId(id: StoredId): string {
  return typeof id === 'string' ? id : Buffer.from(id.buffer, id.byteOffset, id.byteLength).toString('hex');
}

function readShape(shape: StoredShape, texts: readonly string[]) {
  const [failed, countedAt, scope, spanName, serviceName, environment, agent, serverAddress, operation] = shape;
  const [uses, tokensOf] = [shape[9], shape[10]];
  const textAt = (position: Text) => texts[position] ?? '';
  const optional = (position: Text | null) => (position === null ? null : textAt(position));
  return {
    failed,
    countedAt,
    scope: textAt(scope),
    spanName: textAt(spanName),
    serviceName: optional(serviceName),
    environment: optional(environment),
    agent: optional(agent),
    serverAddress: optional(serverAddress),
    operation: optional(operation),
    uses: uses.map((use) => readUse(use, texts)),
    tokensOf: tokensOf && readUse(tokensOf, texts),
  };
}

function readUse(use: StoredUse, texts: readonly string[]): CallUse {
  const [kind, name, written, responseModel, server, providerId, providerName, providerKind] = use;
  const [certainty, bits, times] = [use[8], use[9], use[10]];
  const textAt = (position: Text) => texts[position] ?? '';
  return {
    kind: textAt(kind) as CallUse['kind'],
    name: textAt(name),
    written: textAt(written),
    responseModel: responseModel === null ? null : textAt(responseModel),
    server: server === null ? null : textAt(server),
    provider: {
      id: textAt(providerId),
      name: textAt(providerName),
      kind: textAt(providerKind) as CallUse['provider']['kind'],
    },
    certainty,
    isMcp: (bits & IS_MCP) !== 0,
    isOfModel: (bits & IS_OF_MODEL) !== 0,
    isCounted: (bits & IS_COUNTED) !== 0,
    isFailureCounted: (bits & IS_FAILURE_COUNTED) !== 0,
    times,
  };
}
