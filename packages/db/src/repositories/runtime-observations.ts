import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import { type Selectable, type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { isPostgres } from '../dialects/postgres.ts';
import { inKeysetRange, type KeysetRange, listRows } from '../listing.ts';
import { type Page, type PageRequest, inScope, placeColumns, placeOf, timesOf, toFlag, tupleIn } from '../queries.ts';
import { multiRowStatement, preparedStatement } from '../prepared-statement.ts';
import type { Flag } from '../tables/columns.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';
import type { ItemFamily } from './inventory.ts';
import type { ObservationHolder } from './observation-counts.ts';

type Row = Selectable<Tables['runtime_observations']>;

export type ObservationFilter = {
  unknown?: boolean | null | undefined;
  status?: string | null | undefined;
  providerId?: string | null | undefined;
  kind?: string | null | undefined;
  name?: string | null | undefined;
};

/** The subject of an observation. There is one observation for each subject and place. */
export type ObservationSubject = Pick<RuntimeObservation, 'providerId' | 'kind'> & {
  /** The key that all variants of the name share: see nameKey. */
  nameKey: string;
};

export type KeyedObservation = RuntimeObservation & { nameKey: string };

export type NewObservation = Omit<
  RuntimeObservation,
  'id' | 'tenantId' | 'subTenantId' | 'createdAt' | 'updatedAt' | 'review'
> & { nameKey: string };
export type ObservationChange = Partial<
  Omit<
    RuntimeObservation,
    'id' | 'tenantId' | 'subTenantId' | 'createdAt' | 'updatedAt' | 'providerId' | 'kind' | 'name' | 'review'
  >
> & { review?: StoredReview | null };

type Evidence = RuntimeObservation['evidence'];
type Review = NonNullable<RuntimeObservation['review']>;
/** A review as it is stored. `tenantWide`: whether the reviewer had rights in the whole tenant at that time. */
export type StoredReview = Review & { tenantWide: boolean };

export async function findObservation(
  db: Database,
  scope: TenantScope,
  id: string,
): Promise<RuntimeObservation | undefined> {
  const row = await db
    .selectFrom('runtime_observations')
    .selectAll()
    .where('id', '=', id)
    .where(inScope(scope))
    .executeTakeFirst();
  return row && toObservation(row);
}

/** The observations of a tenant with the given ids, oldest first. */
export async function findObservationsByIds(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  ids: readonly string[],
): Promise<RuntimeObservation[]> {
  const rows = ids.map((id) => ({ id }));
  return oldestFirst(await selectByIds(db, rows, { tenantId })).map(toObservation);
}

const selectByIds = multiRowStatement((db, rows: readonly { id: string }[], { tenantId }: { tenantId: string }) =>
  db
    .selectFrom('runtime_observations')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where(
      'id',
      'in',
      rows.map(({ id }) => id),
    ),
);

/** The observation of a subject at exactly this place. */
export async function findObservationOfSubject(
  db: Database,
  place: TenantPlace,
  subject: ObservationSubject,
): Promise<RuntimeObservation | undefined> {
  const [row] = await selectInPlace(db, [subject], placeColumns(place));
  return row && toObservation(row);
}

/** The observations of some subjects at exactly this place, with the keys of their names. In no particular order. */
export async function findObservationsInPlace(
  db: Database,
  place: TenantPlace,
  subjects: readonly ObservationSubject[],
): Promise<KeyedObservation[]> {
  return (await selectInPlace(db, subjects, placeColumns(place))).map(toKeyed);
}

const selectInPlace = multiRowStatement(
  (db, rows: readonly ObservationSubject[], { tenant_id, sub_tenant_id }: ReturnType<typeof placeColumns>) =>
    db
      .selectFrom('runtime_observations')
      .selectAll()
      .where('tenant_id', '=', tenant_id)
      .where('sub_tenant_id', '=', sub_tenant_id)
      .where(ofSubjects(rows)),
);

/**
 * All observations of some name families in a tenant and all its sub-tenants, with the keys of their names, oldest first. See
 * nameFamily.
 */
export async function findObservationsOfFamilies(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  families: readonly ItemFamily[],
): Promise<KeyedObservation[]> {
  const distinct = new Map(families.map((one) => [JSON.stringify([one.providerId, one.kind, one.nameFamily]), one]));
  return oldestFirst(await selectOfFamilies(db, [...distinct.values()], { tenantId })).map(toKeyed);
}

/** A kind and a family of names, at any provider: see nameFamily. */
type FamilyOfKind = Pick<ItemFamily, 'kind' | 'nameFamily'>;

/** All observations of some name families in a tenant, at all of its providers, with the keys of their names, oldest first. */
export async function findObservationsOfAnyProvider(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  families: readonly FamilyOfKind[],
): Promise<(KeyedObservation & { nameFamily: string })[]> {
  const rows = oldestFirst(await selectOfAnyProvider(db, families, { tenantId }));
  return rows.map((row) => ({ ...toKeyed(row), nameFamily: row.name_family }));
}

/** It looks at each provider of the tenant, because the index of families begins with the provider. */
const selectOfAnyProvider = multiRowStatement((db, rows: readonly FamilyOfKind[], { tenantId }: { tenantId: string }) =>
  db
    .selectFrom('providers')
    .crossJoin('runtime_observations as observation')
    .selectAll('observation')
    .where('providers.tenant_id', '=', tenantId)
    .where('observation.tenant_id', '=', tenantId)
    .whereRef('observation.provider_id', '=', 'providers.id')
    .where(
      tupleIn(
        ['observation.kind', 'observation.name_family'],
        rows.map(({ kind, nameFamily }) => [kind, nameFamily]),
      ),
    ),
);

/** An observation of a model, and the models that answered its calls under another name. */
export type AnsweredObservation = { id: string; createdAt: string; responseModels: string[] };

/** The models that answered the calls of up to `limit` observations of models of a provider, the oldest first. */
export async function findAnsweringModels(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  providerId: string,
  { after, limit }: { after: AnsweredObservation | undefined; limit: number },
): Promise<AnsweredObservation[]> {
  // Evidence may be large, and reading and parsing all of it takes three times as long. Old rows lack this member.
  const models = isPostgres(db)
    ? sql<string>`evidence::json ->> 'responseModels'`
    : sql<string>`evidence ->> 'responseModels'`;
  const rows = await db
    .selectFrom('runtime_observations')
    .select(['id', 'created_at', sql<string>`coalesce(${models}, '[]')`.as('models')])
    .where('tenant_id', '=', tenantId)
    .where('provider_id', '=', providerId)
    .where('kind', '=', 'model')
    .$if(after !== undefined, (query) =>
      query.where(sql<SqlBool>`(created_at, id) > (${after?.createdAt}, ${after?.id})`),
    )
    .orderBy('created_at')
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    id: row.id,
    createdAt: row.created_at,
    responseModels: JSON.parse(row.models) as Evidence['responseModels'],
  }));
}

