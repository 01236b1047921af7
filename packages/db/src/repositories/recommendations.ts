import type { Recommendation, RecommendationKind } from '@quartermaster/contracts/recommendations.ts';
import { type Expression, type RawBuilder, type Selectable, type SqlBool, sql } from 'kysely';
import { inBatches } from '../batches.ts';
import type { Database } from '../database.ts';
import { inKeysetRange, type KeysetRange, listRows } from '../listing.ts';
import { type Page, type PageRequest, inScope, placeOf, timesOf, toFlag, tupleIn } from '../queries.ts';
import { multiRowStatement } from '../prepared-statement.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';
import type { StoredReview } from './runtime-observations.ts';

type Row = Selectable<Tables['recommendations']>;

/** A literal, not a parameter: a partial index is only used if the statement itself contains its condition. */
export const OPEN = sql<SqlBool>`status = 'open'`;

/** The most observation ids that a recommendation shows. */
const MAX_OBSERVATIONS_SHOWN = 100;

/** Recommendations whose links one statement reads. SQLite combines at most 500 queries. */
const BATCH_SIZE = 100;

/** The subject of a recommendation: something of a provider, such as `model:gpt-5`. */
export type Subject = { providerId: string; subject: string };

export type NewRecommendation = Subject &
  Pick<Recommendation, 'kind' | 'reason' | 'change'> & {
    /** Whether `apply` without ids may apply it: it grants nothing new, or it is based on an approved observation. */
    isApplicable: boolean;
  };

type RecommendationFilter = {
  providerId: string;
  status?: string | null | undefined;
  kind?: string | null | undefined;
};

type Dismissal = NonNullable<Recommendation['dismissal']>;
/** A dismissal as it is stored, with the cause of the recommendation. */
export type StoredDismissal = Dismissal & { cause: string };

/** An open recommendation as rules need it, without its observations. */
export type OpenRecommendation = Omit<Recommendation, 'observationIds'>;

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
    hasUnindexedFilter: filter.status != null || filter.kind != null,
    rows: (range) => recommendationRows(db, filter, range).execute(),
  });
  return { items: await withObservationIds(db, rows), next };
}

/**
 * The tenant condition for the rows of one provider. The sub-tenant is compared in a form that no index serves: SQLite would
 * otherwise take the index of the sub-tenant instead of the provider's.
 */
function inPlaceOfProvider(scope: TenantScope): Expression<SqlBool> {
  const [place] = scope;
  if (scope.length !== 1 || place?.tenantId == null || place.subTenantId === null) return inScope(scope);
  return sql<SqlBool>`(tenant_id = ${place.tenantId} and sub_tenant_id || '' = ${place.subTenantId})`;
}

export type RecommendationSelection = {
  status?: string | null | undefined;
  kind?: string | null | undefined;
  providerId?: string | null | undefined;
  /** Only recommendations that are based on this observation. */
  observationId?: string | null | undefined;
  /** Only open ones that wait for a review, or only open ones that do not. */
  needsReview?: boolean | null | undefined;
};

/** The recommendations of all providers, newest first. */
export async function listRecommendationsOfAll(
  db: Database,
  scope: TenantScope,
  selection: RecommendationSelection,
  page: PageRequest,
): Promise<Page<Recommendation>> {
  const { observationId, ...others } = selection;
  const conditions = conditionsOf(others);
  const { rows, next } = await listRows(db, scope, page, {
    table: 'recommendations',
    // An observation has few recommendations, so all of them are read.
    hasUnindexedFilter: conditions.length > 0 && observationId == null,
    rows: (range) => {
      const source = observationId == null ? sql<Row>`recommendations` : basedOn(observationId);
      let query = db.selectFrom(source.as('recommendations')).selectAll().where(inScope(range.scope));
      for (const condition of conditions) query = query.where(condition);
      return query.$call(inKeysetRange(range)).execute();
    },
  });
  return { items: await withObservationIds(db, rows), next };
}

