import * as contract from '@quartermaster/contracts/credentials.ts';
import { scopeOfSearch } from '../../auth/places.ts';
import { answerPage } from '../../http/cursors.ts';
import { endpoint, router } from '../../http/trpc.ts';
import { listCredentials } from './service.ts';

export const credentialsRouter = router({
  search: endpoint(contract.searchCredentials).mutation(({ ctx, input }) => {
    const scope = scopeOfSearch(ctx, input.body);
    return answerPage(ctx, input, scope, (page) => listCredentials(ctx, scope, input.body, page));
  }),
});
