import type { Database } from '@quartermaster/db/database.ts';
import { deleteChannelsBefore } from '@quartermaster/db/repositories/agent-channels.ts';
import { deleteOldestCalls, listCallCounts } from '@quartermaster/db/repositories/telemetry-calls.ts';
import { listUsageRetentions } from '@quartermaster/db/repositories/tenants.ts';
import {
  deleteEmptySeries,
  deleteRollupsBefore,
  deleteRollupsOf,
  listMergedSeries,
} from '@quartermaster/db/repositories/usage-rollups.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { removeForEachTenant, removeInPacedBatches } from '../../platform/remove-in-batches.ts';
import type { Services } from '../../platform/services.ts';
import { DAY_MS, dayOf } from '../periods.ts';

/** Rows per transaction. SQLite deletes them without yielding to the event loop. */
const BATCH_SIZE = 500;

type RetentionServices = Pick<Services, 'db' | 'now' | 'stopping'>;

/** How long, and how many per tenant, the keys of calls are stored that several signals may report. */
const CALL_RETENTION_MS = 7 * DAY_MS;
const MAX_CALLS = 1_000_000;

/**
 * Removes sums that are older than their tenant's retention, channels that were last seen before it, sums of series that were merged into
 * others, and series without sums.
 * Returns the number of rows.
 */
export async function removeOldUsage(services: RetentionServices): Promise<number> {
  const { db, now } = services;
  return removeForEachTenant(services, await listUsageRetentions(db), async ({ tenantId, days }) => {
    const before = dayOf(now().getTime() - days * DAY_MS);
    const createdBefore = now().toISOString();
    return (
      (await removeInBatches(services, (trx) => deleteRollupsBefore(trx, { tenantId, before, limit: BATCH_SIZE }))) +
      (await removeMerged(services, tenantId)) +
      (await removeInBatches(services, (trx) => deleteChannelsBefore(trx, { tenantId, before, limit: BATCH_SIZE }))) +
      (await removeInBatches(services, (trx) =>
        deleteEmptySeries(trx, { tenantId, before: createdBefore, limit: BATCH_SIZE }),
      ))
    );
  });
}

/** How many merged series are looked up at once. */
const MERGED_AT_ONCE = 200;

async function removeMerged(services: RetentionServices, tenantId: string): Promise<number> {
  let removed = 0;
  while (!services.stopping.aborted) {
    const seriesIds = await listMergedSeries(services.db, { tenantId, limit: MERGED_AT_ONCE });
    if (seriesIds.length === 0) break;
    removed += await removeInBatches(services, (trx) =>
      deleteRollupsOf(trx, { tenantId, seriesIds, limit: BATCH_SIZE }),
    );
  }
  return removed;
}

/**
 * Removes the keys of calls that no other signal is expected to report any more, and those that a tenant has too many of: the oldest
 * ones of the accounts that have the most. Returns the number of keys.
 */
export async function removeOldCalls(services: RetentionServices): Promise<number> {
  const { db, now } = services;
  const before = new Date(now().getTime() - CALL_RETENTION_MS).toISOString();
  return removeForEachTenant(services, await listUsageRetentions(db), async ({ tenantId }) => {
    let removed = 0;
    for (const { sender } of await listCallCounts(db, { tenantId })) {
      removed += await removeInBatches(services, (trx) =>
        deleteOldestCalls(trx, { tenantId, sender, before, limit: BATCH_SIZE }),
      );
    }
    const left = await listCallCounts(db, { tenantId });
    const kept = keptOfEach(left.map(({ calls }) => calls));
    for (const { sender, calls } of left) {
      removed += await removeOldest(services, { tenantId, sender, count: calls - kept });
    }
    return removed;
  });
}

/** How many keys each account keeps at most, so that those of all together are no more than {@link MAX_CALLS}. */
function keptOfEach(counts: readonly number[]): number {
  let room = MAX_CALLS;
  for (const [index, count] of counts.toSorted((a, b) => a - b).entries()) {
    const share = Math.floor(room / (counts.length - index));
    if (count > share) return share;
    room -= count;
  }
  return MAX_CALLS;
}

async function removeOldest(
  services: RetentionServices,
  { tenantId, sender, count }: { tenantId: string; sender: string; count: number },
): Promise<number> {
  let left = count;
  if (left <= 0) return 0;
  return removeInPacedBatches(services, async () => {
    const limit = Math.min(left, BATCH_SIZE);
    const removed = await inTransaction(services.db, (trx) =>
      deleteOldestCalls(trx, { tenantId, sender, before: null, limit }),
    );
    left -= removed;
    return { removed, more: removed === limit && left > 0 };
  });
}

function removeInBatches(services: RetentionServices, remove: (trx: Database) => Promise<number>): Promise<number> {
  return removeInPacedBatches(services, async () => {
    const removed = await inTransaction(services.db, remove);
    return { removed, more: removed === BATCH_SIZE };
  });
}
