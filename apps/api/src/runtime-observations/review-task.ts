import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import {
  findLastOperatorTask,
  finishOperatorTasks,
  openOperatorTasks,
} from '@quartermaster/db/repositories/operator-tasks.ts';
import { scopeOf, type TenantScope } from '@quartermaster/db/tenancy.ts';
import { isRejectedAgain } from '../recommendations/rules/rule.ts';

const REVIEWS = { kind: 'review_observation', subjectType: 'runtime_observation' } as const;

/** Opens the review task of an open observation, and cancels that of any other. */
export async function settleReviewTask(
  db: Database,
  provider: Provider,
  observation: RuntimeObservation,
  now: Date,
): Promise<void> {
  await settleReviewTasks(db, provider, [observation], now);
}

/** The same for many observations of a provider, some hundreds at the most. */
export async function settleReviewTasks(
  db: Database,
  provider: Provider,
  observations: readonly RuntimeObservation[],
  now: Date,
): Promise<void> {
  const isAsked = ({ status }: RuntimeObservation) => status === 'open' && provider.status !== 'deleted';
  const ended = observations.filter((observation) => !isAsked(observation));
  await cancelReviewTasks(db, scopeOf(provider), ended, now);
  const tasks = observations.filter(isAsked).map((observation) => ({
    ...reviewTask(observation),
    subTenantId: observation.subTenantId,
    title: titleOf(provider, observation),
    priority: observation.risk.level === 'high' ? ('high' as const) : ('normal' as const),
  }));
  await openOperatorTasks(db, provider, { ...REVIEWS, tasks }, now);
}

/** Ends the review tasks of observations, some hundreds at the most: nobody needs to decide about them any more. */
export async function cancelReviewTasks(
  db: Database,
  scope: TenantScope,
  observations: readonly Pick<RuntimeObservation, 'id'>[],
  now: Date,
): Promise<void> {
  const subjectIds = observations.map(({ id }) => id);
  await finishOperatorTasks(db, scope, { ...REVIEWS, subjectIds }, 'cancelled', now);
}

/** How long after somebody cancelled a review another one is asked for, if it is still used and undecided. */
const ASKED_AGAIN_MS = 24 * 3600 * 1000;

/** Asks for a review once more where nobody is asked and nobody decided: a task that is cancelled decides nothing. */
export async function askAgain(
  db: Database,
  provider: Provider,
  observation: RuntimeObservation,
  now: Date,
): Promise<void> {
  if (observation.status !== 'open') return;
  const last = await findLastOperatorTask(db, scopeOf(observation), reviewTask(observation), now);
  if (last?.completedAt != null && now.getTime() - Date.parse(last.completedAt) >= ASKED_AGAIN_MS) {
    await settleReviewTask(db, provider, observation, now);
  }
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
