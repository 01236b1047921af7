import type { Database } from '@quartermaster/db/database.ts';
import { isPostgres } from '@quartermaster/db/dialects/postgres.ts';
import { createSpanPartitions, dropEmptyPartitions } from '@quartermaster/db/dialects/postgres-spans.ts';
import { listSpanRetentions } from '@quartermaster/db/repositories/tenants.ts';
import { deleteTracesBefore } from '@quartermaster/db/repositories/trace-retention.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { wholeTenant } from '@quartermaster/db/tenancy.ts';
import { removeForEachTenant, removeInPacedBatches } from '../platform/remove-in-batches.ts';
import type { Services } from '../platform/services.ts';
import { DAY_MS } from './periods.ts';

/** Spans per transaction, and most traces. SQLite deletes them without yielding to the event loop. */
const BATCH_SIZE = 256;

type RetentionServices = Pick<Services, 'db' | 'now' | 'stopping'>;

/** Creates the partitions of the next days on PostgreSQL, where span blocks are partitioned by the day of receipt. */
export async function prepareSpanPartitions({ db, now }: Pick<Services, 'db' | 'now'>): Promise<void> {
  if (isPostgres(db)) await createSpanPartitions(db, now());
}

/** Removes traces that are older than their tenant's retention. Returns the number of traces. */
export async function removeOldTraces(services: RetentionServices): Promise<number> {
  const { db, now } = services;
  try {
    return await removeForEachTenant(services, await listSpanRetentions(db), ({ tenantId, days }) => {
      const before = new Date(now().getTime() - days * DAY_MS).toISOString();
      return removeTracesBefore(services, tenantId, before);
    });
  } finally {
    if (isPostgres(db)) await dropEmptyPartitions(db, now());
  }
}

/**
 * Removes some traces of one tenant that are older than its retention. It takes one short transaction, so that a request can wait
 * for it.
 *
 * @returns the number of spans
 */
export async function removeSomeOldTraces(
  { db, databaseNow }: Pick<Services, 'db' | 'databaseNow'>,
  tenantId: string,
  retentionDays: number,
): Promise<number> {
  const time = await databaseNow(db);
  const before = new Date(time.getTime() - retentionDays * DAY_MS).toISOString();
  const scope = wholeTenant(tenantId);
  const remove = (trx: Database) => deleteTracesBefore(trx, scope, before, BATCH_SIZE, time);
  return (await inTransaction(db, remove, { lockTenant: tenantId })).spans;
}

function removeTracesBefore(services: RetentionServices, tenantId: string, before: string): Promise<number> {
  const { db, now } = services;
  const scope = wholeTenant(tenantId);
  return removeInPacedBatches(services, async () => {
    const remove = (trx: Database) => deleteTracesBefore(trx, scope, before, BATCH_SIZE, now());
    // Ingest holds this lock as well. Both write to the rows of the accounts, so without it a busy tenant would keep its old traces.
    const { traces, more } = await inTransaction(db, remove, { lockTenant: tenantId });
    return { removed: traces, more };
  });
}
