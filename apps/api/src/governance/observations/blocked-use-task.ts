import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { findLastTasks, moveOperatorTasks, openOperatorTasks } from '@quartermaster/db/repositories/operator-tasks.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { REOPEN_AFTER_MS } from './observation-tasks.ts';
import type { ObservationAtProvider } from './review-task.ts';
import { isUseAfter, type UseTimes } from './status.ts';

const BLOCKED_USES = { kind: 'investigate_blocked_use', subjectType: 'runtime_observation' } as const;

type InTenant = Pick<TenantPlace, 'tenantId'>;

/** What blocks a subject: an item of the inventory, or its provider, which is disabled. */
export type Block = InventoryItem | Provider;

/** An observation whose subject was used after it had been blocked. */
export type BlockedUse = ObservationAtProvider & { blockedBy: Block };

/**
 * Finds the block that was in force before a subject was used. The time of a block is not stored, so the time of the last
 * change of the item or provider is used instead. If the record was changed again after the block, a use between the two opens
 * no task, but the next use does.
 *
 * @param records the provider, and the items that decide about what was used
 */
export function findBlockBefore(records: readonly (Block | undefined)[], times: UseTimes): Block | undefined {
  const blocking = records.filter((record) => record?.status === 'blocked' || record?.status === 'disabled');
  return blocking.find((record) => record && isUseAfter(record.updatedAt, times));
}

/**
 * Opens tasks about uses of blocked subjects. Opens none if a task about the same observation is unfinished, or if a person
 * finished one recently. A cancelled task does not prevent a new one: it was cancelled because the block had ended, and now the
 * subject is blocked again. The blocking item may be older than the cancelled task, for example if a more specific item lifted
 * its block for a while.
 */
export async function openBlockedUseTasks(
  db: Database,
  tenant: InTenant,
  uses: readonly BlockedUse[],
  now: Date,
): Promise<void> {
  if (uses.length === 0) return;
  const subjectIds = uses.map(({ observation }) => observation.id);
  const last = await findLastTasks(db, tenant, { ...BLOCKED_USES, subjectIds });
  const endedAt = new Map(last.map((task) => [task.subjectId, task.completedByPersonAt]));
  const dayAgo = new Date(now.getTime() - REOPEN_AFTER_MS).toISOString();
  const isDue = ({ observation, blockedBy }: BlockedUse) => {
    const before = endedAt.get(observation.id) ?? '';
    return before <= dayAgo || before <= blockedBy.updatedAt;
  };
  const tasks = uses.filter(isDue).map((use) => ({
    subject: { type: BLOCKED_USES.subjectType, id: use.observation.id },
    kind: BLOCKED_USES.kind,
    subTenantId: use.observation.subTenantId,
    title: titleOf(use),
    priority: 'high' as const,
  }));
  await openOperatorTasks(db, tenant, { ...BLOCKED_USES, tasks }, now);
}

/** Keeps the open tasks of observations that are merged into others: the blocks continue. */
export async function moveBlockedUseTasks(
  db: Database,
  tenant: InTenant,
  moves: readonly { from: string; to: string }[],
  now: Date,
): Promise<void> {
  await moveOperatorTasks(db, tenant, { ...BLOCKED_USES, moves }, now);
}

function titleOf({ provider, observation, blockedBy }: BlockedUse): string {
  const { kind, name } = observation;
  const what = `the ${kind} ${name}`;
  if (blockedBy.id === provider.id) return `Agents use ${what} at ${provider.name}, which is disabled`;
  if (kind === blockedBy.kind && name === blockedBy.name)
    return `Agents use ${what} at ${provider.name}, which is blocked`;
  return `Agents use ${what} at ${provider.name}, although the inventory blocks ${blockedBy.name}`;
}
