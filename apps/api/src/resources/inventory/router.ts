import * as contract from '@quartermaster/contracts/inventory.ts';
import { listInventory, listInventoryItems } from '@quartermaster/db/repositories/inventory.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import { scopeOfQuery } from '../../auth/places.ts';
import { answerPage } from '../../http/cursors.ts';
import { requireProvider } from '../providers/service.ts';
import { conditionalEndpoint, endpoint, router } from '../../http/trpc.ts';
import type { CallerContext } from '../../auth/context.ts';
import { changeItem, createItem, removeItem, requireItem } from './service.ts';

export const inventoryRouter = router({
  list: endpoint(contract.listInventoryItems).query(({ ctx, input }) => {
    const scope = scopeOfQuery(ctx, input.query);
    return answerPage(ctx, input, scope, (page) => listInventoryItems(ctx.services.db, scope, input.query, page));
  }),

  get: endpoint(contract.getProviderInventory).query(async ({ ctx, input }) => {
    const provider = await requireProvider(ctx, ctx.services.db, input.path.provider_id);
    const scope = scopeOf(provider);
    const filter = { ...input.query, providerId: provider.id };
    const page = await answerPage(ctx, input, scope, (request) =>
      listInventory(ctx.services.db, scope, filter, request),
    );
    return { providerId: provider.id, syncedAt: provider.inventorySyncedAt, ...page };
  }),

  create: endpoint(contract.createInventoryItem).mutation(({ ctx, input }) =>
    createItem(ctx, input.path.provider_id, input.body),
  ),

  getItem: endpoint(contract.getInventoryItem).query(({ ctx, input }) => current(ctx, input)),

  update: conditionalEndpoint(contract.updateInventoryItem, current).mutation(({ ctx, input }) =>
    changeItem(ctx, input.path, input.body),
  ),

  delete: conditionalEndpoint(contract.deleteInventoryItem, current).mutation(({ ctx, input }) =>
    removeItem(ctx, input.path),
  ),
});

async function current(ctx: CallerContext, { path }: { path: { provider_id: string; item_id: string } }) {
  const { item } = await requireItem(ctx, ctx.services.db, path);
  return item;
}