/** The recommendations that are based on an observation. Without `cross join` SQLite would start with all those of the tenant. */
function basedOn(observationId: string): RawBuilder<Row> {
  return sql<Row>`(
    select recommendation.* from runtime_observations as observation
    cross join recommendation_observations as link
    cross join recommendations as recommendation
    where observation.id = ${observationId}
      and link.tenant_id = observation.tenant_id and link.observation_id = observation.id
      and recommendation.tenant_id = link.tenant_id and recommendation.id = link.recommendation_id)`;
}

/** Whether a recommendation passes the filters now. */
export async function isRecommendationSelected(
  db: Database,
  scope: TenantScope,
  selection: RecommendationSelection,
  id: string,
): Promise<boolean> {
  let query = db.selectFrom('recommendations').select('id').where('id', '=', id).where(inScope(scope));
  for (const condition of conditionsOf(selection)) query = query.where(condition);
  return (await query.executeTakeFirst()) !== undefined;
}

/** An adoption is always applicable, because a provider has at most one. */
const IS_BACKED = sql<SqlBool>`(is_applicable = 1 and (kind <> 'adopt_provider' or exists (
  select 1 from recommendation_observations as link
  inner join runtime_observations as observation
    on observation.tenant_id = link.tenant_id and observation.id = link.observation_id
  where link.tenant_id = recommendations.tenant_id and link.recommendation_id = recommendations.id
    and observation.status = 'approved')))`;

function conditionsOf(selection: RecommendationSelection): Expression<SqlBool>[] {
  const { status, kind, providerId, observationId, needsReview } = selection;
  const conditions: Expression<SqlBool>[] = [];
  if (providerId != null) conditions.push(sql`provider_id = ${providerId}`);
  if (status != null) conditions.push(sql`status = ${status}`);
  if (kind != null) conditions.push(sql`kind = ${kind}`);
  if (observationId != null) {
    conditions.push(sql`exists (
      select 1 from recommendation_observations as link
      where link.tenant_id = recommendations.tenant_id and link.recommendation_id = recommendations.id
        and link.observation_id = ${observationId})`);
  }
  if (needsReview != null) conditions.push(OPEN, needsReview ? sql`not ${IS_BACKED}` : IS_BACKED);
  return conditions;
}

function recommendationRows(db: Database, filter: RecommendationFilter, range: KeysetRange) {
  let query = db
    .selectFrom('recommendations')
    .selectAll()
    .where('provider_id', '=', filter.providerId)
    .where(inPlaceOfProvider(range.scope));
  if (filter.status != null) query = query.where('status', '=', filter.status as Row['status']);
  if (filter.kind != null) query = query.where('kind', '=', filter.kind as Row['kind']);
  return query.$call(inKeysetRange(range));
}

/** The recommendations of a provider among `ids`, in any status, oldest first. */
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
    .where(inScope(scope))
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  return withObservationIds(db, rows);
}

/**
 * The open recommendations of a provider that grant nothing new or are based on an approved observation, oldest first. A flood of
 * other recommendations cannot push them beyond the limit.
 */
export async function findOpenRecommendations(
  db: Database,
  scope: TenantScope,
  filter: OpenFilter,
  limit: number,
): Promise<Recommendation[]> {
  return withObservationIds(
    db,
    await selectOldestOpen(db, scope, { ...filter, isApplicable: true }, limit)
      .selectAll()
      .execute(),
  );
}

/** The other open ones: they grant something new, and are not based on an approved observation. Oldest first. */
export async function findUnapprovedRecommendations(
  db: Database,
  scope: TenantScope,
  filter: OpenFilter,
  limit: number,
): Promise<{ id: string; isUndone: boolean }[]> {
  const rows = await selectOldestOpen(db, scope, { ...filter, isApplicable: false }, limit)
    .select(['id', 'undone_at'])
    .execute();
  return rows.map((row) => ({ id: row.id, isUndone: row.undone_at !== null }));
}

type OpenFilter = { providerId: string; kinds?: readonly RecommendationKind[] | null | undefined };

