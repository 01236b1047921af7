import {
  type CancelOperatorTaskInput,
  type ClaimOperatorTaskInput,
  type CompleteOperatorTaskInput,
  type OperatorTask,
  TASK_OUTCOMES,
  type TaskOutcome,
} from '@quartermaster/contracts/operator-tasks.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { claimOperatorTask, endOperatorTask, findOperatorTask } from '@quartermaster/db/repositories/operator-tasks.ts';
import { principalName } from '../../auth/principal.ts';
import { type AuditedChange, changedFields, auditedWrite } from '../../platform/audit/audited-write.ts';
import { ApiError, requireFound, ValidationFailure } from '../../platform/errors.ts';
import type { CallerContext } from '../../auth/context.ts';
import { carryOutDecision, contextForDecision } from './decision.ts';

const LEASE_SECONDS = 900;

export async function claimTask(ctx: CallerContext, id: string, body: ClaimOperatorTaskInput): Promise<OperatorTask> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const leaseNow = await ctx.services.databaseNow(trx);
    const task = await requireTask(ctx, trx, id, leaseNow);
    const leaseExpiresAt = new Date(leaseNow.getTime() + (body.leaseSeconds ?? LEASE_SECONDS) * 1000).toISOString();
    const claim = { assignee: principalName(ctx.principal), leaseExpiresAt };
    const claimed = await claimOperatorTask(trx, ctx.reach, id, claim, { now, leaseNow });
    if (!claimed) throw notFree(task);
    record(changeOf(task, claimed));
    return claimed;
  });
}

/** The task ends before its decision is carried out, so that no rule ends it with another outcome. */
export async function completeTask(
  ctx: CallerContext,
  id: string,
  body: CompleteOperatorTaskInput,
): Promise<OperatorTask> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const leaseNow = await ctx.services.databaseNow(trx);
    const task = await requireTask(ctx, trx, id, leaseNow);
    const { outcome, note = null } = body;
    const decidingCtx = contextForDecision(ctx, task);
    requirePossibleOutcome(task, outcome);
    const ending = { status: 'succeeded', outcome, note, assignee: principalName(ctx.principal) } as const;
    const ended = await endOperatorTask(trx, ctx.reach, id, ending, { now, leaseNow });
    if (!ended) throw notFree(task);
    await carryOutDecision(decidingCtx, { trx, record, now }, { task, outcome, note });
    record({ ...changeOf(task, ended), decision: outcome });
    return ended;
  });
}

/** A running sync notices at its next heartbeat that it was cancelled. */
export async function cancelTask(ctx: CallerContext, id: string, body: CancelOperatorTaskInput): Promise<OperatorTask> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const leaseNow = await ctx.services.databaseNow(trx);
    const task = await requireTask(ctx, trx, id, leaseNow);
    const assignee = principalName(ctx.principal);
    const ending = { status: 'cancelled', outcome: null, note: body.note ?? null, assignee } as const;
    const ended = await endOperatorTask(trx, ctx.reach, id, ending, { now, leaseNow });
    if (!ended) throw notFree(task);
    record(changeOf(task, ended));
    return ended;
  });
}

/** The task that a path names. @param leaseNow by the database's clock. @throws 404 */
export async function requireTask(ctx: CallerContext, db: Database, id: string, leaseNow: Date): Promise<OperatorTask> {
  return requireFound(await findOperatorTask(db, ctx.reach, id, leaseNow), 'operator_task_not_found');
}

/** @throws 422 for an outcome that tasks of this kind cannot have */
function requirePossibleOutcome({ kind }: OperatorTask, outcome: TaskOutcome): void {
  const outcomes: readonly TaskOutcome[] = TASK_OUTCOMES[kind];
  // No outcome would be possible for a sync, so 422 would mislead.
  if (outcomes.length === 0) throw runsByItself();
  if (outcomes.includes(outcome)) return;
  const quoted = outcomes.map((expected) => `'${expected}'`);
  const expected = `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`;
  const msg = `Input should be ${expected}`;
  throw new ValidationFailure([{ loc: ['body', 'outcome'], msg, type: 'enum', input: outcome, ctx: { expected } }]);
}

/** The error for a task that the caller cannot claim or end. */
function notFree({ kind, status, leaseExpiresAt }: OperatorTask): ApiError {
  if (status === 'claimed') {
    return new ApiError('operator_task_claimed', `Another caller has claimed the task until ${leaseExpiresAt}.`);
  }
  if (kind === 'sync_inventory' && (status === 'open' || status === 'running')) return runsByItself();
  return new ApiError('operator_task_not_open', `The task is ${status}.`);
}

function runsByItself(): ApiError {
  return new ApiError('operator_task_not_open', 'A sync runs by itself. It cannot be claimed or completed.');
}

function changeOf(before: OperatorTask, { updatedAt: _updatedAt, ...after }: OperatorTask): AuditedChange {
  const changed = { fields: changedFields(before, after), before, after };
  return { place: before, target: { type: 'operator_task', id: before.id }, changed };
}
