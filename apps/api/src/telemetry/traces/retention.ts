import { setTimeout as sleep } from 'node:timers/promises';
import { isPostgres } from '@quartermaster/db/dialects/postgres.ts';
import { dropEmptyPartitions, makeSpanPartitions } from '@quartermaster/db/dialects/postgres-spans.ts';
import { listRetentions } from '@quartermaster/db/repositories/tenants.ts';
import { deleteTracesBefore } from '@quartermaster/db/repositories/trace-retention.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import type { Services } from '../../services.ts';

const DAY_MS = 24 * 3600 * 1000;

/**
 * Spans removed in one transaction, and traces at the most: an embedded database deletes them without giving the event loop a
 * turn.
 */
const SPANS_OF_BATCH = 256;

/** Postgres keeps blocks of spans by the day on which they come in. The partitions of the next days are made ahead. */
export async function makeDays({ db, now }: Pick<Services, 'db' | 'now'>): Promise<void> {
  if (isPostgres(db)) await makeSpanPartitions(db, now());
}

/** Removes the traces that are older than their tenant keeps them. Answers how many. */
export async function removeOldTraces({ db, now }: Pick<Services, 'db' | 'now'>): Promise<number> {
  let removed = 0;
  for (const { tenantId, days } of await listRetentions(db)) {
    const before = new Date(now().getTime() - days * DAY_MS).toISOString();
    removed += await removeTracesBefore({ db, now }, tenantId, before);
  }
  if (isPostgres(db)) await dropEmptyPartitions(db, now());
  return removed;
}

async function removeTracesBefore(
  { db, now }: Pick<Services, 'db' | 'now'>,
  tenantId: string,
  before: string,
): Promise<number> {
  const scope = [{ tenantId, subTenantId: null }];
  let removed = 0;
  for (let more = true; more; ) {
    const start = performance.now();
    const batch = await inTransaction(db, (trx) => deleteTracesBefore(trx, scope, before, SPANS_OF_BATCH, now()));
    ({ more } = batch);
    removed += batch.traces;
    // At most half of the time: whoever asks for something meanwhile is not to wait for one batch after the other.
    if (more) await sleep(performance.now() - start);
  }
  return removed;
}
