import {
  MAX_COUNTED_TRACES,
  type TenantLimitsInput,
  type TenantResource,
  type TenantUsage,
} from '@quartermaster/contracts/tenant-usage.ts';
import { findTenantLimits, setTenantLimit } from '@quartermaster/db/repositories/tenant-usage.ts';
import { countTracesBefore } from '@quartermaster/db/repositories/trace-retention.ts';
import { wholeTenant } from '@quartermaster/db/tenancy.ts';
import { afterTransaction } from '@quartermaster/db/transaction.ts';
import { requirePlatformAdministrator } from '../../auth/authorize.ts';
import { auditedWrite } from '../../platform/audit/audited-write.ts';
import type { CallerContext } from '../../auth/context.ts';
import { DAY_MS } from './record-retention.ts';
import { requireTenant, requireWholeTenant } from './service.ts';

/** The limits of a tenant and how much is used. @throws 404; 403 for a caller who reaches only a part of the tenant */
export async function readUsage(
  ctx: CallerContext,
  tenantId: string,
  spanRetentionDays: number | null,
): Promise<TenantUsage> {
  const { db, now, tenantLimits } = ctx.services;
  await requireWholeTenant(ctx, db, tenantId);
  const usage = await tenantLimits.usageOf(db, tenantId);
  if (spanRetentionDays === null) return usage;
  const before = new Date(now().getTime() - spanRetentionDays * DAY_MS).toISOString();
  const tracesToRemove = await countTracesBefore(db, wholeTenant(tenantId), before, MAX_COUNTED_TRACES);
  return { ...usage, tracesToRemove };
}

export async function changeLimits(
  ctx: CallerContext,
  tenantId: string,
  body: TenantLimitsInput,
): Promise<TenantUsage> {
  // First, so that a caller who does not reach the tenant gets 404, and does not learn that it exists.
  await requireTenant(ctx, ctx.services.db, tenantId);
  requirePlatformAdministrator(ctx);
  return auditedWrite(ctx, async (trx, record) => {
    const before = await findTenantLimits(trx, tenantId);
    const changed: string[] = [];
    for (const [name, limit] of Object.entries(body) as [TenantResource, number | null | undefined][]) {
      if (limit === undefined || limit === (before[name] ?? null)) continue;
      await setTenantLimit(trx, tenantId, name, limit);
      changed.push(`limits.${name}`);
    }
    if (changed.length > 0) {
      const place = { tenantId, subTenantId: null };
      const limits = { fields: changed, before: { limits: before }, after: { limits: body } };
      record({ place, target: { type: 'tenant', id: tenantId }, changed: limits });
      afterTransaction(trx, () => ctx.services.tenantLimits.forget(tenantId));
    }
    return ctx.services.tenantLimits.usageOf(trx, tenantId);
  });
}
