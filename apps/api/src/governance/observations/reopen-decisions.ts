import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { findInventoryItems } from '@quartermaster/db/repositories/inventory.ts';
import { findObservationsInPlace } from '@quartermaster/db/repositories/runtime-observations.ts';
import { updateObservationStates } from '@quartermaster/db/repositories/seen-observations.ts';
import { nameKey } from '@quartermaster/naming/name-key.ts';
import { subjectKey } from '../declarations/subject-key.ts';
import { updateReviewTasks } from './review-task.ts';

/**
 * Opens the observations of items that now wait for a decision. Resolved observations are opened. If the definition of the item
 * changed, reviewed observations are opened too, because the review was about the former definition. A rejection of the same
 * definition stays. Only observations in the provider's own place are changed. The caller reevaluates the items afterwards.
 */
export async function reopenDecisions(
  trx: Database,
  provider: Provider,
  undecided: readonly { id: string; isRedefined: boolean }[],
  now: Date,
): Promise<void> {
  const redefined = new Set(undecided.filter(({ isRedefined }) => isRedefined).map(({ id }) => id));
  const ids = undecided.map(({ id }) => id);
  const items = (await findInventoryItems(trx, provider, provider.id, ids)).map(({ id, kind, name }) => {
    return { id, providerId: provider.id, kind, nameKey: nameKey(kind, name, provider.name) };
  });
  const idOf = new Map(items.map((item) => [subjectKey(item), item.id]));
  const reopened = (await findObservationsInPlace(trx, provider, items)).flatMap((observation) => {
    const { status, review } = observation;
    const isRedefined = redefined.has(idOf.get(subjectKey(observation)) ?? '');
    if (status === 'open' || (status !== 'resolved' && !isRedefined)) return [];
    const isReviewObsolete = isRedefined || review?.decision === 'approved';
    return [{ ...observation, status: 'open' as const, review: isReviewObsolete ? null : review, isReviewObsolete }];
  });
  await updateObservationStates(trx, provider, reopened, now);
  const observed = reopened.map((observation) => ({ provider, observation }));
  await updateReviewTasks(trx, provider, observed, now);
}
