import * as contract from '@quartermaster/contracts/gateways.ts';
import * as denials from '@quartermaster/contracts/denials.ts';
import { listDenials } from '@quartermaster/db/repositories/decision-counts.ts';
import { listGateways } from '@quartermaster/db/repositories/gateways.ts';
import { scopeOfQuery } from '../../auth/places.ts';
import { answerPage } from '../../http/cursors.ts';
import { conditionalEndpoint, endpoint, router } from '../../http/trpc.ts';
import type { CallerContext } from '../../auth/context.ts';
import { DAY_MS } from '../../telemetry/periods.ts';
import { changeGateway, createGateway, deleteGateway, requireGateway } from './service.ts';

export const gatewaysRouter = router({
  create: endpoint(contract.createGateway).mutation(({ ctx, input }) => createGateway(ctx, input.body)),

  list: endpoint(contract.listGateways).query(({ ctx, input }) => {
    const scope = scopeOfQuery(ctx, input.query);
    return answerPage(ctx, input, scope, (page) => listGateways(ctx.services.db, scope, input.query, page));
  }),

  get: endpoint(contract.getGateway).query(({ ctx, input }) =>
    requireGateway(ctx, ctx.services.db, input.path.gateway_id),
  ),

  listDenials: endpoint(denials.listGatewayDenials).query(async ({ ctx, input }) => {
    const { db, now } = ctx.services;
    const { id: gatewayId } = await requireGateway(ctx, db, input.path.gateway_id);
    const since = new Date(now().getTime() - input.query.days * DAY_MS).toISOString();
    return answerPage(ctx, input, ctx.reach, (page) => listDenials(db, ctx.reach, { gatewayId, since }, page));
  }),

  update: conditionalEndpoint(contract.updateGateway, current).mutation(({ ctx, input }) =>
    changeGateway(ctx, input.path.gateway_id, input.body),
  ),

  delete: conditionalEndpoint(contract.deleteGateway, current).mutation(({ ctx, input }) =>
    deleteGateway(ctx, input.path.gateway_id),
  ),
});

function current(ctx: CallerContext, { path }: { path: { gateway_id: string } }) {
  return requireGateway(ctx, ctx.services.db, path.gateway_id);
}
