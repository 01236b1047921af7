import * as contract from '@quartermaster/contracts/credentials.ts';
import { searchCredentials } from '@quartermaster/db/repositories/credentials.ts';
import { scopeOfSearch } from '../../auth/places.ts';
import { noteReads } from '../../platform/audit/reads.ts';
import { answerPage } from '../../http/cursors.ts';
import { endpoint, router } from '../../http/trpc.ts';

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
