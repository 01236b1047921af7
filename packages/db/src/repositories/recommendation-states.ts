import type { Recommendation } from '@quartermaster/contracts/recommendations.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { Updateable } from 'kysely';
import type { Database } from '../database.ts';
import { inScope } from '../queries.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';
import { findOpenRecommendationsOfSubject, OPEN, type StoredDismissal, withObservationIds } from './recommendations.ts';

/** The state of an observation before a recommendation was applied. */
export type FormerObservation = Pick<RuntimeObservation, 'status' | 'drift'> & { reviewedAt: string | null };
export type FormerObservations = Record<string, FormerObservation>;

/** The ids of the recommendations that were undone before. */
export async function findUndoneRecommendations(
  db: Database,
  scope: TenantScope,
  ids: readonly string[],
): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await db
    .selectFrom('recommendations')
    .select('id')
    .where('id', 'in', ids)
    .where('undone_at', 'is not', null)
    .where(inScope(scope))
    .execute();
  return new Set(rows.map(({ id }) => id));
}

/** Closes an open recommendation, because of other changes or a review of its observations. */
async function closeRecommendation(
  db: Database,
  scope: TenantScope,
  id: string,
  status: 'dismissed' | 'superseded',
  now: Date,
): Promise<void> {
  await db
    .updateTable('recommendations')
    .set({ status, updated_at: now.toISOString() })
    .where('id', '=', id)
    .where(OPEN)
    .where(inScope(scope))
    .execute();
}

/**
 * Reopens the recommendations about a subject that were superseded at a time, unless another one of their kind is open. The
 * recommendations that were opened at that time are superseded instead.
 *
 * @param about `exceptId` is the recommendation that is being undone, which is not changed
 */
export async function reopenSuperseded(
  db: Database,
  scope: TenantScope,
  about: { providerId: string; subject: string; supersededAt: string; exceptId: string },
  now: Date,
): Promise<void> {
  const { supersededAt, exceptId } = about;
  const since = await findOpenRecommendationsOfSubject(db, scope, about);
  const then = since.filter(({ id, createdAt }) => createdAt === supersededAt && id !== exceptId);
  for (const { id } of then) await closeRecommendation(db, scope, id, 'superseded', now);
  const open = since.filter((recommendation) => !then.includes(recommendation));
  await db
    .updateTable('recommendations')
    .set({ status: 'open', updated_at: now.toISOString() })
    .where('provider_id', '=', about.providerId)
    .where('subject', '=', about.subject)
    .where('status', '=', 'superseded')
    .where('updated_at', '=', supersededAt)
    .where('id', 'not in', ['', ...then.map(({ id }) => id)])
    .where('kind', 'not in', ['rotate_credential', ...open.map(({ kind }) => kind)])
    .where(inScope(scope))
    .execute();
}

/** Supersedes all open recommendations of a provider. */
export async function supersedeRecommendationsOfProvider(
  db: Database,
  scope: TenantScope,
  providerId: string,
  now: Date,
): Promise<void> {
  await db
    .updateTable('recommendations')
    .set({ status: 'superseded', updated_at: now.toISOString() })
    .where('provider_id', '=', providerId)
    .where(OPEN)
    .where(inScope(scope))
    .execute();
}

/** Supersedes the open recommendations of a tenant that no longer have any observation. */
export async function supersedeWithoutObservations(db: Database, place: TenantPlace, now: Date): Promise<void> {
  await db
    .updateTable('recommendations')
    .set({ status: 'superseded', updated_at: now.toISOString() })
    .where('tenant_id', '=', place.tenantId)
    .where('kind', 'in', ['register_item', 'block_item', 'adopt_provider', 'allow_in_manifest'])
    .where(OPEN)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('recommendation_observations as link')
            .select('link.observation_id')
            .whereRef('link.tenant_id', '=', 'recommendations.tenant_id')
            .whereRef('link.recommendation_id', '=', 'recommendations.id'),
        ),
      ),
    )
    .execute();
}

/**
 * Dismisses an open recommendation. It is not created again for the same cause.
 *
 * @returns undefined if it is not open
 */
