import * as contract from '@quartermaster/contracts/recommendations.ts';
import { listRecommendations } from '@quartermaster/db/repositories/recommendations.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import { answerPage } from '../pages.ts';
import { requireProvider } from '../providers/service.ts';
import { endpoint, router } from '../trpc.ts';
import { applyRecommendations } from './apply.ts';
import { dismissRecommendation } from './dismiss.ts';
import { undoRecommendation } from './undo.ts';

export const recommendationsRouter = router({
  list: endpoint(contract.listProviderRecommendations).query(async ({ ctx, input }) => {
    const provider = await requireProvider(ctx, input.path.provider_id);
    const scope = scopeOf(provider);
    const filter = { ...input.query, providerId: provider.id };
    return answerPage(ctx, input, scope, (page) => listRecommendations(ctx.services.db, scope, filter, page));
  }),

  applyToProvider: endpoint(contract.applyProviderRecommendations).mutation(({ ctx, input }) =>
    applyRecommendations(ctx, input.path.provider_id, input.body),
  ),

  dismiss: endpoint(contract.dismissRecommendation).mutation(({ ctx, input }) =>
    dismissRecommendation(ctx, input.path.recommendation_id, input.body.reason),
  ),

  undo: endpoint(contract.undoRecommendation).mutation(({ ctx, input }) =>
    undoRecommendation(ctx, input.path.recommendation_id),
  ),
});
