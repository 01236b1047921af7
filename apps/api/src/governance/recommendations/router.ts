import * as bulk from '@quartermaster/contracts/bulk-decisions.ts';
import * as contract from '@quartermaster/contracts/recommendations.ts';
import { findProvider } from '@quartermaster/db/repositories/providers.ts';
import { listRecommendations, listRecommendationsOfAll } from '@quartermaster/db/repositories/recommendations.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import { scopeOfQuery, scopeOfSearch } from '../../auth/places.ts';
import { answerPage } from '../../http/cursors.ts';
import { requireFound } from '../../platform/errors.ts';
import { conditionalEndpoint, endpoint, router } from '../../http/trpc.ts';
import type { CallerContext } from '../../auth/context.ts';
import { applyRecommendations, planRecommendations } from './apply.ts';
import { dismissRecommendation, requireRecommendation } from './dismiss.ts';
import { dismissMany } from './dismiss-many.ts';
import { undoRecommendation, undoRecommendations } from './undo.ts';

export const recommendationsRouter = router({
  list: endpoint(contract.listProviderRecommendations).query(async ({ ctx, input }) => {
    const provider = requireFound(
      await findProvider(ctx.services.db, ctx.reach, input.path.provider_id),
      'provider_not_found',
    );
    const scope = scopeOf(provider);
    const filter = { ...input.query, providerId: provider.id };
    return answerPage(ctx, input, scope, (page) => listRecommendations(ctx.services.db, scope, filter, page));
  }),

  listOfAll: endpoint(contract.listRecommendations).query(({ ctx, input }) => {
    const { status, kind, provider_id: providerId, observation_id: observationId } = input.query;
    const scope = scopeOfQuery(ctx, input.query);
    const selection = { status, kind, providerId, observationId, needsReview: input.query.needs_review };
    return answerPage(ctx, input, scope, (page) => listRecommendationsOfAll(ctx.services.db, scope, selection, page));
  }),

  get: endpoint(contract.getRecommendation).query(({ ctx, input }) =>
    requireRecommendation(ctx, ctx.services.db, input.path.recommendation_id),
  ),

  applyToProvider: conditionalEndpoint(contract.applyProviderRecommendations, async (ctx, { path }) =>
    requireFound(await findProvider(ctx.services.db, ctx.reach, path.provider_id), 'provider_not_found'),
  ).mutation(({ ctx, input }) => applyRecommendations(ctx, input.path.provider_id, input.body)),

  planForProvider: endpoint(contract.planProviderRecommendations).mutation(({ ctx, input }) =>
    planRecommendations(ctx, input.path.provider_id, input.body),
  ),

  dismiss: conditionalEndpoint(contract.dismissRecommendation, current).mutation(({ ctx, input }) =>
    dismissRecommendation(ctx, input.path.recommendation_id, input.body.reason),
  ),

  dismissMany: endpoint(bulk.dismissRecommendations).mutation(({ ctx, input }) =>
    dismissMany(ctx, scopeOfSearch(ctx, input.body), input.body),
  ),

  undo: conditionalEndpoint(contract.undoRecommendation, current).mutation(({ ctx, input }) =>
    undoRecommendation(ctx, input.path.recommendation_id),
  ),

  undoAll: endpoint(contract.undoRecommendations).mutation(({ ctx, input }) =>
    undoRecommendations(ctx, input.path.apply_id),
  ),
});

function current(ctx: CallerContext, { path }: { path: { recommendation_id: string } }) {
  return requireRecommendation(ctx, ctx.services.db, path.recommendation_id);
}
