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
import { changedFields, write } from '../audit-events/write.ts';
import { ApiError, valueError } from '../errors.ts';
import type { CallerContext } from '../trpc.ts';
import { closeRegistration, declaredAt, settle, statusAfter } from './unknown.ts';

/** Writes a person's decision down, completes the review task, and dismisses the recommendation of what is rejected. */
export async function reviewObservation(
  ctx: CallerContext,
  id: string,
  body: ReviewRuntimeObservationInput,
): Promise<RuntimeObservation> {
  return write(ctx, async (trx, record, now) => {
    const observation = await requireObservation(ctx, trx, id);
    const { decision, note = null } = body;
    const tenantWide = covers(ctx.reach, { tenantId: observation.tenantId, subTenantId: null });
    const reviewedBy = principalName(ctx.principal);
    const review = { decision, note, reviewedBy, reviewedAt: now.toISOString(), tenantWide };
    const reviewed = await updateObservation(trx, ctx.reach, id, { status: decision, review }, now);
    if (!reviewed) throw notFound();
    const task = { kind: 'review_observation', subject: { type: 'runtime_observation', id } } as const;
    await finishOperatorTask(trx, scopeOf(observation), task, 'succeeded', now);
    // The provider's inventory may stand above the observation's sub-tenant, and its recommendation with it.
    if (decision !== 'approved') await closeRegistration(trx, observation, 'dismissed', now);
    else await reopenRegistration(trx, reviewed, now);
    record({ place: observation, target: { type: 'runtime_observation', id }, changed: ['status', 'review'] });
    return reviewed;
  });
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
    const undecided = statusAfter({ status: 'open' }, observation);
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
    if (changed.includes('status')) await afterStatus(trx, updated, now);
    record({ place: observation, target: { type: 'runtime_observation', id }, changed });
    return updated;
  });
}

async function afterStatus(trx: Database, observation: RuntimeObservation, now: Date): Promise<void> {
  if (observation.status === 'open') return reopenRegistration(trx, observation, now);
  const task = { kind: 'review_observation', subject: { type: 'runtime_observation', id: observation.id } } as const;
  await finishOperatorTask(trx, scopeOf(observation), task, 'succeeded', now);
  await closeRegistration(trx, observation, 'dismissed', now);
}

/** An approved or reopened observation asks for its recommendation again, where an earlier decision had dismissed it. */
async function reopenRegistration(trx: Database, observation: RuntimeObservation, now: Date): Promise<void> {
  const provider = await findProvider(trx, EVERYWHERE, observation.providerId);
  if (!provider) return;
  const declared = await declaredAt(trx, observation, provider, observation);
  if (declared.unknown) await settle(trx, provider, observation, now);
}

async function requireObservation(ctx: CallerContext, db: Database, id: string): Promise<RuntimeObservation> {
  const observation = await findObservation(db, ctx.reach, id);
  if (!observation) throw notFound();
  return observation;
}

function notFound(): ApiError {
  return new ApiError('runtime_observation_not_found', 'No runtime observation of this id in your reach.');
}
