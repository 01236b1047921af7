import { expect, test } from 'vitest';
import type { CallSpan } from '../../../src/telemetry/calls/call-span.ts';
import { readSenderTraces, type StoredTrace } from '../../../src/telemetry/calls/sender-trace.ts';
import { encodeCalls } from '../../../src/telemetry/calls/stored-calls.ts';
import { span, use } from './spans.ts';

const SENDER = 'user:one';

/** A trace of spans with 50 calls each. */
function storedTrace(count: number, sender = SENDER): StoredTrace {
  const uses = Array.from({ length: 50 }, (_, index) => use('tool', `tool_${index}`));
  const spans = Array.from({ length: count }, (_, index) => span(`${sender} ${index}`, uses));
  return {
    isComplete: true,
    spans: () => spans.map(({ id }) => ({ spanId: id, parentSpanId: null, sender })),
    calls: spans.map((one) => ({ sender, value: encodeCalls([one.span as CallSpan]) })),
  };
}

/** How many spans with calls, and how many spans, are known of each trace. */
function known(traces: readonly StoredTrace[]): [number, number][] {
  const stored = new Map(traces.map((trace, index) => [`${index}`, trace]));
  return [...readSenderTraces(stored, SENDER).values()].map(({ calls, parents }) => [calls.length, parents().size]);
}

test('a trace is known completely, or not at all if its spans report more than 4,000 calls', () => {
  expect(known([storedTrace(80)])).toEqual([[80, 80]]);
  expect(known([storedTrace(81)])).toEqual([[0, 0]]);
  expect(known([{ ...storedTrace(80), isComplete: false }])).toEqual([[0, 0]]);
});

test('at most 10,000 reported calls are read for one batch, in the order of its traces', () => {
  const all = [storedTrace(80), storedTrace(81), storedTrace(80), storedTrace(41), storedTrace(40), storedTrace(1)];
  expect(known(all).map(([calls]) => calls)).toEqual([80, 0, 80, 0, 40, 0]);
});

test('spans of another sender neither count nor appear', () => {
  const [own, other] = [storedTrace(80), storedTrace(81, 'user:other')];
  const trace = {
    isComplete: true,
    spans: () => [...own.spans(), ...other.spans()],
    calls: [...other.calls, ...own.calls],
  };
  expect(known([trace])).toEqual([[80, 80]]);
});
