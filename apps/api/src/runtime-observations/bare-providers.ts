import type { Database } from '@quartermaster/db/database.ts';
import { deleteDiscoveredProviders } from '@quartermaster/db/repositories/discovered-providers.ts';
import { finishOperatorTasks } from '@quartermaster/db/repositories/operator-tasks.ts';
import { supersedeOfProviders } from '@quartermaster/db/repositories/standing-recommendations.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';

/** Deletes discovered providers that have nothing, with their open recommendations and the tasks that ask to adopt them. */
export async function deleteBareProviders(
  db: Database,
  tenant: Pick<TenantPlace, 'tenantId'>,
  ids: readonly string[],
  now: Date,
): Promise<void> {
  if (ids.length === 0) return;
  await deleteDiscoveredProviders(db, tenant, ids, now);
  await supersedeOfProviders(db, tenant, ids, now);
  const tasks = { kind: 'adopt_provider', subjectType: 'provider', subjectIds: ids } as const;
  await finishOperatorTasks(db, tenant, tasks, 'cancelled', now);
}
