import * as contract from '@quartermaster/contracts/providers.ts';
import { scopeOfQuery } from '../../auth/places.ts';
import { answerPage } from '../../http/cursors.ts';
import { conditionalEndpoint, endpoint, router } from '../../http/trpc.ts';
import type { CallerContext } from '../../auth/context.ts';
import { changeProvider, createProvider, deleteProvider, listInOrder, requireProvider } from './service.ts';

export const providersRouter = router({
  create: endpoint(contract.createProvider).mutation(({ ctx, input }) => createProvider(ctx, input.body)),

  list: endpoint(contract.listProviders).query(({ ctx, input }) => {
    const scope = scopeOfQuery(ctx, input.query);
    return answerPage(ctx, input, scope, (page) => listInOrder(ctx, scope, input.query, page));
  }),

  get: endpoint(contract.getProvider).query(({ ctx, input }) =>
    requireProvider(ctx, ctx.services.db, input.path.provider_id),
  ),

  update: conditionalEndpoint(contract.updateProvider, current).mutation(({ ctx, input }) =>
    changeProvider(ctx, input.path.provider_id, input.body),
  ),

  delete: conditionalEndpoint(contract.deleteProvider, current).mutation(({ ctx, input }) =>
    deleteProvider(ctx, input.path.provider_id),
  ),
});

function current(ctx: CallerContext, { path }: { path: { provider_id: string } }) {
  return requireProvider(ctx, ctx.services.db, path.provider_id);
}
