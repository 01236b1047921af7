import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import { type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { within } from '../queries.ts';
import { statement } from '../statement.ts';
import type { TenantScope } from '../tenancy.ts';

/** What an agent may use of a provider. */
export type GrantedItem = Pick<InventoryItem, 'kind' | 'name'>;

/** Where a page of them ends. */
export type GrantedItemKey = { kind: InventoryItem['kind']; nameKey: string };

/** An item that nothing said of itself forbids. */
export type AvailableItem = GrantedItem & GrantedItemKey & Pick<InventoryItem, 'source'>;

/** Blocked and retired items are not. A missing one is: that a sync did not see it says nothing of whether it may be used. */
const GRANTED = ['available', 'missing'] as const;

/** Names of one statement: SQLite takes 32,766 parameters. */
const NAMES_OF_STATEMENT = 1000;

type GrantedItemRows = { scope: TenantScope; providerId: string; after: GrantedItemKey | null; limit: number };

const grantedItemRows = statement((db, { scope, providerId, after, limit }: GrantedItemRows) => {
  let query = db
    .selectFrom('inventory_items')
    .select(['kind', 'name', 'name_key as nameKey', 'source'])
    .where('provider_id', '=', providerId)
    .where('status', 'in', GRANTED)
    .where(within(scope));
  if (after !== null) query = query.where(sql<SqlBool>`(kind, name_key) > (${after.kind}, ${after.nameKey})`);
  return query.orderBy('kind').orderBy('name_key').limit(limit);
});

/** The items of a provider that are neither blocked nor retired themselves, in a stable order, from after `after`; `limit` at the most. */
export async function listGrantedItems(
  db: Database,
  scope: TenantScope,
  providerId: string,
  after: GrantedItemKey | null,
  limit: number,
): Promise<AvailableItem[]> {
  // A row is more than its key.
  const key = after && { kind: after.kind, nameKey: after.nameKey };
  return grantedItemRows(db, { scope, providerId, after: key, limit });
}

/** Those of `items` that are neither blocked nor retired themselves. */
export async function findGrantedItems(
  db: Database,
  scope: TenantScope,
  providerId: string,
  items: readonly GrantedItem[],
): Promise<AvailableItem[]> {
  const found: AvailableItem[] = [];
  for (const [kind, ofKind] of Map.groupBy(items, (item) => item.kind)) {
    for (let start = 0; start < ofKind.length; start += NAMES_OF_STATEMENT) {
      const names = ofKind.slice(start, start + NAMES_OF_STATEMENT).map(({ name }) => name);
      const rows = await db
        .selectFrom('inventory_items')
        .select(['kind', 'name', 'name_key as nameKey', 'source'])
        .where('provider_id', '=', providerId)
        .where('kind', '=', kind)
        .where('name', 'in', names)
        .where('status', 'in', GRANTED)
        .where(within(scope))
        .execute();
      found.push(...rows);
    }
  }
  return found;
}
