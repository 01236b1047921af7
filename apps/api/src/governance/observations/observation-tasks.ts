import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { finishOperatorTasks } from '@quartermaster/db/repositories/operator-tasks.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';

/** The kinds of tasks about observations. */
const KINDS = ['review_observation', 'investigate_blocked_use'] as const;

/** How long a finished task stays closed while its cause goes on. After that, telemetry opens a task again. */
export const REOPEN_AFTER_MS = 24 * 3600 * 1000;

type InTenant = Pick<TenantPlace, 'tenantId'>;
type Identified = Pick<RuntimeObservation, 'id'>;

/** Cancels the tasks of one kind about observations of a tenant. */
export async function cancelObservationTasks(
  db: Database,
  tenant: InTenant,
  { kind, observations }: { kind: (typeof KINDS)[number]; observations: readonly Identified[] },
  now: Date,
): Promise<void> {
  const about = { kind, subjectType: 'runtime_observation', subjectIds: observations.map(({ id }) => id) } as const;
  await finishOperatorTasks(db, tenant, about, 'cancelled', now);
}

/** Cancels all tasks about observations of a tenant that are removed. */
export async function cancelTasksOfRemoved(
  db: Database,
  tenant: InTenant,
  observations: readonly Identified[],
  now: Date,
): Promise<void> {
  for (const kind of KINDS) await cancelObservationTasks(db, tenant, { kind, observations }, now);
}
