import type { Database } from '@quartermaster/db/database.ts';
import { findEmptiedProviders } from '@quartermaster/db/repositories/emptied-providers.ts';
import { addToObservationCounts } from '@quartermaster/db/repositories/observation-counts.ts';
import { deleteObservations } from '@quartermaster/db/repositories/runtime-observations.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { reconcileSubjects } from '../recommendations/reconcile.ts';
import { deleteBareProviders } from './bare-providers.ts';
import { cancelReviewTasks, type Reviewed } from './review-task.ts';

/**
 * Removes observations whose calls turned out to be of other subjects, with their review tasks and open recommendations;
 * and the discovered providers that have nothing left, unless a person gave them something.
 */
export async function removeUnused(
  db: Database,
  place: TenantPlace,
  unused: readonly Reviewed[],
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
  await cancelReviewTasks(db, place, observations, now);
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
  const bare = emptied.filter(({ isInUse }) => !isInUse);
  await deleteBareProviders(
    db,
    place,
    bare.map(({ id }) => id),
    now,
  );
}
