import { expect, test } from 'vitest';
import { decodeJson, jsonResponse } from '../../../src/telemetry/otlp/json.ts';
import { OtlpDecodeError } from '../../../src/telemetry/otlp/span.ts';
import { attribute, type Json, request, SPAN_ID, TRACE_ID, wireSpan } from './wire.ts';

const decodeOne = (fields: Json) => decodeJson(request(wireSpan(fields))).spans[0];
const decodeValue = (value: Json) => decodeOne({ attributes: [attribute('a', value)] })?.attributes.a;

test('ids in upper case become lower case', () => {
  expect(
    decodeOne({ traceId: TRACE_ID.toUpperCase(), spanId: SPAN_ID.toUpperCase(), parentSpanId: 'ABCDEF0123456789' }),
  ).toMatchObject({ traceId: TRACE_ID, spanId: SPAN_ID, parentSpanId: 'abcdef0123456789' });
});

test.each([{ traceId: 'z'.repeat(32) }, { spanId: 'W46M/Z5gOBA=' }, { parentSpanId: 'g'.repeat(16) }])(
  'only the span with an id that is not hex is rejected: %j',
  (fields) => {
    const { spans, rejected } = decodeJson(request(wireSpan(fields), wireSpan()));
    expect([spans.length, rejected]).toEqual([1, 1]);
  },
);

test.each([
  ['by number', { kind: 3, status: { code: 2 } }],
  ['by name', { kind: 'SPAN_KIND_CLIENT', status: { code: 'STATUS_CODE_ERROR' } }],
])('enumerations are read %s', (_name, fields) => {
  expect(decodeOne(fields)).toMatchObject({ kind: 'client', status: { code: 'error' } });
});

test('64-bit integers are read as string and as number', () => {
  expect(decodeOne({ startTimeUnixNano: 1700000000000000000 })?.startTime).toBe('2023-11-14T22:13:20.000000000Z');
  expect(decodeValue({ intValue: 5 })).toBe(5);
  expect(decodeValue({ intValue: '5' })).toBe(5);
});

test.each(['-1', '18446744073709551616', '999999999999999999999999', 1e30, -5])(
  'only the span with the time %s, which cannot be represented, is rejected',
  (time) => {
    for (const fields of [
      { startTimeUnixNano: time },
      { endTimeUnixNano: time },
      { events: [{ name: 'e', timeUnixNano: time }] },
    ]) {
      const { spans, rejected, reasons } = decodeJson(request(wireSpan(fields), wireSpan()));
      expect([spans.length, rejected]).toEqual([1, 1]);
      expect(reasons).toEqual([expect.stringContaining('64-bit')]);
    }
  },
);

test('the names of the protobuf definition are read like those of the JSON form', () => {
  const span = wireSpan({
    attributes: [
      attribute('gen_ai.request.model', { stringValue: 'gpt-5' }),
      attribute('snake_case', { kvlistValue: { values: [attribute('inner_key', { intValue: '5' })] } }),
    ],
    events: [{ name: 'an_event', timeUnixNano: '1700000000000000000' }],
  });
  const snakeCase = JSON.stringify(request(span)).replaceAll(
    /"([a-z]+[A-Z][A-Za-z]*)":/g,
    (_, name: string) => `"${name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}":`,
  );
  expect(snakeCase).toContain('"resource_spans"');
  expect(decodeJson(JSON.parse(snakeCase))).toEqual(decodeJson(request(span)));
});

test('unknown fields are ignored, and null counts as absent', () => {
  const body = request(wireSpan({ future: { a: 1 }, attributes: null, status: null, kind: null, parentSpanId: null }));
  expect(decodeJson({ ...body, schemaUrl: 5 }).spans).toHaveLength(1);
  expect(decodeJson({ resourceSpans: null })).toEqual({ spans: [], rejected: 0, reasons: [] });
});

test('lone surrogates are replaced, also in keys', () => {
  const decoded = decodeOne({ name: 'a\ud800', attributes: [attribute('k\udc00', { stringValue: '\ud83d' })] });
  expect(decoded?.name).toBe('a\ufffd');
  expect(decoded?.attributes).toEqual({ 'k\ufffd': '\ufffd' });
});

test('base64url is converted to base64', () => {
  expect(decodeValue({ bytesValue: '_wD-' })).toBe('/wD+');
});

test.each([[null], [undefined], ['text'], [5], [[]]])('a body that is %j is refused', (body) => {
  expect(() => decodeJson(body)).toThrow(OtlpDecodeError);
});

