import { getProviderInventory, type InventoryItem, listProviders, type Provider } from '@quartermaster/client';
import type { Client } from '@quartermaster/client/client/index.ts';
import { readAllPages } from './calls.ts';

/** The providers of a tenant, without the deleted ones. */
export function providersOf(client: Client, tenantId: string): Promise<Provider[]> {
  return readAllPages((page) => listProviders({ client, query: { tenant_id: tenantId, ...page } }));
}

export function inventoryOf(client: Client, providerId: string): Promise<InventoryItem[]> {
  return readAllPages((query) => getProviderInventory({ client, path: { provider_id: providerId }, query }));
}
