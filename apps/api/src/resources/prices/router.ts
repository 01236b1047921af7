import * as contract from '@quartermaster/contracts/prices.ts';
import { listPrices, PLATFORM_PRICES } from '@quartermaster/db/repositories/prices.ts';
import { scopeOfQuery } from '../../auth/places.ts';
import { answerPage } from '../../http/cursors.ts';
import { endpoint, router } from '../../http/trpc.ts';
import { deletePrice, setPrice } from './service.ts';

export const pricesRouter = router({
  list: endpoint(contract.listPrices).query(({ ctx, input }) => {
    const scope = [...scopeOfQuery(ctx, input.query), ...PLATFORM_PRICES];
    return answerPage(ctx, input, scope, (page) => listPrices(ctx.services.db, scope, page));
  }),

  set: endpoint(contract.setPrice).mutation(({ ctx, input }) => setPrice(ctx, input.body)),

  delete: endpoint(contract.deletePrice).mutation(({ ctx, input }) => deletePrice(ctx, input.path.price_id)),
});
