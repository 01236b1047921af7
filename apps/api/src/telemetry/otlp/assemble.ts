import { nanoTime, type TimeParts } from '@quartermaster/db/nano-time.ts';
import { storable } from '@quartermaster/db/storable-text.ts';
import { type Attributes, type AttributeValue, type DecodedTraces, type OtlpSpan } from './span.ts';
import { cutToBytes } from './text.ts';
import { isAbsent, nanosecondsBetween, NO_TIME, type RequestTime } from './time.ts';

/** Limits for both encodings, so that a hostile span cannot grow without bound. What exceeds them is dropped silently. */
export const LIMITS = {
  /**
   * Entries of each attribute list, and of each key-value list inside a value. In a span's own list, `keptNames` are kept even
   * beyond this limit.
   */
  attributes: 128,
  events: 128,
  links: 128,
  /** Nesting of arrays and key-value lists. A deeper one is replaced by `TOO_DEEP`. */
  depth: 16,
  /** Values inside one attribute, including nested lists. Enough for an embedding vector. */
  valuesPerAttribute: 8192,
  nameBytes: 1024,
  /** Spans, or log records, of one request. Further ones are rejected, and the response says so. */
  records: 50_000,
  /** Events and links of all spans of one request. An empty one takes two bytes in a request, and sixty in storage. */
  eventsAndLinks: 100_000,
  /** Size of the attributes of a resource and of a scope. Many spans share them. */
  resourceBytes: 64 * 1024,
  scopeBytes: 16 * 1024,
} as const;

export const TOO_MANY_RECORDS = `A request may have at most ${LIMITS.records} records. Send the others in another request.`;

export const TOO_DEEP = '[too deep]';

/** The rest of `LIMITS.valuesPerAttribute` while one attribute is read. */
export type Budget = { left: number };

export function newBudget(): Budget {
  return { left: LIMITS.valuesPerAttribute };
}

/** How the spans or log records of a request are decoded. */
export type Decoding<Decoded, Kept> = {
  /** Maps each span or record as soon as it is read, so that the garbage collector can free it early. */
  take: (decoded: Decoded) => Kept;
  /**
   * Names of attributes of spans and records that are kept beyond `LIMITS.attributes`: some instrumentations flatten a long
   * conversation into hundreds of attributes, and write the model and the token counts after them.
   */
  keptNames?: ReadonlySet<string>;
};

export const NO_NAMES: ReadonlySet<string> = new Set();

