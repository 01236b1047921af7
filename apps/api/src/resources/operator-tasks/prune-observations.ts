import { inBatches } from '@quartermaster/db/batches.ts';
import { yieldWhenDue } from '@quartermaster/db/turns.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { type EmptiedProvider, findEmptiedProviders } from '@quartermaster/db/repositories/emptied-providers.ts';
import { addToObservationCounts } from '@quartermaster/db/repositories/observation-counts.ts';
import { findProvider } from '@quartermaster/db/repositories/providers.ts';
import { supersedeWithoutObservations } from '@quartermaster/db/repositories/recommendation-states.ts';
import { deleteUnreviewedObservations } from '@quartermaster/db/repositories/runtime-observations.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import { deleteEmptyProviders } from '../../governance/observations/empty-providers.ts';
import { cancelTasksOfRemoved } from '../../governance/observations/observation-tasks.ts';
import { reevaluateProvider } from '../../governance/observations/reevaluate.ts';
import type { AuditedChange } from '../../platform/audit/audited-write.ts';
import { mergeIntoOther } from '../../telemetry/usage/merge-series.ts';

/** Observations or providers that are deleted before the event loop gets a turn, because SQLite answers synchronously. */
const BATCH_SIZE = 200;

/**
 * Makes room within the tenant's limits. Removes observations that were neither reviewed nor declared, then the discovered
 * providers that have no observations left and to which no person added anything. New traffic brings back what is still used.
 */
export async function pruneObservations(
  trx: Database,
  record: (change: AuditedChange) => void,
  tenantId: string,
  now: Date,
): Promise<void> {
  const place = { tenantId, subTenantId: null };
  const removed: Awaited<ReturnType<typeof deleteUnreviewedObservations>> = [];
  for (let count = BATCH_SIZE; count === BATCH_SIZE; ) {
    const batch = await deleteUnreviewedObservations(trx, place, BATCH_SIZE);
    count = batch.length;
    removed.push(...batch);
    await addToObservationCounts(
      trx,
      place,
      batch.map((holder) => ({ ...holder, by: -1 })),
    );
    await cancelTasksOfRemoved(trx, place, batch, now);
    await yieldWhenDue();
  }
  await mergeIntoOther(trx, place, removed, now);
  await supersedeWithoutObservations(trx, place, now);
  const emptied = await findEmptiedProviders(trx, place);
  // Providers that stay may still need a recommendation to adopt them, without the removed observations.
  for (const { id } of emptied.filter(({ isInUse }) => isInUse)) {
    const provider = await findProvider(trx, scopeOf(place), id);
    if (provider) await reevaluateProvider(trx, provider, now);
    await yieldWhenDue();
  }
  const unused = emptied.filter(({ isInUse }) => !isInUse);
  for await (const batch of inBatches(unused, BATCH_SIZE)) {
    await deleteUnused(trx, record, { tenantId, unused: batch }, now);
  }
  record({
    place,
    target: { type: 'tenant', id: tenantId },
    changed: { fields: ['observations'], before: null, after: {} },
  });
}

/** Deletes discovered providers without content. Everything that ends with them was created from telemetry alone. */
async function deleteUnused(
  trx: Database,
  record: (change: AuditedChange) => void,
  { tenantId, unused }: { tenantId: string; unused: readonly EmptiedProvider[] },
  now: Date,
): Promise<void> {
  await deleteEmptyProviders(
    trx,
    { tenantId },
    unused.map(({ id }) => id),
    now,
  );
  for (const { id, ...provider } of unused) {
    const changed = { fields: ['status'], before: { status: 'discovered' }, after: { status: 'deleted' } };
    record({ place: provider, target: { type: 'provider', id }, changed });
  }
}
