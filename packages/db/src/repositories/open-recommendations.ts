import type { RecommendationKind } from '@quartermaster/contracts/recommendations.ts';
import type { Database } from '../database.ts';
import { newId } from '../ids.ts';
import { toFlag, tupleIn, valueRows } from '../queries.ts';
import { multiRowStatement } from '../prepared-statement.ts';
import type { Flag } from '../tables/columns.ts';
import type { TenantPlace } from '../tenancy.ts';
import { type NewRecommendation, OPEN, type StoredDismissal, type Subject } from './recommendations.ts';

// Reads and writes of many recommendations of a tenant at once, for rules.

type InTenant = Pick<TenantPlace, 'tenantId'>;
type About = Subject & { kind: RecommendationKind };

/** A link from a recommendation to an observation that it is based on. */
export type Link = { recommendationId: string; observationId: string };

/** Finds the cause of the last dismissed recommendation of a kind and subject. Returns a look-up. */
export async function findDismissedCauses(
  db: Database,
  { tenantId }: InTenant,
  abouts: readonly About[],
): Promise<(about: About) => string | undefined> {
  const rows = await selectDismissed(db, abouts, { tenantId });
  const last = new Map<string, (typeof rows)[number]>();
  for (const row of rows) {
    const known = last.get(keyOf(row));
    const isLater = !known || `${row.createdAt} ${row.id}` > `${known.createdAt} ${known.id}`;
    if (isLater) last.set(keyOf(row), row);
  }
  return (about) => {
    const dismissal = last.get(keyOf(about))?.dismissal;
    return dismissal == null ? undefined : (JSON.parse(dismissal) as StoredDismissal).cause;
  };
}

const selectDismissed = multiRowStatement((db, rows: readonly About[], { tenantId }: { tenantId: string }) =>
  db
    .selectFrom('recommendations')
    .select(['id', 'provider_id as providerId', 'kind', 'subject', 'dismissal', 'created_at as createdAt'])
    .where('tenant_id', '=', tenantId)
    .where(
      tupleIn(
        ['provider_id', 'kind', 'subject'],
        rows.map(({ providerId, kind, subject }) => [providerId, kind, subject]),
      ),
    )
    .where('dismissal', 'is not', null),
);

function keyOf({ providerId, kind, subject }: About): string {
  return `${providerId} ${kind} ${subject}`;
}

/**
 * Inserts recommendations, each in the sub-tenant of its provider. Returns their ids in the same order.
 *
 * @throws DuplicateKeyError if one of the same provider, kind and subject is open
 */
export async function insertRecommendations(
  db: Database,
  { tenantId }: InTenant,
  recommendations: readonly (NewRecommendation & Pick<TenantPlace, 'subTenantId'>)[],
  now: Date,
): Promise<string[]> {
  const rows = recommendations.map(({ providerId, kind, subject, reason, change, isApplicable, subTenantId }) => ({
    id: newId('rec', now),
    providerId,
    kind,
    subject,
    reason,
    isApplicable: toFlag(isApplicable),
    change: JSON.stringify(change),
    subTenant: subTenantId ?? '',
  }));
  await insertRows(db, rows, { tenantId, now: now.toISOString() });
  return rows.map(({ id }) => id);
}

type InsertedRow = About & { id: string; reason: string; change: string; isApplicable: Flag; subTenant: string };

const insertRows = multiRowStatement(
  (db, rows: readonly InsertedRow[], { tenantId, now }: { tenantId: string; now: string }) =>
    db.insertInto('recommendations').values(
      rows.map(({ id, providerId, kind, subject, reason, change, isApplicable, subTenant }) => ({
        tenant_id: tenantId,
        sub_tenant_id: subTenant,
        id,
        provider_id: providerId,
        kind,
        status: 'open' as const,
        is_applicable: isApplicable,
        subject,
        reason,
        change,
        applied_by: null,
        applied_at: null,
        created_at: now,
        updated_at: now,
      })),
    ),
);

/** Updates the reasons of open recommendations of a tenant. */
export async function updateReasons(
  db: Database,
  { tenantId }: InTenant,
  reasons: readonly { id: string; reason: string }[],
  now: Date,
): Promise<void> {
  await updateReasonRows(db, reasons, { tenantId, now: now.toISOString() });
}

const updateReasonRows = multiRowStatement(
  (db, rows: readonly { id: string; reason: string }[], { tenantId, now }: { tenantId: string; now: string }) => {
    const values = rows.map(({ id, reason }) => [id, reason]);
    return db
      .with('stated(id, reason)', () => valueRows<{ id: string; reason: string }>(values))
      .updateTable('recommendations')
      .from('stated')
      .set(({ ref }) => ({ reason: ref('stated.reason'), updated_at: now }))
      .where('recommendations.tenant_id', '=', tenantId)
      .whereRef('recommendations.id', '=', 'stated.id')
      .where(OPEN);
  },
);

