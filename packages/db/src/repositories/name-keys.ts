import type { RecommendationKind } from '@quartermaster/contracts/recommendations.ts';
import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { multiRowStatement } from '../prepared-statement.ts';
import { type Page, type PageRequest, inScope, newestFirst, pageOf, placeOf, timeKey, valueRows } from '../queries.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';
import { moveAccountCounts } from './observation-accounts.ts';
import type { ObservationHolder } from './observation-counts.ts';
import { insertObservationLinks } from './open-recommendations.ts';
import { deleteObservations } from './runtime-observations.ts';

/** Tables with names of models, unique by their keys. */
export type NamingTable = 'inventory_items' | 'runtime_observations';

/** A model name in a provider's inventory or observations. */
export type NamedModel = { id: string; subTenantId: string | null; name: string; nameKey: string };

type InTenant = Pick<TenantPlace, 'tenantId'>;

/** The prefix of a recommendation's subject that is a model. The key of the model follows: `model:gpt-5`. */
const MODEL_SUBJECT = 'model:';

/** The models of a provider, newest first. */
export async function listModelNames(
  db: Database,
  scope: TenantScope,
  { table, providerId }: { table: NamingTable; providerId: string },
  page: PageRequest,
): Promise<Page<NamedModel>> {
  const rows = await db
    .selectFrom(table as 'inventory_items')
    .select(['tenant_id', 'sub_tenant_id', 'id', 'name', 'name_key', 'created_at'])
    .where('provider_id', '=', providerId)
    .where('kind', '=', 'model')
    .where(inScope(scope))
    .$call(newestFirst(page))
    .execute();
  const toModel = (row: (typeof rows)[number]) => ({
    id: row.id,
    subTenantId: placeOf(row).subTenantId,
    name: row.name,
    nameKey: row.name_key,
  });
  return pageOf(rows, page.limit, toModel, timeKey);
}

/** Sets the names and keys of models of a tenant. @throws DuplicateKeyError if another row has one of the keys */
export async function setModelNames(
  db: Database,
  { tenantId }: InTenant,
  table: NamingTable,
  models: readonly RenamedRow[],
  now: Date,
): Promise<void> {
  const rows = models.map(({ id, name, nameKey }) => ({ id, name, nameKey }));
  await renameRows[table](db, rows, { tenantId, now: now.toISOString() });
}

type RenamedRow = Pick<NamedModel, 'id' | 'name' | 'nameKey'>;

const renameRows = {
  inventory_items: renamingStatement('inventory_items'),
  runtime_observations: renamingStatement('runtime_observations'),
};

function renamingStatement(table: NamingTable) {
  return multiRowStatement((db, rows: readonly RenamedRow[], { tenantId, now }: { tenantId: string; now: string }) => {
    const values = rows.map(({ id, name, nameKey }) => [id, name, nameKey]);
    type Renamed = { id: string; name: string; name_key: string };
    return db
      .with('renamed(id, name, name_key)', () => valueRows<Renamed>(values))
      .updateTable(table as 'inventory_items')
      .from('renamed')
      .set(({ ref }) => ({
        name: ref('renamed.name'),
        name_key: ref('renamed.name_key'),
        // The key is not visible, so a change of the key alone does not count as an update.
        updated_at: sql<string>`case when ${sql.ref(`${table}.name`)} = renamed.name then ${sql.ref(`${table}.updated_at`)} else ${now} end`,
      }))
      .where(`${table}.tenant_id` as 'inventory_items.tenant_id', '=', tenantId)
      .whereRef(`${table}.id` as 'inventory_items.id', '=', 'renamed.id');
  });
}

/** An observation that was merged into another one. */
export type MergedPair = { goneId: string; keptId: string };

/**
 * Deletes observations that were merged into others. The others get their recommendations, and what each account reported.
 *
 * @param pairs name each kept observation once
 * @returns the account and sub-tenant that each of the deleted ones counted for
 */
export async function replaceObservations(
  db: Database,
  { tenantId }: InTenant,
  pairs: readonly MergedPair[],
): Promise<ObservationHolder[]> {
  await copyLinks(db, { tenantId }, pairs);
  await moveAccountCounts(db, { tenantId }, pairs);
  return deleteObservations(
    db,
    { tenantId },
    pairs.map(({ goneId }) => goneId),
  );
}

/** Links the recommendations of the deleted observations to the kept ones. */
async function copyLinks(db: Database, { tenantId }: InTenant, pairs: readonly MergedPair[]): Promise<void> {
  const rows = pairs.map(({ goneId }) => ({ id: goneId }));
  const keptIdOf = new Map(pairs.map(({ goneId, keptId }) => [goneId, keptId]));
  const links = await selectLinksTo(db, rows, { tenantId });
  const copied = links.map(({ recommendationId, observationId }) => ({
    recommendationId,
    observationId: keptIdOf.get(observationId) ?? observationId,
  }));
  await insertObservationLinks(db, { tenantId }, copied);
}

const selectLinksTo = multiRowStatement((db, rows: readonly { id: string }[], { tenantId }: { tenantId: string }) =>
  db
    .selectFrom('recommendation_observations')
    .select(['recommendation_id as recommendationId', 'observation_id as observationId'])
    .where('tenant_id', '=', tenantId)
    .where(
      'observation_id',
      'in',
      rows.map(({ id }) => id),
    ),
);

/** The recommendations of a provider about models, with the keys of the models, newest first. */
export async function listModelSubjects(
  db: Database,
  scope: TenantScope,
  providerId: string,
  page: PageRequest,
): Promise<Page<{ id: string; kind: RecommendationKind; nameKey: string; isOpen: boolean }>> {
  const rows = await db
    .selectFrom('recommendations')
    .select(['id', 'kind', 'subject', 'status', 'created_at'])
    .where('provider_id', '=', providerId)
    .where('subject', 'like', `${MODEL_SUBJECT}%`)
    .where(inScope(scope))
    .$call(newestFirst(page))
    .execute();
  const toSubject = ({ id, kind, subject, status }: (typeof rows)[number]) => ({
    id,
    kind,
    nameKey: subject.slice(MODEL_SUBJECT.length),
    isOpen: status === 'open',
  });
  return pageOf(rows, page.limit, toSubject, timeKey);
}

/**
 * Sets the models that recommendations of a tenant are about.
 *
 * @throws DuplicateKeyError if another recommendation of the same kind is open about the same model
 */
export async function setModelSubjects(
  db: Database,
  { tenantId }: InTenant,
  recommendations: readonly { id: string; nameKey: string }[],
): Promise<void> {
  const rows = recommendations.map(({ id, nameKey }) => ({ id, subject: MODEL_SUBJECT + nameKey }));
  await setSubjectRows(db, rows, { tenantId });
}

type SubjectRow = { id: string; subject: string };

const setSubjectRows = multiRowStatement((db, rows: readonly SubjectRow[], { tenantId }: { tenantId: string }) => {
  const values = rows.map(({ id, subject }) => [id, subject]);
  return db
    .with('moved(id, subject)', () => valueRows<SubjectRow>(values))
    .updateTable('recommendations')
    .from('moved')
    .set(({ ref }) => ({ subject: ref('moved.subject') }))
    .where('recommendations.tenant_id', '=', tenantId)
    .whereRef('recommendations.id', '=', 'moved.id');
});
