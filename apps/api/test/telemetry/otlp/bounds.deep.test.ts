import { describe, expect, test } from 'vitest';
import { boundSpan, SPAN_LIMITS, TOO_LARGE } from '../../../src/telemetry/otlp/bounds.ts';
import { LIMITS } from '../../../src/telemetry/otlp/assemble.ts';
import { attribute, encodings, type Json, logEncodings, logRequest, request, span, wireSpan } from './wire.ts';

const text = (length: number): Json => ({ stringValue: 'x'.repeat(length) });

describe.each(encodings)('%s', (_encoding, decode) => {
  test('at most 64 KiB of a resource and 16 KiB of a scope are kept', () => {
    const attributes = Array.from({ length: 100 }, (_, index) => attribute(`a${index}`, text(1000)));
    const scope = { name: 'n'.repeat(5000), version: 'v'.repeat(5000), attributes };
    const { spans } = decode({
      resourceSpans: [{ resource: { attributes }, scopeSpans: [{ scope, spans: [wireSpan(), wireSpan()] }] }],
    });
    const [first, second] = spans;
    expect(first?.resource).toBe(second?.resource);
    expect(Object.keys(first?.resource ?? {})).toHaveLength(64);
    expect(Object.keys(first?.scope.attributes ?? {})).toHaveLength(16);
    expect(first?.scope.name).toHaveLength(LIMITS.nameBytes);
    expect(first?.scope.version).toHaveLength(LIMITS.nameBytes);
  });

  test('spans beyond 50,000 are rejected, and the answer says so', () => {
    const spans = Array.from({ length: LIMITS.records + 5 }, () => wireSpan());
    const decoded = decode(request(...spans));
    expect([decoded.spans.length, decoded.rejected]).toEqual([LIMITS.records, 5]);
    expect(decoded.reasons).toEqual([expect.stringContaining('50000')]);
  });

  test('at most 100,000 events and links of a request are kept', () => {
    const events = Array.from({ length: 128 }, () => ({}));
    const spans = Array.from({ length: 800 }, () => wireSpan({ events }));
    const decoded = decode(request(...spans)).spans;
    expect(decoded.reduce((sum, one) => sum + one.events.length, 0)).toBe(LIMITS.eventsAndLinks);
    expect(decoded).toHaveLength(800);
  });
});

test.each(logEncodings)('%s: log records beyond 50,000 are refused', (_encoding, decode) => {
  const decoded = decode(logRequest(...Array.from({ length: LIMITS.records + 5 }, () => ({}))));
  expect([decoded.records.length, decoded.rejected]).toEqual([LIMITS.records, 5]);
});

test('a long text is cut between characters, and a large list is left out', () => {
  const { attributes } = boundSpan(
    span({
      attributes: {
        long: 'é'.repeat(SPAN_LIMITS.attributeBytes),
        list: Array.from({ length: 100 }, () => 'x'.repeat(5000)),
        short: 'kept',
      },
    }),
  );
  expect(Buffer.byteLength(String(attributes['long']))).toBe(SPAN_LIMITS.attributeBytes);
  expect(attributes).toMatchObject({ list: TOO_LARGE, short: 'kept' });
});

test('a span keeps at most 1 MiB of attributes, events and links, in their order', () => {
  const attributes = () => ({ text: 'x'.repeat(200 * 1024) });
  const links = [{ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), attributes: attributes() }];
  const events = Array.from({ length: 5 }, () => ({ name: 'e', time: '', attributes: attributes() }));
  const bounded = boundSpan(span({ attributes: attributes(), events, links }));
  const sizes = [bounded, ...bounded.events, ...bounded.links].map((part) => Object.keys(part.attributes).length);
  expect(sizes).toEqual([1, 1, 1, 1, 1, 0, 0]);
});

test('status messages, trace states and names of events are cut', () => {
  const long = 'x'.repeat(100_000);
  const bounded = boundSpan(
    span({
      status: { code: 'error', message: long },
      traceState: long,
      events: [{ name: long, time: '', attributes: {} }],
    }),
  );
  expect(bounded.status.message).toHaveLength(SPAN_LIMITS.textBytes);
  expect(bounded.traceState).toHaveLength(SPAN_LIMITS.textBytes);
  expect(bounded.events[0]?.name).toHaveLength(LIMITS.nameBytes);
});
