import type { Recommendation, RecommendationKind } from '@quartermaster/contracts/recommendations.ts';
import { type Selectable, type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { inStretch, listRows, type Stretch } from '../listing.ts';
import { flag, type Page, type PageRequest, placeOf, timesOf, within } from '../queries.ts';
import { among, rowStatement } from '../row-statement.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';
import type { StoredReview } from './runtime-observations.ts';

type Row = Selectable<Tables['recommendations']>;

/** Written out, not bound: a partial index serves a query only where the statement itself shows its condition. */
export const OPEN = sql<SqlBool>`status = 'open'`;

/** Observation ids that a recommendation shows. */
const OBSERVATIONS_SHOWN = 100;

/** What recommendations are about: something of a provider, such as `model:gpt-5`. */
export type Subject = { providerId: string; subject: string };

export type NewRecommendation = Subject &
  Pick<Recommendation, 'kind' | 'reason' | 'change'> & {
    /** Whether `apply` without ids may take it: it widens nothing, or an approved observation stands behind it. */
    isApplicable: boolean;
  };

type RecommendationFilter = {
  providerId: string;
  status?: string | null | undefined;
  kind?: string | null | undefined;
};

type Dismissal = NonNullable<Recommendation['dismissal']>;
/** A dismissal as it is stored: with what the recommendation was made for. */
export type StoredDismissal = Dismissal & { cause: string };

/** One that is open, as far as rules ask. */
export type StandingRecommendation = Omit<Recommendation, 'observationIds'>;

/** Newest first. */
export async function listRecommendations(
  db: Database,
  scope: TenantScope,
  filter: RecommendationFilter,
  page: PageRequest,
): Promise<Page<Recommendation>> {
  const { rows, next } = await listRows(db, scope, page, {
    table: 'recommendations',
    parentId: filter.providerId,
    isSifted: filter.status != null || filter.kind != null,
    rows: (stretch) => recommendationRows(db, filter, stretch).execute(),
  });
  return { items: await withObservations(db, rows), next };
}

function recommendationRows(db: Database, filter: RecommendationFilter, stretch: Stretch) {
  let query = db
    .selectFrom('recommendations')
    .selectAll()
    .where('provider_id', '=', filter.providerId)
    .where(within(stretch.scope));
  if (filter.status != null) query = query.where('status', '=', filter.status as Row['status']);
  if (filter.kind != null) query = query.where('kind', '=', filter.kind as Row['kind']);
  return query.$call(inStretch(stretch));
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
 * The open ones of a provider that widen nothing or that an approved observation stands behind, the oldest first. A flood
 * of others cannot push them past the limit.
 */
export async function findOpenRecommendations(
  db: Database,
  scope: TenantScope,
  filter: OpenFilter,
  limit: number,
): Promise<Recommendation[]> {
  return withObservations(
    db,
    await openOnes(db, scope, { ...filter, isApplicable: true }, limit)
      .selectAll()
      .execute(),
  );
}

/** The others: they widen what agents may use, and no approved observation stands behind them. The oldest come first. */
export async function findUnapproved(
  db: Database,
  scope: TenantScope,
  filter: OpenFilter,
  limit: number,
): Promise<{ id: string; isUndone: boolean }[]> {
  const rows = await openOnes(db, scope, { ...filter, isApplicable: false }, limit)
    .select(['id', 'undone_at'])
    .execute();
  return rows.map((row) => ({ id: row.id, isUndone: row.undone_at !== null }));
}

type OpenFilter = { providerId: string; kinds?: readonly RecommendationKind[] | null | undefined };

/** The oldest open ones, in the order of an index: sorting all that are open would stop everything else meanwhile. */
function openOnes(
  db: Database,
  scope: TenantScope,
  { providerId, kinds, isApplicable }: OpenFilter & { isApplicable: boolean },
  limit: number,
) {
  let query = db
    .selectFrom('recommendations')
    .where('provider_id', '=', providerId)
    .where(OPEN)
    .where('is_applicable', '=', flag(isApplicable))
    .where(within(scope));
  // Postgres takes no empty list.
  if (kinds != null) query = query.where('kind', 'in', ['', ...kinds] as RecommendationKind[]);
  return query.orderBy('created_at').orderBy('id').limit(limit);
}

/**
 * The ids of those that rest on a decision: a block on a rejection, all others on an approval. What stands in a whole
 * tenant rests on the decision of somebody who may decide for the whole tenant: a sub-tenant's reviewer neither widens it
 * for the others nor takes it from them.
 */
export async function findDecided(
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
    .select(['link.recommendation_id', 'observation.status', 'observation.review'])
    .where('link.tenant_id', 'in', [...new Set(recommendations.map(({ tenantId }) => tenantId))])
    .where(
      'link.recommendation_id',
      'in',
      recommendations.map(({ id }) => id),
    )
    .where('observation.review', 'is not', null)
    .where(within(scope, 'observation'))
    .execute();
  const byId = new Map(recommendations.map((recommendation) => [recommendation.id, recommendation]));
  const decided = rows.filter(({ recommendation_id, status, review }) => {
    const recommendation = byId.get(recommendation_id);
    if (!recommendation || review === null) return false;
    const { decision, tenantWide } = JSON.parse(review) as StoredReview;
    const isAnswer =
      recommendation.kind === 'block_item' ? decision === 'rejected' : decision === 'approved' && status === 'approved';
    return isAnswer && (recommendation.subTenantId !== null || tenantWide);
  });
  return new Set(decided.map((row) => row.recommendation_id));
}

export async function findRecommendation(
  db: Database,
  scope: TenantScope,
  id: string,
): Promise<Recommendation | undefined> {
  const rows = await db.selectFrom('recommendations').selectAll().where('id', '=', id).where(within(scope)).execute();
  return (await withObservations(db, rows))[0];
}

/** The open recommendations about a subject of a provider: at most one of each kind. Without what they rest on. */
export async function findOpenOfSubject(
  db: Database,
  scope: TenantScope,
  about: Subject,
): Promise<StandingRecommendation[]> {
  const rows = await db
    .selectFrom('recommendations')
    .selectAll()
    .where('provider_id', '=', about.providerId)
    .where('subject', '=', about.subject)
    .where(OPEN)
    .where(within(scope))
    .execute();
  return rows.map((row) => toRecommendation(row, []));
}

/** The same about many subjects of a tenant's providers, each with its subject. */
export async function findOpenOfSubjects(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  subjects: readonly Subject[],
): Promise<(StandingRecommendation & Subject)[]> {
  const rows = await selectOpenOfSubjects(db, subjects, { tenantId });
  return rows.map((row) => ({ ...toRecommendation(row, []), subject: row.subject }));
}

const selectOpenOfSubjects = rowStatement((db, rows: readonly Subject[], { tenantId }: { tenantId: string }) =>
  db
    .selectFrom('recommendations')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where(
      among(
        ['provider_id', 'subject'],
        rows.map(({ providerId, subject }) => [providerId, subject]),
      ),
    )
    .where(OPEN),
);

/** The one open recommendation of a kind about a subject. */
export async function findOpenRecommendation(
  db: Database,
  scope: TenantScope,
  { kind, ...about }: { providerId: string; kind: RecommendationKind; subject: string },
): Promise<Recommendation | undefined> {
  const open = await findOpenOfSubject(db, scope, about);
  const found = open.find((recommendation) => recommendation.kind === kind);
  return found && findRecommendation(db, scope, found.id);
}

/** Adds the observation ids of a whole page with one query. */
export async function withObservations(db: Database, rows: Row[]): Promise<Recommendation[]> {
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
    .execute();
  const byRecommendation = Map.groupBy(links, (link) => link.recommendation_id);
  return rows.map((row) => {
    const ids = (byRecommendation.get(row.id) ?? []).map((link) => link.observation_id);
    // Sorted here: for that order SQLite reads all links of the tenant instead of those few.
    return toRecommendation(row, ids.toSorted().slice(0, OBSERVATIONS_SHOWN));
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
    dismissal: row.dismissal === null ? null : toDismissal(row.dismissal),
    ...timesOf(row),
  };
}

function toDismissal(text: string): Dismissal {
  const { cause: _, ...dismissal } = JSON.parse(text) as StoredDismissal;
  return dismissal;
}
