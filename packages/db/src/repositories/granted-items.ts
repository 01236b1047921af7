import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import { type SqlBool, sql } from 'kysely';
import { inBatches } from '../batches.ts';
import type { Database } from '../database.ts';
import { yieldWhenDue } from '../turns.ts';
import { inScope } from '../queries.ts';
import { preparedStatement } from '../prepared-statement.ts';
import type { TenantScope } from '../tenancy.ts';

/** An item of a provider that an agent may use. */
export type GrantedItem = Pick<InventoryItem, 'kind' | 'name'>;

/** Identifies an item of a provider. */
export type GrantedItemKey = { kind: InventoryItem['kind']; nameKey: string };

/** An item with what decides whether it may be used. */
export type KeyedGrantedItem = GrantedItem & GrantedItemKey & Pick<InventoryItem, 'source'>;

/** Statuses of items that may be used. `missing` only means that the last sync did not find the item. */
const GRANTED = ['available', 'missing'] as const;

/** Items that are read before the event loop gets a turn, because SQLite answers synchronously. */
const PAGE_SIZE = 500;

/** Names in one statement: SQLite takes at most 32,766 parameters. */
const BATCH_SIZE = 1000;

type ItemRows = Pick<ItemPages, 'scope' | 'providerId'> & { after: GrantedItemKey | null; limit: number };

const itemRows = preparedStatement((db, { scope, providerId, after, limit }: ItemRows) => {
  let query = db
    .selectFrom('inventory_items')
    .select(['kind', 'name', 'name_key as nameKey', 'source'])
    .where('provider_id', '=', providerId)
    .where('status', 'in', GRANTED)
    .where(inScope(scope));
  if (after !== null) query = query.where(sql<SqlBool>`(kind, name_key) > (${after.kind}, ${after.nameKey})`);
  return query.orderBy('kind').orderBy('name_key').limit(limit);
});

type ItemPages = {
  scope: TenantScope;
  providerId: string;
  pageSize?: number;
};

/** The items of a provider that are neither blocked nor retired themselves, in pages, in a stable order. */
export async function* itemPages(
  db: Database,
  { scope, providerId, pageSize = PAGE_SIZE }: ItemPages,
): AsyncGenerator<readonly KeyedGrantedItem[], void, undefined> {
  for (let after: GrantedItemKey | null = null, isLast = false; !isLast; ) {
    const page: KeyedGrantedItem[] = await itemRows(db, { scope, providerId, after, limit: pageSize });
    yield page;
    const last = page.at(-1);
    isLast = last === undefined || page.length < pageSize;
    // Without the other columns, because every member would be part of the statement's shape.
    after = last ? { kind: last.kind, nameKey: last.nameKey } : null;
    await yieldWhenDue();
  }
}

/** The given items that exist and are neither blocked nor retired themselves. */
export async function findGrantedItems(
  db: Database,
  scope: TenantScope,
  providerId: string,
  items: readonly GrantedItem[],
): Promise<KeyedGrantedItem[]> {
  const found: KeyedGrantedItem[] = [];
  for (const [kind, ofKind] of Map.groupBy(items, (item) => item.kind)) {
    for await (const batch of inBatches(ofKind, BATCH_SIZE)) {
      const names = batch.map(({ name }) => name);
      const rows = await db
        .selectFrom('inventory_items')
        .select(['kind', 'name', 'name_key as nameKey', 'source'])
        .where('provider_id', '=', providerId)
        .where('kind', '=', kind)
        .where('name', 'in', names)
        .where('status', 'in', GRANTED)
        .where(inScope(scope))
        .execute();
      found.push(...rows);
    }
  }
  return found;
}
