import { readNames } from '../dialects/read.ts';
import { type Attributes, type AttributeValue, type DecodedTraces, type OtlpSpan } from './span.ts';
import { cutToBytes, storable } from './text.ts';

/** Limits for both encodings, so that a hostile span cannot grow without bound. What exceeds them is dropped silently. */
export const LIMITS = {
  /**
   * Entries of each attribute list, and of each key-value list inside a value. In a span's own list, the attributes that
   * `readSpan` reads are kept even beyond this limit: some instrumentations flatten a long conversation into hundreds of
   * attributes, and write the model and the token counts after them.
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

/** The longest attribute name that `readSpan` reads. Longer names need not be decoded to be skipped. */
export const MAX_READ_NAME_CHARACTERS = Math.max(...[...readNames].map((name) => name.length));

export function isReadName(name: string): boolean {
  return readNames.has(name);
}

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
  /** Nanoseconds since 1970. 0 means absent. */
  start: bigint;
  end: bigint;
  statusCode: number;
  statusMessage: string;
  traceState: string;
  attributes: Attributes;
  events: { name: string; time: bigint; attributes: Attributes }[];
  links: { traceId: string; spanId: string; attributes: Attributes }[];
};

export function newRawSpan(): RawSpan {
  return {
    traceId: '',
    spanId: '',
    parentSpanId: '',
    name: '',
    kind: 0,
    start: 0n,
    end: 0n,
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
      const reason = refusalOf(raw);
      if (reason === null) {
        if (raw.events.length > partsLeft) raw.events.length = partsLeft;
        partsLeft -= raw.events.length;
        if (raw.links.length > partsLeft) raw.links.length = partsLeft;
        partsLeft -= raw.links.length;
        spans.push(take(assemble(raw, scope, resource)));
      } else {
        rejected += 1;
        reasons.add(reason);
      }
    },
    isFull: () => spans.length + rejected >= LIMITS.records,
    refuse() {
      rejected += 1;
      reasons.add(TOO_MANY_RECORDS);
    },
    done: () => ({ spans, rejected, reasons: [...reasons] }),
  };
}

export function scopeOf(name: string, version: string, attributes: Attributes): OtlpSpan['scope'] {
  return { name: storable(name), version: version === '' ? null : storable(version), attributes };
}

export function isTraceId(text: string): boolean {
  return TRACE_ID.test(text);
}

export function isSpanId(text: string): boolean {
  return SPAN_ID.test(text);
}

const TRACE_ID = /^(?!0{32}$)[0-9a-f]{32}$/;
const SPAN_ID = /^(?!0{16}$)[0-9a-f]{16}$/;
/** No parent: absent, or zeros as some senders write. */
const NO_PARENT = /^(?:0{16})?$/;

const LATEST = 2n ** 64n - 1n;
const NANOS_PER_SECOND = 1_000_000_000n;

const KINDS = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'] as const;
const STATUS_CODES = ['unset', 'ok', 'error'] as const;

function refusalOf(raw: RawSpan): string | null {
  if (!isTraceId(raw.traceId)) return 'A trace id must be 16 bytes, not all zero.';
  if (!isSpanId(raw.spanId)) return 'A span id must be 8 bytes, not all zero.';
  if (!NO_PARENT.test(raw.parentSpanId) && !isSpanId(raw.parentSpanId)) {
    return 'A parent span id must be 8 bytes, or absent.';
  }
  if (!isTime(raw.start) || !isTime(raw.end) || !raw.events.every((event) => isTime(event.time))) {
    return 'A time must be an unsigned 64-bit number of nanoseconds since 1970.';
  }
  if (raw.start === 0n && raw.end === 0n) return 'A span must have a start time.';
  return null;
}

function assemble(raw: RawSpan, scope: OtlpSpan['scope'], resource: Attributes): OtlpSpan {
  // If one of the times is missing, the other one is used for both.
  const start = raw.start === 0n ? raw.end : raw.start;
  const end = raw.end === 0n ? raw.start : raw.end;
  const startTime = timestamp(start);
  return {
    traceId: raw.traceId,
    spanId: raw.spanId,
    parentSpanId: NO_PARENT.test(raw.parentSpanId) ? null : raw.parentSpanId,
    name: cutToBytes(storable(raw.name), LIMITS.nameBytes),
    kind: KINDS[raw.kind] ?? 'unspecified',
    startTime,
    endTime: end === start ? startTime : timestamp(end),
    durationMs: end > start ? Number(end - start) / 1e6 : 0,
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
      time: time === 0n ? startTime : timestamp(time),
      attributes,
    })),
    // A link with an invalid id is dropped. The span is still accepted.
    links: raw.links.filter((link) => isTraceId(link.traceId) && isSpanId(link.spanId)),
  };
}

export function isTime(nanos: bigint): boolean {
  return nanos >= 0n && nanos <= LATEST;
}

/** The last formatted second. Times of a batch are close together, and dividing and formatting are slow. */
let lastSecond = { start: -1n, end: -1n, text: '' };

/** RFC 3339 with 9 fractional digits. The latest time is in the year 2554, so the year always has four digits. */
export function timestamp(nanos: bigint): string {
  if (nanos < lastSecond.start || nanos >= lastSecond.end) {
    const seconds = nanos / NANOS_PER_SECOND;
    const start = seconds * NANOS_PER_SECOND;
    const text = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
    lastSecond = { start, end: start + NANOS_PER_SECOND, text };
  }
  return `${lastSecond.text}.${String(Number(nanos - lastSecond.start)).padStart(9, '0')}Z`;
}
