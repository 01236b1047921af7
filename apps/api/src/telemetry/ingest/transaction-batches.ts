import { CacheByParts } from '../cache-by-parts.ts';
import type { Use } from '../reading/facts.ts';

/** The calls per transaction. A span may report 64. Those of one trace are resolved without a turn of the event loop. */
const CALLS_PER_TRANSACTION = 4000;

/** The spans or log records per transaction. */
const RECORDS_PER_TRANSACTION = 500;

/** The traces per transaction, because each has a row of its own. */
const TRACES_PER_TRANSACTION = 100;

/**
 * The new names per transaction: those that no earlier batch of the request has. A new subject takes the longest to aggregate.
 */
const NAMES_PER_TRANSACTION = 40;

/** What decides how long the transaction of a span or log record takes. */
export type BatchedContent = {
  /** Null if nothing of a trace is read or written for it. */
  traceId: string | null;
  uses: readonly Use[];
};

/**
 * Splits the spans or log records of a tenant into batches for one transaction each, so that other writes do not wait for all
 * of a large request. If one of the transactions fails, a retry finds the stored records as duplicates.
 */
export function* transactionBatches<Item>(
  records: Iterable<Item>,
  contentOf: (record: Item) => BatchedContent,
): Generator<Item[]> {
  const names = new CacheByParts<object>();
  const traces = new Set<string>();
  let batch: Item[] = [];
  let namesBefore = 0;
  let calls = 0;
  for (const record of records) {
    const { traceId, uses } = contentOf(record);
    const isFull =
      batch.length >= RECORDS_PER_TRANSACTION ||
      (batch.length > 0 && calls + uses.length > CALLS_PER_TRANSACTION) ||
      (traceId !== null && traces.size >= TRACES_PER_TRANSACTION && !traces.has(traceId)) ||
      names.values.length - namesBefore >= NAMES_PER_TRANSACTION;
    if (isFull) {
      yield batch;
      batch = [];
      traces.clear();
      calls = 0;
      namesBefore = names.values.length;
    }
    batch.push(record);
    if (traceId !== null) traces.add(traceId);
    calls += uses.length;
    for (const use of uses) names.get([use.kind, use.name], () => use);
  }
  if (batch.length > 0) yield batch;
}
