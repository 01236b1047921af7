import { nanoTime, type TimeParts } from '@quartermaster/db/nano-time.ts';
import { storable } from '@quartermaster/db/storable-text.ts';
import { BAD_TIME, type Decoding, LIMITS, TOO_MANY_RECORDS, isSpanId, isTraceId } from './assemble.ts';
import type { Attributes, AttributeValue, OtlpSpan } from './span.ts';
import { isAbsent, NO_TIME, type RequestTime } from './time.ts';

/**
 * A decoded log record, the same for protobuf and JSON. Source: opentelemetry-proto 1.11, logs.proto and common.proto.
 */
export type OtlpLogRecord = {
  /** The first of event time, observation time and time of receipt. RFC 3339 UTC, always 9 fractional digits. */
  time: string;
  /** 32 lower-case hex digits. Null if the record belongs to no trace, or if its id is invalid. */
  traceId: string | null;
  /** 16 lower-case hex digits. */
  spanId: string | null;
  /**
   * The record's event name if it is one word, otherwise the attribute `event.name`, otherwise a body of one word, or of which the
   * first text is one word.
   */
  eventName: string | null;
  /** The severity text, otherwise the name of the severity number's range, such as `WARN`. */
  severity: string | null;
  body: AttributeValue;
  attributes: Attributes;
  /** One object shared by all the records of a ScopeLogs. */
  scope: OtlpSpan['scope'];
  /** One object shared by all the records of a ResourceLogs. */
  resource: Attributes;
};

/** The fields of a log record as they were read, before validation. */
export type RawLogRecord = {
  time: RequestTime;
  observedTime: RequestTime;
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
    time: NO_TIME,
    observedTime: NO_TIME,
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
  /** Validates a record and adds the result of `take`, or counts it as rejected. Call it after scope and resource are read. */
  add(raw: RawLogRecord, scope: OtlpSpan['scope'], resource: Attributes): void;
  /** Whether the limit of records is reached. Further records are rejected without reading them. */
  isFull(): boolean;
  /** Counts a record that was not read. */
  refuse(): void;
  done(): DecodedLogs<Kept>;
};

/** @template Kept the result of `take` for a log record */
export type DecodedLogs<Kept = OtlpLogRecord> = {
  records: Kept[];
  /** How many records were rejected. The other records of the request are accepted. */
  rejected: number;
  /** The distinct reasons, as sentences that quote nothing from the request. */
  reasons: string[];
};

/** `receivedAt` is the time for records without a time. */
export type LogDecoding<Kept> = Decoding<OtlpLogRecord, Kept> & { receivedAt: Date };

/**
 * @param receivedAt the time for records without a time
 * @param take maps each record as soon as it is read, so that the garbage collector can free the record early
 */
export function collectLogs<Kept>(receivedAt: Date, take: (record: OtlpLogRecord) => Kept): LogCollector<Kept> {
  const records: Kept[] = [];
  const received = { milliseconds: receivedAt.getTime(), nanoseconds: 0 };
  const reasons = new Set<string>();
  let rejected = 0;
  return {
    add(raw, scope, resource) {
      const { time, observedTime } = raw;
      if (time !== null && observedTime !== null) {
        const first = [time, observedTime].find((one) => !isAbsent(one)) ?? received;
        records.push(take(assemble(raw, { scope, resource, time: first })));
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

/** A longer body is a message, and not the name of an event. */
const MAX_EVENT_NAME_CHARACTERS = 256;
const WORD = /^[^\s]+$/;

/** The ranges of SeverityNumber have four numbers each, and begin at 1. */
const SEVERITIES = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'] as const;

function assemble(
  raw: RawLogRecord,
  { scope, resource, time }: { scope: OtlpSpan['scope']; resource: Attributes; time: TimeParts },
): OtlpLogRecord {
  // An invalid id counts as absent, and the record is still accepted (logs.proto, trace_id).
  const isInTrace = isTraceId(raw.traceId);
  return {
    time: nanoTime(time),
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
  // Effect's logger writes a list: the message, and its data as JSON.
  const message = Array.isArray(body) ? body[0] : body;
  return typeof message === 'string' && message.length <= MAX_EVENT_NAME_CHARACTERS && WORD.test(message)
    ? message
    : null;
}
