import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Recommendation } from '@quartermaster/contracts/recommendations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { finishOperatorTask } from '@quartermaster/db/repositories/operator-tasks.ts';
import { findProvider } from '@quartermaster/db/repositories/providers.ts';
import { markDismissed } from '@quartermaster/db/repositories/recommendation-states.ts';
import { findRecommendation } from '@quartermaster/db/repositories/recommendations.ts';
import { EVERYWHERE, scopeOf } from '@quartermaster/db/tenancy.ts';
import { principalName } from '../access/principal.ts';
import { type Change as AuditedChange, write } from '../audit-events/write.ts';
import { ApiError } from '../errors.ts';
import type { CallerContext } from '../trpc.ts';
import { adoptionTask, causeOf } from './reconcile.ts';

/** Dismisses a recommendation: it is not made again for the same cause. */
export async function dismissRecommendation(ctx: CallerContext, id: string, reason: string): Promise<Recommendation> {
  return write(ctx, async (trx, record, now) => {
    const recommendation = await requireRecommendation(ctx, trx, id);
    return dismissOpen(trx, record, { recommendation, reason, dismissedBy: principalName(ctx.principal), now });
  });
}

type Dismissing = { recommendation: Recommendation; reason: string; dismissedBy: string; now: Date };

/** The same, within a transaction. @throws 409 where it is not open */
export async function dismissOpen(
  trx: Database,
  record: (change: AuditedChange) => void,
  { recommendation, reason, dismissedBy, now }: Dismissing,
): Promise<Recommendation> {
  const { id, kind, status, providerId } = recommendation;
  const provider = await findProvider(trx, EVERYWHERE, providerId);
  if (status !== 'open' || !provider) {
    throw new ApiError('recommendation_not_open', `The recommendation is ${status}.`);
  }
  const cause = await causeOf(trx, provider, recommendation, now);
  const dismissal = { reason, dismissedBy, dismissedAt: now.toISOString(), cause };
  const dismissed = await markDismissed(trx, scopeOf(recommendation), id, dismissal, now);
  if (!dismissed) throw new ApiError('recommendation_not_open', 'The recommendation is not open any more.');
  if (kind === 'adopt_provider') await endAdoption(trx, provider, now);
  record({ place: recommendation, target: { type: 'recommendation', id }, changed: ['status', 'dismissal'] });
  return dismissed;
}

/** Who dismisses the recommendation has answered the task that asks for it. */
async function endAdoption(trx: Database, provider: Provider, now: Date): Promise<void> {
  const answered = { ...adoptionTask(provider), outcome: 'dismissed' } as const;
  await finishOperatorTask(trx, scopeOf(provider), answered, 'succeeded', now);
}

/** The recommendation that a path names. @throws 404 */
export async function requireRecommendation(ctx: CallerContext, db: Database, id: string): Promise<Recommendation> {
  const recommendation = await findRecommendation(db, ctx.reach, id);
  if (recommendation) return recommendation;
  throw new ApiError('recommendation_not_found', 'No recommendation of this id in your reach.');
}
