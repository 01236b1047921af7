import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '@quartermaster/db/database.ts';
import { deleteTelemetryCallsBefore, findOldestKeptCall } from '@quartermaster/db/repositories/telemetry-calls.ts';
import { listUsageRetentions } from '@quartermaster/db/repositories/tenants.ts';
import { deleteEmptySeries, deleteRollupsBefore } from '@quartermaster/db/repositories/usage-rollups.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import type { Services } from '../../services.ts';
import { DAY_MS, dayOf } from './periods.ts';

/** Rows removed in one transaction: an embedded database deletes them without giving the event loop a turn. */
const BATCH_SIZE = 500;

/** For how long the calls are remembered that several signals may tell of, and how many of a tenant. */
const CALL_RETENTION_MS = 7 * DAY_MS;
const MAX_CALLS = 1_000_000;

/** Removes sums that are older than their tenant keeps them, and series that have none left. Answers how many rows. */
export async function removeOldUsage({ db, now }: Pick<Services, 'db' | 'now'>): Promise<number> {
  let removed = 0;
  for (const { tenantId, days } of await listUsageRetentions(db)) {
    const before = dayOf(now().getTime() - days * DAY_MS);
    const made = now().toISOString();
    removed += await inBatches(db, (trx) => deleteRollupsBefore(trx, { tenantId, before, limit: BATCH_SIZE }));
    removed += await inBatches(db, (trx) => deleteEmptySeries(trx, { tenantId, before: made, limit: BATCH_SIZE }));
  }
  return removed;
}

/** Forgets calls that no other signal will tell of any more. Answers how many. */
export async function removeOldCalls({ db, now }: Pick<Services, 'db' | 'now'>): Promise<number> {
  let removed = 0;
  const old = new Date(now().getTime() - CALL_RETENTION_MS).toISOString();
  for (const { tenantId } of await listUsageRetentions(db)) {
    const oldestKept = await findOldestKeptCall(db, { tenantId, kept: MAX_CALLS });
    const before = oldestKept !== undefined && oldestKept > old ? oldestKept : old;
    removed += await inBatches(db, (trx) => deleteTelemetryCallsBefore(trx, { tenantId, before, limit: BATCH_SIZE }));
  }
  return removed;
}

async function inBatches(db: Database, remove: (trx: Database) => Promise<number>): Promise<number> {
  let removed = 0;
  for (let more = true; more; ) {
    const start = performance.now();
    const count = await inTransaction(db, remove);
    removed += count;
    more = count === BATCH_SIZE;
    // At most half of the time: other writes have their turns in between.
    if (more) await sleep(performance.now() - start);
  }
  return removed;
}
