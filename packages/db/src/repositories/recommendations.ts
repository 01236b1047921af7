import type { Recommendation, RecommendationKind } from '@quartermaster/contracts/recommendations.ts';
import { type Selectable, type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { newId } from '../ids.ts';
import {
  newestFirst,
  type Page,
  type PageRequest,
  pageOf,
  placeColumns,
  placeOf,
  timeKey,
  timesOf,
  within,
} from '../queries.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';
import { isTenantWide } from './runtime-observations.ts';

type Row = Selectable<Tables['recommendations']>;

/** Written out, not bound: a partial index serves a query only where the statement itself shows its condition. */
const OPEN = sql<SqlBool>`status = 'open'`;

/** Observation ids that a recommendation shows. */
const OBSERVATIONS_SHOWN = 100;

export type NewRecommendation = Pick<Recommendation, 'providerId' | 'kind' | 'reason' | 'change'> & {
  /** What it is about, such as `model:gpt-5`. */
  subject: string;
};

/** Newest first. */
export async function listRecommendations(
  db: Database,
  scope: TenantScope,
  filter: { providerId: string; status?: string | null | undefined; kind?: string | null | undefined },
  page: PageRequest,
): Promise<Page<Recommendation>> {
  let query = db
    .selectFrom('recommendations')
    .selectAll()
    .where('provider_id', '=', filter.providerId)
    .where(within(scope));
  if (filter.status != null) query = query.where('status', '=', filter.status as Row['status']);
  if (filter.kind != null) query = query.where('kind', '=', filter.kind as Row['kind']);
  const rows = await query.$call(newestFirst(page)).execute();
  const { items, next } = pageOf(rows, page.limit, (row) => row, timeKey);
  return { items: await withObservations(db, items), next };
}

/** Those of a provider among `ids`, whatever their status. */
export async function findRecommendations(
  db: Database,
  scope: TenantScope,
  providerId: string,
  ids: readonly string[],
): Promise<Recommendation[]> {
  if (ids.length === 0) return [];
  const rows = await db
    .selectFrom('recommendations')
    .selectAll()
    .where('provider_id', '=', providerId)
    .where('id', 'in', ids)
    .where(within(scope))
    .execute();
  return withObservations(db, rows);
}

/**
 * The open ones of a provider: first those that an approved observation stands behind, so that a flood of others never
 * hides them past the limit; oldest first among each.
 */
export async function findOpenRecommendations(
  db: Database,
  scope: TenantScope,
  filter: { providerId: string; kinds?: readonly RecommendationKind[] | null | undefined },
  limit: number,
): Promise<Recommendation[]> {
  let query = db
    .selectFrom('recommendations')
    .selectAll()
    .where('provider_id', '=', filter.providerId)
    .where(OPEN)
    .where(within(scope));
  if (filter.kinds != null) query = query.where('kind', 'in', filter.kinds);
  const rows = await query
    .orderBy(
      (eb) =>
        eb.exists(
          eb
            .selectFrom('recommendation_observations as link')
            .innerJoin('runtime_observations as observation', (join) =>
              join
                .onRef('observation.tenant_id', '=', 'link.tenant_id')
                .onRef('observation.id', '=', 'link.observation_id'),
            )
            .select('link.observation_id')
            .whereRef('link.tenant_id', '=', 'recommendations.tenant_id')
            .whereRef('link.recommendation_id', '=', 'recommendations.id')
            .where('observation.status', '=', 'approved'),
        ),
      'desc',
    )
    .orderBy('created_at')
    .orderBy('id')
    .limit(limit)
    .execute();
  return withObservations(db, rows);
}

/**
 * The ids of those that rest on an observation which somebody approved. What stands in a whole tenant rests on the
 * approval of somebody who may decide for the whole tenant: a sub-tenant's reviewer does not widen it for the others.
 */
export async function findApproved(
  db: Database,
  scope: TenantScope,
  recommendations: readonly Recommendation[],
): Promise<Set<string>> {
  if (recommendations.length === 0) return new Set();
  const rows = await db
    .selectFrom('recommendation_observations as link')
    .innerJoin('runtime_observations as observation', (join) =>
      join.onRef('observation.tenant_id', '=', 'link.tenant_id').onRef('observation.id', '=', 'link.observation_id'),
    )
    .select(['link.tenant_id', 'link.recommendation_id', 'observation.review'])
    .where('link.tenant_id', 'in', [...new Set(recommendations.map(({ tenantId }) => tenantId))])
    .where(
      'link.recommendation_id',
      'in',
      recommendations.map(({ id }) => id),
    )
    .where('observation.status', '=', 'approved')
    .where(within(scope, 'observation'))
    .execute();
  const narrow = new Set(recommendations.filter(({ subTenantId }) => subTenantId !== null).map(({ id }) => id));
  return new Set(
    rows
      .filter(({ recommendation_id, review }) => narrow.has(recommendation_id) || isTenantWide(review))
      .map((row) => row.recommendation_id),
  );
}

/** The open recommendation of a kind about a subject, made where it is missing; the observation is linked to it. */
export async function openRecommendation(
  db: Database,
  place: TenantPlace,
  recommendation: NewRecommendation,
  observationId: string,
  now: Date,
): Promise<{ id: string; made: boolean }> {
  const open = await db
    .selectFrom('recommendations')
    .select('id')
    .where('tenant_id', '=', place.tenantId)
    .where('provider_id', '=', recommendation.providerId)
    .where('kind', '=', recommendation.kind)
    .where('subject', '=', recommendation.subject)
    .where(OPEN)
    .executeTakeFirst();
  const id = open?.id ?? newId('rec', now);
  if (!open) {
    await db
      .insertInto('recommendations')
      .values({
        ...placeColumns(place),
        id,
        provider_id: recommendation.providerId,
        kind: recommendation.kind,
        status: 'open',
        subject: recommendation.subject,
        reason: recommendation.reason,
        change: JSON.stringify(recommendation.change),
        applied_by: null,
        applied_at: null,
        created_at: now.toISOString(),
        updated_at: now.toISOString(),
      })
      .execute();
  }
  await db
    .insertInto('recommendation_observations')
    .values({ tenant_id: place.tenantId, recommendation_id: id, observation_id: observationId })
    .onConflict((conflict) => conflict.columns(['tenant_id', 'recommendation_id', 'observation_id']).doNothing())
    .execute();
  return { id, made: !open };
}

/** Ends the open recommendations of a kind about a subject. */
export async function closeRecommendations(
  db: Database,
  scope: TenantScope,
  about: { providerId: string; kind: RecommendationKind; subject: string },
  status: 'dismissed' | 'superseded',
  now: Date,
): Promise<void> {
  await db
    .updateTable('recommendations')
    .set({ status, updated_at: now.toISOString() })
    .where('provider_id', '=', about.providerId)
    .where('kind', '=', about.kind)
    .where('subject', '=', about.subject)
    .where(OPEN)
    .where(within(scope))
    .execute();
}

/** Takes an observation away from the open recommendation of a kind about a subject, which rests on others too. */
export async function unlinkObservation(
  db: Database,
  observation: { tenantId: string; id: string },
  about: { providerId: string; kind: RecommendationKind; subject: string },
): Promise<void> {
  await db
    .deleteFrom('recommendation_observations')
    .where('tenant_id', '=', observation.tenantId)
    .where('observation_id', '=', observation.id)
    .where('recommendation_id', 'in', (eb) =>
      eb
        .selectFrom('recommendations')
        .select('id')
        .where('tenant_id', '=', observation.tenantId)
        .where('provider_id', '=', about.providerId)
        .where('kind', '=', about.kind)
        .where('subject', '=', about.subject)
        .where(OPEN),
    )
    .execute();
}

export async function markApplied(
  db: Database,
  scope: TenantScope,
  recommendation: Recommendation,
  applied: Pick<Recommendation, 'appliedBy' | 'appliedAt' | 'change'>,
  now: Date,
): Promise<Recommendation> {
  const { appliedBy, appliedAt, change } = applied;
  const row = await db
    .updateTable('recommendations')
    .set({
      status: 'applied',
      applied_by: appliedBy,
      applied_at: appliedAt,
      change: JSON.stringify(change),
      updated_at: now.toISOString(),
    })
    .where('tenant_id', '=', recommendation.tenantId)
    .where('id', '=', recommendation.id)
    .where('status', '=', 'open')
    .where(within(scope))
    .returning('id')
    .executeTakeFirst();
  if (!row) throw new Error(`the recommendation ${recommendation.id} is not open any more`);
  return { ...recommendation, status: 'applied', appliedBy, appliedAt, change, updatedAt: now.toISOString() };
}

/** Adds the observation ids of a whole page with one query. */
async function withObservations(db: Database, rows: Row[]): Promise<Recommendation[]> {
  if (rows.length === 0) return [];
  const links = await db
    .selectFrom('recommendation_observations')
    .select(['recommendation_id', 'observation_id'])
    .where('tenant_id', 'in', [...new Set(rows.map((row) => row.tenant_id))])
    .where(
      'recommendation_id',
      'in',
      rows.map((row) => row.id),
    )
    .orderBy('observation_id')
    .execute();
  const byRecommendation = Map.groupBy(links, (link) => link.recommendation_id);
  return rows.map((row) => {
    const ids = (byRecommendation.get(row.id) ?? []).map((link) => link.observation_id);
    return toRecommendation(row, ids.slice(0, OBSERVATIONS_SHOWN));
  });
}

function toRecommendation(row: Row, observationIds: string[]): Recommendation {
  return {
    id: row.id,
    ...placeOf(row),
    providerId: row.provider_id,
    kind: row.kind,
    status: row.status,
    reason: row.reason,
    observationIds,
    change: JSON.parse(row.change) as Recommendation['change'],
    appliedBy: row.applied_by,
    appliedAt: row.applied_at,
    ...timesOf(row),
  };
}
