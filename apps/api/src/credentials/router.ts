import * as contract from '@quartermaster/contracts/credentials.ts';
import { searchCredentials } from '@quartermaster/db/repositories/credentials.ts';
import { scopeOfSearch } from '../access/places.ts';
import { noteReads } from '../audit-events/reads.ts';
import { answerPage } from '../pages.ts';
import { endpoint, router } from '../trpc.ts';

export const credentialsRouter = router({
  search: endpoint(contract.searchCredentials).mutation(({ ctx, input }) => {
    const { db, now } = ctx.services;
    const scope = scopeOfSearch(ctx, input.body);
    return answerPage(ctx, input, scope, async (page) => {
      const credentials = await searchCredentials(db, scope, input.body, page, now());
      await noteReads(ctx, credentials.items, null);
      return credentials;
    });
  }),
});
