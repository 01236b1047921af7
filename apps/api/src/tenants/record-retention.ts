import { setTimeout as sleep } from 'node:timers/promises';
import {
  deleteClosedRecommendations,
  deleteEndedSessions,
  deleteFinishedTasks,
} from '@quartermaster/db/repositories/record-retention.ts';
import { listRecordRetentions } from '@quartermaster/db/repositories/tenants.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import type { Services } from '../services.ts';

const DAY_MS = 24 * 3600 * 1000;

/** Rows removed in one transaction: an embedded database deletes them without giving the event loop a turn. */
const ROWS_OF_BATCH = 200;

const REMOVALS = [deleteEndedSessions, deleteFinishedTasks, deleteClosedRecommendations];

/**
 * Removes ended sessions, finished tasks and closed recommendations that are older than their tenant keeps them. The audit
 * keeps what was done. Answers how many.
 */
export async function removeOldRecords({ db, now }: Pick<Services, 'db' | 'now'>): Promise<number> {
  let removed = 0;
  for (const { tenantId, days } of await listRecordRetentions(db)) {
    const before = new Date(now().getTime() - days * DAY_MS).toISOString();
    for (const remove of REMOVALS) {
      for (let more = true; more; ) {
        const start = performance.now();
        const count = await inTransaction(db, (trx) => remove(trx, { tenantId, before, limit: ROWS_OF_BATCH }));
        removed += count;
        more = count === ROWS_OF_BATCH;
        // At most half of the time: other writes have their turns in between.
        if (more) await sleep(performance.now() - start);
      }
    }
  }
  return removed;
}
