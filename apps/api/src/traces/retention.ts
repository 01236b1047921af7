import { setImmediate as breathe } from 'node:timers/promises';
import { isPostgres } from '@quartermaster/db/dialects/postgres.ts';
import { makeSpanPartitions, removeExpiredSpans } from '@quartermaster/db/dialects/postgres-spans.ts';
import { listRetentions } from '@quartermaster/db/repositories/tenants.ts';
import { deleteTracesBefore } from '@quartermaster/db/repositories/traces.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import type { Services } from '../services.ts';

const DAY_MS = 24 * 3600 * 1000;
const TRACES_OF_BATCH = 100;

/** Postgres keeps spans by the day on which they come in: those of the next days are made ahead. */
export async function makeDays({ db, now }: Pick<Services, 'db' | 'now'>): Promise<void> {
  if (isPostgres(db)) await makeSpanPartitions(db, now());
}

/** Removes the traces that are older than their tenant keeps them. Answers how many. */
export async function removeOldTraces({ db, now }: Pick<Services, 'db' | 'now'>): Promise<number> {
  let removed = 0;
  for (const { tenantId, days } of await listRetentions(db)) {
    const scope = [{ tenantId, subTenantId: null }];
    const before = new Date(now().getTime() - days * DAY_MS).toISOString();
    for (let batch = TRACES_OF_BATCH; batch === TRACES_OF_BATCH; removed += batch) {
      // In batches, since each holds the only writer.
      batch = await inTransaction(db, (trx) => deleteTracesBefore(trx, scope, before, TRACES_OF_BATCH));
      await breathe();
    }
  }
  if (isPostgres(db)) await removeExpiredSpans(db, now());
  return removed;
}
