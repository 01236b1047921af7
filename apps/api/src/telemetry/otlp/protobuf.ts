import protobuf from 'protobufjs/minimal.js';
import { collectSpans, type Decoding, LIMITS, newRawSpan, NO_NAMES, type RawSpan } from './assemble.ts';
import { walkProtobufRequest } from './protobuf-request.ts';
import {
  bytes,
  Entries,
  fixed64,
  message,
  readMessage,
  readTime,
  type Source,
  text,
  varint,
  WIRE_TYPE_OF_MESSAGES,
} from './protobuf-values.ts';
import type { DecodedTraces, OtlpSpan, PartialSuccess } from './span.ts';
import { NO_TIME } from './time.ts';

/**
 * Decodes an ExportTraceServiceRequest (opentelemetry-proto 1.11).
 *
 * @param decoding by default the spans themselves are returned
 * @throws OtlpDecodeError if the bytes are not such a message
 */
export function decodeProtobuf(bytes: Uint8Array): DecodedTraces;
export function decodeProtobuf<Kept>(bytes: Uint8Array, decoding: Decoding<OtlpSpan, Kept>): DecodedTraces<Kept>;
export function decodeProtobuf(
  bytes: Uint8Array,
  { take, keptNames = NO_NAMES }: Decoding<OtlpSpan, unknown> = { take: (span) => span },
): DecodedTraces<unknown> {
  const collector = collectSpans(take);
  walkProtobufRequest(bytes, 'ExportTraceServiceRequest', (source, scope, resource) => {
    if (collector.isFull()) {
      source.reader.skipType(WIRE_TYPE_OF_MESSAGES);
      collector.refuse();
    } else {
      collector.add(readSpan(source, keptNames), scope, resource);
    }
  });
  return collector.done();
}

/** The response of any signal. @param partial null: full success, which is encoded as zero bytes */
export function encodeProtobufResponse(partial: PartialSuccess | null): Uint8Array {
  const writer = protobuf.Writer.create();
  if (partial === null) return writer.finish();
  return writer
    .uint32(message(1))
    .fork()
    .uint32(varint(1))
    .int64(partial.rejected)
    .uint32(text(2))
    .string(partial.errorMessage)
    .ldelim()
    .finish();
}

/** google.rpc.Status without details. `code` is one of google.rpc.Code. */
export function encodeProtobufStatus(status: { code: number; message: string }): Uint8Array {
  return protobuf.Writer.create().uint32(varint(1)).int32(status.code).uint32(text(2)).string(status.message).finish();
}

// Message descriptors: the tags of the fields that are read.
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

function readSpan(source: Source, keptNames: ReadonlySet<string>): RawSpan {
  const span = newRawSpan();
  const attributes = new Entries(span.attributes, keptNames);
  readMessage(source.reader, (tag) => {
    switch (tag) {
      case SPAN.traceId:
        span.traceId = source.texts.readId(source.reader);
        return true;
      case SPAN.spanId:
        span.spanId = source.texts.readId(source.reader);
        return true;
      case SPAN.traceState:
        span.traceState = source.reader.string();
        return true;
      case SPAN.parentSpanId:
        span.parentSpanId = source.texts.readId(source.reader);
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
  const event: RawSpan['events'][number] = { name: '', time: NO_TIME, attributes: {} };
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
        link.traceId = source.texts.readId(source.reader);
        return true;
      case LINK.spanId:
        link.spanId = source.texts.readId(source.reader);
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
