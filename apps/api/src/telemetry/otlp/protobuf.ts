import protobuf from 'protobufjs/minimal.js';
import { type Collector, collectSpans, isReadName, LIMITS, newRawSpan, type RawSpan, scopeOf } from './assemble.ts';
import {
  bytes,
  Entries,
  fixed64,
  isWithin,
  message,
  type Reader,
  readBytes,
  readMessage,
  type Source,
  skip,
  Texts,
  text,
  varint,
} from './protobuf-values.ts';
import { type Attributes, type DecodedTraces, OtlpDecodeError, type OtlpSpan, type PartialSuccess } from './span.ts';

/**
 * Decodes an ExportTraceServiceRequest (opentelemetry-proto 1.11).
 *
 * It walks the wire with protobufjs' reader instead of its generated decoders: those build every element of a request
 * before anything can be bounded, so that a few kilobytes of gzip, unpacked to millions of two-byte elements, would take
 * gigabytes; and they refuse the whole request where one attribute is nested too deep. Unknown fields, and known ones of
 * another wire type, are skipped, as every protobuf parser does.
 *
 * Throws OtlpDecodeError where the bytes are no such message.
 *
 * @param take makes what is kept of a span; all of it, if there is none
 */
export function decodeProtobuf(bytes: Uint8Array): DecodedTraces;
export function decodeProtobuf<Kept>(bytes: Uint8Array, take: (span: OtlpSpan) => Kept): DecodedTraces<Kept>;
export function decodeProtobuf(
  bytes: Uint8Array,
  take: (span: OtlpSpan) => unknown = (span) => span,
): DecodedTraces<unknown> {
  const collector = collectSpans(take);
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const source = { reader: protobuf.Reader.create(buffer), texts: new Texts(buffer) };
  const { reader } = source;
  try {
    while (isWithin(reader)) {
      const tag = reader.tag();
      if (tag === REQUEST.resourceSpans) readResourceSpans(source, collector);
      else skip(reader, tag);
    }
    if (reader.pos !== reader.len) throw new RangeError('a field runs past the request');
  } catch (error) {
    // The reader throws Error and RangeError alone; a TypeError is a bug of ours.
    if (error instanceof TypeError) throw error;
    throw new OtlpDecodeError('The body is not a valid protobuf ExportTraceServiceRequest.', { cause: error });
  }
  return collector.done();
}

/** ExportTraceServiceResponse; null is full success, which is zero bytes. */
export function encodeProtobufResponse(partial: PartialSuccess | null): Uint8Array {
  const writer = protobuf.Writer.create();
  if (partial === null) return writer.finish();
  return writer
    .uint32(message(1))
    .fork()
    .uint32(varint(1))
    .int64(partial.rejectedSpans)
    .uint32(text(2))
    .string(partial.errorMessage)
    .ldelim()
    .finish();
}

/** google.rpc.Status without details. `code` is one of google.rpc.Code. */
export function encodeProtobufStatus(status: { code: number; message: string }): Uint8Array {
  return protobuf.Writer.create().uint32(varint(1)).int32(status.code).uint32(text(2)).string(status.message).finish();
}

// Message descriptors: each field by the tag it has on the wire. Fields not read are not here.
const REQUEST = { resourceSpans: message(1) };
const RESOURCE_SPANS = { resource: message(1), scopeSpans: message(2) };
const RESOURCE = { attributes: message(1) };
const SCOPE_SPANS = { scope: message(1), spans: message(2) };
const SCOPE = { name: text(1), version: text(2), attributes: message(3) };
const SPAN = {
  traceId: bytes(1),
  spanId: bytes(2),
  traceState: text(3),
  parentSpanId: bytes(4),
  name: text(5),
  kind: varint(6),
  startTimeUnixNano: fixed64(7),
  endTimeUnixNano: fixed64(8),
  attributes: message(9),
  events: message(11),
  links: message(13),
  status: message(15),
};
const EVENT = { timeUnixNano: fixed64(1), name: text(2), attributes: message(3) };
const LINK = { traceId: bytes(1), spanId: bytes(2), attributes: message(4) };
const STATUS = { message: text(2), code: varint(3) };

// The wire allows spans to stand before their resource and scope. What is made of a span says both: they are read first,
// and the message then once more.

