import { expect, test } from 'vitest';
import { resolved, span, type TestSpan, use } from './spans.ts';

const MODEL_WITH_SEARCH = [use('model', 'gpt-5'), use('tool', 'web_search', { isOfModel: true })];

test.each([
  ['in a chain', (index: number) => `${index - 1}`, [use('tool', 'echo')]],
  ['as siblings', () => 'root', [use('tool', 'echo')]],
  ['in a chain of models with tools that the vendor ran', (index: number) => `${index - 1}`, MODEL_WITH_SEARCH],
])('one trace of 10,000 spans, %s, takes less than four times as long as ten traces of 1,000', (_, parentOf, uses) => {
  const traceOf = (count: number) =>
    Array.from({ length: count }, (_one, index) =>
      span(`${index}`, uses, {
        scope: index % 2 === 0 ? 'one' : 'other',
        parent: index === 0 ? null : parentOf(index),
        callId: 'the same',
      }),
    );
  const fastest = (traces: TestSpan[][]) =>
    Math.min(
      ...Array.from({ length: 12 }, () => {
        // CPU time of this process, because other processes may be busy.
        const since = process.cpuUsage();
        for (const spans of traces) resolved(spans);
        const { user, system } = process.cpuUsage(since);
        return user + system;
      }),
    );
  const small = Array.from({ length: 10 }, () => traceOf(1000));
  resolved(traceOf(1000));
  let ratio = Infinity;
  // Measured again if other processes disturbed it. Work that grows faster fails each time.
  for (let round = 0; round < 3 && ratio >= 4; round += 1) ratio = fastest([traceOf(10_000)]) / fastest(small);
  expect(ratio).toBeLessThan(4);
});
