import * as contract from '@quartermaster/contracts/runtime-observations.ts';
import { listObservations } from '@quartermaster/db/repositories/runtime-observations.ts';
import { narrowed } from '@quartermaster/db/tenancy.ts';
import { scopeOfQuery } from '../access/places.ts';
import { answerPage } from '../pages.ts';
import { requireProvider } from '../providers/service.ts';
import { type CallerContext, conditionalEndpoint, endpoint, router } from '../trpc.ts';
import { changeObservation, requireObservation, reviewObservation } from './service.ts';

export const runtimeObservationsRouter = router({
  listOfProvider: endpoint(contract.listProviderRuntimeObservations).query(async ({ ctx, input }) => {
    const { query } = input;
    const provider = await requireProvider(ctx, input.path.provider_id);
    const scope = narrowed(scopeOfQuery(ctx, query), { tenantId: provider.tenantId, subTenantId: null });
    const filter = { unknown: query.unknown, status: query.status, providerId: provider.id };
    return answerPage(ctx, input, scope, (page) => listObservations(ctx.services.db, scope, filter, page));
  }),

  list: endpoint(contract.listRuntimeObservations).query(({ ctx, input }) => {
    const { provider_id: providerId, ...filter } = input.query;
    const scope = scopeOfQuery(ctx, input.query);
    return answerPage(ctx, input, scope, (page) =>
      listObservations(ctx.services.db, scope, { ...filter, providerId }, page),
    );
  }),

  review: conditionalEndpoint(contract.reviewRuntimeObservation, current).mutation(({ ctx, input }) =>
    reviewObservation(ctx, input.path.observation_id, input.body),
  ),

  update: conditionalEndpoint(contract.updateRuntimeObservation, current).mutation(({ ctx, input }) =>
    changeObservation(ctx, input.path.observation_id, input.body),
  ),
});

function current(ctx: CallerContext, { path }: { path: { observation_id: string } }) {
  return requireObservation(ctx, ctx.services.db, path.observation_id);
}
