import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { findLastTasks, type LastTask, openOperatorTasks } from '@quartermaster/db/repositories/operator-tasks.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { type DenyingManifest, denialInWords, wasDeniedByManifest } from '../declarations/manifest-denials.ts';
import { isRejectedAgain } from '../rules/rule.ts';
import { cancelObservationTasks, REOPEN_AFTER_MS } from './observation-tasks.ts';

const REVIEWS = { kind: 'review_observation', subjectType: 'runtime_observation' } as const;

/** An observation and its provider, and the manifests that deny it where they are known. */
export type ObservationAtProvider = {
  provider: Provider;
  observation: RuntimeObservation;
  denying?: readonly DenyingManifest[];
};

type InTenant = Pick<TenantPlace, 'tenantId'>;

/** Opens review tasks for open observations of a tenant, and cancels the tasks of the others. */
export async function updateReviewTasks(
  db: Database,
  tenant: InTenant,
  observed: readonly ObservationAtProvider[],
  now: Date,
): Promise<void> {
  const needsReview = ({ provider, observation }: ObservationAtProvider) =>
    observation.status === 'open' && provider.status !== 'deleted';
  const others = observed.filter((one) => !needsReview(one)).map(({ observation }) => observation);
  await cancelObservationTasks(db, tenant, { kind: REVIEWS.kind, observations: others }, now);
  await openReviewTasks(db, tenant, observed.filter(needsReview), now);
}

async function openReviewTasks(
  db: Database,
  tenant: InTenant,
  observed: readonly ObservationAtProvider[],
  now: Date,
): Promise<void> {
  const tasks = observed.map((one) => ({
    ...reviewTask(one.observation),
    subTenantId: one.observation.subTenantId,
    title: titleOf(one),
    priority: one.observation.risk.level === 'high' ? ('high' as const) : ('normal' as const),
  }));
  await openOperatorTasks(db, tenant, { ...REVIEWS, tasks }, now);
}

/** Opens review tasks again for open observations whose last task is finished. Cancelling a task decides nothing. */
export async function reopenReviewTasks(
  db: Database,
  tenant: InTenant,
  observed: readonly ObservationAtProvider[],
  now: Date,
): Promise<void> {
  const open = observed.filter(({ observation }) => observation.status === 'open');
  const subjectIds = open.map(({ observation }) => observation.id);
  const before = new Date(now.getTime() - REOPEN_AFTER_MS).toISOString();
  const tasks = await findLastTasks(db, tenant, { ...REVIEWS, subjectIds });
  const isFinishedLongAgo = ({ isUnfinished, completedAt }: LastTask) =>
    !isUnfinished && completedAt !== null && completedAt <= before;
  const finished = new Set(tasks.filter(isFinishedLongAgo).map(({ subjectId }) => subjectId));
  await openReviewTasks(
    db,
    tenant,
    open.filter(({ observation }) => finished.has(observation.id)),
    now,
  );
}

/** Identifies the task to review an observation. There is one for each observation. */
export function reviewTask({ id }: Pick<RuntimeObservation, 'id'>) {
  return { kind: 'review_observation', subject: { type: 'runtime_observation', id } } as const;
}

function titleOf({ provider, observation, denying: [first] = [] }: ObservationAtProvider): string {
  const what = `the ${observation.kind} ${observation.name}`;
  if (isRejectedAgain(observation)) return `Review ${what} at ${provider.name}: it was rejected, and is used again`;
  if (observation.drift !== null) return `Review ${what} at ${provider.name}: its definition changed`;
  if (!observation.unknown && wasDeniedByManifest(observation)) {
    const by = first === undefined ? 'the manifest of a gateway' : denialInWords(observation, first);
    return `Review ${what} at ${provider.name}, which is declared, but denied by ${by}`;
  }
  if (observation.occurrences === 0 && observation.denials > 0)
    return `Review ${what}, denied at ${provider.name} and not declared`;
  return `Review ${what}, seen at ${provider.name} and not declared`;
}
