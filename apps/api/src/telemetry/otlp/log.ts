import { LIMITS, TOO_MANY_RECORDS, isSpanId, isTime, isTraceId, timestamp } from './assemble.ts';
import type { Attributes, AttributeValue, OtlpSpan } from './span.ts';
import { storable } from './text.ts';

/**
 * A log record as both OTLP encodings, protobuf and JSON, end in. Source: opentelemetry-proto 1.11, logs.proto and
 * common.proto.
 */
export type OtlpLogRecord = {
  /** RFC 3339 UTC, always 9 fractional digits: when it happened, else when it was observed, else when it was received. */
  time: string;
  /** 32 lower-case hex digits; null where the record belongs to no trace, or its id is invalid. */
  traceId: string | null;
  /** 16 lower-case hex digits. */
  spanId: string | null;
  /** The record's own event name if it is one word, else its attribute `event.name`, else a body that is one word. */
  eventName: string | null;
  /** The text that the sender gave, else the name of the severity number's range, such as `WARN`. */
  severity: string | null;
  body: AttributeValue;
  attributes: Attributes;
  /** One object shared by all the records of a ScopeLogs. */
  scope: OtlpSpan['scope'];
  /** One object shared by all the records of a ResourceLogs. */
  resource: Attributes;
};

/** A log record's fields as read from the wire, unchecked. */
export type RawLogRecord = {
  /** Nanoseconds since 1970; 0 is absent. */
  time: bigint;
  observedTime: bigint;
  severityNumber: number;
  severityText: string;
  eventName: string;
  traceId: string;
  spanId: string;
  body: AttributeValue;
  attributes: Attributes;
};

export function newRawLogRecord(): RawLogRecord {
  return {
    time: 0n,
    observedTime: 0n,
    severityNumber: 0,
    severityText: '',
    eventName: '',
    traceId: '',
    spanId: '',
    body: null,
    attributes: {},
  };
}

export type LogCollector<Kept> = {
  /** Keeps what is made of the record, or counts it as rejected. Scope and resource are read by then. */
  add(raw: RawLogRecord, scope: OtlpSpan['scope'], resource: Attributes): void;
  /** Whether the request has as many records as it may. Further ones are refused, and need not be read. */
  isFull(): boolean;
  /** Counts a record that was not read. */
  refuse(): void;
  done(): DecodedLogs<Kept>;
};

/** @template Kept what is made of a log record once it is read */
export type DecodedLogs<Kept = OtlpLogRecord> = {
  records: Kept[];
  /** How many records were refused; the others of the request are kept. */
  rejected: number;
  /** Why, in a few distinct sentences that quote nothing of the request. */
  reasons: string[];
};

/**
 * @param receivedAt the time of a record that has none
 * @param take makes what is kept of a record: at once, so that the record itself is soon garbage, and cheaply collected
 */
export function collectLogs<Kept>(receivedAt: Date, take: (record: OtlpLogRecord) => Kept): LogCollector<Kept> {
  const records: Kept[] = [];
  const received = BigInt(receivedAt.getTime()) * NANOS_PER_MILLISECOND;
  const reasons = new Set<string>();
  let rejected = 0;
  return {
    add(raw, scope, resource) {
      if (isTime(raw.time) && isTime(raw.observedTime)) {
        records.push(take(assemble(raw, { scope, resource, received })));
      } else {
        rejected += 1;
        reasons.add(BAD_TIME);
      }
    },
    isFull: () => records.length + rejected >= LIMITS.records,
    refuse() {
      rejected += 1;
      reasons.add(TOO_MANY_RECORDS);
    },
    done: () => ({ records, rejected, reasons: [...reasons] }),
  };
}

const BAD_TIME = 'A time must be an unsigned 64-bit number of nanoseconds since 1970.';
const NANOS_PER_MILLISECOND = 1_000_000n;

/** A longer body is a message, not the name of an event. */
const LONGEST_EVENT_NAME = 256;
const WORD = /^[^\s]+$/;

/** The ranges of SeverityNumber have four numbers each, and begin at 1. */
const SEVERITIES = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'] as const;

function assemble(
  raw: RawLogRecord,
  { scope, resource, received }: { scope: OtlpSpan['scope']; resource: Attributes; received: bigint },
): OtlpLogRecord {
  // An id that is invalid counts as absent: it is no reason to refuse the record (logs.proto, trace_id).
  const isInTrace = isTraceId(raw.traceId);
  return {
    time: timestamp(raw.time || raw.observedTime || received),
    traceId: isInTrace ? raw.traceId : null,
    spanId: isInTrace && isSpanId(raw.spanId) ? raw.spanId : null,
    eventName: eventNameOf(raw),
    severity: storable(raw.severityText) || (SEVERITIES[Math.floor((raw.severityNumber - 1) / 4)] ?? null),
    body: raw.body,
    attributes: raw.attributes,
    scope,
    resource,
  };
}

function eventNameOf({ eventName, attributes, body }: RawLogRecord): string | null {
  // Rust's `tracing` names an event by its place in the source: `event otel/src/session.rs:803`.
  if (WORD.test(eventName)) return storable(eventName);
  const attribute = attributes['event.name'];
  if (typeof attribute === 'string' && attribute !== '') return attribute;
  if (eventName !== '') return storable(eventName);
  return typeof body === 'string' && body.length <= LONGEST_EVENT_NAME && WORD.test(body) ? body : null;
}
