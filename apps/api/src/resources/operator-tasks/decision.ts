import type { OperatorTask, OperatorTaskKind, TaskOutcome } from '@quartermaster/contracts/operator-tasks.ts';
import type { Scope } from '@quartermaster/contracts/scopes.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { newId } from '@quartermaster/db/ids.ts';
import { isCredentialRenewed } from '@quartermaster/db/repositories/credentials.ts';
import { findProvider } from '@quartermaster/db/repositories/providers.ts';
import { findOpenRecommendation } from '@quartermaster/db/repositories/recommendations.ts';
import { covers, scopeOf } from '@quartermaster/db/tenancy.ts';
import { scopeMissing } from '../../auth/authorize.ts';
import { principalName, reachOf } from '../../auth/principal.ts';
import type { AuditedChange } from '../../platform/audit/audited-write.ts';
import { ApiError } from '../../platform/errors.ts';
import { applyOpenRecommendation } from '../../governance/recommendations/apply.ts';
import { dismissOpenRecommendation } from '../../governance/recommendations/dismiss.ts';
import { PROVIDER_SUBJECT } from '../../governance/rules/reconcile.ts';
import { pruneObservations } from './prune-observations.ts';
import { applyReview } from '../../governance/observations/service.ts';
import type { CallerContext } from '../../auth/context.ts';

/** The transaction that completes a task. */
type Writing = { trx: Database; record: (change: AuditedChange) => void; now: Date };

type Decision = { task: OperatorTask; outcome: TaskOutcome; note: string | null };

/** The scope that completing a task of each kind needs, because of what it does; null: callers do not complete it. */
const NEEDED_SCOPE: Record<OperatorTaskKind, Scope | null> = {
  review_observation: 'runtime_observations:review',
  investigate_blocked_use: 'runtime_observations:review',
  adopt_provider: 'recommendations:apply',
  rotate_credential: 'credentials:write',
  review_cardinality: 'runtime_observations:review',
  review_telemetry: 'runtime_observations:review',
  review_mcp_server: 'providers:write',
  investigate_bypass: 'runtime_observations:review',
  sync_inventory: null,
};

/**
 * The caller's context with the reach of the scope that deciding this task needs. That may be smaller than the reach of
 * `operator_tasks:write`.
 *
 * @throws 403 if the caller does not hold that scope at the task's place
 */
export function contextForDecision(ctx: CallerContext, task: OperatorTask): CallerContext {
  const scope = NEEDED_SCOPE[task.kind];
  if (scope === null) return ctx;
  const reach = reachOf(ctx.principal, scope);
  if (!covers(reach, task)) throw scopeMissing(scope, 'Completing a task of this kind');
  return { ...ctx, reach };
}

/**
 * Carries out the decision on the task's subject.
 *
 * @throws 409 `operator_task_not_done` if the decision does not match the current state
 */
export async function carryOutDecision(ctx: CallerContext, writing: Writing, decision: Decision): Promise<void> {
  const { trx, record, now } = writing;
  const { task, outcome, note } = decision;
  switch (outcome) {
    case 'approved':
    case 'rejected':
    case 'ignored':
      await applyReview(ctx, trx, record, task.subject.id, { decision: outcome, note }, now);
      return;
    case 'adopted':
      return adopt(ctx, writing, task);
    case 'dismissed':
      if (task.kind === 'adopt_provider') await dismissAdoption(ctx, writing, decision);
      return;
    case 'rotated':
      if (await isCredentialRenewed(trx, scopeOf(task), task.subject.id, now)) return;
      throw notDone('The credential was neither replaced nor revoked, and it ends within 14 days.');
    case 'pruned':
      await pruneObservations(trx, record, task.tenantId, now);
      return;
    case 'acknowledged':
      return;
  }
}

/** Applies the recommendation to adopt the provider. Does nothing if the provider was adopted in the meantime. */
async function adopt(ctx: CallerContext, { trx, record, now }: Writing, task: OperatorTask): Promise<void> {
  const scope = scopeOf(task);
  const provider = await findProvider(trx, scope, task.subject.id);
  if (!provider) throw notDone('The provider no longer exists.');
  const recommendation = await findOpenAdoption(trx, task);
  if (recommendation) {
    const appliedBy = principalName(ctx.principal);
    const { tenantLimits } = ctx.services;
    const applied = await applyOpenRecommendation(trx, record, {
      provider,
      recommendation,
      appliedBy,
      applyId: newId('app', now),
      applyOrder: 0,
      tenantLimits,
      now,
    });
    if ('skipped' in applied) throw notDone('The recommendation to adopt the provider could not be applied.');
  } else if (provider.status === 'discovered') {
    throw notDone(
      'The recommendation to adopt the provider is no longer open. Set the status of the provider to active, or cancel the task.',
    );
  }
}

/** Dismisses the recommendation to adopt the provider, if it is still open. */
async function dismissAdoption(
  ctx: CallerContext,
  { trx, record, now }: Writing,
  { task, note }: Decision,
): Promise<void> {
  const recommendation = await findOpenAdoption(trx, task);
  if (!recommendation) return;
  const reason = note ?? 'Dismissed with its operator task.';
  await dismissOpenRecommendation(trx, record, {
    recommendation,
    reason,
    dismissedBy: principalName(ctx.principal),
    now,
  });
}

function findOpenAdoption(trx: Database, task: OperatorTask) {
  const about = { providerId: task.subject.id, kind: 'adopt_provider', subject: PROVIDER_SUBJECT } as const;
  return findOpenRecommendation(trx, scopeOf(task), about);
}

function notDone(detail: string): ApiError {
  return new ApiError('operator_task_not_done', detail);
}
