import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '@quartermaster/db/database.ts';
import { listRetentions } from '@quartermaster/db/repositories/tenants.ts';
import { deleteTracesBefore } from '@quartermaster/db/repositories/traces.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import type { Services } from '../services.ts';

const DAY_MS = 24 * 3600 * 1000;

/** Spans removed in one transaction: an embedded database deletes them without giving the event loop a turn. */
const SPANS_OF_BATCH = 256;

/** Removes the traces that are older than their tenant keeps them. Answers how many. */
export async function removeOldTraces({ db, now }: Pick<Services, 'db' | 'now'>): Promise<number> {
  let removed = 0;
  for (const { tenantId, days } of await listRetentions(db)) {
    const before = new Date(now().getTime() - days * DAY_MS).toISOString();
    removed += await removeTracesBefore(db, tenantId, before);
  }
  return removed;
}

async function removeTracesBefore(db: Database, tenantId: string, before: string): Promise<number> {
  const scope = [{ tenantId, subTenantId: null }];
  let removed = 0;
  for (let more = true; more; ) {
    const start = performance.now();
    const batch = await inTransaction(db, (trx) => deleteTracesBefore(trx, scope, before, SPANS_OF_BATCH));
    ({ more } = batch);
    removed += batch.traces;
    // At most half of the time: whoever asks for something meanwhile is not to wait for one batch after the other.
    if (more) await sleep(performance.now() - start);
  }
  return removed;
}
