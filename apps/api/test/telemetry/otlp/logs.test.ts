import { describe, expect, test } from 'vitest';
import { decodeLogsJson } from '../../../src/telemetry/otlp/logs-json.ts';
import { decodeLogsProtobuf } from '../../../src/telemetry/otlp/logs-protobuf.ts';
import { OtlpDecodeError } from '../../../src/telemetry/otlp/span.ts';
import {
  attribute,
  type Json,
  logEncodings,
  logRequest,
  RECEIVED_AT,
  SPAN_ID,
  TRACE_ID,
  toProtobuf,
  WHOLE_RECORDS,
} from './wire.ts';

const TIME = '1700000000000000001';

const list = (...texts: string[]): Json => ({ arrayValue: { values: texts.map((text) => ({ stringValue: text })) } });

describe.each(logEncodings)('%s', (_encoding, decode) => {
  const decodeOne = (fields: Json) => {
    const { records, rejected } = decode(logRequest({ timeUnixNano: TIME, ...fields }));
    expect(rejected).toBe(0);
    const [first] = records;
    if (first === undefined) throw new Error('no record');
    return first;
  };

  test('a complete record keeps every field', () => {
    const decoded = decode({
      resourceLogs: [
        {
          resource: { attributes: [attribute('service.name', { stringValue: 'codex' })] },
          scopeLogs: [
            {
              scope: { name: 'instr', version: '1.2.3', attributes: [attribute('s', { boolValue: true })] },
              logRecords: [
                {
                  timeUnixNano: TIME,
                  observedTimeUnixNano: '1700000001000000000',
                  severityNumber: 13,
                  severityText: 'warning',
                  eventName: 'codex.tool_result',
                  body: { kvlistValue: { values: [attribute('k', { arrayValue: { values: [{ intValue: '1' }] } })] } },
                  attributes: [attribute('tool_name', { stringValue: 'echo' })],
                  traceId: TRACE_ID,
                  spanId: SPAN_ID,
                },
              ],
            },
          ],
        },
      ],
    });
    expect(decoded).toEqual({
      rejected: 0,
      reasons: [],
      records: [
        {
          time: '2023-11-14T22:13:20.000000001Z',
          traceId: TRACE_ID,
          spanId: SPAN_ID,
          eventName: 'codex.tool_result',
          severity: 'warning',
          body: { k: [1] },
          attributes: { tool_name: 'echo' },
          scope: { name: 'instr', version: '1.2.3', attributes: { s: true } },
          resource: { 'service.name': 'codex' },
        },
      ],
    });
  });

  test.each<[string, Json, string | null]>([
    [
      'its own',
      { eventName: 'own', attributes: [attribute('event.name', { stringValue: 'other' })], body: { stringValue: 'x' } },
      'own',
    ],
    [
      'the attribute',
      { attributes: [attribute('event.name', { stringValue: 'named' })], body: { stringValue: 'x' } },
      'named',
    ],
    [
      'the attribute, if the event name is a source location',
      {
        eventName: 'event otel/src/events/session.rs:803',
        attributes: [attribute('event.name', { stringValue: 'codex.api_request' })],
      },
      'codex.api_request',
    ],
    ['a body of one word', { body: { stringValue: 'claude_code.api_request' } }, 'claude_code.api_request'],
    ['not a sentence', { body: { stringValue: 'API request failed' } }, null],
    ['the first text of a list', { body: list('stream', '{"agent":"build"}') }, 'stream'],
    ['not the first sentence of a list', { body: list('stream error', '{}') }, null],
    ['not a long word', { body: { stringValue: 'x'.repeat(257) } }, null],
    ['nothing', {}, null],
  ])('the event name is %s', (_name, fields, eventName) => {
    expect(decodeOne(fields).eventName).toBe(eventName);
  });

  test.each([
    [0, null],
    [1, 'TRACE'],
    [9, 'INFO'],
    [12, 'INFO'],
    [13, 'WARN'],
    [24, 'FATAL'],
    [25, null],
    [-1, null],
  ])('severity number %i without a text is %s', (severityNumber, severity) => {
    expect(decodeOne({ severityNumber }).severity).toBe(severity);
  });

  test('a record without a time gets its observed time, or else the time of receipt', () => {
    expect(decodeOne({ timeUnixNano: '0', observedTimeUnixNano: TIME }).time).toBe('2023-11-14T22:13:20.000000001Z');
    expect(decodeOne({ timeUnixNano: '0' }).time).toBe(`${RECEIVED_AT.toISOString().slice(0, 23)}000000Z`);
  });

  test.each([
    ['absent', {}],
    ['zeros', { traceId: '0'.repeat(32), spanId: '0'.repeat(16) }],
    ['too short', { traceId: 'ab', spanId: SPAN_ID }],
    ['too long', { traceId: TRACE_ID.repeat(2), spanId: SPAN_ID.repeat(2) }],
  ])('ids that are %s refuse nothing', (_name, ids) => {
    expect(decodeOne(ids)).toMatchObject({ traceId: null, spanId: null });
  });

  test('of 200 attributes 128 are kept, including the known ones at any position', () => {
    const attributes = Array.from({ length: 200 }, (_, i) => attribute(`a${i}`, { intValue: String(i) }));
    attributes.push(attribute('gen_ai.request.model', { stringValue: 'gpt-5' }));
    const decoded = decodeOne({ attributes }).attributes;
    expect(Object.keys(decoded)).toHaveLength(129);
    expect(decoded['gen_ai.request.model']).toBe('gpt-5');
  });

  test('a body has the same limits of values and levels as an attribute', () => {
    const values = Array.from({ length: 10_000 }, () => ({ boolValue: true }));
    expect(decodeOne({ body: { arrayValue: { values } } }).body).toHaveLength(8191);
    let deep: Json = { stringValue: 'core' };
    for (let level = 0; level < 30; level += 1) deep = { arrayValue: { values: [deep] } };
    expect(JSON.stringify(decodeOne({ body: deep }).body)).toBe(`${'['.repeat(16)}"[too deep]"${']'.repeat(16)}`);
  });

  test('empty requests have no records', () => {
    for (const empty of [{}, { resourceLogs: [] }, logRequest()]) {
      expect(decode(empty)).toEqual({ records: [], rejected: 0, reasons: [] });
    }
  });
});

