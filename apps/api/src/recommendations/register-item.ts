import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Recommendation } from '@quartermaster/contracts/recommendations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import {
  findInventoryItemByKey,
  insertInventoryItem,
  updateInventoryItem,
} from '@quartermaster/db/repositories/inventory.ts';
import { nameKey } from '@quartermaster/db/name-key.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';

type Item = Pick<InventoryItem, 'kind' | 'name'>;

/**
 * What registering something at a provider changes: a new item, or a retired one that comes back. The same for whoever
 * is shown a recommendation, tries it, and applies it.
 */
export async function registerItemChange(
  db: Database,
  provider: Provider,
  { kind, name }: Item,
): Promise<Recommendation['change']> {
  const item = await findInventoryItemByKey(db, scopeOf(provider), {
    providerId: provider.id,
    kind,
    nameKey: nameKey(kind, name, provider.name),
  });
  if (item) {
    return {
      target: { type: 'inventory_item', id: item.id },
      before: { status: item.status },
      after: { kind, name, status: 'available' },
    };
  }
  return {
    target: { type: 'inventory_item', id: null },
    before: null,
    after: { kind, name, status: 'available', source: 'recommendation' },
  };
}

/** Makes that change. Answers it with the id of what was made. */
export async function registerItem(
  trx: Database,
  provider: Provider,
  { kind, name }: Item,
  now: Date,
): Promise<Recommendation['change']> {
  const change = await registerItemChange(trx, provider, { kind, name });
  const { id } = change.target;
  if (id !== null) {
    // Anything else than a retired item is declared, and its recommendation closed.
    if (change.before?.['status'] !== 'retired') throw new Error(`the ${kind} is declared already`);
    await updateInventoryItem(trx, scopeOf(provider), id, { status: 'available' }, now);
    return change;
  }
  const key = nameKey(kind, name, provider.name);
  const values = {
    providerId: provider.id,
    kind,
    name,
    nameKey: key,
    status: 'available',
    source: 'recommendation',
  } as const;
  const none = { title: null, description: null, schemaDigest: null, attributes: {} };
  const item = await insertInventoryItem(trx, provider, { ...values, ...none }, now);
  return { ...change, target: { type: 'inventory_item', id: item.id } };
}
