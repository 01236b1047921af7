import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { TABLE_KEYS, TABLE_NAMES, type TableName } from '../stored-tables.ts';
import { forgetApiKeys } from './api-keys.ts';
import { revokeAllSessions } from './gateway-sessions.ts';
import { wholeTenant } from '../tenancy.ts';

/** Tables whose rows stay: the tenant itself, whose id is never used again, and its audit chain. */
const KEPT_TABLES = ['tenants', 'audit_events', 'audit_unsealed', 'audit_chain', 'audit_heads'] as const;

/**
 * The tables from which the rows of a tenant are erased, in this order. A table comes before the tables that it refers to,
 * because a foreign key forbids deleting a row that is referred to.
 */
export const ERASED_TABLES: readonly TableName[] = TABLE_NAMES.filter((table) =>
  (TABLE_KEYS[table] as readonly string[]).includes('tenant_id'),
)
  .filter((table) => !(KEPT_TABLES as readonly string[]).includes(table))
  .toReversed();

/** Whether the tenant exists, or existed before it was deleted. */
export async function hasExisted(db: Database, tenantId: string): Promise<boolean> {
  const row = await db.selectFrom('tenants').select('id').where('id', '=', tenantId).executeTakeFirst();
  return row !== undefined;
}

/** Whether an account of the tenant holds the rights of a platform administrator. */
export async function holdsPlatformAdministrator(db: Database, tenantId: string): Promise<boolean> {
  const row = await db
    .selectFrom('service_accounts')
    .select('id')
    .where('tenant_id', '=', tenantId)
    .where('platform_administrator', '=', 1)
    .where('status', '<>', 'deleted')
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Marks a tenant as deleted, and ends all access to it: its accounts with their keys, its memberships and invitations, and its
 * gateways with their sessions. Nothing is synced any more. Other processes may accept a cached key for some seconds more.
 */
export async function markTenantDeleted(db: Database, tenantId: string, now: Date): Promise<void> {
  const time = now.toISOString();
  await db
    .updateTable('tenants')
    .set({ deleted_at: time, updated_at: time, display_name: null })
    .where('id', '=', tenantId)
    .execute();
  await db
    .updateTable('service_accounts')
    .set({ status: 'deleted', updated_at: time })
    .where('tenant_id', '=', tenantId)
    .where('status', '<>', 'deleted')
    .execute();
  // Sets the status as well, because a sync that runs now would schedule the next one.
  await db
    .updateTable('providers')
    .set({ status: 'deleted', next_sync_at: null, updated_at: time })
    .where('tenant_id', '=', tenantId)
    .execute();
  // Disabled and not deleted, so that a platform administrator can still introspect a session, and learns that it is not active.
  await db
    .updateTable('gateways')
    .set({ status: 'disabled', updated_at: time })
    .where('tenant_id', '=', tenantId)
    .where('status', '=', 'active')
    .execute();
  await db.deleteFrom('memberships').where('tenant_id', '=', tenantId).execute();
  await revokeAllSessions(db, wholeTenant(tenantId), now);
  forgetApiKeys(db, { tenantId });
}

/** The deleted tenants whose data are not completely erased, in the order of their deletion. */
export async function listTenantsToErase(db: Database): Promise<{ tenantId: string; deletedAt: string }[]> {
  const rows = await db
    .selectFrom('tenants')
    .select(['id', 'deleted_at'])
    .where('deleted_at', 'is not', null)
    .where('erased_at', 'is', null)
    .orderBy('deleted_at')
    .execute();
  return rows.flatMap(({ id, deleted_at: deletedAt }) => (deletedAt === null ? [] : [{ tenantId: id, deletedAt }]));
}

/** Deletes at most `limit` rows of a tenant from one table. @returns how many */
export async function eraseRows(
  db: Database,
  tenantId: string,
  { table, limit }: { table: TableName; limit: number },
): Promise<number> {
  const columns = TABLE_KEYS[table].map((column) => sql.ref(column));
  const key = sql`(${sql.join(columns)})`;
  const { numAffectedRows = 0n } = await sql`
    delete from ${sql.table(table)}
    where tenant_id = ${tenantId}
      and ${key} in (select ${sql.join(columns)} from ${sql.table(table)} where tenant_id = ${tenantId} limit ${limit})
  `.execute(db);
  return Number(numAffectedRows);
}

/** Notes that nothing of a deleted tenant is left but its row and its audit events. */
export async function markTenantErased(db: Database, tenantId: string, now: Date): Promise<void> {
  await db.deleteFrom('record_bytes').where('tenant_id', '=', tenantId).execute();
  const erased = { erased_at: now.toISOString() };
  await db.updateTable('tenants').set(erased).where('id', '=', tenantId).execute();
}
