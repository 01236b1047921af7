import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { cancelBlockedUseTasks } from './blocked-use-task.ts';
import { cancelReviewTasks } from './review-task.ts';

/** Cancels the tasks of every kind about observations of a tenant that are removed. */
export async function cancelObservationTasks(
  db: Database,
  tenant: Pick<TenantPlace, 'tenantId'>,
  observations: readonly Pick<RuntimeObservation, 'id'>[],
  now: Date,
): Promise<void> {
  await cancelReviewTasks(db, tenant, observations, now);
  await cancelBlockedUseTasks(db, tenant, observations, now);
}
