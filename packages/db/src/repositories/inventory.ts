import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import { type ExpressionBuilder, type Selectable, type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { newId } from '../ids.ts';
import { BY_ID, inKeysetRange, type KeysetRange, listRows } from '../listing.ts';
import { nameFamily } from '@quartermaster/naming/name-family.ts';
import {
  type Page,
  type PageRequest,
  containsAsciiText,
  inScope,
  placeColumns,
  placeOf,
  timesOf,
  tupleIn,
} from '../queries.ts';
import { multiRowStatement } from '../prepared-statement.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';

export type NewInventoryItem = Pick<
  InventoryItem,
  'providerId' | 'kind' | 'name' | 'title' | 'description' | 'status' | 'source' | 'schemaDigest' | 'attributes'
> & {
  /** The key that all variants of the name share: see nameKey. */
  nameKey: string;
};
type InventoryFilter = {
  providerId: string;
  kind?: string | null | undefined;
  status?: string | null | undefined;
  /** A part of the name; ASCII letters in any case. */
  text?: string | null | undefined;
};

/** Names the items that may cover a name: those of its family at its provider. See nameFamily. */
export type ItemFamily = Pick<InventoryItem, 'providerId' | 'kind'> & { nameFamily: string };
export type KeyedItem = InventoryItem & { nameKey: string };
export type ItemName = Pick<KeyedItem, 'id' | 'providerId' | 'kind' | 'name' | 'nameKey' | 'status' | 'source'>;

const NAME_COLUMNS = [
  'inventory_items.id',
  'inventory_items.provider_id as providerId',
  'inventory_items.kind',
  'inventory_items.name',
  'inventory_items.name_key as nameKey',
  'inventory_items.status',
  'inventory_items.source',
] as const;

/** A literal, not a parameter: a partial index is only used if the statement itself contains its condition. */
const IS_BLOCKED = sql<SqlBool>`status = 'blocked'`;

/** `canBlockOrAllow` in SQL. */
const IS_DECISIVE = sql<SqlBool>`(status = 'blocked' or (source <> 'sync' and status in ('available', 'missing')))`;

export type InventoryItemChange = Partial<
  Pick<InventoryItem, 'title' | 'description' | 'status' | 'attributes' | 'schemaDigest' | 'drift'>
>;

export async function findInventoryItem(
  db: Database,
  scope: TenantScope,
  providerId: string,
  id: string,
): Promise<InventoryItem | undefined> {
  const row = await db
    .selectFrom('inventory_items')
    .selectAll()
    .select(listedAt)
    .where('id', '=', id)
    .where('provider_id', '=', providerId)
    .where(inScope(scope))
    .executeTakeFirst();
  return row && toInventoryItem(row);
}

/** The items of a provider among `ids`, in no particular order. */
export async function findInventoryItems(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  providerId: string,
  ids: readonly string[],
): Promise<InventoryItem[]> {
  const rows = await selectByIds(
    db,
    ids.map((id) => ({ id })),
    { tenantId, providerId },
  );
  return rows.map(toInventoryItem);
}

const selectByIds = multiRowStatement(
  (db, rows: readonly { id: string }[], { tenantId, providerId }: { tenantId: string; providerId: string }) =>
    db
      .selectFrom('inventory_items')
      .selectAll()
      .select(listedAt)
      .where(
        'id',
        'in',
        rows.map(({ id }) => id),
      )
      .where('provider_id', '=', providerId)
      .where('tenant_id', '=', tenantId),
);

/** The item with the given name key. All variants of a name have the same key. */
export async function findInventoryItemByKey(
  db: Database,
  scope: TenantScope,
  item: Pick<InventoryItem, 'providerId' | 'kind'> & { nameKey: string },
): Promise<InventoryItem | undefined> {
  const row = await db
    .selectFrom('inventory_items')
    .selectAll()
    .select(listedAt)
    .where('provider_id', '=', item.providerId)
    .where('kind', '=', item.kind)
    .where('name_key', '=', item.nameKey)
    .where(inScope(scope))
    .executeTakeFirst();
  return row && toInventoryItem(row);
}

/** The most items that {@link findItemsOfSmallFamilies} reads. A family usually has a few. */
const MAX_ITEMS_OF_SMALL_FAMILIES = 500;

/** Items that one statement deletes. */
const DELETED_AT_ONCE = 500;

/**
 * The items of some families, with the keys of their names, in no particular order. Null if they have too many items to read
 * all.
 */
export async function findItemsOfSmallFamilies(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  families: readonly ItemFamily[],
): Promise<KeyedItem[] | null> {
  const rows = await selectOfFamilies(db, distinctFamilies(families), { tenantId });
  return rows.length < MAX_ITEMS_OF_SMALL_FAMILIES ? rows.map(toKeyedItem) : null;
}

const selectOfFamilies = multiRowStatement((db, rows: readonly ItemFamily[], { tenantId }: { tenantId: string }) =>
  db
    .selectFrom('inventory_items')
    .selectAll()
    .select(listedAt)
    .where('tenant_id', '=', tenantId)
    .where(inFamilies(rows))
    .limit(sql.lit(MAX_ITEMS_OF_SMALL_FAMILIES)),
);

/** The items with exactly the given keys, in no particular order. */
export async function findInventoryItemsByKeys(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  keys: readonly Pick<KeyedItem, 'providerId' | 'kind' | 'nameKey'>[],
): Promise<KeyedItem[]> {
  return (await selectByKeys(db, keys, { tenantId })).map(toKeyedItem);
}

const selectByKeys = multiRowStatement(
  (db, rows: readonly Pick<KeyedItem, 'providerId' | 'kind' | 'nameKey'>[], { tenantId }: { tenantId: string }) =>
    db
      .selectFrom('inventory_items')
      .selectAll()
      .select(listedAt)
      .where('tenant_id', '=', tenantId)
      .where(
        tupleIn(
          ['provider_id', 'kind', 'name_key'],
          rows.map(({ providerId, kind, nameKey }) => [providerId, kind, nameKey]),
        ),
      ),
);

/** The items of some families that can block or allow others, see `canBlockOrAllow`. In no particular order. */
export async function findDecisiveItems(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  families: readonly ItemFamily[],
): Promise<KeyedItem[]> {
  return (await selectDecisive(db, distinctFamilies(families), { tenantId })).map(toKeyedItem);
}

const selectDecisive = multiRowStatement((db, rows: readonly ItemFamily[], { tenantId }: { tenantId: string }) =>
  db
    .selectFrom('inventory_items')
    .selectAll()
    .select(listedAt)
    .where('tenant_id', '=', tenantId)
    .where(inFamilies(rows))
    .where(IS_DECISIVE),
);

/** The names of the items of some families, in no particular order. */
export async function findItemNamesOfFamilies(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  families: readonly ItemFamily[],
): Promise<ItemName[]> {
  return selectNames(db, distinctFamilies(families), { tenantId });
}

const selectNames = multiRowStatement((db, rows: readonly ItemFamily[], { tenantId }: { tenantId: string }) =>
  db.selectFrom('inventory_items').select(NAME_COLUMNS).where('tenant_id', '=', tenantId).where(inFamilies(rows)),
);

/** Each family once: a batch of names may be of one family with thousands of items. */
function distinctFamilies(families: readonly ItemFamily[]): ItemFamily[] {
  return [
    ...new Map(families.map((one) => [JSON.stringify([one.providerId, one.kind, one.nameFamily]), one])).values(),
  ];
}

function inFamilies(rows: readonly ItemFamily[]) {
  return tupleIn(
    ['provider_id', 'kind', 'name_family'],
    rows.map(({ providerId, kind, nameFamily: family }) => [providerId, kind, family]),
  );
}

/** The names of the blocked items of a provider, in no particular order. */
export async function findBlockedItems(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  providerId: string,
): Promise<ItemName[]> {
  return db
    .selectFrom('inventory_items')
    .select(NAME_COLUMNS)
    .where('tenant_id', '=', tenantId)
    .where('provider_id', '=', providerId)
    .where(IS_BLOCKED)
    .execute();
}

/**
 * The names of the blocked items of some providers, and of the items of the same families that can lift a block. In no particular
 * order. See `canBlockOrAllow`.
 */
export async function findBlocksAndExceptions(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  providerIds: readonly string[],
): Promise<ItemName[]> {
  return selectBlocksAndExceptions(
    db,
    providerIds.map((providerId) => ({ providerId })),
    { tenantId },
  );
}

const selectBlocksAndExceptions = multiRowStatement(
  (db, rows: readonly { providerId: string }[], { tenantId }: { tenantId: string }) =>
    db
      // Materialized: SQLite would otherwise find the distinct families by reading every item of the providers.
      .with(
        (cte) => cte('blocked').materialized(),
        (one) =>
          one
            .selectFrom('inventory_items')
            .select(['tenant_id', 'provider_id', 'kind', 'name_family'])
            .where('tenant_id', '=', tenantId)
            .where(IS_BLOCKED)
            .where(
              'provider_id',
              'in',
              rows.map(({ providerId }) => providerId),
            ),
      )
      .selectFrom((eb) => eb.selectFrom('blocked').selectAll().distinct().as('family'))
      // SQLite keeps the order of a cross join.
      .crossJoin('inventory_items')
      .whereRef('inventory_items.tenant_id', '=', 'family.tenant_id')
      .whereRef('inventory_items.provider_id', '=', 'family.provider_id')
      .whereRef('inventory_items.kind', '=', 'family.kind')
      .whereRef('inventory_items.name_family', '=', 'family.name_family')
      .where(IS_DECISIVE)
      .select(NAME_COLUMNS),
);

/** The ids of all items of a provider. */
export async function listItemIds(db: Database, scope: TenantScope, providerId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('inventory_items')
    .select('id')
    .where('provider_id', '=', providerId)
    .where(inScope(scope))
    .execute();
  return rows.map(({ id }) => id);
}

/** Newest first. */
export async function listInventory(
  db: Database,
  scope: TenantScope,
  filter: InventoryFilter,
  page: PageRequest,
): Promise<Page<InventoryItem>> {
  const { rows, next } = await listRows(db, scope, page, {
    table: 'inventory_items',
    parentId: filter.providerId,
    hasUnindexedFilter: filter.kind != null || filter.status != null || filter.text != null,
    rows: (range) => itemRows(db, filter, range).execute(),
  });
  return { items: rows.map(toInventoryItem), next };
}

/** The items of all providers that are not deleted, newest first. */
export async function listInventoryItems(
  db: Database,
  scope: TenantScope,
  filter: Omit<InventoryFilter, 'providerId'>,
  page: PageRequest,
): Promise<Page<InventoryItem>> {
  const { rows, next } = await listRows(db, scope, page, {
    table: 'inventory_items',
    order: BY_ID,
    hasUnindexedFilter: true,
    rows: (range) =>
      filteredItems(db, filter)
        .where(inScope(range.scope))
        .where(OF_EXISTING_PROVIDER)
        .$call(inKeysetRange(range, BY_ID))
        .execute(),
  });
  return { items: rows.map(toInventoryItem), next };
}

const OF_EXISTING_PROVIDER = sql<SqlBool>`exists (
  select 1 from providers where providers.tenant_id = inventory_items.tenant_id
    and providers.id = inventory_items.provider_id and providers.status <> 'deleted')`;

function itemRows(db: Database, { providerId, ...filter }: InventoryFilter, range: KeysetRange) {
  return filteredItems(db, filter)
    .where('provider_id', '=', providerId)
    .where(inScope(range.scope))
    .$call(inKeysetRange(range));
}

function filteredItems(db: Database, filter: Omit<InventoryFilter, 'providerId'>) {
  let query = db.selectFrom('inventory_items').selectAll().select(listedAt);
  if (filter.kind != null) query = query.where('kind', '=', filter.kind as InventoryItem['kind']);
  if (filter.status != null) query = query.where('status', '=', filter.status as InventoryItem['status']);
  if (filter.text != null) query = query.where(containsAsciiText('name', filter.text));
  return query;
}

/** @param place the place of the provider. @throws DuplicateKeyError if the provider has an item with this kind and name key */
export async function insertInventoryItem(
  db: Database,
  place: TenantPlace,
  item: NewInventoryItem,
  now: Date,
): Promise<InventoryItem> {
  const row = await db
    .insertInto('inventory_items')
    .values(newItemRow(place, item, now))
    .returningAll()
    .executeTakeFirstOrThrow();
  return toInventoryItem({ ...row, listed_at: null });
}

/** The row of a new item, with a new id. */
export function newItemRow(place: TenantPlace, item: NewInventoryItem, now: Date) {
  const time = now.toISOString();
  return {
    ...placeColumns(place),
    id: newId('inv', now),
    provider_id: item.providerId,
    kind: item.kind,
    name: item.name,
    name_key: item.nameKey,
    name_family: nameFamily(item.kind, item.nameKey),
    title: item.title,
    description: item.description,
    status: item.status,
    source: item.source,
    schema_digest: item.schemaDigest,
    attributes: JSON.stringify(item.attributes),
    first_seen_at: time,
    last_seen_at: time,
    created_at: time,
    updated_at: time,
  };
}

export async function updateInventoryItem(
  db: Database,
  scope: TenantScope,
  id: string,
  change: InventoryItemChange,
  now: Date,
): Promise<InventoryItem | undefined> {
  const row = await db
    .updateTable('inventory_items')
    .set({ ...itemColumns(change), updated_at: now.toISOString() })
    .where('id', '=', id)
    .where(inScope(scope))
    .returningAll()
    .returning(listedAt)
    .executeTakeFirst();
  return row && toInventoryItem(row);
}

/** The columns that a change sets. */
export function itemColumns({ title, description, status, attributes, schemaDigest, drift }: InventoryItemChange) {
  return {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(status !== undefined && { status }),
    ...(attributes !== undefined && { attributes: JSON.stringify(attributes) }),
    ...(schemaDigest !== undefined && { schema_digest: schemaDigest }),
    ...(drift !== undefined && { drift: drift === null ? null : JSON.stringify(drift) }),
  };
}

export async function deleteInventoryItem(db: Database, scope: TenantScope, id: string): Promise<void> {
  await db.deleteFrom('inventory_items').where('id', '=', id).where(inScope(scope)).execute();
}

/** Removes all items of a provider, some at a time: there may be 100,000, and SQLite answers synchronously. */
export async function deleteInventory(db: Database, scope: TenantScope, providerId: string): Promise<void> {
  for (let deleted = DELETED_AT_ONCE; deleted === DELETED_AT_ONCE; ) {
    const { numDeletedRows } = await db
      .deleteFrom('inventory_items')
      .where((eb) =>
        eb(
          eb.refTuple('tenant_id', 'id'),
          'in',
          eb
            .selectFrom('inventory_items')
            .select(['tenant_id', 'id'])
            .where('provider_id', '=', providerId)
            .where(inScope(scope))
            .limit(DELETED_AT_ONCE)
            .$asTuple('tenant_id', 'id'),
        ),
      )
      .executeTakeFirstOrThrow();
    deleted = Number(numDeletedRows);
  }
}

/** The time of the provider's last sync if that found the item, as `listed_at`; otherwise null. */
function listedAt(eb: ExpressionBuilder<Tables, 'inventory_items'>) {
  return itemsListedAt(eb).where('inventory_items.listed', '=', 1).as('listed_at');
}

/** When the last sync of an item's provider stored which items it found. */
export function itemsListedAt(eb: ExpressionBuilder<Tables, 'inventory_items'>) {
  return eb
    .selectFrom('providers')
    .select('providers.items_listed_at')
    .whereRef('providers.tenant_id', '=', 'inventory_items.tenant_id')
    .whereRef('providers.id', '=', 'inventory_items.provider_id');
}

function toKeyedItem(row: ItemRow): KeyedItem {
  return { ...toInventoryItem(row), nameKey: row.name_key };
}

type ItemRow = Selectable<Tables['inventory_items']> & { listed_at: string | null };

function toInventoryItem(row: ItemRow): InventoryItem {
  return {
    id: row.id,
    providerId: row.provider_id,
    ...placeOf(row),
    kind: row.kind,
    name: row.name,
    title: row.title,
    description: row.description,
    status: row.status,
    source: row.source,
    schemaDigest: row.schema_digest,
    attributes: JSON.parse(row.attributes) as InventoryItem['attributes'],
    drift: row.drift === null ? null : (JSON.parse(row.drift) as InventoryItem['drift']),
    renamedFrom: row.renamed_from,
    firstSeenAt: row.first_seen_at,
    lastSeenAt: row.listed_at ?? row.last_seen_at,
    ...timesOf(row),
  };
}
