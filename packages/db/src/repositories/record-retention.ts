import { type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { multiRowStatement } from '../prepared-statement.ts';

// Removes ended records after the retention time of their tenant, and the content of deleted ones. Each function handles at most
// `limit` rows, and returns how many.

type Expired = { tenantId: string; before: string; limit: number };

/** Removes expired gateway sessions. Revoked ones are removed when they would have expired. */
export async function deleteEndedSessions(db: Database, { tenantId, before, limit }: Expired): Promise<number> {
  const rows = await db
    .selectFrom('gateway_sessions')
    .select('id')
    .where('tenant_id', '=', tenantId)
    .where('expires_at', '<', before)
    .orderBy('expires_at')
    .limit(limit)
    .execute();
  await deleteSessionGrantRows(db, rows, { tenantId });
  await deleteSessionRows(db, rows, { tenantId });
  return rows.length;
}

/** Removes completed and cancelled operator tasks, and ended syncs. */
export async function deleteFinishedTasks(db: Database, { tenantId, before, limit }: Expired): Promise<number> {
  const rows = await db
    .selectFrom('operator_tasks')
    .select('id')
    .where('tenant_id', '=', tenantId)
    .where('completed_at', 'is not', null)
    .where('completed_at', '<', before)
    .orderBy('completed_at')
    .limit(limit)
    .execute();
  await deleteTaskRows(db, rows, { tenantId });
  return rows.length;
}

/**
 * Removes applied, superseded and dismissed recommendations. The last dismissed one of each kind and subject stays while its
 * provider exists, because it prevents the same recommendation from being created again.
 */
export async function deleteClosedRecommendations(db: Database, { tenantId, before, limit }: Expired): Promise<number> {
  const rows = await db
    .selectFrom('recommendations as closed')
    .select('closed.id')
    .where('closed.tenant_id', '=', tenantId)
    .where(sql<SqlBool>`closed.status <> 'open'`)
    .where('closed.updated_at', '<', before)
    .where((eb) =>
      eb.or([
        eb('closed.dismissal', 'is', null),
        eb.exists(
          eb
            .selectFrom('recommendations as later')
            .select('later.id')
            .whereRef('later.tenant_id', '=', 'closed.tenant_id')
            .whereRef('later.provider_id', '=', 'closed.provider_id')
            .whereRef('later.kind', '=', 'closed.kind')
            .whereRef('later.subject', '=', 'closed.subject')
            .where('later.dismissal', 'is not', null)
            .where(sql<SqlBool>`(later.created_at, later.id) > (closed.created_at, closed.id)`),
        ),
        eb.exists(
          eb
            .selectFrom('providers')
            .select('providers.id')
            .whereRef('providers.tenant_id', '=', 'closed.tenant_id')
            .whereRef('providers.id', '=', 'closed.provider_id')
            .where('providers.status', '=', 'deleted'),
        ),
      ]),
    )
    .orderBy('closed.updated_at')
    .limit(limit)
    .execute();
  await deleteLinkRows(db, rows, { tenantId });
  await deleteRecommendationRows(db, rows, { tenantId });
  return rows.length;
}

/** Erases the descriptions and metadata of deleted accounts. The accounts stay, because their ids must not be used again. */
export async function eraseDeletedAccounts(db: Database, { tenantId, before, limit }: Expired): Promise<number> {
  const rows = await deletedWithContent(db, 'service_accounts', { tenantId, before, limit });
  await eraseAccountRows(db, rows, { tenantId });
  await deleteMetadataRows(db, rows, { tenantId });
  return rows.length;
}

/** Erases the descriptions and metadata of deleted providers. The providers stay, because observations refer to them. */
export async function eraseDeletedProviders(db: Database, { tenantId, before, limit }: Expired): Promise<number> {
  const rows = await deletedWithContent(db, 'providers', { tenantId, before, limit });
  await eraseProviderRows(db, rows, { tenantId });
  return rows.length;
}

/** Deleted records with content, as in the partial indexes of the baseline migration. */
function deletedWithContent(
  db: Database,
  table: 'service_accounts' | 'providers',
  { tenantId, before, limit }: Expired,
): Promise<IdRow[]> {
  return db
    .selectFrom(table)
    .select('id')
    .where('tenant_id', '=', tenantId)
    .where('updated_at', '<', before)
    .where(sql<SqlBool>`status = 'deleted' and (description is not null or metadata <> '{}')`)
    .orderBy('updated_at')
    .limit(limit)
    .execute();
}

type IdRow = { id: string };
type InTenant = { tenantId: string };

function idsOf(rows: readonly IdRow[]): string[] {
  return rows.map(({ id }) => id);
}

const deleteSessionGrantRows = multiRowStatement((db, rows: readonly IdRow[], { tenantId }: InTenant) =>
  db.deleteFrom('gateway_session_grants').where('tenant_id', '=', tenantId).where('session_id', 'in', idsOf(rows)),
);

const deleteSessionRows = multiRowStatement((db, rows: readonly IdRow[], { tenantId }: InTenant) =>
  db.deleteFrom('gateway_sessions').where('tenant_id', '=', tenantId).where('id', 'in', idsOf(rows)),
);

const eraseAccountRows = multiRowStatement((db, rows: readonly IdRow[], { tenantId }: InTenant) =>
  db
    .updateTable('service_accounts')
    .set({ description: null, metadata: '{}', search_text: sql<string>`id` })
    .where('tenant_id', '=', tenantId)
    .where('id', 'in', idsOf(rows)),
);

const deleteMetadataRows = multiRowStatement((db, rows: readonly IdRow[], { tenantId }: InTenant) =>
  db
    .deleteFrom('service_account_metadata')
    .where('tenant_id', '=', tenantId)
    .where('service_account_id', 'in', idsOf(rows)),
);

const eraseProviderRows = multiRowStatement((db, rows: readonly IdRow[], { tenantId }: InTenant) =>
  db
    .updateTable('providers')
    .set({ description: null, metadata: '{}' })
    .where('tenant_id', '=', tenantId)
    .where('id', 'in', idsOf(rows)),
);

const deleteTaskRows = multiRowStatement((db, rows: readonly IdRow[], { tenantId }: InTenant) =>
  db.deleteFrom('operator_tasks').where('tenant_id', '=', tenantId).where('id', 'in', idsOf(rows)),
);

const deleteLinkRows = multiRowStatement((db, rows: readonly IdRow[], { tenantId }: InTenant) =>
  db
    .deleteFrom('recommendation_observations')
    .where('tenant_id', '=', tenantId)
    .where('recommendation_id', 'in', idsOf(rows)),
);

const deleteRecommendationRows = multiRowStatement((db, rows: readonly IdRow[], { tenantId }: InTenant) =>
  db.deleteFrom('recommendations').where('tenant_id', '=', tenantId).where('id', 'in', idsOf(rows)),
);
