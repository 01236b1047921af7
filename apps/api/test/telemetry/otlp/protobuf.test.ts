import protobuf from 'protobufjs';
import { expect, test } from 'vitest';
import { decodeProtobuf, encodeProtobufResponse, encodeProtobufStatus } from '../../../src/telemetry/otlp/protobuf.ts';
import { countProtobufRecords } from '../../../src/telemetry/otlp/protobuf-request.ts';
import { OtlpDecodeError } from '../../../src/telemetry/otlp/span.ts';
import { attribute, fromProtobuf, type Json, request, toProtobuf, wireSpan } from './wire.ts';

const LENGTH_DELIMITED = 2;

/** A message with one length-delimited field, as bytes. */
function field(number: number, content: Uint8Array): Uint8Array {
  return protobuf.Writer.create()
    .uint32(number * 8 + LENGTH_DELIMITED)
    .bytes(content)
    .finish();
}

/** A request with one span of these bytes. */
function requestWithSpan(span: Uint8Array): Uint8Array {
  return field(1, field(2, field(2, span)));
}

test('zero bytes are an empty request', () => {
  expect(decodeProtobuf(new Uint8Array())).toEqual({ spans: [], rejected: 0, reasons: [] });
});

test('a view into a larger buffer is read within its bounds', () => {
  const bytes = toProtobuf(request(wireSpan()));
  const larger = new Uint8Array(bytes.length + 20).fill(0xff);
  larger.set(bytes, 10);
  expect(decodeProtobuf(larger.subarray(10, 10 + bytes.length)).spans).toHaveLength(1);
});

test('each truncated request is refused, unless it was cut between fields', () => {
  const bytes = toProtobuf(
    request(wireSpan({ attributes: [attribute('a', { stringValue: 'x'.repeat(20) })], events: [{ name: 'e' }] })),
  );
  for (let length = 1; length < bytes.length; length += 1) {
    expect(() => decodeProtobuf(bytes.subarray(0, length))).toThrow(OtlpDecodeError);
  }
});

test.each([
  ['text', Buffer.from('{"resourceSpans":[]}')],
  ['a length past the end', Buffer.from([0x0a, 0x7f, 0x00])],
  ['a nested length past its message', Buffer.from([0x0a, 0x02, 0x12, 0x05, 0, 0, 0, 0, 0])],
  ['field number zero', Buffer.from([0x02, 0x00])],
  ['an end group without a start', Buffer.from([0x0c])],
  ['groups that never end', Buffer.alloc(5000, 0x0b)],
  ['a varint that never ends', Buffer.alloc(50, 0xff)],
])('%s is refused as undecodable', (_name, bytes) => {
  expect(() => decodeProtobuf(bytes)).toThrow(OtlpDecodeError);
});

test('random bytes are either decoded or refused', () => {
  const valid = toProtobuf(request(wireSpan({ attributes: [attribute('a', { stringValue: 'x' })] })));
  let seed = 42;
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % below;
  };
  for (let round = 0; round < 2000; round += 1) {
    const bytes = Buffer.from(valid);
    for (let i = 0; i < 3; i += 1) bytes[random(bytes.length)] = random(256);
    try {
      decodeProtobuf(bytes);
    } catch (error) {
      expect(error).toBeInstanceOf(OtlpDecodeError);
    }
  }
});

test('unknown fields, and known ones of another wire type, are skipped', () => {
  const known = toProtobuf(request(wireSpan()));
  const unknown = protobuf.Writer.create()
    .uint32(100 * 8 + LENGTH_DELIMITED)
    .string('future')
    .uint32(1 * 8)
    .uint32(7)
    .finish();
  expect(decodeProtobuf(Buffer.concat([unknown, known, unknown])).spans).toHaveLength(1);
});

test('a resource that comes after its spans belongs to them', () => {
  const [spans, resource] = [
    toProtobuf(request(wireSpan())),
    toProtobuf({ resourceSpans: [{ resource: { attributes: [attribute('r', { boolValue: true })] } }] }),
  ].map((bytes) => bytes.subarray(2));
  const merged = field(1, Buffer.concat([spans ?? [], resource ?? []].map((part) => Buffer.from(part))));
  expect(decodeProtobuf(merged).spans[0]?.resource).toEqual({ r: true });
});

test('invalid UTF-8 in texts is replaced', () => {
  const span = toProtobuf(request(wireSpan({ name: 'AAAA' })));
  const bytes = Buffer.from(span);
  bytes.set([0xed, 0xa0, 0x80, 0xff], bytes.indexOf('AAAA'));
  const name = decodeProtobuf(bytes).spans[0]?.name ?? '';
  expect(name.isWellFormed()).toBe(true);
  expect(name).toContain('\ufffd');
});

test('only the value with a thousand levels of lists is dropped', () => {
  let value: Uint8Array = field(1, Buffer.from('core'));
  for (let i = 0; i < 1000; i += 1) value = field(5, field(1, value));
  const keyValue = Buffer.concat([field(1, Buffer.from('deep')), field(2, value)]);
  const whole = toProtobuf(request(wireSpan({ attributes: [attribute('a', { stringValue: 'kept' })] })));
  const spanBytes = Buffer.concat([unwrap(unwrap(unwrap(whole))), field(9, keyValue)]);
  const { spans } = decodeProtobuf(requestWithSpan(spanBytes));
  expect(spans[0]?.attributes.a).toBe('kept');
  expect(JSON.stringify(spans[0]?.attributes.deep)).toBe(`${'['.repeat(16)}"[too deep]"${']'.repeat(16)}`);
});

test('a million empty attributes are ignored', () => {
  const empty = Buffer.alloc(2_000_000);
  for (let i = 0; i < empty.length; i += 2) empty[i] = 0x4a;
  const whole = unwrap(unwrap(unwrap(toProtobuf(request(wireSpan())))));
  const { spans } = decodeProtobuf(requestWithSpan(Buffer.concat([whole, empty])));
  expect(spans[0]?.attributes).toEqual({});
});

test('records are counted without being decoded', () => {
  expect(countProtobufRecords(toProtobuf(request(wireSpan(), wireSpan(), {})))).toBe(3);
  expect(countProtobufRecords(new Uint8Array())).toBe(0);
  expect(countProtobufRecords(Buffer.from('hello'))).toBe(0);
});

test('full success is zero bytes', () => {
  expect(encodeProtobufResponse(null)).toHaveLength(0);
});

test('other parsers can read partial success and status', () => {
  const partial = { rejected: 2, errorMessage: 'A trace id must be 16 bytes, not all zero.' };
  expect(fromProtobuf('Response', encodeProtobufResponse(partial))).toEqual({
    partialSuccess: { rejectedSpans: '2', errorMessage: partial.errorMessage },
  } satisfies Json);
  const status = { code: 3, message: 'bad' };
  expect(fromProtobuf('RpcStatus', encodeProtobufStatus(status))).toEqual(status);
});

/** The content of the first field of a message. */
function unwrap(bytes: Uint8Array): Uint8Array {
  const reader = protobuf.Reader.create(bytes);
  reader.tag();
  return reader.bytes();
}
