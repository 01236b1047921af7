import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import { type SqlBool, sql } from 'kysely';
import { inBatches } from '../batches.ts';
import type { Database } from '../database.ts';
import { inScope } from '../queries.ts';
import { cachedStatement } from '../cached-statement.ts';
import type { TenantScope } from '../tenancy.ts';

/** An item of a provider that an agent may use. */
export type GrantedItem = Pick<InventoryItem, 'kind' | 'name'>;

/** The key of the last item of a page. */
export type GrantedItemKey = { kind: InventoryItem['kind']; nameKey: string };

/** An item whose own status does not forbid it. */
export type AvailableItem = GrantedItem & GrantedItemKey & Pick<InventoryItem, 'source'>;

/** Statuses of items that may be used. `missing` only means that the last sync did not find the item. */
const GRANTED = ['available', 'missing'] as const;

/** Names in one statement: SQLite takes at most 32,766 parameters. */
const BATCH_SIZE = 1000;

type GrantedItemRows = { scope: TenantScope; providerId: string; after: GrantedItemKey | null; limit: number };

const grantedItemRows = cachedStatement((db, { scope, providerId, after, limit }: GrantedItemRows) => {
  let query = db
    .selectFrom('inventory_items')
    .select(['kind', 'name', 'name_key as nameKey', 'source'])
    .where('provider_id', '=', providerId)
    .where('status', 'in', GRANTED)
    .where(inScope(scope));
  if (after !== null) query = query.where(sql<SqlBool>`(kind, name_key) > (${after.kind}, ${after.nameKey})`);
  return query.orderBy('kind').orderBy('name_key').limit(limit);
});

/** At most `limit` items of a provider after a key, in a stable order, that are neither blocked nor retired themselves. */
export async function listGrantedItems(
  db: Database,
  scope: TenantScope,
  providerId: string,
  after: GrantedItemKey | null,
  limit: number,
): Promise<AvailableItem[]> {
  // `after` may be a whole row, and every member would be part of the statement's shape.
  const key = after && { kind: after.kind, nameKey: after.nameKey };
  return grantedItemRows(db, { scope, providerId, after: key, limit });
}

/** The given items that exist and are neither blocked nor retired themselves. */
export async function findGrantedItems(
  db: Database,
  scope: TenantScope,
  providerId: string,
  items: readonly GrantedItem[],
): Promise<AvailableItem[]> {
  const found: AvailableItem[] = [];
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
