import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Recommendation } from '@quartermaster/contracts/recommendations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { finishOperatorTask } from '@quartermaster/db/repositories/operator-tasks.ts';
import { findProvider } from '@quartermaster/db/repositories/providers.ts';
import { markDismissed } from '@quartermaster/db/repositories/recommendation-states.ts';
import { findRecommendation } from '@quartermaster/db/repositories/recommendations.ts';
import { EVERYWHERE, scopeOf } from '@quartermaster/db/tenancy.ts';
import { principalName } from '../../auth/principal.ts';
import { type AuditedChange, auditedWrite } from '../../platform/audit/audited-write.ts';
import { ApiError, requireFound } from '../../platform/errors.ts';
import type { CallerContext } from '../../auth/context.ts';
import { adoptionTask, currentCause } from '../rules/reconcile.ts';

/** Dismisses a recommendation. It is not opened again for the same cause. */
export async function dismissRecommendation(ctx: CallerContext, id: string, reason: string): Promise<Recommendation> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const recommendation = await requireRecommendation(ctx, trx, id);
    return dismissOpenRecommendation(trx, record, {
      recommendation,
      reason,
      dismissedBy: principalName(ctx.principal),
      now,
    });
  });
}

type DismissOptions = { recommendation: Recommendation; reason: string; dismissedBy: string; now: Date };

/** {@link dismissRecommendation} within a transaction. @throws 409 if it is not open */
export async function dismissOpenRecommendation(
  trx: Database,
  record: (change: AuditedChange) => void,
  { recommendation, reason, dismissedBy, now }: DismissOptions,
): Promise<Recommendation> {
  const { id, kind, status, providerId } = recommendation;
  const provider = await findProvider(trx, EVERYWHERE, providerId);
  if (status !== 'open' || !provider) {
    throw new ApiError('recommendation_not_open', `The recommendation is ${status}.`);
  }
  const cause = await currentCause(trx, provider, recommendation, now);
  const dismissal = { reason, dismissedBy, dismissedAt: now.toISOString(), cause };
  const dismissed = await markDismissed(trx, scopeOf(recommendation), id, dismissal, now);
  if (!dismissed) throw new ApiError('recommendation_not_open', 'The recommendation is no longer open.');
  if (kind === 'adopt_provider') await finishAdoptionTask(trx, provider, now);
  const changed = { fields: ['status', 'dismissal'], before: recommendation, after: dismissed };
  record({ place: recommendation, target: { type: 'recommendation', id }, changed });
  return dismissed;
}

/** Finishes the task to adopt a provider, because a person dismissed the recommendation to do so. */
async function finishAdoptionTask(trx: Database, provider: Provider, now: Date): Promise<void> {
  const answered = { ...adoptionTask(provider), outcome: 'dismissed' } as const;
  await finishOperatorTask(trx, scopeOf(provider), answered, 'succeeded', now);
}

/** The recommendation that a path names. @throws 404 */
export async function requireRecommendation(ctx: CallerContext, db: Database, id: string): Promise<Recommendation> {
  return requireFound(await findRecommendation(db, ctx.reach, id), 'recommendation_not_found');
}
