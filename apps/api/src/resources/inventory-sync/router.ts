import * as contract from '@quartermaster/contracts/inventory-syncs.ts';
import { endpoint, router } from '../../http/trpc.ts';
import { syncInventory } from './service.ts';

export const inventorySyncsRouter = router({
  run: endpoint(contract.syncProviderInventory).mutation(({ ctx, input }) =>
    syncInventory(ctx, input.path.provider_id),
  ),
});