export async function markDismissed(
  db: Database,
  scope: TenantScope,
  id: string,
  dismissal: StoredDismissal,
  now: Date,
): Promise<Recommendation | undefined> {
  const to = { status: 'dismissed', dismissal: JSON.stringify(dismissal) } as const;
  return changeStatus(db, scope, id, { from: 'open', to }, now);
}

/** Reopens an applied recommendation as it was before. @returns undefined if it is not applied */
export async function markUndone(
  db: Database,
  scope: TenantScope,
  id: string,
  change: Recommendation['change'],
  now: Date,
): Promise<Recommendation | undefined> {
  const unapplied = {
    applied_by: null,
    applied_at: null,
    apply_id: null,
    apply_order: null,
    former: null,
    items_before: null,
    undone_at: now.toISOString(),
  };
  const to = { status: 'open', ...unapplied, change: JSON.stringify(change) } as const;
  return changeStatus(db, scope, id, { from: 'applied', to }, now);
}

/**
 * Marks an open recommendation as applied, and stores the former state of its observations for an undo.
 *
 * @returns undefined if it is no longer open
 */
export async function markApplied(
  db: Database,
  scope: TenantScope,
  id: string,
  applied: Pick<Recommendation, 'appliedBy' | 'appliedAt' | 'applyId' | 'change'> & {
    /** The position among what the call applied. */
    applyOrder: number;
    former: FormerObservations;
    /** For `adopt_provider`: the items that the provider has. Null for others. */
    itemsBefore: readonly string[] | null;
  },
  now: Date,
): Promise<Recommendation | undefined> {
  const { appliedBy, appliedAt, applyId, applyOrder, change, former, itemsBefore } = applied;
  const to = {
    status: 'applied',
    applied_by: appliedBy,
    applied_at: appliedAt,
    apply_id: applyId,
    apply_order: applyOrder,
    change: JSON.stringify(change),
    former: JSON.stringify(former),
    items_before: itemsBefore === null ? null : JSON.stringify(itemsBefore),
  } as const;
  return changeStatus(db, scope, id, { from: 'open', to }, now);
}

/** What was applied with an apply id and not undone since, in the order in which it was applied. */
export async function findRecommendationsOfApply(
  db: Database,
  scope: TenantScope,
  applyId: string,
): Promise<Recommendation[]> {
  const rows = await db
    .selectFrom('recommendations')
    .selectAll()
    .where('apply_id', '=', applyId)
    .where('status', '=', 'applied')
    .where(inScope(scope))
    .orderBy('applied_at')
    .orderBy('apply_order')
    .execute();
  return withObservationIds(db, rows);
}

/** The former state of the observations of an applied recommendation. */
export async function findFormerObservations(
  db: Database,
  scope: TenantScope,
  id: string,
): Promise<FormerObservations> {
  const row = await db
    .selectFrom('recommendations')
    .select('former')
    .where('id', '=', id)
    .where(inScope(scope))
    .executeTakeFirst();
  return row?.former == null ? {} : (JSON.parse(row.former) as FormerObservations);
}

/** The items that a provider had when it was adopted. Empty for recommendations that adopted none. */
export async function findItemsBefore(db: Database, scope: TenantScope, id: string): Promise<string[]> {
  const row = await db
    .selectFrom('recommendations')
    .select('items_before')
    .where('id', '=', id)
    .where(inScope(scope))
    .executeTakeFirst();
  return row?.items_before == null ? [] : (JSON.parse(row.items_before) as string[]);
}

/** Changes the status of a recommendation. @returns undefined if it does not have the status `from` */
async function changeStatus(
  db: Database,
  scope: TenantScope,
  id: string,
  { from, to }: { from: Recommendation['status']; to: Updateable<Tables['recommendations']> },
  now: Date,
): Promise<Recommendation | undefined> {
  const rows = await db
    .updateTable('recommendations')
    .set({ ...to, updated_at: now.toISOString() })
    .where('id', '=', id)
    .where('status', '=', from)
    .where(inScope(scope))
    .returningAll()
    .execute();
  return (await withObservationIds(db, rows))[0];
}
