import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { findLastTasks, moveOperatorTask, openOperatorTasks } from '@quartermaster/db/repositories/operator-tasks.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { REOPEN_AFTER_MS } from './observation-tasks.ts';
import type { ObservationAtProvider } from './review-task.ts';
import { isUseAfter, type UseTimes } from './status.ts';

const BLOCKED_USES = { kind: 'investigate_blocked_use', subjectType: 'runtime_observation' } as const;

type InTenant = Pick<TenantPlace, 'tenantId'>;

/** An observation whose subject was used after an item had blocked it. */
export type BlockedUse = ObservationAtProvider & { blockedBy: InventoryItem };

/**
 * Finds an item that had blocked a subject before it was used. When the item was blocked is not stored, so the last change of the
 * item counts: a use between the block and another change of the item opens no task, the next one does.
 *
 * @param items items that decide about what was used
 */
export function findBlockBefore(
  items: readonly (InventoryItem | undefined)[],
  times: UseTimes,
): InventoryItem | undefined {
  return items.find((item) => item?.status === 'blocked' && isUseAfter(item.updatedAt, times));
}

/**
 * Opens tasks about uses of what is blocked, unless one about the same observation is unfinished, or a person finished one
 * recently. A task that was cancelled because the block ended does not count: what blocks the subject now is another block, although
 * its item may be older, for example if a more specific item had lifted it in between.
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

/** Keeps the open task of an observation that is merged into another one: the block continues. */
export async function moveBlockedUseTask(
  db: Database,
  tenant: InTenant,
  observations: { from: string; to: string },
  now: Date,
): Promise<void> {
  await moveOperatorTask(db, tenant, BLOCKED_USES, observations, now);
}

function titleOf({ provider, observation, blockedBy }: BlockedUse): string {
  const { kind, name } = observation;
  const what = `the ${kind} ${name}`;
  if (kind === blockedBy.kind && name === blockedBy.name)
    return `Agents use ${what} at ${provider.name}, which is blocked`;
  return `Agents use ${what} at ${provider.name}, although the inventory blocks ${blockedBy.name}`;
}
