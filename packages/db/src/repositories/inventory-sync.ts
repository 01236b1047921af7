import type { Drift, InventoryItem } from '@quartermaster/contracts/inventory.ts';
import type { OperatorTask } from '@quartermaster/contracts/operator-tasks.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import { type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { newId } from '../ids.ts';
import { multiRowStatement } from '../prepared-statement.ts';
import { inScope, placeColumns, toFlag, valueRows } from '../queries.ts';
import type { Tables } from '../tables.ts';
import type { Flag } from '../tables/columns.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';
import { type InventoryItemChange, itemsListedAt, newItemRow } from './inventory.ts';
import { UNFINISHED } from './operator-tasks.ts';

/** A stored inventory item, as a sync compares it. */
export type KnownItem = Pick<
  InventoryItem,
  'id' | 'kind' | 'name' | 'title' | 'description' | 'status' | 'source' | 'schemaDigest' | 'attributes' | 'drift'
> & {
  nameKey: string;
  /** Whether a sync has ever found it. */
  confirmed: boolean;
  /** Whether the last sync found it. */
  listed: boolean;
};

/** An item as the provider lists it. */
export type FoundItem = Pick<KnownItem, 'kind' | 'name' | 'nameKey' | 'title' | 'description' | 'schemaDigest'> & {
  attributes: Record<string, unknown>;
};

/** An item that a sync adds. */
export type AddedItem = FoundItem & Pick<InventoryItem, 'renamedFrom'>;

/** The unfinished sync task of a provider. */
export async function findSyncTask(
  db: Database,
  scope: TenantScope,
  providerId: string,
): Promise<{ id: string; status: OperatorTask['status']; leaseExpiresAt: string | null } | undefined> {
  const row = await db
    .selectFrom('operator_tasks')
    .select(['id', 'status', 'lease_expires_at'])
    .where('kind', '=', 'sync_inventory')
    .where('subject_type', '=', 'provider')
    .where('subject_id', '=', providerId)
    .where(UNFINISHED)
    .where(inScope(scope))
    .executeTakeFirst();
  return row && { id: row.id, status: row.status, leaseExpiresAt: row.lease_expires_at };
}

/** @throws DuplicateKeyError if the provider has an unfinished sync task */
export async function insertSyncTask(
  db: Database,
  provider: Provider,
  { leaseExpiresAt }: { leaseExpiresAt: string },
  now: Date,
): Promise<string> {
  const id = newId('task', now);
  await db
    .insertInto('operator_tasks')
    .values({
      ...placeColumns(provider),
      id,
      kind: 'sync_inventory',
      status: 'running',
      title: `Sync the inventory of ${provider.name}`,
      subject_type: 'provider',
      subject_id: provider.id,
      assignee: null,
      priority: 'normal',
      due_at: null,
      attempts: 0,
      last_error: null,
      lease_expires_at: leaseExpiresAt,
      completed_at: null,
      created_at: now.toISOString(),
      updated_at: now.toISOString(),
    })
    .execute();
  return id;
}

