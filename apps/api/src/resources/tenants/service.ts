import {
  type CreateTenantInput,
  DEFAULT_USAGE_RETENTION_DAYS,
  type Tenant,
  type UpdateTenantInput,
} from '@quartermaster/contracts/tenants.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { newId } from '@quartermaster/db/ids.ts';
import { findTenant, insertTenant, type TenantChange, updateTenant } from '@quartermaster/db/repositories/tenants.ts';
import { covers } from '@quartermaster/db/tenancy.ts';
import { requirePlatformAdministrator } from '../../auth/authorize.ts';
import { changedFields, auditedWrite } from '../../platform/audit/audited-write.ts';
import { ApiError, duplicateKeyAs, requireFound } from '../../platform/errors.ts';
import type { CallerContext } from '../../auth/context.ts';

export async function createTenant(ctx: CallerContext, body: CreateTenantInput): Promise<Tenant> {
  requirePlatformAdministrator(ctx);
  return auditedWrite(ctx, async (trx, record, now) => {
    const tenant = await makeTenant(trx, { ...body, founderId: null }, now);
    record({
      place: wholeOf(tenant.id),
      target: { type: 'tenant', id: tenant.id },
      changed: { fields: Object.keys(body), before: null, after: tenant },
    });
    return tenant;
  });
}

/** Inserts a tenant, with an id and defaults for what the input leaves out. @throws 409 for an id that is taken */
export async function makeTenant(
  trx: Database,
  input: CreateTenantInput & { founderId: string | null },
  now: Date,
): Promise<Tenant> {
  const id = input.id ?? newId('ten', now);
  const { displayName = null, founderId } = input;
  const { captureContent = false, spanRetentionDays = null } = input.settings ?? {};
  const { recordRetentionDays = null, auditReads = false } = input.settings ?? {};
  const usageRetentionDays = input.settings?.usageRetentionDays ?? DEFAULT_USAGE_RETENTION_DAYS;
  const settings = { captureContent, spanRetentionDays, recordRetentionDays, usageRetentionDays, auditReads };
  const values = { id, displayName, founderId, settings };
  return insertTenant(trx, values, now).catch(
    duplicateKeyAs('id_taken', `The id ${JSON.stringify(id)} is already in use.`),
  );
}

/** Settings apply to all sub-tenants, so a caller who reaches only a sub-tenant can read the tenant, but not change it. */
export async function changeTenant(ctx: CallerContext, id: string, body: UpdateTenantInput): Promise<Tenant> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const tenant = await requireWholeTenant(ctx, trx, id);
    const { displayName, settings } = changeOf(body);
    const changed = [
      ...changedFields(tenant, displayName === undefined ? {} : { displayName }),
      ...changedFields(tenant.settings, settings ?? {}).map((name) => `settings.${name}`),
    ];
    if (changed.length === 0) return tenant;
    const updated = requireFound(
      await updateTenant(trx, ctx.reach, id, { ...body, settings } as TenantChange, now),
      'tenant_not_found',
    );
    record({
      place: wholeOf(id),
      target: { type: 'tenant', id },
      changed: { fields: changed, before: tenant, after: updated },
    });
    return updated;
  });
}

/** Null resets a setting to its default. Only `usageRetentionDays` has a default other than null. */
function changeOf({ displayName, settings }: UpdateTenantInput): TenantChange {
  if (settings?.usageRetentionDays !== null) return { displayName, settings } as TenantChange;
  return { displayName, settings: { ...settings, usageRetentionDays: DEFAULT_USAGE_RETENTION_DAYS } } as TenantChange;
}

/** The tenant that a path names, if the caller reaches it or a part of it. @throws 404 */
export async function requireTenant(ctx: CallerContext, db: Database, id: string): Promise<Tenant> {
  return requireFound(await findTenant(db, ctx.reach, id), 'tenant_not_found');
}

/** The tenant that a path names. @throws 404; 403 for a caller who reaches only a part of the tenant */
export async function requireWholeTenant(ctx: CallerContext, db: Database, id: string): Promise<Tenant> {
  const tenant = await requireTenant(ctx, db, id);
  if (covers(ctx.reach, wholeOf(id))) return tenant;
  throw new ApiError('tenant_forbidden', 'You need the scope for the whole tenant, not only for a sub-tenant.');
}

function wholeOf(tenantId: string) {
  return { tenantId, subTenantId: null };
}
