import type { Tenant } from '@quartermaster/contracts/tenants.ts';
import { holdsPlatformAdministrator, markTenantDeleted } from '@quartermaster/db/repositories/deleted-tenants.ts';
import { confineToTenant } from '@quartermaster/db/transaction.ts';
import { requirePlatformAdministrator } from '../../auth/authorize.ts';
import type { CallerContext } from '../../auth/context.ts';
import { auditedWrite, deletedFields } from '../../platform/audit/audited-write.ts';
import { BOOTSTRAP_PLACE } from '../../platform/bootstrap-place.ts';
import { ApiError } from '../../platform/errors.ts';
import { requireTenant } from './service.ts';

/**
 * Ends all access to a tenant. A background job erases what it stored.
 *
 * @returns the tenant as it was
 * @throws 404; 403 unless the caller is a platform administrator; 409 if an account of the tenant is one
 */
export async function deleteTenant(ctx: CallerContext, id: string): Promise<Tenant> {
  return auditedWrite(ctx, async (trx, record, now) => {
    confineToTenant(trx, id);
    // First, so that a caller who does not reach the tenant gets 404, and does not learn that it exists.
    const tenant = await requireTenant(ctx, trx, id);
    requirePlatformAdministrator(ctx);
    if (await holdsPlatformAdministrator(trx, id)) {
      throw new ApiError('tenant_in_use', 'An account of the tenant is a platform administrator. Delete it first.');
    }
    if (id === BOOTSTRAP_PLACE.tenantId) {
      throw new ApiError('tenant_in_use', 'A lost key of the platform is recovered in this tenant.');
    }
    await markTenantDeleted(trx, id, now);
    ctx.services.erasures.note(trx);
    const changed = deletedFields(tenant, ['settings']);
    record({ place: { tenantId: id, subTenantId: null }, target: { type: 'tenant', id }, changed });
    return tenant;
  });
}
