import * as contract from '@quartermaster/contracts/memberships.ts';
import { listMemberships } from '@quartermaster/db/repositories/memberships.ts';
import { scopeOfQuery } from '../../auth/places.ts';
import { answerPage } from '../../http/cursors.ts';
import { requireTenant } from '../tenants/service.ts';
import { conditionalEndpoint, endpoint, router } from '../../http/trpc.ts';
import {
  acceptMembership,
  changeMembership,
  createMembership,
  removeMembership,
  requireCallersMembership,
  requireMembership,
  requireOwnOrMembership,
} from './service.ts';

export const membershipsRouter = router({
  create: endpoint(contract.createMembership).mutation(({ ctx, input }) =>
    createMembership(ctx, input.path.tenant_id, input.body),
  ),

  list: endpoint(contract.listMemberships).query(async ({ ctx, input: { path, query } }) => {
    const { db } = ctx.services;
    await requireTenant(ctx, db, path.tenant_id);
    const scope = scopeOfQuery(ctx, { tenant_id: path.tenant_id, sub_tenant_id: query.sub_tenant_id });
    return answerPage(ctx, { path, query }, scope, (page) => listMemberships(db, scope, query, page));
  }),

  update: conditionalEndpoint(contract.updateMembership, (ctx, { path, query }) =>
    requireMembership(ctx, ctx.services.db, path, query),
  ).mutation(({ ctx, input: { path, query, body } }) => changeMembership(ctx, path, query, body)),

  delete: conditionalEndpoint(contract.deleteMembership, (ctx, { path, query }) =>
    requireOwnOrMembership(ctx, ctx.services.db, path, query),
  ).mutation(({ ctx, input: { path, query } }) => removeMembership(ctx, path, query)),

  accept: conditionalEndpoint(contract.acceptMembership, (ctx, { path, query }) =>
    requireCallersMembership(ctx, ctx.services.db, path.tenant_id, query),
  ).mutation(({ ctx, input: { path, query } }) => acceptMembership(ctx, path.tenant_id, query)),
});
