import type { RecommendationKind } from '@quartermaster/contracts/recommendations.ts';
import type { Database } from '../database.ts';
import { newestFirst, type Page, type PageRequest, pageOf, timeKey, within } from '../queries.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';

/** What has names of models, unique by their keys. */
export type NamingTable = 'inventory_items' | 'runtime_observations';

/** A model as a provider's inventory or its observations name it. */
export type NamedModel = { id: string; name: string; nameKey: string; status: string };

/** A recommendation's subject that is a model, by its key: `model:gpt-5`. */
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
    .select(['id', 'name', 'name_key', 'status', 'created_at'])
    .where('provider_id', '=', providerId)
    .where('kind', '=', 'model')
    .where(within(scope))
    .$call(newestFirst(page))
    .execute();
  const toModel = (row: (typeof rows)[number]) => ({
    ...{ id: row.id, name: row.name, nameKey: row.name_key, status: row.status },
  });
  return pageOf(rows, page.limit, toModel, timeKey);
}

/** @throws DuplicateKeyError where another row has the key */
export async function setModelName(
  db: Database,
  scope: TenantScope,
  table: NamingTable,
  { id, name, nameKey }: Omit<NamedModel, 'status'>,
  now: Date,
): Promise<void> {
  await db
    .updateTable(table as 'inventory_items')
    .set((eb) => ({
      name,
      name_key: nameKey,
      // Its key is nothing that is shown of it.
      updated_at: eb.case().when('name', '=', name).then(eb.ref('updated_at')).else(now.toISOString()).end(),
    }))
    .where('id', '=', id)
    .where(within(scope))
    .execute();
}

/**
 * Removes an observation that became one with another: what rested on it rests on that.
 *
 * @returns the account that reported the removed one first
 */
export async function replaceObservation(
  db: Database,
  { tenantId }: TenantPlace,
  { goneId, keptId }: { goneId: string; keptId: string },
): Promise<string> {
  await db
    .insertInto('recommendation_observations')
    .columns(['tenant_id', 'recommendation_id', 'observation_id'])
    .expression((eb) =>
      eb
        .selectFrom('recommendation_observations')
        .select(['tenant_id', 'recommendation_id', eb.val(keptId).as('observation_id')])
        .where('tenant_id', '=', tenantId)
        .where('observation_id', '=', goneId),
    )
    .onConflict((conflict) => conflict.columns(['tenant_id', 'recommendation_id', 'observation_id']).doNothing())
    .execute();
  await db
    .deleteFrom('recommendation_observations')
    .where('tenant_id', '=', tenantId)
    .where('observation_id', '=', goneId)
    .execute();
  const gone = await db
    .deleteFrom('runtime_observations')
    .where('tenant_id', '=', tenantId)
    .where('id', '=', goneId)
    .returning('first_account')
    .executeTakeFirstOrThrow();
  return gone.first_account;
}

/** The recommendations of a provider that are about models, by the keys of these; newest first. */
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
    .where(within(scope))
    .$call(newestFirst(page))
    .execute();
  const toSubject = ({ id, kind, subject, status }: (typeof rows)[number]) => ({
    ...{ id, kind, nameKey: subject.slice(MODEL_SUBJECT.length), isOpen: status === 'open' },
  });
  return pageOf(rows, page.limit, toSubject, timeKey);
}

/** @throws DuplicateKeyError where it is open, and so is another of its kind about that model */
export async function setModelSubject(
  db: Database,
  scope: TenantScope,
  { id, nameKey }: { id: string; nameKey: string },
): Promise<void> {
  await db
    .updateTable('recommendations')
    .set({ subject: MODEL_SUBJECT + nameKey })
    .where('id', '=', id)
    .where(within(scope))
    .execute();
}
