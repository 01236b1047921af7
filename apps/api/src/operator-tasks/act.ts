import type { OperatorTask, OperatorTaskKind, TaskOutcome } from '@quartermaster/contracts/operator-tasks.ts';
import type { Scope } from '@quartermaster/contracts/scopes.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { isCredentialRenewed } from '@quartermaster/db/repositories/credentials.ts';
import { findProvider } from '@quartermaster/db/repositories/providers.ts';
import { findOpenRecommendation } from '@quartermaster/db/repositories/recommendations.ts';
import { covers, scopeOf } from '@quartermaster/db/tenancy.ts';
import { scopeMissing } from '../access/authorise.ts';
import { principalName, reachOf } from '../access/principal.ts';
import type { Change } from '../audit-events/write.ts';
import { ApiError } from '../errors.ts';
import { applyOpen } from '../recommendations/apply.ts';
import { dismissOpen } from '../recommendations/dismiss.ts';
import { PROVIDER_SUBJECT } from '../recommendations/reconcile.ts';
import { pruneObservations } from '../runtime-observations/cardinality.ts';
import { decide } from '../runtime-observations/service.ts';
import type { CallerContext } from '../trpc.ts';

/** The transaction that a task is completed in. */
type Writing = { trx: Database; record: (change: Change) => void; now: Date };

type Decision = { task: OperatorTask; outcome: TaskOutcome; note: string | null };

/** What deciding a task of each kind does, it needs the scope of; null: nobody decides it. */
const NEEDED: Record<OperatorTaskKind, Scope | null> = {
  review_observation: 'runtime_observations:review',
  adopt_provider: 'recommendations:apply',
  rotate_credential: 'credentials:write',
  review_cardinality: 'runtime_observations:review',
  review_telemetry: 'runtime_observations:review',
  sync_inventory: null,
};

/**
 * The caller as they may act on a task's subject: with the reach of the scope that this needs, which may be less than
 * where they may write tasks.
 *
 * @throws 403 where that is not the task's place
 */
export function permitted(ctx: CallerContext, task: OperatorTask): CallerContext {
  const scope = NEEDED[task.kind];
  if (scope === null) return ctx;
  const reach = reachOf(ctx.principal, scope);
  if (!covers(reach, task)) throw scopeMissing(scope, 'Completing a task of this kind');
  return { ...ctx, reach };
}

/** Does to a task's subject what was decided. @throws 409 `operator_task_not_done` where that cannot be said yet */
export async function act(ctx: CallerContext, writing: Writing, decision: Decision): Promise<void> {
  const { trx, record, now } = writing;
  const { task, outcome, note } = decision;
  switch (outcome) {
    case 'approved':
    case 'rejected':
    case 'ignored':
      await decide(ctx, trx, record, task.subject.id, { decision: outcome, note }, now);
      return;
    case 'adopted':
      return adopt(ctx, writing, task);
    case 'dismissed':
      if (task.kind === 'adopt_provider') await leave(ctx, writing, decision);
      return;
    case 'rotated':
      if (await isCredentialRenewed(trx, scopeOf(task), task.subject.id, now)) return;
      throw notDone('The credential was neither replaced nor revoked, and ends within 14 days.');
    case 'pruned':
      await pruneObservations(trx, record, task.tenantId, now);
      return;
    case 'acknowledged':
      return;
  }
}

/** Applies the recommendation to adopt the provider. Where somebody adopted it meanwhile, there is nothing left to do. */
async function adopt(ctx: CallerContext, { trx, record, now }: Writing, task: OperatorTask): Promise<void> {
  const scope = scopeOf(task);
  const provider = await findProvider(trx, scope, task.subject.id);
  if (!provider) throw notDone('The provider does not exist any more.');
  const recommendation = await adoptionOf(trx, task);
  if (recommendation) {
    const appliedBy = principalName(ctx.principal);
    const { tenantLimits } = ctx.services;
    const applied = await applyOpen(trx, record, { provider, recommendation, appliedBy, tenantLimits, now });
    if ('skipped' in applied) throw notDone('The recommendation to adopt the provider could not be applied.');
  } else if (provider.status === 'discovered') {
    throw notDone('Nothing recommends to adopt the provider any more: adopt it by its status, or cancel the task.');
  }
}

/** Dismisses the recommendation to adopt the provider, where it is open still. */
async function leave(ctx: CallerContext, { trx, record, now }: Writing, { task, note }: Decision): Promise<void> {
  const recommendation = await adoptionOf(trx, task);
  if (!recommendation) return;
  const reason = note ?? 'Dismissed with its operator task.';
  await dismissOpen(trx, record, { recommendation, reason, dismissedBy: principalName(ctx.principal), now });
}

function adoptionOf(trx: Database, task: OperatorTask) {
  const about = { providerId: task.subject.id, kind: 'adopt_provider', subject: PROVIDER_SUBJECT } as const;
  return findOpenRecommendation(trx, scopeOf(task), about);
}

function notDone(detail: string): ApiError {
  return new ApiError('operator_task_not_done', detail);
}