/** Sets an own property for any key. A plain assignment to `__proto__` would change the prototype. */
export function setAttribute(attributes: Attributes, key: string, value: AttributeValue): void {
  if (key === '__proto__') {
    Object.defineProperty(attributes, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    attributes[key] = value;
  }
}

/** NaN and infinities as their names, as in proto3 JSON, because JSON numbers cannot express them. */
export function doubleValue(value: number): AttributeValue {
  return Number.isFinite(value) ? value : String(value);
}

/** The fields of a span as they were read, before validation. An id is hex, or any text if its length is wrong. */
export type RawSpan = {
  traceId: string;
  spanId: string;
  /** Empty for a root span. */
  parentSpanId: string;
  name: string;
  kind: number;
  start: RequestTime;
  end: RequestTime;
  statusCode: number;
  statusMessage: string;
  traceState: string;
  attributes: Attributes;
  events: { name: string; time: RequestTime; attributes: Attributes }[];
  links: { traceId: string; spanId: string; attributes: Attributes }[];
};

export function newRawSpan(): RawSpan {
  return {
    traceId: '',
    spanId: '',
    parentSpanId: '',
    name: '',
    kind: 0,
    start: NO_TIME,
    end: NO_TIME,
    statusCode: 0,
    statusMessage: '',
    traceState: '',
    attributes: {},
    events: [],
    links: [],
  };
}

export type Collector<Kept> = {
  /** Validates a span and adds the result of `take`, or counts the span as rejected. Call it after scope and resource are read. */
  add(raw: RawSpan, scope: OtlpSpan['scope'], resource: Attributes): void;
  /** Whether the limit of spans is reached. Further spans are rejected with {@link Collector.refuse}, without reading them. */
  isFull(): boolean;
  /** Counts a span that was not read. */
  refuse(): void;
  done(): DecodedTraces<Kept>;
};

/** @param take maps each span as soon as it is read, so that the garbage collector can free the span early */
export function collectSpans<Kept>(take: (span: OtlpSpan) => Kept): Collector<Kept> {
  const spans: Kept[] = [];
  const reasons = new Set<string>();
  let rejected = 0;
  let partsLeft: number = LIMITS.eventsAndLinks;
  return {
    add(raw, scope, resource) {
      const times = checkSpan(raw);
      if (typeof times === 'string') {
        rejected += 1;
        reasons.add(times);
        return;
      }
      if (raw.events.length > partsLeft) raw.events.length = partsLeft;
      partsLeft -= raw.events.length;
      if (raw.links.length > partsLeft) raw.links.length = partsLeft;
      partsLeft -= raw.links.length;
      spans.push(take(assemble(raw, times, { scope, resource })));
    },
    isFull: () => spans.length + rejected >= LIMITS.records,
    refuse() {
      rejected += 1;
      reasons.add(TOO_MANY_RECORDS);
    },
    done: () => ({ spans, rejected, reasons: [...reasons] }),
  };
}

export function instrumentationScope(name: string, version: string, attributes: Attributes): OtlpSpan['scope'] {
  return { name: storable(name), version: version === '' ? null : storable(version), attributes };
}

export function isTraceId(text: string): boolean {
  return text.length === TRACE_ID_DIGITS && text !== NO_TRACE_ID && HEX.test(text);
}

export function isSpanId(text: string): boolean {
  return text.length === SPAN_ID_DIGITS && text !== NO_SPAN_ID && HEX.test(text);
}

const HEX = /^[0-9a-f]+$/;
const TRACE_ID_DIGITS = 32;
const SPAN_ID_DIGITS = 16;
const NO_TRACE_ID = '0'.repeat(TRACE_ID_DIGITS);
const NO_SPAN_ID = '0'.repeat(SPAN_ID_DIGITS);

/** Whether a span has no parent: the id is absent, or zeros as some senders write. */
function isWithoutParent({ parentSpanId }: RawSpan): boolean {
  return parentSpanId === '' || parentSpanId === NO_SPAN_ID;
}

export const BAD_TIME = 'A time must be an unsigned 64-bit number of nanoseconds since 1970.';

const KINDS = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'] as const;
const STATUS_CODES = ['unset', 'ok', 'error'] as const;

/** The times of a span. If one of them is absent, the other one is used for both. */
type SpanTimes = { start: TimeParts; end: TimeParts };

/** Returns the times of a span, or the reason why it is rejected. */
function checkSpan(raw: RawSpan): SpanTimes | string {
  if (!isTraceId(raw.traceId)) return 'A trace id must be 16 bytes, not all zero.';
  if (!isSpanId(raw.spanId)) return 'A span id must be 8 bytes, not all zero.';
  if (!isWithoutParent(raw) && !isSpanId(raw.parentSpanId)) return 'A parent span id must be 8 bytes, or absent.';
  const { start, end, events } = raw;
  if (start === null || end === null || events.some(({ time }) => time === null)) return BAD_TIME;
  if (isAbsent(start) && isAbsent(end)) return 'A span must have a start time.';
  return { start: isAbsent(start) ? end : start, end: isAbsent(end) ? start : end };
}

function assemble(
  raw: RawSpan,
  { start, end }: SpanTimes,
  { scope, resource }: Pick<OtlpSpan, 'scope' | 'resource'>,
): OtlpSpan {
  const startTime = nanoTime(start);
  return {
    traceId: raw.traceId,
    spanId: raw.spanId,
    parentSpanId: isWithoutParent(raw) ? null : raw.parentSpanId,
    name: cutToBytes(storable(raw.name), LIMITS.nameBytes),
    kind: KINDS[raw.kind] ?? 'unspecified',
    startTime,
    endTime: nanoTime(end),
    durationMs: Math.max(nanosecondsBetween(start, end), 0) / 1e6,
    status: {
      code: STATUS_CODES[raw.statusCode] ?? 'unset',
      message: raw.statusMessage === '' ? null : storable(raw.statusMessage),
    },
    traceState: raw.traceState === '' ? null : storable(raw.traceState),
    scope,
    resource,
    attributes: raw.attributes,
    events: raw.events.map(({ name, time, attributes }) => ({
      name: storable(name),
      time: time === null || isAbsent(time) ? startTime : nanoTime(time),
      attributes,
    })),
    // A link with an invalid id is dropped. The span is still accepted.
    links: raw.links.filter((link) => isTraceId(link.traceId) && isSpanId(link.spanId)),
  };
}