/** Sets whether `apply` without ids may apply some open recommendations of a tenant. */
export async function setApplicable(
  db: Database,
  { tenantId }: InTenant,
  ids: readonly string[],
  isApplicable: boolean,
): Promise<void> {
  const rows = ids.map((id) => ({ id }));
  await updateApplicableRows(db, rows, { tenantId, isApplicable: toFlag(isApplicable) });
}

const updateApplicableRows = multiRowStatement(
  (db, rows: readonly { id: string }[], { tenantId, isApplicable }: { tenantId: string; isApplicable: Flag }) =>
    db
      .updateTable('recommendations')
      .set({ is_applicable: isApplicable })
      .where('tenant_id', '=', tenantId)
      .where(
        'id',
        'in',
        rows.map(({ id }) => id),
      )
      .where(OPEN)
      .where('is_applicable', '<>', isApplicable),
);

/** Closes open recommendations, because of other changes or a review of their observations. */
export async function closeRecommendations(
  db: Database,
  { tenantId }: InTenant,
  ids: readonly string[],
  status: 'dismissed' | 'superseded',
  now: Date,
): Promise<void> {
  const rows = ids.map((id) => ({ id }));
  await closeRows(db, rows, { tenantId, status, now: now.toISOString() });
}

type Ending = { tenantId: string; status: 'dismissed' | 'superseded'; now: string };

const closeRows = multiRowStatement((db, rows: readonly { id: string }[], { tenantId, status, now }: Ending) =>
  db
    .updateTable('recommendations')
    .set({ status, updated_at: now })
    .where('tenant_id', '=', tenantId)
    .where(
      'id',
      'in',
      rows.map(({ id }) => id),
    )
    .where(OPEN),
);

/** Supersedes all open recommendations of some providers of a tenant. */
export async function supersedeRecommendationsOfProviders(
  db: Database,
  { tenantId }: InTenant,
  providerIds: readonly string[],
  now: Date,
): Promise<void> {
  const rows = providerIds.map((id) => ({ id }));
  await supersedeRows(db, rows, { tenantId, now: now.toISOString() });
}

const supersedeRows = multiRowStatement(
  (db, rows: readonly { id: string }[], { tenantId, now }: { tenantId: string; now: string }) =>
    db
      .updateTable('recommendations')
      .set({ status: 'superseded', updated_at: now })
      .where('tenant_id', '=', tenantId)
      .where(
        'provider_id',
        'in',
        rows.map(({ id }) => id),
      )
      .where(OPEN),
);

/** The links from some recommendations of a tenant to their observations. */
export async function findObservationLinks(
  db: Database,
  { tenantId }: InTenant,
  recommendationIds: readonly string[],
): Promise<Link[]> {
  const rows = recommendationIds.map((id) => ({ id }));
  return selectLinks(db, rows, { tenantId });
}

const selectLinks = multiRowStatement((db, rows: readonly { id: string }[], { tenantId }: { tenantId: string }) =>
  db
    .selectFrom('recommendation_observations')
    .select(['recommendation_id as recommendationId', 'observation_id as observationId'])
    .where('tenant_id', '=', tenantId)
    .where(
      'recommendation_id',
      'in',
      rows.map(({ id }) => id),
    ),
);

/** Adds links from recommendations of a tenant to observations. */
export async function insertObservationLinks(
  db: Database,
  { tenantId }: InTenant,
  links: readonly Link[],
): Promise<void> {
  await insertLinkRows(db, links, { tenantId });
}

const insertLinkRows = multiRowStatement((db, rows: readonly Link[], { tenantId }: { tenantId: string }) =>
  db
    .insertInto('recommendation_observations')
    .values(
      rows.map(({ recommendationId, observationId }) => ({
        tenant_id: tenantId,
        recommendation_id: recommendationId,
        observation_id: observationId,
      })),
    )
    .onConflict((conflict) => conflict.columns(['tenant_id', 'recommendation_id', 'observation_id']).doNothing()),
);

/** Deletes links from recommendations of a tenant to observations. */
export async function deleteObservationLinks(
  db: Database,
  { tenantId }: InTenant,
  links: readonly Link[],
): Promise<void> {
  await deleteLinkRows(db, links, { tenantId });
}

const deleteLinkRows = multiRowStatement((db, rows: readonly Link[], { tenantId }: { tenantId: string }) =>
  db
    .deleteFrom('recommendation_observations')
    .where('tenant_id', '=', tenantId)
    .where(
      tupleIn(
        ['recommendation_id', 'observation_id'],
        rows.map(({ recommendationId, observationId }) => [recommendationId, observationId]),
      ),
    ),
);
