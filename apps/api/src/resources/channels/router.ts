import * as contract from '@quartermaster/contracts/channels.ts';
import { scopeOfQuery } from '../../auth/places.ts';
import { answerPage } from '../../http/cursors.ts';
import { endpoint, router } from '../../http/trpc.ts';
import { listChannels } from './service.ts';

export const channelsRouter = router({
  list: endpoint(contract.listChannels).query(({ ctx, input }) => {
    const scope = scopeOfQuery(ctx, input.query);
    return answerPage(ctx, input, scope, (page) => listChannels(ctx, scope, input.query, page));
  }),
});
