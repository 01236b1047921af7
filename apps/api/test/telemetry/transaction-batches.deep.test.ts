import { noteRequest } from '@quartermaster/db/delay-budget.ts';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type BatchedContent, transactionBatches } from '../../src/telemetry/ingest/transaction-batches.ts';
import { unique } from '../support/people.ts';

beforeAll(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterAll(() => void vi.useRealTimers());

const most = { alone: 512, besideOthers: 128 };

function record(index: number, { traceId = null, name = 'gpt-5' }: { traceId?: string | null; name?: string } = {}) {
  return { index, traceId, uses: [{ kind: 'model' as const, name }] };
}

/** The sizes of the batches of a tenant. */
function sizesOf(records: readonly (BatchedContent & { index: number })[], tenant: string): number[] {
  const batches = [...transactionBatches(records, { tenant, most, contentOf: (one) => one })];
  expect(batches.flat().map(({ index }) => index)).toEqual(records.map(({ index }) => index));
  return batches.map(({ length }) => length);
}

const many = Array.from({ length: 600 }, (_, index) => index);
const contents = [
  ['of one name', many.map((index) => record(index)), [512, 88], [128, 128, 128, 128, 88]],
  [
    'of 600 names',
    many.map((index) => record(index, { name: `model-${index}` })),
    Array(6).fill(100),
    Array(30).fill(20),
  ],
  ['of 600 traces', many.map((index) => record(index, { traceId: `trace-${index}` })), [500, 100], Array(12).fill(50)],
  ['of one trace', many.map((index) => record(index, { traceId: 'trace' })), [512, 88], [128, 128, 128, 128, 88]],
] as const;

describe('the records of a tenant are split into smaller transactions while other tenants work', () => {
  test.each(contents)('%s', (_, records, alone, besideOthers) => {
    const tenant = unique('tenant');
    // Later than all requests of other tests, which may come in any order.
    vi.advanceTimersByTime(1_000_000);
    noteRequest(tenant);
    vi.advanceTimersByTime(2000);
    noteRequest(tenant);
    expect(sizesOf(records, tenant)).toEqual(alone);
    noteRequest(unique('other'));
    expect(sizesOf(records, tenant)).toEqual(besideOthers);
  });
});

test('a record with more calls than a transaction may have is alone in it', () => {
  const uses = Array.from({ length: 4001 }, () => ({ kind: 'tool' as const, name: 'echo' }));
  const records = [record(0), { index: 1, traceId: null, uses }, record(2)];
  expect(sizesOf(records, unique('tenant'))).toEqual([1, 1, 1]);
});
