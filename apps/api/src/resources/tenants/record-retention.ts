import {
  deleteClosedRecommendations,
  deleteEndedSessions,
  deleteFinishedTasks,
  eraseDeletedAccounts,
  eraseDeletedProviders,
} from '@quartermaster/db/repositories/record-retention.ts';
import { listRecordRetentions } from '@quartermaster/db/repositories/tenants.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { removeForEachTenant, removeInPacedBatches } from '../../platform/remove-in-batches.ts';
import type { Services } from '../../platform/services.ts';

export const DAY_MS = 24 * 3600 * 1000;

/** Rows that one transaction deletes. SQLite deletes synchronously, so they block the event loop. */
const BATCH_SIZE = 200;

const REMOVALS = [
  deleteEndedSessions,
  deleteFinishedTasks,
  deleteClosedRecommendations,
  eraseDeletedAccounts,
  eraseDeletedProviders,
];

/**
 * Removes ended sessions, finished tasks and closed recommendations that are older than their tenant's retention, and erases the
 * metadata and descriptions of accounts and providers that were deleted before it. The audit events stay.
 *
 * @returns how many records
 */
export async function removeOldRecords(services: Pick<Services, 'db' | 'now' | 'stopping'>): Promise<number> {
  const { db, now } = services;
  return removeForEachTenant(services, await listRecordRetentions(db), async ({ tenantId, days }) => {
    const before = new Date(now().getTime() - days * DAY_MS).toISOString();
    let removed = 0;
    for (const remove of REMOVALS) {
      removed += await removeInPacedBatches(services, async () => {
        const count = await inTransaction(db, (trx) => remove(trx, { tenantId, before, limit: BATCH_SIZE }));
        return { removed: count, more: count === BATCH_SIZE };
      });
    }
    return removed;
  });
}
