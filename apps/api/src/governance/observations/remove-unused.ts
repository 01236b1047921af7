import type { Database } from '@quartermaster/db/database.ts';
import { findEmptiedProviders } from '@quartermaster/db/repositories/emptied-providers.ts';
import { addToObservationCounts } from '@quartermaster/db/repositories/observation-counts.ts';
import { deleteObservations } from '@quartermaster/db/repositories/runtime-observations.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { reconcileSubjects } from '../rules/reconcile.ts';
import { deleteEmptyProviders } from './empty-providers.ts';
import { cancelTasksOfRemoved } from './observation-tasks.ts';
import type { ObservationAtProvider } from './review-task.ts';

/**
 * Removes observations whose calls all turned out to belong to other subjects, with their tasks and open
 * recommendations. Also deletes discovered providers that are empty then, unless a person added something to them.
 */
export async function removeUnused(
  db: Database,
  place: TenantPlace,
  unused: readonly ObservationAtProvider[],
  now: Date,
): Promise<void> {
  if (unused.length === 0) return;
  const observations = unused.map(({ observation }) => observation);
  const holders = await deleteObservations(
    db,
    place,
    observations.map(({ id }) => id),
  );
  await addToObservationCounts(
    db,
    place,
    holders.map((holder) => ({ ...holder, by: -1 })),
  );
  await cancelTasksOfRemoved(db, place, observations, now);
  await reconcileSubjects(
    db,
    place,
    unused.map(({ provider, observation: { kind, name } }) => ({ provider, kind, name })),
    now,
  );
  const discovered = unused
    .filter(({ provider }) => provider.status === 'discovered')
    .map(({ provider }) => provider.id);
  const emptied = await findEmptiedProviders(db, place, [...new Set(discovered)]);
  const empty = emptied.filter(({ isInUse }) => !isInUse);
  await deleteEmptyProviders(
    db,
    place,
    empty.map(({ id }) => id),
    now,
  );
}
