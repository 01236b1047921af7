import * as contract from '@quartermaster/contracts/recommendations.ts';
import { listRecommendations } from '@quartermaster/db/repositories/recommendations.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import { answerPage } from '../pages.ts';
import { requireProvider } from '../providers/service.ts';
import { type CallerContext, conditionalEndpoint, endpoint, router } from '../trpc.ts';
import { applyRecommendations } from './apply.ts';
import { dismissRecommendation, requireRecommendation } from './dismiss.ts';
import { undoRecommendation } from './undo.ts';

export const recommendationsRouter = router({
  list: endpoint(contract.listProviderRecommendations).query(async ({ ctx, input }) => {
    const provider = await requireProvider(ctx, input.path.provider_id);
    const scope = scopeOf(provider);
    const filter = { ...input.query, providerId: provider.id };
    return answerPage(ctx, input, scope, (page) => listRecommendations(ctx.services.db, scope, filter, page));
  }),

  applyToProvider: conditionalEndpoint(contract.applyProviderRecommendations, (ctx, { path }) =>
    requireProvider(ctx, path.provider_id),
  ).mutation(({ ctx, input }) => applyRecommendations(ctx, input.path.provider_id, input.body)),

  dismiss: conditionalEndpoint(contract.dismissRecommendation, current).mutation(({ ctx, input }) =>
    dismissRecommendation(ctx, input.path.recommendation_id, input.body.reason),
  ),

  undo: conditionalEndpoint(contract.undoRecommendation, current).mutation(({ ctx, input }) =>
    undoRecommendation(ctx, input.path.recommendation_id),
  ),
});

function current(ctx: CallerContext, { path }: { path: { recommendation_id: string } }) {
  return requireRecommendation(ctx, ctx.services.db, path.recommendation_id);
}
