import * as contract from '@quartermaster/contracts/providers.ts';
import { listProviders } from '@quartermaster/db/repositories/providers.ts';
import { scopeOfQuery } from '../access/places.ts';
import { answerPage } from '../pages.ts';
import { endpoint, router } from '../trpc.ts';
import { changeProvider, createProvider, deleteProvider, requireProvider } from './service.ts';

export const providersRouter = router({
  create: endpoint(contract.createProvider).mutation(({ ctx, input }) => createProvider(ctx, input.body)),

  list: endpoint(contract.listProviders).query(({ ctx, input }) => {
    const scope = scopeOfQuery(ctx, input.query);
    return answerPage(ctx, input, scope, (page) => listProviders(ctx.services.db, scope, input.query, page));
  }),

  get: endpoint(contract.getProvider).query(({ ctx, input }) => requireProvider(ctx, input.path.provider_id)),

  update: endpoint(contract.updateProvider).mutation(({ ctx, input }) =>
    changeProvider(ctx, input.path.provider_id, input.body),
  ),

  delete: endpoint(contract.deleteProvider).mutation(({ ctx, input }) => deleteProvider(ctx, input.path.provider_id)),
});
