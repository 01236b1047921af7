import type { Recommendation } from '@quartermaster/contracts/recommendations.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { Updateable } from 'kysely';
import type { Database } from '../database.ts';
import { within } from '../queries.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';
import { findOpenOfSubject, OPEN, type StoredDismissal, withObservations } from './recommendations.ts';

/** What an observation was before a recommendation was applied: how it stood, by which review. */
export type FormerObservation = Pick<RuntimeObservation, 'status' | 'drift'> & { reviewedAt: string | null };
export type FormerObservations = Record<string, FormerObservation>;

/** Those that somebody undid. */
export async function findUndone(db: Database, scope: TenantScope, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await db
    .selectFrom('recommendations')
    .select('id')
    .where('id', 'in', ids)
    .where('undone_at', 'is not', null)
    .where(within(scope))
    .execute();
  return new Set(rows.map(({ id }) => id));
}

/** Ends an open recommendation, by what changed around it or by what somebody decided about its observations. */
export async function closeRecommendation(
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
    .where(within(scope))
    .execute();
}

/**
 * Opens those about a subject again that were superseded at a time, in the place of what was opened then, unless others
 * of their kind are open by now.
 *
 * @param about with the one that is undone, which stays as it is
 */
export async function reopenSuperseded(
  db: Database,
  scope: TenantScope,
  about: { providerId: string; subject: string; supersededAt: string; exceptId: string },
  now: Date,
): Promise<void> {
  const { supersededAt, exceptId } = about;
  const since = await findOpenOfSubject(db, scope, about);
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
    .where(within(scope))
    .execute();
}

/** Ends all open recommendations of a provider. */
export async function supersedeRecommendationsOf(
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
    .where(within(scope))
    .execute();
}

/** Ends the open recommendations of a place that rest on nothing any more. */
export async function supersedeUnfounded(db: Database, place: TenantPlace, now: Date): Promise<void> {
  await db
    .updateTable('recommendations')
    .set({ status: 'superseded', updated_at: now.toISOString() })
    .where('tenant_id', '=', place.tenantId)
    .where('kind', 'in', ['register_item', 'block_item', 'adopt_provider'])
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
 * Dismisses an open recommendation for good: it is not made again for the same cause.
 *
 * @returns undefined where it is not open
 */
export async function markDismissed(
  db: Database,
  scope: TenantScope,
  id: string,
  dismissal: StoredDismissal,
  now: Date,
): Promise<Recommendation | undefined> {
  const to = { status: 'dismissed', dismissal: JSON.stringify(dismissal) } as const;
  return move(db, scope, id, { from: 'open', to }, now);
}

/** Opens an applied recommendation again, as it was before. @returns undefined where it is not applied */
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
    former: null,
    items_before: null,
    undone_at: now.toISOString(),
  };
  const to = { status: 'open', ...unapplied, change: JSON.stringify(change) } as const;
  return move(db, scope, id, { from: 'applied', to }, now);
}

/**
 * Marks an open recommendation as applied, together with what its observations were before: an undo brings that back.
 *
 * @returns undefined where it is not open any more
 */
export async function markApplied(
  db: Database,
  scope: TenantScope,
  id: string,
  applied: Pick<Recommendation, 'appliedBy' | 'appliedAt' | 'change'> & {
    former: FormerObservations;
    /** The items that the provider has, where that is what is adopted. */
    itemsBefore: readonly string[] | null;
  },
  now: Date,
): Promise<Recommendation | undefined> {
  const { appliedBy, appliedAt, change, former, itemsBefore } = applied;
  const to = {
    status: 'applied',
    applied_by: appliedBy,
    applied_at: appliedAt,
    change: JSON.stringify(change),
    former: JSON.stringify(former),
    items_before: itemsBefore === null ? null : JSON.stringify(itemsBefore),
  } as const;
  return move(db, scope, id, { from: 'open', to }, now);
}

/** What the observations behind an applied recommendation were before. */
export async function findFormerObservations(
  db: Database,
  scope: TenantScope,
  id: string,
): Promise<FormerObservations> {
  const row = await db
    .selectFrom('recommendations')
    .select('former')
    .where('id', '=', id)
    .where(within(scope))
    .executeTakeFirst();
  return row?.former == null ? {} : (JSON.parse(row.former) as FormerObservations);
}

/** The items that a provider had when it was adopted; null where an older version of the service did not write it down. */
export async function findItemsBefore(db: Database, scope: TenantScope, id: string): Promise<string[] | null> {
  const row = await db
    .selectFrom('recommendations')
    .select('items_before')
    .where('id', '=', id)
    .where(within(scope))
    .executeTakeFirst();
  return row?.items_before == null ? null : (JSON.parse(row.items_before) as string[]);
}

/** @returns undefined where it is not in the status that it comes from */
async function move(
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
    .where(within(scope))
    .returningAll()
    .execute();
  return (await withObservations(db, rows))[0];
}
