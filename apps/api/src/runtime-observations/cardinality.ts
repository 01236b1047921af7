import { setImmediate as breathe } from 'node:timers/promises';
import type { Database } from '@quartermaster/db/database.ts';
import { type EmptiedProvider, findEmptiedProviders } from '@quartermaster/db/repositories/emptied-providers.ts';
import { addToObservationCounts } from '@quartermaster/db/repositories/observation-counts.ts';
import { findLastOperatorTask, openOperatorTask } from '@quartermaster/db/repositories/operator-tasks.ts';
import { findProvider } from '@quartermaster/db/repositories/providers.ts';
import { supersedeUnfounded } from '@quartermaster/db/repositories/recommendation-states.ts';
import { deleteUnreviewedObservations } from '@quartermaster/db/repositories/runtime-observations.ts';
import { scopeOf, type TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { Change as AuditedChange } from '../audit-events/write.ts';
import { settleProvider } from '../recommendations/settle.ts';
import type { Filled } from '../tenants/fair-share.ts';
import { mergeIntoOther } from '../telemetry/usage/merge-series.ts';
import { deleteBareProviders } from './bare-providers.ts';
import { cancelReviewTasks } from './review-task.ts';

/** How long after somebody dealt with a full table another task is opened, while it still is full. */
const ASKED_AGAIN_MS = 24 * 3600 * 1000;

/** Observations and providers dealt with before the event loop gets a turn: the database answers without giving it one. */
const OF_TURN = 200;

/** Of what a tenant, an account or a sub-tenant has as many as it may. */
export type FullTable = { of: 'observations' | 'providers'; limit: number; filled: Filled };

type Admitted = {
  /** New observations of the sender's. */
  taken: number;
  sender: string;
  /** Where something was refused, why. */
  full: FullTable | null;
};

/** Counts the observations that were admitted, and opens a task where something was refused. */
export async function settleRoom(
  db: Database,
  { tenantId, subTenantId }: TenantPlace,
  { taken, sender, full }: Admitted,
  now: Date,
): Promise<void> {
  const place = { tenantId, subTenantId: null };
  await addToObservationCounts(db, place, [{ subTenantId, firstAccount: sender, by: taken }]);
  if (full === null) return;
  const last = await findLastOperatorTask(db, scopeOf(place), cardinalityTask(tenantId), now);
  if (last?.completedAt != null && now.getTime() - Date.parse(last.completedAt) < ASKED_AGAIN_MS) return;
  const title = titleOf(full, { sender, subTenantId });
  await openOperatorTask(db, place, { ...cardinalityTask(tenantId), title, priority: 'high' }, now);
}

function titleOf(
  { of, limit, filled }: FullTable,
  { sender, subTenantId }: { sender: string; subTenantId: string | null },
): string {
  if (filled === 'tenant') return `The tenant has ${limit} ${of}, its limit: what else its agents use is not observed`;
  const holder =
    filled === 'account' ? sender : subTenantId === null ? 'What is in no sub-tenant' : `The sub-tenant ${subTenantId}`;
  return `${holder} fills its share of the ${limit} ${of} that the tenant may have: what else it uses is not observed`;
}

/**
 * Makes room: removes observations that nobody looked at, of what nobody declared; and the discovered providers that have
 * none left, unless somebody gave them something. Traffic brings back what is really used.
 */
export async function pruneObservations(
  trx: Database,
  record: (change: AuditedChange) => void,
  tenantId: string,
  now: Date,
): Promise<void> {
  const place = { tenantId, subTenantId: null };
  for (let removed = OF_TURN; removed === OF_TURN; ) {
    const batch = await deleteUnreviewedObservations(trx, place, OF_TURN);
    removed = batch.length;
    await addToObservationCounts(
      trx,
      place,
      batch.map((holder) => ({ ...holder, by: -1 })),
    );
    await cancelReviewTasks(trx, place, batch, now);
    await mergeIntoOther(trx, place, batch, now);
    await breathe();
  }
  await supersedeUnfounded(trx, place, now);
  const emptied = await findEmptiedProviders(trx, place);
  // One that stays is still to be adopted, whatever that was recommended for.
  for (const { id } of emptied.filter(({ isInUse }) => isInUse)) {
    const provider = await findProvider(trx, scopeOf(place), id);
    if (provider) await settleProvider(trx, provider, now);
    await breathe();
  }
  const bare = emptied.filter(({ isInUse }) => !isInUse);
  for (let start = 0; start < bare.length; start += OF_TURN) {
    await endBare(trx, record, { tenantId, bare: bare.slice(start, start + OF_TURN) }, now);
    await breathe();
  }
  record({ place, target: { type: 'tenant', id: tenantId }, changed: ['observations'] });
}

/** Deletes discovered providers that have nothing: what would have to end with one is what traffic alone led to. */
async function endBare(
  trx: Database,
  record: (change: AuditedChange) => void,
  { tenantId, bare }: { tenantId: string; bare: readonly EmptiedProvider[] },
  now: Date,
): Promise<void> {
  await deleteBareProviders(
    trx,
    { tenantId },
    bare.map(({ id }) => id),
    now,
  );
  for (const { id, ...provider } of bare) {
    record({ place: provider, target: { type: 'provider', id }, changed: ['status'] });
  }
}

function cardinalityTask(tenantId: string) {
  return { kind: 'review_cardinality', subject: { type: 'tenant', id: tenantId } } as const;
}
