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
import { principalName } from '../../auth/principal.ts';
import { type AuditedChange, changedFields, auditedWrite } from '../../platform/audit/audited-write.ts';
import { valueError, requireFound } from '../../platform/errors.ts';
import { findDeclaredState } from '../declarations/declared.ts';
import { findDenyingManifests } from '../declarations/manifest-denials.ts';
import { reconcileSubject } from '../rules/reconcile.ts';
import type { CallerContext } from '../../auth/context.ts';
import { recomputeRisk } from './recompute.ts';
import { reviewTask, updateReviewTasks } from './review-task.ts';
import { computeStatus } from './status.ts';

/** Stores a review, completes the review task, and dismisses the recommendation about a rejected or ignored subject. */
export async function reviewObservation(
  ctx: CallerContext,
  id: string,
  body: ReviewRuntimeObservationInput,
): Promise<RuntimeObservation> {
  return auditedWrite(ctx, (trx, record, now) => applyReview(ctx, trx, record, id, body, now));
}

/** {@link reviewObservation} within a transaction. */
export async function applyReview(
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
  // An approval of a declared subject resolves its observation. The approval does not count after the declaration is removed.
  // Each further decision may open another recommendation, so it needs room for a record. A rejection needs none: it protects.
  if (observation.review !== null && decision !== 'rejected') {
    await ctx.services.tenantLimits.addRecord(trx, observation.tenantId, { content: note });
  }
  const declared = await findDeclared(trx, observation);
  const { status } = computeStatus({ ...observation, review, status: decision }, declared);
  const reviewed = requireFound(
    await updateObservation(trx, ctx.reach, id, { status, review }, now),
    'runtime_observation_not_found',
  );
  const answered = { ...reviewTask(observation), outcome: decision, note, assignee: reviewedBy };
  await finishOperatorTask(trx, scopeOf(observation), answered, 'succeeded', now);
  const changed = { fields: ['status', 'review'], before: observation, after: reviewed };
  record({ place: observation, target: { type: 'runtime_observation', id }, changed, decision });
  return reevaluateReviewed(trx, reviewed, now, decision === 'approved' ? 'superseded' : 'dismissed');
}

/** Takes a review back, marks an observation as resolved, or changes the note of its review. */
export async function changeObservation(
  ctx: CallerContext,
  id: string,
  body: UpdateRuntimeObservationInput,
): Promise<RuntimeObservation> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const observation = await requireObservation(ctx, trx, id);
    const { status, note } = body;
    const formerReview = status === 'open' ? null : observation.review;
    if (note !== undefined && formerReview === null && !(note === null && status === 'open')) {
      throw valueError(['body', 'note'], 'the observation has no review to add a note to');
    }
    // Without a review the status depends on the declarations: a subject that is declared now is resolved, not open.
    const unreviewed = { ...observation, status: 'open', review: null } as const;
    const reopened = computeStatus(unreviewed, await findDeclared(trx, observation));
    const change: Pick<ObservationChange, 'status'> = {
      ...(status !== undefined && { status: status === 'open' ? reopened.status : status }),
    };
    const review = formerReview !== null && note !== undefined ? { ...formerReview, note } : formerReview;
    const changed = changedFields(observation, { ...change, review });
    if (changed.length === 0) return observation;
    // An open observation gets another task, and may get another recommendation.
    if (status === 'open')
      await ctx.services.tenantLimits.addRecord(trx, observation.tenantId, { content: note ?? null });
    if (formerReview !== null && note !== undefined) await updateReviewNote(trx, ctx.reach, id, note, now);
    const cleared = formerReview === null && { review: null };
    const updated = requireFound(
      await updateObservation(trx, ctx.reach, id, { ...change, ...cleared }, now),
      'runtime_observation_not_found',
    );
    const decision = status === 'open' ? 'withdrawn' : status;
    record({
      place: observation,
      target: { type: 'runtime_observation', id },
      changed: { fields: changed, before: observation, after: { ...updated, review } },
      ...(decision && { decision }),
    });
    if (!changed.includes('status') && !changed.includes('review')) return updated;
    if (updated.status === 'open') return reevaluateReviewed(trx, updated, now, 'superseded');
    await finishOperatorTask(trx, scopeOf(updated), reviewTask(updated), 'succeeded', now);
    return reevaluateReviewed(trx, updated, now, 'dismissed');
  });
}

/**
 * Recomputes the risk of an observation after a review changed, and reconciles the recommendations about its subject.
 *
 * @param closeAs the status that a recommendation gets if its rule no longer proposes it
 */
async function reevaluateReviewed(
  trx: Database,
  reviewed: RuntimeObservation,
  now: Date,
  closeAs: 'superseded' | 'dismissed',
): Promise<RuntimeObservation> {
  // The provider and its recommendations may belong to the whole tenant, and the observation to a sub-tenant.
  const provider = await findProvider(trx, EVERYWHERE, reviewed.providerId);
  if (!provider) return reviewed;
  const observation = await recomputeRisk(trx, provider, reviewed, now);
  if (observation.status === 'open') await updateReviewTasks(trx, provider, [{ provider, observation }], now);
  await reconcileSubject(trx, provider, observation, now, closeAs);
  return observation;
}

/** What decides about the status of an observation. The item of one that is only used decides nothing, so it is not read. */
async function findDeclared(
  db: Database,
  observation: RuntimeObservation,
): Promise<Parameters<typeof computeStatus>[1]> {
  const { unknown, occurrences, denials } = observation;
  const provider =
    occurrences > 0 && denials === 0 ? undefined : await findProvider(db, EVERYWHERE, observation.providerId);
  if (!provider) return { unknown, item: undefined, isDeniedByManifest: false };
  const { item } = await findDeclaredState(db, observation, provider, observation);
  const denyingOf = await findDenyingManifests(db, observation, [{ provider, observation }]);
  return { unknown, item, isDeniedByManifest: denyingOf(observation).length > 0 };
}

/** The observation that a path names. @throws 404 */
export async function requireObservation(ctx: CallerContext, db: Database, id: string): Promise<RuntimeObservation> {
  return requireFound(await findObservation(db, ctx.reach, id), 'runtime_observation_not_found');
}
