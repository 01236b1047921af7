import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { finishOperatorTask, openOperatorTask } from '@quartermaster/db/repositories/operator-tasks.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import { isRejectedAgain } from '../recommendations/rules/rule.ts';

/** Opens the review task of an open observation, and cancels that of any other. */
export async function settleReviewTask(
  db: Database,
  provider: Provider,
  observation: RuntimeObservation,
  now: Date,
): Promise<void> {
  const task = reviewTask(observation);
  if (observation.status !== 'open' || provider.status === 'deleted') {
    await finishOperatorTask(db, scopeOf(observation), task, 'cancelled', now);
    return;
  }
  const priority = observation.risk.level === 'high' ? 'high' : 'normal';
  await openOperatorTask(db, observation, { ...task, title: titleOf(provider, observation), priority }, now);
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
