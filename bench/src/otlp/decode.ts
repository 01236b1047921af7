import protobuf from 'protobufjs/minimal.js';

type Value = string | number | boolean | null | Value[] | { [key: string]: Value };
type Attributes = Record<string, Value>;

export type DecodedSpan = {
  traceId: string;
  spanId: string;
  parentSpanId: string | null;
  name: string;
  kind: string;
  startTime: string;
  endTime: string;
  durationMs: number;
  status: { code: string; message: string | null };
  scope: { name: string; version: string | null; attributes: Attributes };
  resource: Attributes;
  attributes: Attributes;
  events: { name: string; time: string; attributes: Attributes }[];
  links: { traceId: string; spanId: string; attributes: Attributes }[];
  serviceName: string | null;
  genAi: null;
};

const KINDS = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'];
const STATUS_CODES = ['unset', 'ok', 'error'];

/** Decodes the spans of an ExportTraceServiceRequest in hand-written code, without limits and validation. */
export function decodeSpans(body: Buffer): DecodedSpan[] {
  const reader = protobuf.Reader.create(body);
  const spans: DecodedSpan[] = [];
  fields(reader, reader.len, (field) => {
    if (field !== 1) return false;
    const resource: Attributes = {};
    message(reader, (inner) => {
      if (inner === 1) message(reader, (one) => one === 1 && attribute(reader, resource));
      else if (inner === 2) readScopeSpans(reader, resource, spans);
      else return false;
      return true;
    });
    return true;
  });
  return spans;
}

function readScopeSpans(reader: protobuf.Reader, resource: Attributes, spans: DecodedSpan[]): void {
  const scope: DecodedSpan['scope'] = { name: '', version: null, attributes: {} };
  message(reader, (field) => {
    if (field === 2) {
      spans.push(readSpan(reader, scope, resource));
      return true;
    }
    if (field !== 1) return false;
    message(reader, (inner) => {
      if (inner === 1) scope.name = reader.string();
      else if (inner === 2) scope.version = reader.string();
      else if (inner === 3) attribute(reader, scope.attributes);
      else return false;
      return true;
    });
    return true;
  });
}

function readSpan(reader: protobuf.Reader, scope: DecodedSpan['scope'], resource: Attributes): DecodedSpan {
  const attributes: Attributes = {};
  const events: DecodedSpan['events'] = [];
  const links: DecodedSpan['links'] = [];
  const status: DecodedSpan['status'] = { code: 'unset', message: null };
  let [traceId, spanId, name, kind, start, end] = ['', '', '', 'unspecified', 0n, 0n];
  let parentSpanId: string | null = null;
  message(reader, (field) => {
    switch (field) {
      case 1:
        traceId = hex(reader);
        return true;
      case 2:
        spanId = hex(reader);
        return true;
      case 4:
        parentSpanId = hex(reader);
        return true;
      case 5:
        name = reader.string();
        return true;
      case 6:
        kind = KINDS[reader.int32()] ?? 'unspecified';
        return true;
      case 7:
        start = nanoseconds(reader);
        return true;
      case 8:
        end = nanoseconds(reader);
        return true;
      case 9:
        return attribute(reader, attributes);
      case 11:
        events.push(readEvent(reader));
        return true;
      case 13:
        links.push(readLink(reader));
        return true;
      case 15:
        readStatus(reader, status);
        return true;
      default:
        return false;
    }
  });
  const serviceName = resource['service.name'];
  return {
    traceId,
    spanId,
    parentSpanId,
    name,
    kind,
    startTime: timestamp(start),
    endTime: timestamp(end),
    durationMs: Number(end - start) / 1e6,
    status,
    scope,
    resource,
    attributes,
    events,
    links,
    serviceName: typeof serviceName === 'string' ? serviceName : null,
    genAi: null,
  };
}

function readEvent(reader: protobuf.Reader): DecodedSpan['events'][number] {
  const event = { name: '', time: '', attributes: {} };
  message(reader, (field) => {
    if (field === 1) event.time = timestamp(nanoseconds(reader));
    else if (field === 2) event.name = reader.string();
    else if (field === 3) attribute(reader, event.attributes);
    else return false;
    return true;
  });
  return event;
}

function readLink(reader: protobuf.Reader): DecodedSpan['links'][number] {
  const link = { traceId: '', spanId: '', attributes: {} };
  message(reader, (field) => {
    if (field === 1) link.traceId = hex(reader);
    else if (field === 2) link.spanId = hex(reader);
    else if (field === 4) attribute(reader, link.attributes);
    else return false;
    return true;
  });
  return link;
}

function readStatus(reader: protobuf.Reader, status: DecodedSpan['status']): void {
  message(reader, (field) => {
    if (field === 2) status.message = reader.string();
    else if (field === 3) status.code = STATUS_CODES[reader.int32()] ?? 'unset';
    else return false;
    return true;
  });
}

function attribute(reader: protobuf.Reader, into: Attributes): boolean {
  let key = '';
  let value: Value = null;
  message(reader, (field) => {
    if (field === 1) key = reader.string();
    else if (field === 2) value = readValue(reader);
    else return false;
    return true;
  });
  into[key] = value;
  return true;
}

function readValue(reader: protobuf.Reader): Value {
  let value: Value = null;
  message(reader, (field) => {
    if (field === 1) value = reader.string();
    else if (field === 2) value = reader.bool();
    else if (field === 3) value = Number(reader.int64());
    else if (field === 4) value = reader.double();
    else if (field === 5) {
      const items: Value[] = [];
      message(reader, (one) => one === 1 && items.push(readValue(reader)) > 0);
      value = items;
    } else if (field === 6) {
      const entries: Attributes = {};
      message(reader, (one) => one === 1 && attribute(reader, entries));
      value = entries;
    } else return false;
    return true;
  });
  return value;
}

function message(reader: protobuf.Reader, read: (field: number) => boolean): void {
  const length = reader.uint32();
  fields(reader, reader.pos + length, read);
}

function fields(reader: protobuf.Reader, end: number, read: (field: number) => boolean): void {
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (!read(tag >>> 3)) reader.skipType(tag & 7);
  }
}

function hex(reader: protobuf.Reader): string {
  const { buffer, byteOffset, length } = reader.bytes();
  return Buffer.from(buffer, byteOffset, length).toString('hex');
}

function nanoseconds(reader: protobuf.Reader): bigint {
  const low = reader.fixed32();
  return (BigInt(reader.fixed32()) << 32n) | BigInt(low);
}

function timestamp(time: bigint): string {
  const seconds = time / 1_000_000_000n;
  const fraction = Number(time - seconds * 1_000_000_000n);
  return `${new Date(Number(seconds) * 1000).toISOString().slice(0, 19)}.${String(fraction).padStart(9, '0')}Z`;
}
