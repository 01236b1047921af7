import * as bulk from '@quartermaster/contracts/bulk-decisions.ts';
import * as contract from '@quartermaster/contracts/runtime-observations.ts';
import * as denials from '@quartermaster/contracts/denials.ts';
import { listDenials } from '@quartermaster/db/repositories/decision-counts.ts';
import { findProvider } from '@quartermaster/db/repositories/providers.ts';
import { listObservations } from '@quartermaster/db/repositories/runtime-observations.ts';
import { narrowScope, scopeOf } from '@quartermaster/db/tenancy.ts';
import { scopeOfQuery, scopeOfSearch } from '../../auth/places.ts';
import { answerPage } from '../../http/cursors.ts';
import { requireFound } from '../../platform/errors.ts';
import { conditionalEndpoint, endpoint, router } from '../../http/trpc.ts';
import type { CallerContext } from '../../auth/context.ts';
import { countInbox, groupInbox, listInbox } from './inbox.ts';
import { reviewObservations } from './review-many.ts';
import { changeObservation, requireObservation, reviewObservation } from './service.ts';

export const runtimeObservationsRouter = router({
  listOfProvider: endpoint(contract.listProviderRuntimeObservations).query(async ({ ctx, input }) => {
    const { query } = input;
    const provider = requireFound(
      await findProvider(ctx.services.db, ctx.reach, input.path.provider_id),
      'provider_not_found',
    );
    const scope = narrowScope(scopeOfQuery(ctx, query), { tenantId: provider.tenantId, subTenantId: null });
    const filter = { unknown: query.unknown, status: query.status, providerId: provider.id };
    return answerPage(ctx, input, scope, (page) => listObservations(ctx.services.db, scope, filter, page));
  }),

  list: endpoint(contract.listRuntimeObservations).query(({ ctx, input }) => {
    const scope = scopeOfQuery(ctx, input.query);
    return answerPage(ctx, input, scope, (page) => listInbox(ctx, scope, input.query, page));
  }),

  count: endpoint(contract.countRuntimeObservations).query(({ ctx, input }) =>
    countInbox(ctx, scopeOfQuery(ctx, input.query), input.query),
  ),

  group: endpoint(contract.groupRuntimeObservations).query(({ ctx, input }) =>
    groupInbox(ctx, scopeOfQuery(ctx, input.query), input.query),
  ),

  get: endpoint(contract.getRuntimeObservation).query(({ ctx, input }) =>
    requireObservation(ctx, ctx.services.db, input.path.observation_id),
  ),

  listDenials: endpoint(denials.listObservationDenials).query(async ({ ctx, input }) => {
    const observation = await requireObservation(ctx, ctx.services.db, input.path.observation_id);
    const filter = { observationId: observation.id };
    return answerPage(ctx, input, ctx.reach, (page) =>
      listDenials(ctx.services.db, scopeOf(observation), filter, page),
    );
  }),

  review: conditionalEndpoint(contract.reviewRuntimeObservation, current).mutation(({ ctx, input }) =>
    reviewObservation(ctx, input.path.observation_id, input.body),
  ),

  reviewMany: endpoint(bulk.reviewRuntimeObservations).mutation(({ ctx, input }) =>
    reviewObservations(ctx, scopeOfSearch(ctx, input.body), input.body),
  ),

  update: conditionalEndpoint(contract.updateRuntimeObservation, current).mutation(({ ctx, input }) =>
    changeObservation(ctx, input.path.observation_id, input.body),
  ),
});

function current(ctx: CallerContext, { path }: { path: { observation_id: string } }) {
  return requireObservation(ctx, ctx.services.db, path.observation_id);
}
