import type { TenantLimitsInput, TenantResource, TenantUsage } from '@quartermaster/contracts/tenant-usage.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { findTenantLimits, setTenantLimit } from '@quartermaster/db/repositories/tenant-usage.ts';
import { covers } from '@quartermaster/db/tenancy.ts';
import { whenEnded } from '@quartermaster/db/transaction.ts';
import { requirePlatformAdministrator } from '../access/authorise.ts';
import { write } from '../audit-events/write.ts';
import { ApiError } from '../errors.ts';
import type { CallerContext } from '../trpc.ts';
import { requireTenant } from './service.ts';

/** The limits of a tenant with their use. @throws 404; 403 for a caller who reaches only a part of the tenant */
export async function readUsage(ctx: CallerContext, tenantId: string): Promise<TenantUsage> {
  const { db } = ctx.services;
  await requireTenant(ctx, db, tenantId);
  if (!covers(ctx.reach, { tenantId, subTenantId: null })) {
    throw new ApiError('tenant_forbidden', 'This needs the scope for the whole tenant.');
  }
  return usageOf(ctx, db, tenantId);
}

export async function changeLimits(
  ctx: CallerContext,
  tenantId: string,
  body: TenantLimitsInput,
): Promise<TenantUsage> {
  // Who does not see the tenant learns nothing of it from the refusal.
  await requireTenant(ctx, ctx.services.db, tenantId);
  requirePlatformAdministrator(ctx);
  return write(ctx, async (trx, record) => {
    const before = await findTenantLimits(trx, tenantId);
    const changed: string[] = [];
    for (const [name, limit] of Object.entries(body) as [TenantResource, number | null | undefined][]) {
      if (limit === undefined || limit === (before[name] ?? null)) continue;
      await setTenantLimit(trx, tenantId, name, limit);
      changed.push(`limits.${name}`);
    }
    if (changed.length > 0) {
      const place = { tenantId, subTenantId: null };
      record({ place, target: { type: 'tenant', id: tenantId }, changed });
      whenEnded(trx, () => ctx.services.tenantLimits.forget(tenantId));
    }
    return usageOf(ctx, trx, tenantId);
  });
}

function usageOf(ctx: CallerContext, db: Database, tenantId: string): Promise<TenantUsage> {
  const { tenantLimits, requestsOfTenant } = ctx.services;
  return tenantLimits.usageOf(db, tenantId, requestsOfTenant(tenantId));
}
