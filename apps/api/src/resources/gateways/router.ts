import * as contract from '@quartermaster/contracts/gateways.ts';
import { listGateways } from '@quartermaster/db/repositories/gateways.ts';
import { scopeOfQuery } from '../../auth/places.ts';
import { answerPage } from '../../http/cursors.ts';
import { conditionalEndpoint, endpoint, router } from '../../http/trpc.ts';
import type { CallerContext } from '../../auth/context.ts';
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