/** Stores the progress of a run and renews its lease. @returns false if it is no longer running */
export async function renewSyncTask(
  db: Database,
  scope: TenantScope,
  id: string,
  run: Pick<OperatorTask, 'attempts' | 'lastError' | 'progress'> & { leaseExpiresAt: string },
  now: Date,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('operator_tasks')
    .set({
      attempts: run.attempts,
      last_error: run.lastError,
      progress: run.progress === null ? null : JSON.stringify(run.progress),
      lease_expires_at: run.leaseExpiresAt,
      updated_at: now.toISOString(),
    })
    .where('id', '=', id)
    .where('status', '=', 'running')
    .where(inScope(scope))
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** @returns false if it is already finished: a user cancelled it, or another process took it over */
export async function endSyncTask(
  db: Database,
  scope: TenantScope,
  id: string,
  end: Pick<OperatorTask, 'lastError'> & {
    status: 'succeeded' | 'failed';
    attempts?: number;
    progress?: OperatorTask['progress'];
    note?: string;
  },
  now: Date,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('operator_tasks')
    .set({
      status: end.status,
      last_error: end.lastError,
      ...(end.attempts !== undefined && { attempts: end.attempts }),
      ...(end.progress != null && { progress: JSON.stringify(end.progress) }),
      ...(end.note !== undefined && { note: end.note }),
      lease_expires_at: null,
      completed_at: now.toISOString(),
      updated_at: now.toISOString(),
    })
    .where('id', '=', id)
    .where(UNFINISHED)
    .where(inScope(scope))
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Keeps the newest `kept` finished sync tasks of a provider and removes the others, since schedules create them forever. */
export async function pruneSyncTasks(db: Database, provider: Provider, { kept }: { kept: number }): Promise<void> {
  const finished = db
    .selectFrom('operator_tasks')
    .select('id')
    .where('tenant_id', '=', provider.tenantId)
    .where('kind', '=', 'sync_inventory')
    .where('subject_type', '=', 'provider')
    .where('subject_id', '=', provider.id)
    .where('completed_at', 'is not', null)
    .orderBy('id', 'desc');
  const oldest = await finished.offset(kept).limit(1).executeTakeFirst();
  if (!oldest) return;
  await db
    .deleteFrom('operator_tasks')
    .where('tenant_id', '=', provider.tenantId)
    .where('kind', '=', 'sync_inventory')
    .where('subject_type', '=', 'provider')
    .where('subject_id', '=', provider.id)
    .where('completed_at', 'is not', null)
    .where('id', '<=', oldest.id)
    .execute();
}

/** Counts the failed syncs of a provider since a time, up to `limit`. Null counts all. */
export async function countFailedSyncs(
  db: Database,
  scope: TenantScope,
  { providerId, since, limit }: { providerId: string; since: string | null; limit: number },
): Promise<number> {
  let query = db
    .selectFrom('operator_tasks')
    .select('id')
    .where('kind', '=', 'sync_inventory')
    .where('subject_type', '=', 'provider')
    .where('subject_id', '=', providerId)
    .where('status', '=', 'failed')
    .where(inScope(scope));
  if (since !== null) query = query.where('completed_at', '>', since);
  return (await query.limit(limit).execute()).length;
}

type KnownItemsFilter = {
  providerId: string;
  /** The last item of the previous batch. */
  after: Pick<KnownItem, 'kind' | 'nameKey'> | null;
  limit: number;
};

/**
 * A batch of a provider's items, of all kinds, in the order of kinds and name keys. An index returns them in that order. With a
 * condition on the kind, Postgres uses another one while its statistics are old, and reads and sorts all items for each batch.
 */
export async function listKnownItems(
  db: Database,
  scope: TenantScope,
  { providerId, after, limit }: KnownItemsFilter,
): Promise<KnownItem[]> {
  let query = db
    .selectFrom('inventory_items')
    .select(['id', 'kind', 'name', 'name_key', 'title', 'description', 'status', 'source', 'schema_digest'])
    .select(['attributes', 'drift', 'first_seen_at', 'last_seen_at', 'listed'])
    .where('provider_id', '=', providerId)
    .where(inScope(scope));
  if (after !== null) query = query.where(sql<SqlBool>`(kind, name_key) > (${after.kind}, ${after.nameKey})`);
  const rows = await query.orderBy('kind').orderBy('name_key').limit(limit).execute();
  return rows.map((row) => ({
    id: row.id,
    kind: row.kind,
    name: row.name,
    nameKey: row.name_key,
    title: row.title,
    description: row.description,
    status: row.status,
    source: row.source,
    schemaDigest: row.schema_digest,
    attributes: JSON.parse(row.attributes) as KnownItem['attributes'],
    drift: row.drift === null ? null : (JSON.parse(row.drift) as Drift),
    // Only a sync changes `last_seen_at`.
    confirmed: row.source === 'sync' || row.listed === 1 || row.last_seen_at !== row.first_seen_at,
    listed: row.listed === 1,
  }));
}

/** @param place the place of the provider. @returns the ids of the items, in the same order */
export async function insertFoundItems(
  db: Database,
  place: TenantPlace,
  { providerId, status, items }: { providerId: string; status: 'available' | 'pending'; items: readonly AddedItem[] },
  now: Date,
): Promise<string[]> {
  const rows = items.map((item) => ({
    ...newItemRow(place, { ...item, providerId, status, source: 'sync' }, now),
    listed: toFlag(true),
    renamed_from: item.renamedFrom,
  }));
  if (rows.length > 0) await db.insertInto('inventory_items').values(rows).execute();
  return rows.map(({ id }) => id);
}

/** Updates items of a tenant that a sync found changed. */
export async function updateFoundItems(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  changes: readonly { id: string; change: FoundItemChange }[],
  now: Date,
): Promise<void> {
  const rows = changes.map(({ id, change }) => {
    const { title, description, status, attributes, schemaDigest, drift } = change;
    return {
      id,
      setsTitle: toFlag(title !== undefined),
      title: title ?? null,
      setsDescription: toFlag(description !== undefined),
      description: description ?? null,
      status: status ?? null,
      attributes: attributes === undefined ? null : JSON.stringify(attributes),
      schemaDigest: schemaDigest ?? null,
      setsDrift: toFlag(drift !== undefined),
      drift: drift ? JSON.stringify(drift) : null,
    };
  });
  await updateFoundRows(db, rows, { tenantId, now: now.toISOString() });
}

/** What a sync changes in an item. It never removes a digest. */
export type FoundItemChange = Omit<InventoryItemChange, 'schemaDigest'> & { schemaDigest?: string };

type FoundRow = {
  id: string;
  setsTitle: Flag;
  title: string | null;
  setsDescription: Flag;
  description: string | null;
  setsDrift: Flag;
  drift: string | null;
  // Null keeps what is stored.
  status: string | null;
  attributes: string | null;
  schemaDigest: string | null;
};

const updateFoundRows = multiRowStatement(
  (db, rows: readonly FoundRow[], { tenantId, now }: { tenantId: string; now: string }) => {
    const values = rows.map((row) => {
      const texts = [row.id, row.title, row.description, row.drift, row.status, row.attributes, row.schemaDigest];
      const flags = [row.setsTitle, row.setsDescription, row.setsDrift].map((flag) => sql`cast(${flag} as integer)`);
      return [...texts, ...flags];
    });
    type Found = Pick<FoundRow, 'id' | 'title' | 'description' | 'drift' | 'attributes'> & {
      status: InventoryItem['status'] | null;
      schema_digest: string | null;
      sets_title: Flag;
      sets_description: Flag;
      sets_drift: Flag;
    };
    const columns = 'id, title, description, drift, status, attributes, schema_digest';
    return db
      .with(`found(${columns}, sets_title, sets_description, sets_drift)`, () => valueRows<Found>(values))
      .updateTable('inventory_items')
      .from('found')
      .set({
        title: sql`case when found.sets_title = 1 then found.title else inventory_items.title end`,
        description: sql`case when found.sets_description = 1 then found.description else inventory_items.description end`,
        drift: sql`case when found.sets_drift = 1 then found.drift else inventory_items.drift end`,
        status: sql`coalesce(found.status, inventory_items.status)`,
        attributes: sql`coalesce(found.attributes, inventory_items.attributes)`,
        schema_digest: sql`coalesce(found.schema_digest, inventory_items.schema_digest)`,
        last_seen_at: now,
        listed: toFlag(true),
        updated_at: now,
      })
      .where('inventory_items.tenant_id', '=', tenantId)
      .whereRef('inventory_items.id', '=', 'found.id');
  },
);

/** Sets the status of items that a sync did not find any more. */
export async function setItemsStatus(
  db: Database,
  scope: TenantScope,
  ids: readonly string[],
  status: 'missing' | 'retired',
  now: Date,
): Promise<void> {
  if (ids.length === 0) return;
  await updateItems(db, scope, ids).set({ status, updated_at: now.toISOString() }).execute();
}

type ItemsOfKinds = { providerId: string; kinds: readonly InventoryItem['kind'][] };

/** Counts the held items of a provider: available ones that a sync found once, and that the last sync did not find. */
export async function countHeldItems(
  db: Database,
  scope: TenantScope,
  of: ItemsOfKinds,
): Promise<{ count: number; lastSeenAt: string | null }> {
  const row = await db
    .selectFrom('inventory_items')
    .select(({ fn }) => [fn.countAll<number>().as('count'), fn.max('last_seen_at').as('lastSeenAt')])
    .where(isHeld(of))
    .where(inScope(scope))
    .executeTakeFirstOrThrow();
  return { count: Number(row.count), lastSeenAt: row.lastSeenAt };
}

/** Stores that the held items of a provider are missing. @returns their ids */
export async function markHeldItemsMissing(
  db: Database,
  scope: TenantScope,
  of: ItemsOfKinds,
  now: Date,
): Promise<string[]> {
  const rows = await db
    .updateTable('inventory_items')
    .set({ status: 'missing', updated_at: now.toISOString() })
    .where(isHeld(of))
    .where(inScope(scope))
    .returning('id')
    .execute();
  return rows.map(({ id }) => id);
}

/** Makes items available again: those that became missing at a time and did not change since. @returns their ids */
export async function restoreMissingItems(
  db: Database,
  scope: TenantScope,
  { providerId, missingSince }: { providerId: string; missingSince: string },
  now: Date,
): Promise<string[]> {
  const rows = await db
    .updateTable('inventory_items')
    .set({ status: 'available', updated_at: now.toISOString() })
    .where('provider_id', '=', providerId)
    .where('status', '=', 'missing')
    .where('updated_at', '=', missingSince)
    .where(inScope(scope))
    .returning('id')
    .execute();
  return rows.map(({ id }) => id);
}

function isHeld({ providerId, kinds }: ItemsOfKinds) {
  return ({ and, eb, or, ref }: ExpressionBuilder<Tables, 'inventory_items'>) =>
    and([
      eb('provider_id', '=', providerId),
      eb('kind', 'in', kinds),
      eb('status', '=', 'available'),
      eb('listed', '=', toFlag(false)),
      or([eb('source', '=', 'sync'), eb('last_seen_at', '<>', ref('first_seen_at'))]),
    ]);
}

/** Stores that a sync found unchanged items that the previous sync had not found. */
export async function markItemsListed(
  db: Database,
  scope: TenantScope,
  ids: readonly string[],
  now: Date,
): Promise<void> {
  if (ids.length === 0) return;
  await updateItems(db, scope, ids)
    .set({ last_seen_at: now.toISOString(), listed: toFlag(true) })
    .execute();
}

/**
 * Stores that the current sync no longer found items. They were last seen at the provider's previous sync, so call this before
 * `markSynced` replaces the time of that sync.
 */
export async function markItemsUnlisted(db: Database, scope: TenantScope, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await updateItems(db, scope, ids)
    .set((eb) => ({
      last_seen_at: sql<string>`case when ${itemsListedAt(eb)} > last_seen_at then ${itemsListedAt(eb)} else last_seen_at end`,
      listed: toFlag(false),
    }))
    .execute();
}

function updateItems(db: Database, scope: TenantScope, ids: readonly string[]) {
  return db.updateTable('inventory_items').where('id', 'in', ids).where(inScope(scope));
}