/** The oldest open ones, in the order of an index. Sorting all open ones would block other requests. */
function selectOldestOpen(
  db: Database,
  scope: TenantScope,
  { providerId, kinds, isApplicable }: OpenFilter & { isApplicable: boolean },
  limit: number,
) {
  let query = db
    .selectFrom('recommendations')
    .where('provider_id', '=', providerId)
    .where(OPEN)
    .where('is_applicable', '=', toFlag(isApplicable))
    .where(inScope(scope));
  // Postgres does not accept an empty list.
  if (kinds != null) query = query.where('kind', 'in', ['', ...kinds] as RecommendationKind[]);
  return query.orderBy('created_at').orderBy('id').limit(limit);
}

/**
 * The ids of the recommendations that are backed by a review: a rejection for a block, an approval for all others. For a provider
 * of the whole tenant the reviewer must have had rights in the whole tenant. A reviewer of one sub-tenant must not change what
 * other sub-tenants may use.
 */
export async function findBackedByDecision(
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
    .where(inScope(scope, 'observation'))
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
  const rows = await db.selectFrom('recommendations').selectAll().where('id', '=', id).where(inScope(scope)).execute();
  return (await withObservationIds(db, rows))[0];
}

/** The open recommendations about a subject of a provider, at most one of each kind. */
export async function findOpenRecommendationsOfSubject(
  db: Database,
  scope: TenantScope,
  about: Subject,
): Promise<OpenRecommendation[]> {
  const rows = await db
    .selectFrom('recommendations')
    .selectAll()
    .where('provider_id', '=', about.providerId)
    .where('subject', '=', about.subject)
    .where(OPEN)
    .where(inScope(scope))
    .execute();
  return rows.map((row) => toRecommendation(row, []));
}

/** {@link findOpenRecommendationsOfSubject} for many subjects of a tenant's providers. */
export async function findOpenRecommendationsOfSubjects(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  subjects: readonly Subject[],
): Promise<(OpenRecommendation & Subject)[]> {
  const rows = await selectOpenOfSubjects(db, subjects, { tenantId });
  return rows.map((row) => ({ ...toRecommendation(row, []), subject: row.subject }));
}

const selectOpenOfSubjects = multiRowStatement((db, rows: readonly Subject[], { tenantId }: { tenantId: string }) =>
  db
    .selectFrom('recommendations')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where(
      tupleIn(
        ['provider_id', 'subject'],
        rows.map(({ providerId, subject }) => [providerId, subject]),
      ),
    )
    .where(OPEN),
);

/** The open recommendation of a kind about a subject. */
export async function findOpenRecommendation(
  db: Database,
  scope: TenantScope,
  { kind, ...about }: { providerId: string; kind: RecommendationKind; subject: string },
): Promise<Recommendation | undefined> {
  const open = await findOpenRecommendationsOfSubject(db, scope, about);
  const found = open.find((recommendation) => recommendation.kind === kind);
  return found && findRecommendation(db, scope, found.id);
}

/** Adds to each recommendation the ids of its first {@link MAX_OBSERVATIONS_SHOWN} observations. */
export async function withObservationIds(db: Database, rows: Row[]): Promise<Recommendation[]> {
  const recommendations: Recommendation[] = [];
  for await (const batch of inBatches(rows, BATCH_SIZE)) {
    const firstLinks = batch.map(
      ({ tenant_id, id }) => sql`
        select * from (
          select recommendation_id, observation_id from recommendation_observations
          where tenant_id = ${tenant_id} and recommendation_id = ${id}
          order by observation_id limit ${sql.lit(MAX_OBSERVATIONS_SHOWN)}) as first_links`,
    );
    const query = sql<{ recommendation_id: string; observation_id: string }>`${sql.join(firstLinks, sql` union all `)}`;
    const links = Map.groupBy((await query.execute(db)).rows, (link) => link.recommendation_id);
    for (const row of batch) {
      const ids = (links.get(row.id) ?? []).map((link) => link.observation_id);
      recommendations.push(toRecommendation(row, ids.toSorted()));
    }
  }
  return recommendations;
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
    applyId: row.apply_id,
    dismissal: row.dismissal === null ? null : toDismissal(row.dismissal),
    ...timesOf(row),
  };
}

function toDismissal(text: string): Dismissal {
  const { cause: _, ...dismissal } = JSON.parse(text) as StoredDismissal;
  return dismissal;
}
