import type { RecommendationKind } from '@quartermaster/contracts/recommendations.ts';
import type { Database } from '../database.ts';
import { inScope, newestFirst, type Page, pageOf, type PageRequest, timeKey } from '../queries.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';
import { moveAccountCounts } from './observation-accounts.ts';

/** Tables with names of models, unique by their keys. */
export type NamingTable = 'inventory_items' | 'runtime_observations';

/** A model name in a provider's inventory or observations. */
export type NamedModel = { id: string; name: string; nameKey: string; status: string };

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
    .select(['id', 'name', 'name_key', 'status', 'created_at'])
    .where('provider_id', '=', providerId)
    .where('kind', '=', 'model')
    .where(inScope(scope))
    .$call(newestFirst(page))
    .execute();
  const toModel = (row: (typeof rows)[number]) => ({
    id: row.id,
    name: row.name,
    nameKey: row.name_key,
    status: row.status,
  });
  return pageOf(rows, page.limit, toModel, timeKey);
}

/** @throws DuplicateKeyError if another row has the key */
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
      // The key is not visible, so a change of the key alone does not count as an update.
      updated_at: eb.case().when('name', '=', name).then(eb.ref('updated_at')).else(now.toISOString()).end(),
    }))
    .where('id', '=', id)
    .where(inScope(scope))
    .execute();
}

/**
 * Deletes an observation that was merged into another one. The other one gets its recommendations, and what each account reported.
 *
 * @returns the account that reported the deleted observation first
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
  await moveAccountCounts(db, { tenantId }, { from: goneId, to: keptId });
  const gone = await db
    .deleteFrom('runtime_observations')
    .where('tenant_id', '=', tenantId)
    .where('id', '=', goneId)
    .returning('first_account')
    .executeTakeFirstOrThrow();
  return gone.first_account;
}

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

/** @throws DuplicateKeyError if it is open, and another recommendation of its kind about that model is open as well */
export async function setModelSubject(
  db: Database,
  scope: TenantScope,
  { id, nameKey }: { id: string; nameKey: string },
): Promise<void> {
  await db
    .updateTable('recommendations')
    .set({ subject: MODEL_SUBJECT + nameKey })
    .where('id', '=', id)
    .where(inScope(scope))
    .execute();
}