const selectOfFamilies = multiRowStatement((db, rows: readonly ItemFamily[], { tenantId }: { tenantId: string }) =>
  db
    .selectFrom('runtime_observations')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where(
      tupleIn(
        ['provider_id', 'kind', 'name_family'],
        rows.map(({ providerId, kind, nameFamily }) => [providerId, kind, nameFamily]),
      ),
    ),
);

/** All observations of some subjects in a tenant and all its sub-tenants, with the keys of their names, oldest first. */
export async function findObservationsOfSubjects(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  subjects: readonly ObservationSubject[],
): Promise<KeyedObservation[]> {
  return oldestFirst(await selectOfSubjects(db, subjects, { tenantId })).map(toKeyed);
}

const selectOfSubjects = multiRowStatement(
  (db, rows: readonly ObservationSubject[], { tenantId }: { tenantId: string }) =>
    db.selectFrom('runtime_observations').selectAll().where('tenant_id', '=', tenantId).where(ofSubjects(rows)),
);

/** Up to `limit` observations of a provider, oldest first, that come after one of its observations. */
export async function findObservationsOfProvider(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  providerId: string,
  { after, limit }: { after: Pick<RuntimeObservation, 'createdAt' | 'id'> | undefined; limit: number },
): Promise<RuntimeObservation[]> {
  const rows = await db
    .selectFrom('runtime_observations')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('provider_id', '=', providerId)
    .$if(after !== undefined, (query) =>
      query.where(sql<SqlBool>`(created_at, id) > (${after?.createdAt}, ${after?.id})`),
    )
    .orderBy('created_at')
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map(toObservation);
}

