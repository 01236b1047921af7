import type { CreateTenantInput, Tenant, UpdateTenantInput } from '@quartermaster/contracts/tenants.ts';
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
    const id = body.id ?? newId('ten', now);
    const { captureContent = false, spanRetentionDays = null } = body.settings ?? {};
    const values = { id, displayName: body.displayName ?? null, settings: { captureContent, spanRetentionDays } };
    const tenant = await insertTenant(trx, values, now).catch(
      whenTaken('id_taken', `The id ${JSON.stringify(id)} is taken.`),
    );
    record({ place: wholeOf(id), target: { type: 'tenant', id }, changed: Object.keys(body) });
    return tenant;
  });
}

/** Settings count for all sub-tenants: who is bound to one of them sees the tenant, and cannot change it. */
export async function changeTenant(ctx: CallerContext, id: string, body: UpdateTenantInput): Promise<Tenant> {
  return write(ctx, async (trx, record, now) => {
    const tenant = await requireTenant(ctx, trx, id);
    if (!covers(ctx.reach, wholeOf(id))) {
      throw new ApiError('tenant_forbidden', 'This needs the scope for the whole tenant.');
    }
    const { displayName, settings } = body as TenantChange;
    const changed = [
      ...changedFields(tenant, displayName === undefined ? {} : { displayName }),
      ...changedFields(tenant.settings, settings ?? {}).map((name) => `settings.${name}`),
    ];
    if (changed.length === 0) return tenant;
    const updated = await updateTenant(trx, ctx.reach, id, body as TenantChange, now);
    if (!updated) throw notFound();
    record({ place: wholeOf(id), target: { type: 'tenant', id }, changed });
    return updated;
  });
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
