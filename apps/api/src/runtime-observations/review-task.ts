import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import {
  findLastTasks,
  finishOperatorTasks,
  type LastTask,
  openOperatorTasks,
} from '@quartermaster/db/repositories/operator-tasks.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { isRejectedAgain } from '../recommendations/rules/rule.ts';

const REVIEWS = { kind: 'review_observation', subjectType: 'runtime_observation' } as const;

/** An observation at its provider. */
export type Reviewed = { provider: Provider; observation: RuntimeObservation };

type InTenant = Pick<TenantPlace, 'tenantId'>;

/** Opens the review tasks of open observations of a tenant, and cancels those of the others. */
export async function settleReviewTasks(
  db: Database,
  tenant: InTenant,
  reviewed: readonly Reviewed[],
  now: Date,
): Promise<void> {
  const isAsked = ({ provider, observation }: Reviewed) =>
    observation.status === 'open' && provider.status !== 'deleted';
  const ended = reviewed.filter((one) => !isAsked(one)).map(({ observation }) => observation);
  await cancelReviewTasks(db, tenant, ended, now);
  await openReviewTasks(db, tenant, reviewed.filter(isAsked), now);
}

async function openReviewTasks(
  db: Database,
  tenant: InTenant,
  reviewed: readonly Reviewed[],
  now: Date,
): Promise<void> {
  const tasks = reviewed.map(({ provider, observation }) => ({
    ...reviewTask(observation),
    subTenantId: observation.subTenantId,
    title: titleOf(provider, observation),
    priority: observation.risk.level === 'high' ? ('high' as const) : ('normal' as const),
  }));
  await openOperatorTasks(db, tenant, { ...REVIEWS, tasks }, now);
}

/** Ends the review tasks of observations of a tenant: nobody needs to decide about them any more. */
export async function cancelReviewTasks(
  db: Database,
  tenant: InTenant,
  observations: readonly Pick<RuntimeObservation, 'id'>[],
  now: Date,
): Promise<void> {
  const subjectIds = observations.map(({ id }) => id);
  await finishOperatorTasks(db, tenant, { ...REVIEWS, subjectIds }, 'cancelled', now);
}

/** How long after somebody cancelled a review another one is asked for, if it is still used and undecided. */
const ASKED_AGAIN_MS = 24 * 3600 * 1000;

/** Asks for reviews once more where nobody is asked and nobody decided: a task that is cancelled decides nothing. */
export async function askAgain(
  db: Database,
  tenant: InTenant,
  reviewed: readonly Reviewed[],
  now: Date,
): Promise<void> {
  const open = reviewed.filter(({ observation }) => observation.status === 'open');
  const subjectIds = open.map(({ observation }) => observation.id);
  const before = new Date(now.getTime() - ASKED_AGAIN_MS).toISOString();
  const tasks = await findLastTasks(db, tenant, { ...REVIEWS, subjectIds });
  const isLongOver = ({ isUnfinished, completedAt }: LastTask) =>
    !isUnfinished && completedAt !== null && completedAt <= before;
  const over = new Set(tasks.filter(isLongOver).map(({ subjectId }) => subjectId));
  await openReviewTasks(
    db,
    tenant,
    open.filter(({ observation }) => over.has(observation.id)),
    now,
  );
}

/** The one task that asks for the review of an observation. */
export function reviewTask({ id }: Pick<RuntimeObservation, 'id'>) {
  return { kind: 'review_observation', subject: { type: 'runtime_observation', id } } as const;
}

function titleOf(provider: Provider, observation: RuntimeObservation): string {
  const what = `the ${observation.kind} ${observation.name}`;
  if (isRejectedAgain(observation)) return `Review ${what} at ${provider.name}: it was rejected, and is used again`;
  if (observation.drift !== null) return `Review ${what} at ${provider.name}: its definition changed`;
  return `Review ${what}, seen at ${provider.name} and declared by nobody`;
}