const inSpan = 'resourceSpans[0].scopeSpans[0].spans[0]';

test.each<[string, unknown]>([
  ['resourceSpans', { resourceSpans: {} }],
  ['resourceSpans[0]', { resourceSpans: [null] }],
  ['resourceSpans[1].resource', { resourceSpans: [{}, { resource: [] }] }],
  ['resourceSpans[0].resource.attributes', { resourceSpans: [{ resource: { attributes: {} } }] }],
  ['resourceSpans[0].scopeSpans', { resourceSpans: [{ scopeSpans: 'x' }] }],
  ['resourceSpans[0].scopeSpans[0].scope.name', { resourceSpans: [{ scopeSpans: [{ scope: { name: 1 } }] }] }],
  [`${inSpan}.traceId`, request(wireSpan({ traceId: 12 }))],
  [`${inSpan}.name`, request(wireSpan({ name: {} }))],
  [`${inSpan}.kind`, request(wireSpan({ kind: 'CLIENT' }))],
  [`${inSpan}.kind`, request(wireSpan({ kind: 1.5 }))],
  [`${inSpan}.startTimeUnixNano`, request(wireSpan({ startTimeUnixNano: 'yesterday' }))],
  [`${inSpan}.endTimeUnixNano`, request(wireSpan({ endTimeUnixNano: 1.5 }))],
  [`${inSpan}.status`, request(wireSpan({ status: 'ok' }))],
  [`${inSpan}.events[1].attributes`, request(wireSpan({ events: [{}, { attributes: 'x' }] }))],
  [`${inSpan}.links[0].spanId`, request(wireSpan({ links: [{ spanId: false }] }))],
  [`${inSpan}.attributes[0].key`, request(wireSpan({ attributes: [{ key: 1 }] }))],
  ...(
    [
      ['value', 'x'],
      ['value.stringValue', { stringValue: 1 }],
      ['value.boolValue', { boolValue: 'true' }],
      ['value.intValue', { intValue: 1.5 }],
      ['value.intValue', { intValue: '9223372036854775808' }],
      ['value.intValue', { intValue: '9'.repeat(100_000) }],
      ['value.doubleValue', { doubleValue: 'x' }],
      ['value.bytesValue', { bytesValue: [] }],
      ['value.arrayValue.values[1].stringValue', { arrayValue: { values: [{}, { stringValue: {} }] } }],
      ['value.kvlistValue.values[0].key', { kvlistValue: { values: [{ key: {} }] } }],
    ] as const
  ).map(([path, value]): [string, unknown] => [
    `${inSpan}.attributes[0].${path}`,
    request(wireSpan({ attributes: [{ key: 'a', value }] })),
  ]),
])('a wrong shape is refused with its path: %s', (path, body) => {
  expect(() => decodeJson(body)).toThrow(OtlpDecodeError);
  expect(() => decodeJson(body)).toThrow(`${path} must be`);
});

test('own properties such as __proto__ do not change a prototype', () => {
  const body = JSON.stringify(request(wireSpan())).replace('"name"', '"__proto__":{"polluted":true},"name"');
  expect(decodeJson(JSON.parse(body)).spans).toHaveLength(1);
  expect(({} as Json).polluted).toBeUndefined();
});

test('of 5,000 levels of nesting 16 are read', () => {
  const deep = `${'{"arrayValue":{"values":['.repeat(5000)}{"stringValue":"core"}${']}}'.repeat(5000)}`;
  const body = JSON.parse(
    JSON.stringify(request(wireSpan({ attributes: ['X'] }))).replace('"X"', `{"key":"a","value":${deep}}`),
  );
  expect(JSON.stringify(decodeJson(body).spans[0]?.attributes.a)).toBe(
    `${'['.repeat(16)}"[too deep]"${']'.repeat(16)}`,
  );
});

test('the answer has 64-bit integers as strings, and is an empty object for full success', () => {
  for (const [signal, field] of [
    ['traces', 'rejectedSpans'],
    ['logs', 'rejectedLogRecords'],
    ['metrics', 'rejectedDataPoints'],
  ] as const) {
    expect(jsonResponse(signal, null)).toEqual({});
    expect(jsonResponse(signal, { rejected: 2, errorMessage: 'why' })).toEqual({
      partialSuccess: { [field]: '2', errorMessage: 'why' },
    });
  }
});
