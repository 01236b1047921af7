import * as contract from '@quartermaster/contracts/coverage.ts';
import { scopeOfQuery } from '../../auth/places.ts';
import { paged } from '../../http/cursors.ts';
import { endpoint, router } from '../../http/trpc.ts';
import { readCoverage } from './service.ts';

export const coverageRouter = router({
  list: endpoint(contract.listCoverage).query(async ({ ctx, input }) => {
    const scope = scopeOfQuery(ctx, input.query);
    const { after, cursorAt } = paged(ctx, input, scope);
    const { items, next, range } = await readCoverage(ctx, scope, input.query, { limit: input.query.limit, after });
    return { items, nextCursor: next && cursorAt(next), ...range };
  }),
});
