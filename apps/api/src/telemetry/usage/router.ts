import * as contract from '@quartermaster/contracts/usage.ts';
import { scopeOfQuery } from '../../auth/places.ts';
import { paged } from '../../http/cursors.ts';
import { endpoint, router } from '../../http/trpc.ts';
import { usagePage } from './read-usage.ts';

export const usageRouter = router({
  list: endpoint(contract.listUsage).query(async ({ ctx, input }) => {
    const { query } = input;
    const scope = scopeOfQuery(ctx, query);
    const { interval, group_by: groupBy, from, to, sort } = query;
    const { provider_id: providerId, kind, name, agent, account } = query;
    const filter = { providerId, kind, name, agent, account };
    const { services, charge } = ctx;
    const { after, cursorAt } = paged(ctx, input, scope);
    const { items, next, range } = await usagePage(
      services.db,
      scope,
      { interval, groupBy, from, to, filter, sort },
      { limit: query.limit, after, charge },
      services.now(),
    );
    return { items, nextCursor: next && cursorAt(next), ...range };
  }),
});
