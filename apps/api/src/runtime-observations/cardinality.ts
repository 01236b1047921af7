import type { Database } from '@quartermaster/db/database.ts';
import {
  findLastOperatorTask,
  finishOperatorTask,
  openOperatorTask,
} from '@quartermaster/db/repositories/operator-tasks.ts';
import { updateProvider } from '@quartermaster/db/repositories/providers.ts';
import { supersedeUnfounded } from '@quartermaster/db/repositories/recommendations.ts';
import {
  addToObservationCount,
  countObservations,
  deleteUnreviewedObservations,
} from '@quartermaster/db/repositories/runtime-observations.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import type { Change as AuditedChange } from '../audit-events/write.ts';
import { settleProvider } from '../recommendations/settle.ts';
import { reviewTask } from './review-task.ts';

/** How long after somebody dealt with a full table another task is opened, while it still is full. */
const ASKED_AGAIN_MS = 24 * 3600 * 1000;

/**
 * What a tenant may still have new observations of. Whoever sends spans decides what they name: without a limit one
 * sender could fill the table for good. What is known already goes on being counted.
 */
export type Budget = {
  /** Takes one; false where none is left, and then counts what was not observed. */
  take(): boolean;
  /** How many there may still be. */
  left: number;
  /** How many were taken. */
  taken: number;
  /** How many subjects were not observed. */
  refused: number;
};

/** @param limit observations of a tenant */
export async function observationBudget(db: Database, tenantId: string, limit: number): Promise<Budget> {
  const count = await countObservations(db, { tenantId, subTenantId: null });
  const budget: Budget = {
    left: Math.max(0, limit - count),
    taken: 0,
    refused: 0,
    take() {
      if (budget.left === 0) {
        budget.refused += 1;
        return false;
      }
      budget.left -= 1;
      budget.taken += 1;
      return true;
    },
  };
  return budget;
}

/** Writes down what was taken, and asks somebody to look where something was refused. */
export async function settleBudget(
  db: Database,
  tenantId: string,
  budget: Budget,
  { limit, now }: { limit: number; now: Date },
): Promise<void> {
  const place = { tenantId, subTenantId: null };
  await addToObservationCount(db, place, budget.taken);
  if (budget.refused === 0) return;
  const last = await findLastOperatorTask(db, scopeOf(place), cardinalityTask(tenantId), now);
  if (last?.completedAt != null && now.getTime() - Date.parse(last.completedAt) < ASKED_AGAIN_MS) return;
  const title = `The tenant has ${limit} observations, its limit: what else its agents use is not observed`;
  await openOperatorTask(db, place, { ...cardinalityTask(tenantId), title, priority: 'high' }, now);
}

/**
 * Makes room: removes observations that nobody looked at, of what nobody declared, at providers that nobody declared;
 * and the providers that have none left. Traffic brings back what is really used.
 */
export async function pruneObservations(
  trx: Database,
  record: (change: AuditedChange) => void,
  tenantId: string,
  now: Date,
): Promise<void> {
  const place = { tenantId, subTenantId: null };
  const { removed, emptied } = await deleteUnreviewedObservations(trx, place);
  await addToObservationCount(trx, place, -removed.length);
  for (const observation of removed) {
    await finishOperatorTask(trx, scopeOf(place), reviewTask(observation), 'cancelled', now);
  }
  await supersedeUnfounded(trx, place, now);
  for (const id of emptied) {
    const provider = await updateProvider(trx, scopeOf(place), id, { status: 'deleted' }, now);
    if (!provider) continue;
    await settleProvider(trx, provider, now);
    record({ place: provider, target: { type: 'provider', id }, changed: ['status'] });
  }
  record({ place, target: { type: 'tenant', id: tenantId }, changed: ['observations'] });
}

function cardinalityTask(tenantId: string) {
  return { kind: 'review_cardinality', subject: { type: 'tenant', id: tenantId } } as const;
}
