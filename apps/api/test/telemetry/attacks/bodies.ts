import { gzipSync } from 'node:zlib';
import protobuf from 'protobufjs';

const LENGTH_DELIMITED = 2;
const FIXED64 = 1;

const SMALLEST_SPAN_BYTES = 37;

/** A length-delimited field. */
function field(number: number, content: Uint8Array): Buffer {
  const head = protobuf.Writer.create()
    .uint32(number * 8 + LENGTH_DELIMITED)
    .uint32(content.length)
    .finish();
  return Buffer.concat([head, content]);
}

/** The smallest valid span, with ids and a start. */
function smallestSpan(index: number): Buffer {
  const span = Buffer.alloc(SMALLEST_SPAN_BYTES);
  span.set([1 * 8 + LENGTH_DELIMITED, 16]);
  span.set([2 * 8 + LENGTH_DELIMITED, 8], 18);
  writeIds(span, 0, index);
  span.set([7 * 8 + FIXED64], 28);
  span.writeBigUInt64LE(1_700_000_000_000_000_000n, 29);
  return span;
}

/** Writes the ids of a smallest span that starts at an offset: 32 spans share a trace. */
function writeIds(bytes: Buffer, offset: number, index: number): void {
  bytes.writeUInt32BE(1 + (index >>> 5), offset + 14);
  bytes.writeUInt32BE(index + 1, offset + 24);
}

/** A request with as many of the smallest spans as fit. */
export function tinySpans(bytes: number): Buffer {
  const { length } = field(2, smallestSpan(0));
  const count = Math.floor((bytes - 64) / length);
  const spans = Buffer.alloc(count * length, field(2, smallestSpan(0)));
  const headLength = length - SMALLEST_SPAN_BYTES;
  for (let index = 0; index < count; index += 1) writeIds(spans, index * length + headLength, index);
  return field(1, field(2, spans));
}

/** A request with spans that share one resource with a long text. */
export function sharedResource(resourceBytes: number, spans: number): Buffer {
  const keyValue = Buffer.concat([field(1, Buffer.from('a')), field(2, field(1, Buffer.alloc(resourceBytes, 'x')))]);
  const own = Array.from({ length: spans }, (_, index) => field(2, smallestSpan(index)));
  return field(1, Buffer.concat([field(1, field(1, keyValue)), field(2, Buffer.concat(own))]));
}

export const LARGE_TRACE_ID = `${'0'.repeat(24)}00ffffff`;

/** A request with the spans of one trace, which share a resource with a KiB of text in each of its attributes. */
export function largeTrace(attributes: number, spans: number): Buffer {
  const text = field(2, field(1, Buffer.alloc(1024, 'x')));
  const keyValues = Array.from({ length: attributes }, (_, index) =>
    field(1, Buffer.concat([field(1, Buffer.from(`note_${index}`)), text])),
  );
  const own = Array.from({ length: spans }, (_, index) => {
    const span = smallestSpan(index);
    span.set(Buffer.from(LARGE_TRACE_ID, 'hex'), 2);
    return field(2, span);
  });
  return field(1, Buffer.concat([field(1, Buffer.concat(keyValues)), field(2, Buffer.concat(own))]));
}

/** Spans with the maximum number of events. Each event is empty and takes two bytes. */
export function emptyEvents(bytes: number): Buffer {
  const events = Buffer.concat(Array.from({ length: 128 }, () => field(11, Buffer.alloc(0))));
  const spans: Buffer[] = [];
  for (let index = 0, size = 0; size < bytes - 1024; index += 1) {
    const span = field(2, Buffer.concat([smallestSpan(index), events]));
    size += span.length;
    spans.push(span);
  }
  return field(1, field(2, Buffer.concat(spans)));
}

/** JSON with very many values. Parsed, they take thirty times as much memory. */
export function manyValues(bytes: number): Buffer {
  const item = '{},';
  return Buffer.from(`{"resourceSpans":[${item.repeat(Math.floor(bytes / item.length) - 10)}{}]}`);
}

/** JSON within the limit of values, with the smallest possible spans. */
export function tinyJsonSpans(bytes: number): Buffer {
  const spans: string[] = [];
  for (let index = 0, size = 0; size < bytes - 1024; index += 1) {
    const [trace, id] = [1 + (index >>> 3), index + 1].map((number) => number.toString(16).padStart(16, '0'));
    const span = `{"traceId":"${trace}${trace}","spanId":"${id}","startTimeUnixNano":"1"}`;
    size += span.length + 1;
    spans.push(span);
  }
  return Buffer.from(`{"resourceSpans":[{"scopeSpans":[{"spans":[${spans.join(',')}]}]}]}`);
}

/** Gzip data of a valid request that is followed by this many zero bytes. */
export function bomb(unpackedBytes: number): Buffer {
  return gzipSync(Buffer.alloc(unpackedBytes, 0x20), { level: 9 });
}
