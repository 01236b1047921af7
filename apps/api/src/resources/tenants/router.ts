import * as usageContract from '@quartermaster/contracts/tenant-usage.ts';
import * as contract from '@quartermaster/contracts/tenants.ts';
import { listTenants } from '@quartermaster/db/repositories/tenants.ts';
import { answerPage } from '../../http/cursors.ts';
import { conditionalEndpoint, endpoint, router } from '../../http/trpc.ts';
import { deleteTenant } from './delete.ts';
import { changeTenant, createTenant, requireTenant } from './service.ts';
import { changeLimits, readUsage } from './usage.ts';

export const tenantsRouter = router({
  create: endpoint(contract.createTenant).mutation(({ ctx, input }) => createTenant(ctx, input.body)),

  list: endpoint(contract.listTenants).query(({ ctx, input }) =>
    answerPage(ctx, input, ctx.reach, (page) => listTenants(ctx.services.db, ctx.reach, page)),
  ),

  get: endpoint(contract.getTenant).query(({ ctx, input }) =>
    requireTenant(ctx, ctx.services.db, input.path.tenant_id),
  ),

  usage: endpoint(usageContract.getTenantUsage).query(({ ctx, input }) =>
    readUsage(ctx, input.path.tenant_id, input.query.span_retention_days ?? null),
  ),

  updateLimits: endpoint(usageContract.updateTenantLimits).mutation(({ ctx, input }) =>
    changeLimits(ctx, input.path.tenant_id, input.body),
  ),

  update: conditionalEndpoint(contract.updateTenant, (ctx, { path }) =>
    requireTenant(ctx, ctx.services.db, path.tenant_id),
  ).mutation(({ ctx, input }) => changeTenant(ctx, input.path.tenant_id, input.body)),

  delete: conditionalEndpoint(contract.deleteTenant, (ctx, { path }) =>
    requireTenant(ctx, ctx.services.db, path.tenant_id),
  ).mutation(({ ctx, input }) => deleteTenant(ctx, input.path.tenant_id)),
});
