import protobuf from 'protobufjs/minimal.js';

/** A span to be sent. Ids are bytes. Times are nanoseconds since 1970. */
export type SentSpan = {
  traceId: Buffer;
  spanId: Buffer;
  parentSpanId: Buffer | null;
  name: string;
  kind: number;
  start: bigint;
  end: bigint;
  attributes: Attributes;
  events: { name: string; time: bigint; attributes: Attributes }[];
  failed: boolean;
};

export type Attributes = Record<string, string | number | boolean | string[]>;
export type SentBatch = { resource: Attributes; scope: { name: string; version: string }; spans: SentSpan[] };

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;

const STATUS_ERROR = 2;

/** An ExportTraceServiceRequest (opentelemetry-proto 1.11) with one resource and one scope, as exporters send it. */
export function encodeBatch({ resource, scope, spans }: SentBatch): Buffer {
  const writer = protobuf.Writer.create();
  nested(writer, 1, () => {
    nested(writer, 1, () => writeAttributes(writer, 1, resource));
    nested(writer, 2, () => {
      nested(writer, 1, () => {
        writer.uint32(tag(1, BYTES)).string(scope.name).uint32(tag(2, BYTES)).string(scope.version);
      });
      for (const span of spans) nested(writer, 2, () => writeSpan(writer, span));
    });
  });
  return Buffer.from(writer.finish());
}

function writeSpan(writer: protobuf.Writer, span: SentSpan): void {
  writer.uint32(tag(1, BYTES)).bytes(span.traceId).uint32(tag(2, BYTES)).bytes(span.spanId);
  if (span.parentSpanId !== null) writer.uint32(tag(4, BYTES)).bytes(span.parentSpanId);
  writer.uint32(tag(5, BYTES)).string(span.name).uint32(tag(6, VARINT)).int32(span.kind);
  writeTime(writer, 7, span.start);
  writeTime(writer, 8, span.end);
  writeAttributes(writer, 9, span.attributes);
  for (const event of span.events) {
    nested(writer, 11, () => {
      writeTime(writer, 1, event.time);
      writer.uint32(tag(2, BYTES)).string(event.name);
      writeAttributes(writer, 3, event.attributes);
    });
  }
  if (span.failed) nested(writer, 15, () => writer.uint32(tag(3, VARINT)).int32(STATUS_ERROR));
}

function writeAttributes(writer: protobuf.Writer, field: number, attributes: Attributes): void {
  for (const [key, value] of Object.entries(attributes)) {
    nested(writer, field, () => {
      writer.uint32(tag(1, BYTES)).string(key);
      nested(writer, 2, () => writeValue(writer, value));
    });
  }
}

function writeValue(writer: protobuf.Writer, value: Attributes[string]): void {
  if (typeof value === 'string') writer.uint32(tag(1, BYTES)).string(value);
  else if (typeof value === 'boolean') writer.uint32(tag(2, VARINT)).bool(value);
  else if (typeof value === 'number' && Number.isInteger(value)) writer.uint32(tag(3, VARINT)).int64(value);
  else if (typeof value === 'number') writer.uint32(tag(4, FIXED64)).double(value);
  else nested(writer, 5, () => value.forEach((one) => nested(writer, 1, () => writeValue(writer, one))));
}

function writeTime(writer: protobuf.Writer, field: number, nanoseconds: bigint): void {
  const low = Number(nanoseconds & 0xffff_ffffn);
  const high = Number(nanoseconds >> 32n);
  writer.uint32(tag(field, FIXED64)).fixed32(low).fixed32(high);
}

function nested(writer: protobuf.Writer, field: number, write: () => void): void {
  writer.uint32(tag(field, BYTES)).fork();
  write();
  writer.ldelim();
}

function tag(field: number, wireType: number): number {
  return (field << 3) | wireType;
}
