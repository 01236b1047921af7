import type {
  ReviewRuntimeObservationInput,
  RuntimeObservation,
  UpdateRuntimeObservationInput,
} from '@quartermaster/contracts/runtime-observations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { finishOperatorTask } from '@quartermaster/db/repositories/operator-tasks.ts';
import { findProvider } from '@quartermaster/db/repositories/providers.ts';
import {
  findObservation,
  type ObservationChange,
  updateObservation,
  updateReviewNote,
} from '@quartermaster/db/repositories/runtime-observations.ts';
import { covers, EVERYWHERE, scopeOf } from '@quartermaster/db/tenancy.ts';
import { principalName } from '../access/principal.ts';
import { type Change as AuditedChange, changedFields, write } from '../audit-events/write.ts';
import { ApiError, valueError } from '../errors.ts';
import { reconcileSubject } from '../recommendations/reconcile.ts';
import type { CallerContext } from '../trpc.ts';
import { recomputeRisk } from './recompute.ts';
import { reviewTask, settleReviewTasks } from './review-task.ts';
import { statusAfter } from './status.ts';

/** Writes a person's decision down, completes the review task, and dismisses the recommendation of what is rejected. */
export async function reviewObservation(
  ctx: CallerContext,
  id: string,
  body: ReviewRuntimeObservationInput,
): Promise<RuntimeObservation> {
  return write(ctx, (trx, record, now) => decide(ctx, trx, record, id, body, now));
}

/** The same, within a transaction. */
export async function decide(
  ctx: CallerContext,
  trx: Database,
  record: (change: AuditedChange) => void,
  id: string,
  { decision, note = null }: ReviewRuntimeObservationInput,
  now: Date,
): Promise<RuntimeObservation> {
  const observation = await requireObservation(ctx, trx, id);
  const tenantWide = covers(ctx.reach, { tenantId: observation.tenantId, subTenantId: null });
  const reviewedBy = principalName(ctx.principal);
  const review = { decision, note, reviewedBy, reviewedAt: now.toISOString(), tenantWide };
  // An approval of what is declared anyhow says nothing of the day when it is not.
  const { unknown } = observation;
  const { status } = statusAfter({ ...observation, review, status: decision }, { unknown, item: undefined });
  const reviewed = await updateObservation(trx, ctx.reach, id, { status, review }, now);
  if (!reviewed) throw notFound();
  const answered = { ...reviewTask(observation), outcome: decision, note, assignee: reviewedBy };
  await finishOperatorTask(trx, scopeOf(observation), answered, 'succeeded', now);
  const ending = decision === 'approved' ? 'superseded' : 'dismissed';
  record({ place: observation, target: { type: 'runtime_observation', id }, changed: ['status', 'review'] });
  return settle(trx, reviewed, now, ending);
}

export async function changeObservation(
  ctx: CallerContext,
  id: string,
  body: UpdateRuntimeObservationInput,
): Promise<RuntimeObservation> {
  return write(ctx, async (trx, record, now) => {
    const observation = await requireObservation(ctx, trx, id);
    const { status, note } = body;
    const kept = status === 'open' ? null : observation.review;
    if (note !== undefined && kept === null && !(note === null && status === 'open')) {
      throw valueError(['body', 'note'], 'there is no review that a note could belong to');
    }
    // Without a decision the declarations decide: what is declared by now is resolved, not open.
    const taken = { ...observation, status: 'open', review: null } as const;
    const undecided = statusAfter(taken, { unknown: observation.unknown, item: undefined });
    const change: Pick<ObservationChange, 'status'> = {
      ...(status !== undefined && { status: status === 'open' ? undecided.status : status }),
    };
    const review = kept !== null && note !== undefined ? { ...kept, note } : kept;
    const changed = changedFields(observation, { ...change, review });
    if (changed.length === 0) return observation;
    if (kept !== null && note !== undefined) await updateReviewNote(trx, ctx.reach, id, note, now);
    const cleared = kept === null && { review: null };
    const updated = await updateObservation(trx, ctx.reach, id, { ...change, ...cleared }, now);
    if (!updated) throw notFound();
    record({ place: observation, target: { type: 'runtime_observation', id }, changed });
    if (!changed.includes('status') && !changed.includes('review')) return updated;
    if (updated.status === 'open') return settle(trx, updated, now, 'superseded');
    await finishOperatorTask(trx, scopeOf(updated), reviewTask(updated), 'succeeded', now);
    return settle(trx, updated, now, 'dismissed');
  });
}

/** What follows from a decision: the risk is weighed again, and the rules look at what was decided about. */
async function settle(
  trx: Database,
  decided: RuntimeObservation,
  now: Date,
  ending: 'superseded' | 'dismissed',
): Promise<RuntimeObservation> {
  // The provider's inventory may stand above the observation's sub-tenant, and its recommendations with it.
  const provider = await findProvider(trx, EVERYWHERE, decided.providerId);
  if (!provider) return decided;
  const observation = await recomputeRisk(trx, provider, decided, now);
  if (observation.status === 'open') await settleReviewTasks(trx, provider, [{ provider, observation }], now);
  await reconcileSubject(trx, provider, observation, now, ending);
  return observation;
}

/** The observation that a path names. @throws 404 */
export async function requireObservation(ctx: CallerContext, db: Database, id: string): Promise<RuntimeObservation> {
  const observation = await findObservation(db, ctx.reach, id);
  if (!observation) throw notFound();
  return observation;
}

function notFound(): ApiError {
  return new ApiError('runtime_observation_not_found', 'No runtime observation of this id in your reach.');
}
