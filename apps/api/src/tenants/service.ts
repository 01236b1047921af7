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
import { requirePlatformAdministrator } from '../access/authorise.ts';
import { changedFields, write } from '../audit-events/write.ts';
import { ApiError, whenTaken } from '../errors.ts';
import type { CallerContext } from '../trpc.ts';

export async function createTenant(ctx: CallerContext, body: CreateTenantInput): Promise<Tenant> {
  requirePlatformAdministrator(ctx);
  return write(ctx, async (trx, record, now) => {
    const tenant = await makeTenant(trx, { ...body, founderId: null }, now);
    record({ place: wholeOf(tenant.id), target: { type: 'tenant', id: tenant.id }, changed: Object.keys(body) });
    return tenant;
  });
}

/** Inserts a tenant with what its maker said, and an id and defaults for the rest. @throws 409 for an id that is taken */
export async function makeTenant(
  trx: Database,
  said: CreateTenantInput & { founderId: string | null },
  now: Date,
): Promise<Tenant> {
  const id = said.id ?? newId('ten', now);
  const { displayName = null, founderId } = said;
  const { captureContent = false, spanRetentionDays = null } = said.settings ?? {};
  const { recordRetentionDays = null, auditReads = false } = said.settings ?? {};
  const usageRetentionDays = said.settings?.usageRetentionDays ?? DEFAULT_USAGE_RETENTION_DAYS;
  const settings = { captureContent, spanRetentionDays, recordRetentionDays, usageRetentionDays, auditReads };
  const values = { id, displayName, founderId, settings };
  return insertTenant(trx, values, now).catch(whenTaken('id_taken', `The id ${JSON.stringify(id)} is taken.`));
}

/** Settings count for all sub-tenants: who is bound to one of them sees the tenant, and cannot change it. */
export async function changeTenant(ctx: CallerContext, id: string, body: UpdateTenantInput): Promise<Tenant> {
  return write(ctx, async (trx, record, now) => {
    const tenant = await requireTenant(ctx, trx, id);
    if (!covers(ctx.reach, wholeOf(id))) {
      throw new ApiError('tenant_forbidden', 'This needs the scope for the whole tenant.');
    }
    const { displayName, settings } = changeOf(body);
    const changed = [
      ...changedFields(tenant, displayName === undefined ? {} : { displayName }),
      ...changedFields(tenant.settings, settings ?? {}).map((name) => `settings.${name}`),
    ];
    if (changed.length === 0) return tenant;
    const updated = await updateTenant(trx, ctx.reach, id, { ...body, settings } as TenantChange, now);
    if (!updated) throw notFound();
    record({ place: wholeOf(id), target: { type: 'tenant', id }, changed });
    return updated;
  });
}

/** What null clears that has a default is set to it. */
function changeOf({ displayName, settings }: UpdateTenantInput): TenantChange {
  if (settings?.usageRetentionDays !== null) return { displayName, settings } as TenantChange;
  return { displayName, settings: { ...settings, usageRetentionDays: DEFAULT_USAGE_RETENTION_DAYS } } as TenantChange;
}

/** The tenant that a path names: one of which something is in the caller's reach. @throws 404 */
export async function requireTenant(ctx: CallerContext, db: Database, id: string): Promise<Tenant> {
  const tenant = await findTenant(db, ctx.reach, id);
  if (!tenant) throw notFound();
  return tenant;
}

function notFound(): ApiError {
  return new ApiError('tenant_not_found', 'No tenant of this id in your reach.');
}

function wholeOf(tenantId: string) {
  return { tenantId, subTenantId: null };
}