function readResourceSpans(source: Source, collector: Collector<unknown>): void {
  const resource: Attributes = {};
  const attributes = new Entries(resource);
  const { reader } = source;
  const start = reader.pos;
  readMessage(reader, (tag) => {
    if (tag !== RESOURCE_SPANS.resource) return false;
    readMessage(reader, (inner) => inner === RESOURCE.attributes && attributes.read(source));
    return true;
  });
  reader.pos = start;
  readMessage(reader, (tag) => {
    if (tag !== RESOURCE_SPANS.scopeSpans) return false;
    readScopeSpans(source, resource, collector);
    return true;
  });
}

function readScopeSpans(source: Source, resource: Attributes, collector: Collector<unknown>): void {
  const scope = scopeOf('', '', {});
  const attributes = new Entries(scope.attributes);
  const { reader } = source;
  const start = reader.pos;
  readMessage(reader, (tag) => {
    if (tag !== SCOPE_SPANS.scope) return false;
    readScope(source, scope, attributes);
    return true;
  });
  reader.pos = start;
  readMessage(reader, (tag) => {
    if (tag !== SCOPE_SPANS.spans) return false;
    collector.add(readSpan(source), scope, resource);
    return true;
  });
}

function readScope(source: Source, scope: OtlpSpan['scope'], attributes: Entries): void {
  readMessage(source.reader, (tag) => {
    switch (tag) {
      case SCOPE.name:
        scope.name = source.texts.read(source.reader);
        return true;
      case SCOPE.version:
        scope.version = source.texts.read(source.reader) || null;
        return true;
      case SCOPE.attributes:
        return attributes.read(source);
      default:
        return false;
    }
  });
}

function readSpan(source: Source): RawSpan {
  const span = newRawSpan();
  const attributes = new Entries(span.attributes, isReadName);
  readMessage(source.reader, (tag) => {
    switch (tag) {
      case SPAN.traceId:
        span.traceId = readId(source.reader);
        return true;
      case SPAN.spanId:
        span.spanId = readId(source.reader);
        return true;
      case SPAN.traceState:
        span.traceState = source.reader.string();
        return true;
      case SPAN.parentSpanId:
        span.parentSpanId = readId(source.reader);
        return true;
      case SPAN.name:
        span.name = source.texts.read(source.reader);
        return true;
      case SPAN.kind:
        span.kind = source.reader.int32();
        return true;
      case SPAN.startTimeUnixNano:
        span.start = readTime(source.reader);
        return true;
      case SPAN.endTimeUnixNano:
        span.end = readTime(source.reader);
        return true;
      case SPAN.attributes:
        return attributes.read(source);
      case SPAN.events:
        if (span.events.length >= LIMITS.events) return false;
        span.events.push(readEvent(source));
        return true;
      case SPAN.links:
        if (span.links.length >= LIMITS.links) return false;
        span.links.push(readLink(source));
        return true;
      case SPAN.status:
        readStatus(source, span);
        return true;
      default:
        return false;
    }
  });
  return span;
}

function readEvent(source: Source): RawSpan['events'][number] {
  const event = { name: '', time: 0n, attributes: {} };
  const attributes = new Entries(event.attributes);
  readMessage(source.reader, (tag) => {
    switch (tag) {
      case EVENT.timeUnixNano:
        event.time = readTime(source.reader);
        return true;
      case EVENT.name:
        event.name = source.texts.read(source.reader);
        return true;
      case EVENT.attributes:
        return attributes.read(source);
      default:
        return false;
    }
  });
  return event;
}

function readLink(source: Source): RawSpan['links'][number] {
  const link = { traceId: '', spanId: '', attributes: {} };
  const attributes = new Entries(link.attributes);
  readMessage(source.reader, (tag) => {
    switch (tag) {
      case LINK.traceId:
        link.traceId = readId(source.reader);
        return true;
      case LINK.spanId:
        link.spanId = readId(source.reader);
        return true;
      case LINK.attributes:
        return attributes.read(source);
      default:
        return false;
    }
  });
  return link;
}

function readStatus(source: Source, span: RawSpan): void {
  readMessage(source.reader, (tag) => {
    switch (tag) {
      case STATUS.message:
        span.statusMessage = source.reader.string();
        return true;
      case STATUS.code:
        span.statusCode = source.reader.int32();
        return true;
      default:
        return false;
    }
  });
}

/** Hex. The longest id has 16 bytes; a longer one is refused later, whatever it says. */
function readId(reader: Reader): string {
  return readBytes(reader, 'hex', 16) ?? 'too long';
}

function readTime(reader: Reader): bigint {
  const low = reader.fixed32();
  const high = reader.fixed32();
  return (BigInt(high) << 32n) | BigInt(low);
}
