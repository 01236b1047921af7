import type { Tenant, TenantSettings } from '@quartermaster/contracts/tenants.ts';
import { type Selectable, sql } from 'kysely';
import type { Database } from '../database.ts';
import { before, flag, type Page, type PageRequest, pageOf, timeKey, timesOf } from '../queries.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';

/** Sub-tenants shown with a tenant. */
const SUB_TENANTS_SHOWN = 1000;

/** What is missing of a place: nothing (null), its tenant, or its sub-tenant. */
export async function placeExists(db: Database, place: TenantPlace): Promise<'tenant' | 'sub_tenant' | null> {
  const tenant = await db.selectFrom('tenants').select('id').where('id', '=', place.tenantId).executeTakeFirst();
  if (!tenant) return 'tenant';
  if (place.subTenantId === null) return null;
  const subTenant = await db
    .selectFrom('sub_tenants')
    .select('id')
    .where('tenant_id', '=', place.tenantId)
    .where('id', '=', place.subTenantId)
    .executeTakeFirst();
  return subTenant ? null : 'sub_tenant';
}

/** Makes the tenant and sub-tenant of a place where they are missing. Answers what was made. */
export async function ensurePlace(db: Database, place: TenantPlace, now: Date): Promise<('tenant' | 'sub_tenant')[]> {
  const made: ('tenant' | 'sub_tenant')[] = [];
  const tenant = await db
    .insertInto('tenants')
    .values({
      id: place.tenantId,
      display_name: null,
      capture_content: 0,
      span_retention_days: null,
      created_at: now.toISOString(),
      updated_at: now.toISOString(),
    })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .executeTakeFirst();
  if (tenant.numInsertedOrUpdatedRows === 1n) made.push('tenant');
  if (place.subTenantId === null) return made;
  const subTenant = await db
    .insertInto('sub_tenants')
    .values({ tenant_id: place.tenantId, id: place.subTenantId, created_at: now.toISOString() })
    .onConflict((conflict) => conflict.columns(['tenant_id', 'id']).doNothing())
    .executeTakeFirst();
  if (subTenant.numInsertedOrUpdatedRows === 1n) made.push('sub_tenant');
  return made;
}

/** A tenant's settings. @throws where the tenant does not exist */
export async function findTenantSettings(db: Database, tenantId: string): Promise<TenantSettings> {
  const row = await db
    .selectFrom('tenants')
    .select(['capture_content', 'span_retention_days'])
    .where('id', '=', tenantId)
    .executeTakeFirstOrThrow();
  return { captureContent: row.capture_content === 1, spanRetentionDays: row.span_retention_days };
}
