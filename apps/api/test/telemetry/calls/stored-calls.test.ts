import { decodeCallsColumn, encodeCallsColumn } from '@quartermaster/db/trace-calls.ts';
import { describe, expect, it } from 'vitest';
import type { CallSpan } from '../../../src/telemetry/calls/call-span.ts';
import { decodeCalls, decodeCallsUpTo, encodeCalls } from '../../../src/telemetry/calls/stored-calls.ts';
import { span, use } from './spans.ts';

const LATEST_US = 2 ** 64 / 1000;

function callSpan(id: string, changes: Partial<CallSpan> = {}): CallSpan {
  const made = span(id, use('model', 'gpt-5')).span;
  if (!made) throw new Error('the span reports a call');
  return { ...made, ...changes };
}

describe('calls as they are stored', () => {
  it('are read back as they were written', () => {
    const calls = [
      callSpan('00f067aa0ba902b7', { start: 1_795_512_998_977_123, end: 1_795_512_999_018_124, callId: 'chatcmpl-1' }),
      callSpan('00f067aa0ba902b8', { parentSpanId: '00f067aa0ba902b7', inputTokens: 0, outputTokens: 1_000_000_000 }),
      callSpan('00f067aa0ba902bf', { inputTokens: 9, cacheReadTokens: 5, cacheWriteTokens: 0 }),
      callSpan('00f067aa0ba902c0', { outputTokens: 9, reasoningTokens: 7 }),
      callSpan('00f067aa0ba902b9', { parentSpanId: 'ffffffffffffffff', failed: true, countedAt: 1_795_512_998_000 }),
      callSpan('00f067aa0ba902ba', { scope: '', serviceName: null, agent: 'größer 🚢', callId: '' }),
      callSpan('00f067aa0ba902bb', {
        uses: [use('tool', 'echo', { isMcp: true, server: 'everything' }), use('agent', 'a', { isCounted: true })],
      }),
      callSpan('00f067aa0ba902be', {
        uses: [true, false].map((isCounted) => use('tool', `${isCounted}`, { isCounted, isFailureCounted: true })),
      }),
      callSpan('00f067aa0ba902bd', { tokensOf: use('model', 'gpt-5', { times: 0 }) }),
      callSpan('00f067aa0ba902bc', { uses: [use('tool', 'web_search', { times: 1000, isOfModel: true })] }),
    ];
    expect(decodeCalls(encodeCalls(calls))).toEqual(calls);
    expect(decodeCalls(encodeCalls([]))).toEqual([]);
  });

  it.each([Infinity, -Infinity, NaN, 2 ** 63, 0.5])('are not written with the time %s', (end) => {
    expect(() => encodeCalls([callSpan('00f067aa0ba902b7', { end })])).toThrow(RangeError);
    // The memory is used again.
    expect(decodeCalls(encodeCalls([]))).toEqual([]);
  });

  it('keep the latest and the earliest time, a child before its parent, and an end before its start', () => {
    const calls = [
      callSpan('0000000000000001', { parentSpanId: '0000000000000002', start: LATEST_US, end: 0 }),
      callSpan('0000000000000002', { start: 0, end: LATEST_US }),
    ];
    expect(decodeCalls(encodeCalls(calls))).toEqual(calls);
  });

  it('keep ids of any form', () => {
    const calls = [callSpan('span', { parentSpanId: 'pärent' }), callSpan('0123456789ABCDEF', { parentSpanId: '' })];
    expect(decodeCalls(encodeCalls(calls))).toEqual(calls);
  });

  it('keep many spans with few and with many shapes', () => {
    const id = (index: number) => index.toString(16).padStart(16, '0');
    const calls = Array.from({ length: 3000 }, (_, index) =>
      callSpan(id(index), {
        parentSpanId: index === 0 ? null : id(index >> 1),
        spanName: `span ${index < 1500 ? index % 3 : index}`,
      }),
    );
    expect(decodeCalls(encodeCalls(calls))).toEqual(calls);
  });

  it.each([
    ['of many shapes', (index: number) => `span ${index}`],
    ['of one shape', () => 'span'],
  ])('are not read if spans %s report more calls than asked for', (_, nameOf) => {
    const uses = ['a', 'b', 'c'].map((name) => use('tool', name));
    const calls = Array.from({ length: 5 }, (__, index) => callSpan(`${index}`, { uses, spanName: nameOf(index) }));
    expect(decodeCallsUpTo(encodeCalls(calls), 15)?.spans).toEqual(calls);
    expect(decodeCallsUpTo(encodeCalls(calls), 14)).toBeNull();
  });

  it.each([
    ['with spans', [callSpan('00f067aa0ba902b7')]],
    ['without spans', []],
  ])('keep the providers that replace deleted ones, %s', (_, calls) => {
    const replacements = new Map([
      ['prov_1', { id: 'prov_2', name: 'größer', kind: 'llm' as const }],
      ['prov_2', { id: 'prov_3', name: 'größer', kind: 'mcp' as const }],
    ]);
    const value = encodeCalls(calls, replacements);
    expect(decodeCallsUpTo(value, 15)).toEqual({ spans: calls, replacements });
    expect(decodeCalls(value)).toEqual(calls);
    expect(() => decodeCalls(value.subarray(0, -1))).toThrow();
  });

  it.each([
    ['an unknown version', Buffer.of(9, 0, 0, 0, 0)],
    ['bytes that end too early', encodeCalls([callSpan('0000000000000001')]).subarray(0, -1)],
  ])('refuses %s', (_, value) => {
    expect(() => decodeCalls(value)).toThrow();
  });
});

describe('the column of a trace', () => {
  const column = (bytes: number) => [{ sender: 'user:größer', value: Buffer.alloc(bytes, 'ab') }];

  it.each([0, 1, 1999, 2048, 100_000])('returns a value of %i bytes unchanged', (bytes) => {
    expect(decodeCallsColumn(encodeCallsColumn(column(bytes)))).toEqual(column(bytes));
  });

  it('keeps the values of several senders apart', () => {
    const calls = ['a', 'b'].map((sender) => ({ sender, value: Buffer.from(`of ${sender}`) }));
    expect(decodeCallsColumn(encodeCallsColumn(calls))).toEqual(calls);
  });

  it('says that a value over the limit was dropped', () => {
    expect(decodeCallsColumn(encodeCallsColumn(column(3 * 1024 * 1024)))).toBeNull();
    expect(decodeCallsColumn(encodeCallsColumn([]))).toEqual([]);
  });
});