test('in JSON only the record with a time outside of 64 bits is rejected', () => {
  const request = logRequest({ timeUnixNano: '-1' }, { timeUnixNano: TIME });
  const { records, rejected, reasons } = decodeLogsJson(request, WHOLE_RECORDS);
  expect([records.length, rejected]).toEqual([1, 1]);
  expect(reasons).toEqual([expect.stringContaining('64-bit')]);
});

test('severity numbers are read by name', () => {
  const { records } = decodeLogsJson(logRequest({ severityNumber: 'SEVERITY_NUMBER_ERROR2' }), WHOLE_RECORDS);
  expect(records[0]?.severity).toBe('ERROR');
});

test.each<[string, unknown]>([
  ['The body', null],
  ['resourceLogs', { resourceLogs: {} }],
  ['resourceLogs[0].scopeLogs[0].logRecords', { resourceLogs: [{ scopeLogs: [{ logRecords: 5 }] }] }],
  ['resourceLogs[0].scopeLogs[0].logRecords[0].body', logRequest({ body: 'text' })],
  ['resourceLogs[0].scopeLogs[0].logRecords[0].timeUnixNano', logRequest({ timeUnixNano: 'now' })],
  ['resourceLogs[0].scopeLogs[0].logRecords[0].severityNumber', logRequest({ severityNumber: 'LOUD' })],
])('a wrong shape is refused with its path: %s', (path, body) => {
  expect(() => decodeLogsJson(body, WHOLE_RECORDS)).toThrow(`${path} must be`);
});

test('random bytes are either decoded or refused', () => {
  const valid = toProtobuf(logRequest({ timeUnixNano: TIME, body: { stringValue: 'event' } }), 'LogsRequest');
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % below;
  };
  for (let round = 0; round < 2000; round += 1) {
    const bytes = Buffer.from(valid);
    for (let i = 0; i < 3; i += 1) bytes[random(bytes.length)] = random(256);
    try {
      decodeLogsProtobuf(bytes, WHOLE_RECORDS);
    } catch (error) {
      expect(error).toBeInstanceOf(OtlpDecodeError);
    }
  }
});