function ofSubjects(subjects: readonly ObservationSubject[]) {
  return tupleIn(
    ['provider_id', 'kind', 'name_key'],
    subjects.map(({ providerId, kind, nameKey }) => [providerId, kind, nameKey]),
  );
}

/** Sorted here, since SQLite would scan all observations of the tenant for an order by id. */
function oldestFirst(rows: readonly Row[]): Row[] {
  return rows.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

/** Newest first by creation time. `firstSeenAt` cannot be the sort key, since late spans may change it. */
export async function listObservations(
  db: Database,
  scope: TenantScope,
  filter: ObservationFilter,
  page: PageRequest,
): Promise<Page<RuntimeObservation>> {
  const { unknown = null, status = null, providerId = null, kind = null, name = null } = filter;
  const { rows, next } = await listRows(db, scope, page, {
    table: 'runtime_observations',
    // Observations of a provider have their own index, and their number is limited.
    hasUnindexedFilter: providerId === null && (unknown !== null || status !== null || kind !== null || name !== null),
    rows: (range) =>
      observationRows(db, {
        unknown: unknown === null ? null : toFlag(unknown),
        status,
        providerId,
        kind,
        name,
        ...range,
      }),
  });
  return { items: rows.map(toObservation), next };
}

type ListedObservations = KeysetRange & { unknown: Flag | null } & Record<
    'status' | 'providerId' | 'kind' | 'name',
    string | null
  >;

const observationRows = preparedStatement((db, filter: ListedObservations) => {
  let query = db.selectFrom('runtime_observations').selectAll().where(inScope(filter.scope));
  if (filter.unknown != null) query = query.where('unknown', '=', filter.unknown);
  if (filter.status != null) query = query.where('status', '=', filter.status as Row['status']);
  if (filter.providerId != null) query = query.where('provider_id', '=', filter.providerId);
  if (filter.kind != null) query = query.where('kind', '=', filter.kind as Row['kind']);
  if (filter.name != null) query = query.where('name', '=', filter.name);
  return query.$call(inKeysetRange(filter));
});

export async function updateObservation(
  db: Database,
  scope: TenantScope,
  id: string,
  change: ObservationChange,
  now: Date,
): Promise<RuntimeObservation | undefined> {
  const { denials, lastDeniedAt } = change;
  const { unknown, status, occurrences, firstSeenAt, lastSeenAt, lastTraceId, lastSpanId } = change;
  const { evidence, risk, inventoryItemId, review, drift } = change;
  const row = await db
    .updateTable('runtime_observations')
    .set({
      ...(unknown !== undefined && { unknown: toFlag(unknown) }),
      ...(status !== undefined && { status }),
      ...(occurrences !== undefined && { occurrences }),
      ...(denials !== undefined && { denials }),
      ...(lastDeniedAt !== undefined && { last_denied_at: lastDeniedAt }),
      ...(firstSeenAt !== undefined && { first_seen_at: firstSeenAt }),
      ...(lastSeenAt !== undefined && { last_seen_at: lastSeenAt }),
      ...(lastTraceId !== undefined && { last_trace_id: lastTraceId ?? '' }),
      ...(lastSpanId !== undefined && { last_span_id: lastSpanId ?? '' }),
      ...(evidence !== undefined && evidenceColumns(evidence)),
      ...(risk !== undefined && { risk: JSON.stringify(risk) }),
      ...(inventoryItemId !== undefined && { inventory_item_id: inventoryItemId }),
      ...(drift !== undefined && { drift: drift === null ? null : JSON.stringify(drift) }),
      ...(review !== undefined && { review: review === null ? null : JSON.stringify(review) }),
      updated_at: now.toISOString(),
    })
    .where('id', '=', id)
    .where(inScope(scope))
    .returningAll()
    .executeTakeFirst();
  return row && toObservation(row);
}

/** Sets the note of a review. Returns undefined if there is no review. */
export async function updateReviewNote(
  db: Database,
  scope: TenantScope,
  id: string,
  note: string | null,
  now: Date,
): Promise<RuntimeObservation | undefined> {
  const row = await db
    .selectFrom('runtime_observations')
    .select('review')
    .where('id', '=', id)
    .where(inScope(scope))
    .executeTakeFirst();
  if (row?.review == null) return undefined;
  return updateObservation(db, scope, id, { review: { ...(JSON.parse(row.review) as StoredReview), note } }, now);
}

/**
 * Deletes observations of a tenant that are not reviewed: open, unknown, and without drift. It covers all providers, since
 * senders of spans can name any provider. What is really used is observed again.
 *
 * @param limit the most observations to delete
 */
export async function deleteUnreviewedObservations(
  db: Database,
  { tenantId }: TenantPlace,
  limit: number,
): Promise<(ObservationSubject & TenantPlace & ObservationHolder & { id: string })[]> {
  const unreviewed = await db
    .selectFrom('runtime_observations')
    .select(['id', 'provider_id as providerId', 'kind', 'name_key as nameKey', 'tenant_id', 'sub_tenant_id'])
    .select('first_account as firstAccount')
    .where('tenant_id', '=', tenantId)
    .where('status', '=', sql.lit('open'))
    .where('unknown', '=', toFlag(true))
    .where('review', 'is', null)
    .where('drift', 'is', null)
    .limit(limit)
    .execute();
  await deleteObservations(
    db,
    { tenantId },
    unreviewed.map(({ id }) => id),
  );
  return unreviewed.map((row) => ({ ...row, ...placeOf(row) }));
}

/**
 * Deletes observations of a tenant, and the links of recommendations to them.
 *
 * @returns the account and sub-tenant that each of them counted for
 */
export async function deleteObservations(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  ids: readonly string[],
): Promise<ObservationHolder[]> {
  const rows = ids.map((id) => ({ id }));
  await deleteLinkRows(db, rows, { tenantId });
  const deleted = await deleteRows(db, rows, { tenantId });
  return deleted.map(toHolder);
}

const deleteLinkRows = multiRowStatement((db, rows: readonly { id: string }[], { tenantId }: { tenantId: string }) =>
  db
    .deleteFrom('recommendation_observations')
    .where('tenant_id', '=', tenantId)
    .where(
      'observation_id',
      'in',
      rows.map(({ id }) => id),
    ),
);

const deleteRows = multiRowStatement((db, rows: readonly { id: string }[], { tenantId }: { tenantId: string }) =>
  db
    .deleteFrom('runtime_observations')
    .where('tenant_id', '=', tenantId)
    .where(
      'id',
      'in',
      rows.map(({ id }) => id),
    )
    .returning(['tenant_id', 'sub_tenant_id', 'first_account']),
);

function toHolder(row: Pick<Row, 'tenant_id' | 'sub_tenant_id' | 'first_account'>): ObservationHolder {
  return { subTenantId: placeOf(row).subTenantId, firstAccount: row.first_account };
}

function toReview(text: string): Review {
  const { tenantWide: _, ...review } = JSON.parse(text) as StoredReview;
  return review;
}

function toKeyed(row: Row): KeyedObservation {
  return { ...toObservation(row), nameKey: row.name_key };
}

/** The columns of an observation's evidence. */
export function evidenceColumns({ environments, ...evidence }: Evidence) {
  return { evidence: JSON.stringify(evidence), environments: JSON.stringify(environments) };
}

export function toObservation(row: Row): RuntimeObservation {
  return {
    id: row.id,
    ...placeOf(row),
    providerId: row.provider_id,
    kind: row.kind,
    name: row.name,
    unknown: row.unknown === 1,
    status: row.status,
    occurrences: row.occurrences,
    firstSeenAt: row.first_seen_at,
    lastSeenAt: row.last_seen_at,
    lastTraceId: row.last_trace_id || null,
    lastSpanId: row.last_span_id || null,
    denials: row.denials,
    lastDeniedAt: row.last_denied_at,
    // Old rows lack these members.
    evidence: {
      agents: [],
      names: [],
      responseModels: [],
      deniedReasons: [],
      sources: [],
      ...(JSON.parse(row.evidence) as Partial<Evidence>),
      environments: JSON.parse(row.environments) as Evidence['environments'],
    } as Evidence,
    risk: JSON.parse(row.risk) as RuntimeObservation['risk'],
    inventoryItemId: row.inventory_item_id,
    review: row.review === null ? null : toReview(row.review),
    drift: row.drift === null ? null : (JSON.parse(row.drift) as RuntimeObservation['drift']),
    ...timesOf(row),
  };
}
