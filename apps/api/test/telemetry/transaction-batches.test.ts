import { expect, test } from 'vitest';
import { type BatchedContent, transactionBatches } from '../../src/telemetry/ingest/transaction-batches.ts';

function record(index: number, { traceId = null, name = 'gpt-5' }: { traceId?: string | null; name?: string } = {}) {
  return { index, traceId, uses: [{ kind: 'model' as const, name }] };
}

/** The sizes of the batches. */
function sizesOf(records: readonly (BatchedContent & { index: number })[]): number[] {
  const batches = [...transactionBatches(records, (one) => one)];
  expect(batches.flat().map(({ index }) => index)).toEqual(records.map(({ index }) => index));
  return batches.map(({ length }) => length);
}

const many = Array.from({ length: 600 }, (_, index) => index);

test.each([
  ['of one name', many.map((index) => record(index)), [500, 100]],
  ['of 600 names', many.map((index) => record(index, { name: `model-${index}` })), Array(15).fill(40)],
  ['of 600 traces', many.map((index) => record(index, { traceId: `trace-${index}` })), Array(6).fill(100)],
  ['of one trace', many.map((index) => record(index, { traceId: 'trace' })), [500, 100]],
])('600 records %s are split into transactions', (_, records, sizes) => {
  expect(sizesOf(records)).toEqual(sizes);
});

test('a record with more calls than a transaction may have is alone in it', () => {
  const uses = Array.from({ length: 4001 }, () => ({ kind: 'tool' as const, name: 'echo' }));
  const records = [record(0), { index: 1, traceId: null, uses }, record(2)];
  expect(sizesOf(records)).toEqual([1, 1, 1]);
});
