import type { Database } from '@quartermaster/db/database.ts';
import { deleteDiscoveredProviders } from '@quartermaster/db/repositories/discovered-providers.ts';
import { finishOperatorTasks } from '@quartermaster/db/repositories/operator-tasks.ts';
import { supersedeRecommendationsOfProviders } from '@quartermaster/db/repositories/open-recommendations.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';

/** Deletes empty discovered providers, supersedes their open recommendations, and cancels the tasks to adopt them. */
export async function deleteEmptyProviders(
  db: Database,
  tenant: Pick<TenantPlace, 'tenantId'>,
  ids: readonly string[],
  now: Date,
): Promise<void> {
  if (ids.length === 0) return;
  await deleteDiscoveredProviders(db, tenant, ids, now);
  await supersedeRecommendationsOfProviders(db, tenant, ids, now);
  const tasks = { kind: 'adopt_provider', subjectType: 'provider', subjectIds: ids } as const;
  await finishOperatorTasks(db, tenant, tasks, 'cancelled', now);
}
