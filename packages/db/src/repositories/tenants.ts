import type { Tenant, TenantSettings } from '@quartermaster/contracts/tenants.ts';
import { type Expression, type Selectable, type SqlBool, sql } from 'kysely';
import { inBatches } from '../batches.ts';
import type { Database } from '../database.ts';
import { inScope, newestFirst, type Page, pageOf, type PageRequest, timeKey, timesOf, toFlag } from '../queries.ts';
import { preparedStatement } from '../prepared-statement.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';

/** The most sub-tenants that are shown with a tenant. */
const MAX_SUB_TENANTS_SHOWN = 1000;

/** Tenants that one statement names: a database limits the parameters of a statement. */
const NAMES_PER_STATEMENT = 500;

/** `founderId`: the user who creates the tenant by self-service; null for other tenants. */
export type NewTenant = Pick<Tenant, 'id' | 'displayName' | 'settings'> & { founderId: string | null };
export type TenantChange = { displayName?: string | null; settings?: Partial<TenantSettings> };

type Row = Selectable<Tables['tenants']>;

/** A tenant that the scope covers, at least in part, with its sub-tenants in the scope. */
export async function findTenant(db: Database, scope: TenantScope, id: string): Promise<Tenant | undefined> {
  const row = await db
    .selectFrom('tenants')
    .selectAll()
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .where(overlapsScope(scope))
    .executeTakeFirst();
  if (!row) return undefined;
  const [tenant] = await withSubTenants(db, scope, [row]);
  return tenant;
}

/** The display names of the tenants that a scope names; a scope of everywhere names none. */
export async function findTenantNames(db: Database, scope: TenantScope): Promise<Map<string, string | null>> {
  const ids = [...new Set(scope.flatMap(({ tenantId }) => tenantId ?? []))];
  const names = new Map<string, string | null>();
  for await (const some of inBatches(ids, NAMES_PER_STATEMENT)) {
    const rows = await db.selectFrom('tenants').select(['id', 'display_name']).where('id', 'in', some).execute();
    for (const row of rows) names.set(row.id, row.display_name);
  }
  return names;
}

/** Newest first. */
export async function listTenants(db: Database, scope: TenantScope, page: PageRequest): Promise<Page<Tenant>> {
  const rows = await db
    .selectFrom('tenants')
    .selectAll()
    .where('deleted_at', 'is', null)
    .where(overlapsScope(scope))
    .$call(newestFirst(page))
    .execute();
  const { items, next } = pageOf(rows, page.limit, (row) => row, timeKey);
  return { items: await withSubTenants(db, scope, items), next };
}

