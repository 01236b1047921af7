import protobuf from 'protobufjs';
import { readNames } from '../../../src/telemetry/frameworks/read.ts';
import { decodeJson } from '../../../src/telemetry/otlp/json.ts';
import type { DecodedLogs, OtlpLogRecord } from '../../../src/telemetry/otlp/log.ts';
import { decodeLogsJson } from '../../../src/telemetry/otlp/logs-json.ts';
import { decodeLogsProtobuf } from '../../../src/telemetry/otlp/logs-protobuf.ts';
import { decodeProtobuf } from '../../../src/telemetry/otlp/protobuf.ts';
import type { DecodedTraces, OtlpSpan } from '../../../src/telemetry/otlp/span.ts';

/** Requests in OTLP's JSON form. */
export type Json = { [key: string]: unknown };

// Written after opentelemetry-proto 1.11, independently of the decoder's descriptors, so that each checks the other.
const { root } = protobuf.parse(`
  syntax = "proto3";
  message Request { repeated ResourceSpans resource_spans = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; string schema_url = 3; }
  message Resource { repeated KeyValue attributes = 1; uint32 dropped_attributes_count = 2; }
  message ScopeSpans { Scope scope = 1; repeated Span spans = 2; string schema_url = 3; }
  message Scope { string name = 1; string version = 2; repeated KeyValue attributes = 3; }
  message Span {
    bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; fixed32 flags = 16;
    string name = 5; int32 kind = 6; fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
    repeated KeyValue attributes = 9; uint32 dropped_attributes_count = 10; repeated Event events = 11;
    uint32 dropped_events_count = 12; repeated Link links = 13; uint32 dropped_links_count = 14; Status status = 15;
  }
  message Event { fixed64 time_unix_nano = 1; string name = 2; repeated KeyValue attributes = 3; }
  message Link { bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; repeated KeyValue attributes = 4; }
  message Status { string message = 2; int32 code = 3; }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message AnyValue { oneof value {
    string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4;
    ArrayValue array_value = 5; KeyValueList kvlist_value = 6; bytes bytes_value = 7;
  } }
  message ArrayValue { repeated AnyValue values = 1; }
  message KeyValueList { repeated KeyValue values = 1; }
  message LogsRequest { repeated ResourceLogs resource_logs = 1; }
  message ResourceLogs { Resource resource = 1; repeated ScopeLogs scope_logs = 2; string schema_url = 3; }
  message ScopeLogs { Scope scope = 1; repeated LogRecord log_records = 2; string schema_url = 3; }
  message LogRecord {
    fixed64 time_unix_nano = 1; fixed64 observed_time_unix_nano = 11; int32 severity_number = 2; string severity_text = 3;
    AnyValue body = 5; repeated KeyValue attributes = 6; uint32 dropped_attributes_count = 7; fixed32 flags = 8;
    bytes trace_id = 9; bytes span_id = 10; string event_name = 12;
  }
  message Response { PartialSuccess partial_success = 1; }
  message PartialSuccess { int64 rejected_spans = 1; string error_message = 2; }
  message RpcStatus { int32 code = 1; string message = 2; }
`);

export function toProtobuf(request: Json, name: 'Request' | 'LogsRequest' = 'Request'): Uint8Array {
  const type = root.lookupType(name);
  return type.encode(type.fromObject(withBytes(request) as Json)).finish();
}

/** Decodes a message. Ids are bytes, as the encoder expects them. */
export function fromProtobuf(type: 'Request' | 'LogsRequest' | 'Response' | 'RpcStatus', bytes: Uint8Array): Json {
  const message = root.lookupType(type);
  return message.toObject(message.decode(bytes), { longs: String });
}

/** The decoders of both encodings, for tests that loop over them. */
export const encodings: [string, (request: Json) => DecodedTraces][] = [
  ['protobuf', (request) => decodeProtobuf(toProtobuf(request), { take: (span) => span, keptNames: readNames })],
  [
    'json',
    (request) => decodeJson(JSON.parse(JSON.stringify(request)), { take: (span) => span, keptNames: readNames }),
  ],
];

export const RECEIVED_AT = new Date('2026-01-02T03:04:05.678Z');

/** Keeps whole log records, and the attributes that are read wherever they stand. */
export const WHOLE_RECORDS = { receivedAt: RECEIVED_AT, take: (record: OtlpLogRecord) => record, keptNames: readNames };

export const logEncodings: [string, (request: Json) => DecodedLogs][] = [
  ['protobuf', (request) => decodeLogsProtobuf(toProtobuf(request, 'LogsRequest'), WHOLE_RECORDS)],
  ['json', (request) => decodeLogsJson(JSON.parse(JSON.stringify(request)), WHOLE_RECORDS)],
];

export const TRACE_ID = '5b8efff798038103d269b633813fc60c';
export const SPAN_ID = 'eee19b7ec3c1b174';

export function request(...spans: Json[]): Json {
  return { resourceSpans: [{ scopeSpans: [{ spans }] }] };
}

export function wireSpan(fields: Json = {}): Json {
  return {
    traceId: TRACE_ID,
    spanId: SPAN_ID,
    name: 'chat gpt-4o',
    startTimeUnixNano: '1700000000000000001',
    endTimeUnixNano: '1700000000250000001',
    ...fields,
  };
}

export function logRequest(...logRecords: Json[]): Json {
  return { resourceLogs: [{ scopeLogs: [{ logRecords }] }] };
}

export function attribute(key: string, value: Json): Json {
  return { key, value };
}

/** A decoded span with the given fields. */
export function span(fields: Partial<OtlpSpan> = {}): OtlpSpan {
  return {
    traceId: TRACE_ID,
    spanId: SPAN_ID,
    parentSpanId: null,
    name: 'a span',
    kind: 'client',
    startTime: '2023-11-14T22:13:20.000000001Z',
    endTime: '2023-11-14T22:13:20.250000001Z',
    durationMs: 250,
    status: { code: 'unset', message: null },
    traceState: null,
    scope: { name: 'a scope', version: null, attributes: {} },
    resource: {},
    attributes: {},
    events: [],
    links: [],
    ...fields,
  };
}

const BYTES_FIELDS = new Map<string, BufferEncoding>([
  ['traceId', 'hex'],
  ['spanId', 'hex'],
  ['parentSpanId', 'hex'],
  ['bytesValue', 'base64'],
]);

function withBytes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withBytes);
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
  const copy: Json = {};
  for (const [key, field] of Object.entries(value)) {
    const encoding = BYTES_FIELDS.get(key);
    copy[key] = encoding !== undefined && typeof field === 'string' ? Buffer.from(field, encoding) : withBytes(field);
  }
  return copy;
}

/** An ExportLogsServiceRequest of Claude Code: one request to a model for each id. */
export function modelRequestLogs(...requestIds: string[]) {
  const text = (key: string, stringValue: string) => attribute(key, { stringValue });
  const logRecords = requestIds.map((id) => ({
    timeUnixNano: '1700000000000000000',
    body: { stringValue: 'claude_code.api_request' },
    attributes: [text('event.name', 'api_request'), text('model', 'claude-sonnet-5'), text('request_id', id)],
  }));
  const resource = { attributes: [text('service.name', 'claude-code')] };
  return {
    resourceLogs: [{ resource, scopeLogs: [{ scope: { name: 'com.anthropic.claude_code.events' }, logRecords }] }],
  };
}
