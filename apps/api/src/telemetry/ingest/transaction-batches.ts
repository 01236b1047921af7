import type { Database } from '@quartermaster/db/database.ts';
import { othersWork, pauseAfterDelays } from '@quartermaster/db/delay-budget.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { tenantKey } from '@quartermaster/db/tenant-context.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { CacheByParts } from '../cache-by-parts.ts';
import type { Use } from '../reading/facts.ts';

/** The calls per transaction. A span may report 64. Those of one trace are resolved without a turn of the event loop. */
const CALLS_PER_TRANSACTION = 4000;

/**
 * The maximum number of traces in a transaction, because each has a separate row, and of new names, because each may be a new
 * subject, and new subjects take the longest.
 */
const ALONE = { traces: 500, names: 100 };

/** The same while other tenants work. On SQLite they wait for the transaction. */
const BESIDE_OTHERS = { traces: 50, names: 20 };

/** The maximum number of spans or log records in a transaction. */
type MostRecords = { alone: number; besideOthers: number };

/** What decides how long the transaction of a span or log record takes. */
export type BatchedContent = {
  /** Null if nothing of a trace is read or written for it. */
  traceId: string | null;
  uses: readonly Use[];
};

/**
 * Splits the spans or log records of a tenant into batches for one transaction each, so that other writes do not wait for all of a
 * large request. If one of the transactions fails, a retry finds the stored records as duplicates.
 */
export function* transactionBatches<Item>(
  records: Iterable<Item>,
  { tenant, most, contentOf }: { tenant: string; most: MostRecords; contentOf: (record: Item) => BatchedContent },
): Generator<Item[]> {
  const names = new CacheByParts<object>();
  const traces = new Set<string>();
  let batch: Item[] = [];
  let namesBefore = 0;
  let calls = 0;
  for (const record of records) {
    const { traceId, uses } = contentOf(record);
    const isAlone = !othersWork(tenant);
    const limits = isAlone ? ALONE : BESIDE_OTHERS;
    const isFull =
      batch.length >= (isAlone ? most.alone : most.besideOthers) ||
      (batch.length > 0 && calls + uses.length > CALLS_PER_TRANSACTION) ||
      (traceId !== null && traces.size >= limits.traces && !traces.has(traceId)) ||
      names.values.length - namesBefore >= limits.names;
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

/**
 * Stores a batch in a transaction, after a pause if the tenant has delayed others. The tenant is locked, because its batches update
 * the same observations.
 *
 * @param interrupted ends the pause with its reason
 */
export async function storeInTurn<Result>(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  work: (trx: Database) => Promise<Result>,
  interrupted: AbortSignal | undefined,
): Promise<Result> {
  const stored = await pauseAfterDelays(tenantKey(tenantId), interrupted);
  return inTransaction(db, work, { lockTenant: tenantId }).finally(stored);
}
