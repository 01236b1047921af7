import { describe, expect, test } from 'vitest';
import { attribute, encodings, type Json, request, SPAN_ID, TRACE_ID, wireSpan } from './wire.ts';

describe.each(encodings)('%s', (_encoding, decode) => {
  const decodeOne = (fields: Json) => {
    const { spans, rejected } = decode(request(wireSpan(fields)));
    expect(rejected).toBe(0);
    const [first] = spans;
    if (first === undefined) throw new Error('no span');
    return first;
  };
  const decodeValue = (value: Json) => decodeOne({ attributes: [attribute('a', value)] }).attributes.a;

  test('a complete span keeps every field', () => {
    const decoded = decode({
      resourceSpans: [
        {
          resource: { attributes: [attribute('service.name', { stringValue: 'agents' })] },
          scopeSpans: [
            {
              scope: { name: 'instr', version: '1.2.3', attributes: [attribute('s', { boolValue: true })] },
              spans: [
                wireSpan({
                  traceState: 'a=b',
                  parentSpanId: '00f067aa0ba902b7',
                  kind: 3,
                  status: { code: 2, message: 'boom' },
                  attributes: [attribute('gen_ai.request.model', { stringValue: 'gpt-4o' })],
                  events: [
                    {
                      timeUnixNano: '1700000000100000000',
                      name: 'exception',
                      attributes: [attribute('n', { intValue: '7' })],
                    },
                  ],
                  links: [{ traceId: TRACE_ID, spanId: SPAN_ID, attributes: [attribute('l', { doubleValue: 0.5 })] }],
                }),
              ],
            },
          ],
        },
      ],
    });
    expect(decoded).toEqual({
      rejected: 0,
      reasons: [],
      spans: [
        {
          traceId: TRACE_ID,
          spanId: SPAN_ID,
          parentSpanId: '00f067aa0ba902b7',
          name: 'chat gpt-4o',
          kind: 'client',
          startTime: '2023-11-14T22:13:20.000000001Z',
          endTime: '2023-11-14T22:13:20.250000001Z',
          durationMs: 250,
          status: { code: 'error', message: 'boom' },
          traceState: 'a=b',
          scope: { name: 'instr', version: '1.2.3', attributes: { s: true } },
          resource: { 'service.name': 'agents' },
          attributes: { 'gen_ai.request.model': 'gpt-4o' },
          events: [{ name: 'exception', time: '2023-11-14T22:13:20.100000000Z', attributes: { n: 7 } }],
          links: [{ traceId: TRACE_ID, spanId: SPAN_ID, attributes: { l: 0.5 } }],
        },
      ],
    });
  });

  test('missing fields of a span are null, empty or unset', () => {
    expect(decodeOne({})).toMatchObject({
      parentSpanId: null,
      kind: 'unspecified',
      status: { code: 'unset', message: null },
      traceState: null,
      scope: { name: '', version: null, attributes: {} },
      resource: {},
      attributes: {},
      events: [],
      links: [],
    });
  });

  test('an empty request has no spans and no rejections', () => {
    expect(decode({})).toEqual({ spans: [], rejected: 0, reasons: [] });
    expect(decode({ resourceSpans: [{ scopeSpans: [{}] }] })).toEqual({ spans: [], rejected: 0, reasons: [] });
  });

  test('the spans of a resource share one resource object', () => {
    const { spans } = decode({
      resourceSpans: [{ scopeSpans: [{ spans: [wireSpan()] }, { spans: [wireSpan({ spanId: '1'.repeat(16) })] }] }],
    });
    expect(spans).toHaveLength(2);
    expect(spans[0]?.resource).toBe(spans[1]?.resource);
  });

  test.each([
    ['a trace id that is too short', { traceId: TRACE_ID.slice(2) }, 'trace id'],
    ['a trace id that is too long', { traceId: `${TRACE_ID}00` }, 'trace id'],
    ['a trace id of zeros', { traceId: '0'.repeat(32) }, 'trace id'],
    ['no trace id', { traceId: '' }, 'trace id'],
    ['a span id that is too short', { spanId: SPAN_ID.slice(2) }, 'span id'],
    ['a span id that is too long', { spanId: TRACE_ID }, 'span id'],
    ['a span id of zeros', { spanId: '0'.repeat(16) }, 'span id'],
    ['a parent id that is too short', { parentSpanId: 'abcd' }, 'parent'],
    ['a parent id that is too long', { parentSpanId: TRACE_ID }, 'parent'],
    ['no times', { startTimeUnixNano: '0', endTimeUnixNano: '0' }, 'start time'],
  ])('%s refuses its span alone', (_name, fields, reason) => {
    const { spans, rejected, reasons } = decode(request(wireSpan(fields), wireSpan(), wireSpan(fields)));
    expect(spans).toHaveLength(1);
    expect(rejected).toBe(2);
    expect(reasons).toEqual([expect.stringContaining(reason)]);
  });

  test('a parent id of zeros means no parent', () => {
    expect(decodeOne({ parentSpanId: '0'.repeat(16) }).parentSpanId).toBeNull();
  });

  test.each([
    ['the latest time', '18446744073709551615', '18446744073709551615', ['2554-07-21T23:34:33.709551615Z', 0]],
    ['the first nanosecond', '1', '2', ['1970-01-01T00:00:00.000000001Z', 0.000001]],
    ['an end before the start', '1700000000000000000', '1600000000000000000', ['2023-11-14T22:13:20.000000000Z', 0]],
  ])('%s has a start of nine digits and a duration of zero or more', (_name, start, end, expected) => {
    const decoded = decodeOne({ startTimeUnixNano: start, endTimeUnixNano: end });
    expect([decoded.startTime, decoded.durationMs]).toEqual(expected);
  });

  test('a missing end is replaced by the start, and a missing start by the end', () => {
    const time = '2023-11-14T22:13:20.000000000Z';
    const given = '1700000000000000000';
    for (const fields of [{ endTimeUnixNano: '0' }, { startTimeUnixNano: '0' }]) {
      const decoded = decodeOne({ startTimeUnixNano: given, endTimeUnixNano: given, ...fields });
      expect(decoded).toMatchObject({ startTime: time, endTime: time, durationMs: 0 });
    }
  });

  test('an event without a time gets the start time of its span', () => {
    expect(decodeOne({ events: [{ name: 'e' }] }).events).toEqual([
      { name: 'e', time: '2023-11-14T22:13:20.000000001Z', attributes: {} },
    ]);
  });

  test('an invalid link is dropped, and its span is kept', () => {
    expect(decodeOne({ links: [{ traceId: TRACE_ID, spanId: '' }, {}] }).links).toEqual([]);
  });

  test.each([0, 1, 2, 3, 4, 5, 6, -1])('kind %i is read; an unknown kind becomes unspecified', (kind) => {
    const names = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'];
    expect(decodeOne({ kind }).kind).toBe(names[kind] ?? 'unspecified');
  });

  test.each([
    ['a string', { stringValue: 'x' }, 'x'],
    ['an empty string', { stringValue: '' }, ''],
    ['false', { boolValue: false }, false],
    ['zero', { intValue: '0' }, 0],
    ['a negative integer', { intValue: '-42' }, -42],
    ['the largest exact integer', { intValue: '9007199254740991' }, 9007199254740991],
    ['an integer beyond the largest exact one', { intValue: '9007199254740993' }, '9007199254740993'],
    ['the smallest integer', { intValue: '-9223372036854775808' }, '-9223372036854775808'],
    ['a double', { doubleValue: 0.25 }, 0.25],
    ['NaN', { doubleValue: 'NaN' }, 'NaN'],
    ['infinity', { doubleValue: 'Infinity' }, 'Infinity'],
    ['minus infinity', { doubleValue: '-Infinity' }, '-Infinity'],
    ['bytes', { bytesValue: '/wD+' }, '/wD+'],
    ['nothing', {}, null],
    ['an empty array', { arrayValue: {} }, []],
    ['a mixed array', { arrayValue: { values: [{ intValue: '1' }, {}, { stringValue: 'b' }] } }, [1, null, 'b']],
    [
      'a list of pairs',
      { kvlistValue: { values: [attribute('k', { arrayValue: { values: [{ boolValue: true }] } })] } },
      { k: [true] },
    ],
    ['NUL', { stringValue: 'a\0b' }, 'a\ufffdb'],
  ])('the value %s survives JSON', (_name, value, expected) => {
    expect(JSON.parse(JSON.stringify({ a: decodeValue(value) }))).toEqual({ a: expected });
  });

  test('NUL is replaced in every text, including keys', () => {
    const decoded = decodeOne({
      name: 'a\0b',
      traceState: 'a\0b',
      status: { message: 'a\0b' },
      attributes: [attribute('a\0b', { kvlistValue: { values: [attribute('a\0b', { stringValue: 'a\0b' })] } })],
      events: [{ name: 'a\0b' }],
    });
    expect(JSON.stringify(decoded)).not.toContain('\\u0000');
    expect(decoded.attributes).toEqual({ 'a\ufffdb': { 'a\ufffdb': 'a\ufffdb' } });
  });

  test('names of inherited members become own properties, and do not pollute the prototype', () => {
    const evil = [
      attribute('__proto__', { kvlistValue: { values: [attribute('polluted', { boolValue: true })] } }),
      attribute('constructor', { stringValue: 'c' }),
      attribute('toString', { stringValue: 't' }),
    ];
    const { attributes } = decodeOne({
      attributes: [...evil, attribute('nested', { kvlistValue: { values: evil } })],
    });
    const text = '"__proto__":{"polluted":true},"constructor":"c","toString":"t"';
    expect(JSON.stringify(attributes)).toBe(`{${text},"nested":{${text}}}`);
    expect(Object.getPrototypeOf(attributes)).toBe(Object.prototype);
    expect(({} as Json).polluted).toBeUndefined();
  });

  test('of duplicate keys the last one counts', () => {
    const twice = [attribute('a', { intValue: '1' }), attribute('a', { intValue: '2' })];
    expect(decodeOne({ attributes: twice }).attributes).toEqual({ a: 2 });
  });

  test('values may have 16 levels of lists; deeper lists are replaced', () => {
    const nest = (depth: number): Json =>
      depth === 0
        ? { stringValue: 'core' }
        : depth % 2 === 0
          ? { arrayValue: { values: [nest(depth - 1)] } }
          : { kvlistValue: { values: [attribute('k', nest(depth - 1))] } };
    expect(JSON.stringify(decodeValue(nest(16)))).toContain('core');
    for (const depth of [17, 18, 25]) {
      const text = JSON.stringify(decodeValue(nest(depth)));
      expect(text).toContain('[too deep]');
      expect(text).not.toContain('core');
    }
  });

  test('at most 128 attributes of each part are kept', () => {
    const many = (n: number) => Array.from({ length: n }, (_, i) => attribute(`k${i}`, { intValue: String(i) }));
    const decoded = decode({
      resourceSpans: [
        {
          resource: { attributes: many(130) },
          scopeSpans: [
            {
              scope: { attributes: many(130) },
              spans: [
                wireSpan({
                  attributes: [...many(127), attribute('list', { kvlistValue: { values: many(130) } }), ...many(500)],
                  events: [{ name: 'e', attributes: many(130) }],
                  links: [{ traceId: TRACE_ID, spanId: SPAN_ID, attributes: many(130) }],
                }),
              ],
            },
          ],
        },
      ],
    });
    expect(decoded.rejected).toBe(0);
    const [first] = decoded.spans;
    for (const place of [
      first?.resource,
      first?.scope.attributes,
      first?.attributes,
      first?.attributes.list,
      first?.events[0]?.attributes,
      first?.links[0]?.attributes,
    ]) {
      expect(Object.keys(place ?? {})).toHaveLength(128);
    }
  });

  test('attributes that governance reads are kept even after hundreds of others', () => {
    const messages = Array.from({ length: 400 }, (_, i) =>
      attribute(`llm.input_messages.${i}.message.content`, { stringValue: 'hello' }),
    );
    const { attributes } = decodeOne({
      attributes: [...messages, attribute('llm.model_name', { stringValue: 'gpt-4o' })],
    });
    expect(Object.keys(attributes)).toHaveLength(129);
    expect(attributes['llm.model_name']).toBe('gpt-4o');
  });

  test('at most 128 events and 128 links are kept', () => {
    const decoded = decodeOne({
      events: Array.from({ length: 200 }, (_, i) => ({ name: `e${i}` })),
      links: Array.from({ length: 200 }, () => ({ traceId: TRACE_ID, spanId: SPAN_ID })),
    });
    expect([decoded.events.length, decoded.links.length]).toEqual([128, 128]);
    expect(decoded.events[127]?.name).toBe('e127');
  });

  test('an attribute has at most 8,192 values, including nested ones', () => {
    const row = { arrayValue: { values: Array.from({ length: 100 }, () => ({ intValue: '1' })) } };
    const value = decodeValue({ arrayValue: { values: Array.from({ length: 200 }, () => row) } });
    const rows = value as number[][];
    expect(1 + rows.length + rows.flat().length).toBe(8192);
  });

  test('a span name is cut at 1 KiB, between code points', () => {
    expect(decodeOne({ name: 'x'.repeat(1025) }).name).toBe('x'.repeat(1024));
    expect(decodeOne({ name: `${'x'.repeat(1023)}é` }).name).toBe('x'.repeat(1023));
    expect(decodeOne({ name: '😀'.repeat(300) }).name).toBe('😀'.repeat(256));
    expect(decodeOne({ name: `x${'😀'.repeat(300)}` }).name).toBe(`x${'😀'.repeat(255)}`);
  });
});