/** @throws DuplicateKeyError if the id is taken, or the founder has already created a tenant */
export async function insertTenant(db: Database, tenant: NewTenant, now: Date): Promise<Tenant> {
  const { id, displayName, settings, founderId } = tenant;
  const row = await db
    .insertInto('tenants')
    .values({
      id,
      display_name: displayName,
      capture_content: toFlag(settings.captureContent),
      span_retention_days: settings.spanRetentionDays,
      audit_reads: toFlag(settings.auditReads),
      record_retention_days: settings.recordRetentionDays,
      usage_retention_days: settings.usageRetentionDays,
      founder_id: founderId,
      created_at: now.toISOString(),
      updated_at: now.toISOString(),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return toTenant(row, []);
}

/** Updates a tenant that the scope covers, at least in part. */
export async function updateTenant(
  db: Database,
  scope: TenantScope,
  id: string,
  change: TenantChange,
  now: Date,
): Promise<Tenant | undefined> {
  const { displayName, settings = {} } = change;
  const { captureContent, spanRetentionDays, recordRetentionDays, usageRetentionDays, auditReads } = settings;
  const row = await db
    .updateTable('tenants')
    .set({
      ...(displayName !== undefined && { display_name: displayName }),
      ...(captureContent !== undefined && { capture_content: toFlag(captureContent) }),
      ...(spanRetentionDays !== undefined && { span_retention_days: spanRetentionDays }),
      ...(auditReads !== undefined && { audit_reads: toFlag(auditReads) }),
      ...(recordRetentionDays !== undefined && { record_retention_days: recordRetentionDays }),
      ...(usageRetentionDays !== undefined && { usage_retention_days: usageRetentionDays }),
      updated_at: now.toISOString(),
    })
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .where(overlapsScope(scope))
    .returningAll()
    .executeTakeFirst();
  if (!row) return undefined;
  const [tenant] = await withSubTenants(db, scope, [row]);
  return tenant;
}

/** What of a place does not exist: its tenant, its sub-tenant, or nothing (null). A deleted tenant does not exist. */
export async function findMissingPlace(db: Database, place: TenantPlace): Promise<'tenant' | 'sub_tenant' | null> {
  const tenant = await db
    .selectFrom('tenants')
    .select('id')
    .where('id', '=', place.tenantId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
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

const newTenantRow = preparedStatement((db, { tenantId, time }: { tenantId: string; time: string }) =>
  db
    .insertInto('tenants')
    .values({
      id: tenantId,
      display_name: null,
      capture_content: 0,
      span_retention_days: null,
      created_at: time,
      updated_at: time,
    })
    // If the tenant exists, its row is returned only if it is deleted.
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet({ id: tenantId }).where('tenants.deleted_at', 'is not', null),
    )
    .returning('deleted_at'),
);

/**
 * Creates the tenant and sub-tenant of a place if they are missing.
 *
 * @returns what was created; null if the tenant was deleted: its id is never used again
 */
export async function ensurePlace(
  db: Database,
  place: TenantPlace,
  now: Date,
): Promise<('tenant' | 'sub_tenant')[] | null> {
  const created: ('tenant' | 'sub_tenant')[] = [];
  const [tenant] = await newTenantRow(db, { tenantId: place.tenantId, time: now.toISOString() });
  if (tenant && tenant.deleted_at !== null) return null;
  if (tenant) created.push('tenant');
  if (place.subTenantId === null) return created;
  const subTenant = await db
    .insertInto('sub_tenants')
    .values({ tenant_id: place.tenantId, id: place.subTenantId, created_at: now.toISOString() })
    .onConflict((conflict) => conflict.columns(['tenant_id', 'id']).doNothing())
    .executeTakeFirst();
  if (subTenant.numInsertedOrUpdatedRows === 1n) created.push('sub_tenant');
  return created;
}

const SETTINGS = [
  'capture_content',
  'span_retention_days',
  'record_retention_days',
  'usage_retention_days',
  'audit_reads',
] as const;

/** A tenant's settings. @throws if the tenant does not exist */
export async function findTenantSettings(db: Database, tenantId: string): Promise<TenantSettings> {
  const row = await db.selectFrom('tenants').select(SETTINGS).where('id', '=', tenantId).executeTakeFirstOrThrow();
  return toSettings(row);
}

/** Which of some tenants audit reads of traces and of credentials' metadata. */
export async function listTenantsThatAuditReads(db: Database, tenantIds: readonly string[]): Promise<string[]> {
  const query = db.selectFrom('tenants').select('id').where('id', 'in', tenantIds).where('audit_reads', '=', 1);
  return (await query.execute()).map(({ id }) => id);
}

/** The condition on `tenants` that the scope covers the tenant or one of its sub-tenants. */
function overlapsScope(scope: TenantScope): Expression<SqlBool> {
  if (scope.length === 0) return sql<SqlBool>`1 = 0`;
  const tenantIds = scope.flatMap(({ tenantId }) => tenantId ?? []);
  const others = scope.filter(({ tenantId }) => tenantId === null);
  const places = others.map(({ subTenantId }) => {
    if (subTenantId === null) return sql`1 = 1`;
    return sql`tenants.id in (select tenant_id from sub_tenants where id = ${subTenantId})`;
  });
  // A list instead of one condition for each: SQLite limits the depth of an expression to 1,000.
  if (tenantIds.length > 0) places.push(sql`tenants.id in (${sql.join(tenantIds)})`);
  return sql<SqlBool>`(${sql.join(places, sql` or `)})`;
}

/** Whether a tenant has any sub-tenant. */
export async function hasSubTenants(db: Database, { tenantId }: { tenantId: string }): Promise<boolean> {
  const row = await db
    .selectFrom('sub_tenants')
    .select('id')
    .where('tenant_id', '=', tenantId)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Adds the sub-tenants in the scope to the tenants of a page, with one query. */
async function withSubTenants(db: Database, scope: TenantScope, rows: Row[]): Promise<Tenant[]> {
  if (rows.length === 0) return [];
  const ids = rows.map((row) => row.id);
  const places = db
    .selectFrom('sub_tenants')
    .select(['tenant_id', 'id as sub_tenant_id'])
    .where('tenant_id', 'in', ids)
    .as('places');
  const numbered = db
    .selectFrom(places)
    .select(['tenant_id', 'sub_tenant_id'])
    .select(sql<number>`row_number() over (partition by tenant_id order by sub_tenant_id)`.as('position'))
    .where(inScope(scope))
    .as('numbered');
  const found = await db
    .selectFrom(numbered)
    .select(['tenant_id', 'sub_tenant_id'])
    .where('position', '<=', MAX_SUB_TENANTS_SHOWN)
    .orderBy('tenant_id')
    .orderBy('sub_tenant_id')
    .execute();
  const byTenant = Map.groupBy(found, (subTenant) => subTenant.tenant_id);
  return rows.map((row) =>
    toTenant(
      row,
      (byTenant.get(row.id) ?? []).map((subTenant) => subTenant.sub_tenant_id),
    ),
  );
}

function toTenant(row: Row, subTenantIds: string[]): Tenant {
  return {
    id: row.id,
    displayName: row.display_name,
    settings: toSettings(row),
    selfService: row.founder_id !== null,
    subTenantIds,
    ...timesOf(row),
  };
}

function toSettings(row: Pick<Row, (typeof SETTINGS)[number]>): TenantSettings {
  return {
    captureContent: row.capture_content === 1,
    spanRetentionDays: row.span_retention_days,
    recordRetentionDays: row.record_retention_days,
    usageRetentionDays: row.usage_retention_days,
    auditReads: row.audit_reads === 1,
  };
}

/** The tenants with a retention time for ended records. */
export async function listRecordRetentions(db: Database): Promise<{ tenantId: string; days: number }[]> {
  const rows = await db
    .selectFrom('tenants')
    .select(['id', 'record_retention_days'])
    .where('record_retention_days', 'is not', null)
    .execute();
  return rows.flatMap(({ id, record_retention_days: days }) => (days === null ? [] : [{ tenantId: id, days }]));
}

/** The tenants with a retention time for spans. */
export async function listSpanRetentions(db: Database): Promise<{ tenantId: string; days: number }[]> {
  const rows = await db
    .selectFrom('tenants')
    .select(['id', 'span_retention_days'])
    .where('span_retention_days', 'is not', null)
    .execute();
  return rows.flatMap(({ id, span_retention_days: days }) => (days === null ? [] : [{ tenantId: id, days }]));
}

/** The number of days for which each tenant keeps usage. */
export async function listUsageRetentions(db: Database): Promise<{ tenantId: string; days: number }[]> {
  const rows = await db.selectFrom('tenants').select(['id', 'usage_retention_days']).execute();
  return rows.map(({ id, usage_retention_days: days }) => ({ tenantId: id, days }));
}
