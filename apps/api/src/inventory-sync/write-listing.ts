import { setImmediate as breathe } from 'node:timers/promises';
import type { InventorySync } from '@quartermaster/contracts/inventory-syncs.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { findInventoryItem } from '@quartermaster/db/repositories/inventory.ts';
import {
  insertFoundItems,
  type KnownItem,
  listKnownItems,
  touchItems,
  updateSyncedItem,
} from '@quartermaster/db/repositories/inventory-sync.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import type { Change } from '../audit-events/write.ts';
import { type Blocked, endSessions, settleItem } from '../recommendations/settle.ts';
import type { TenantLimits } from '../tenants/limits.ts';
import { compare } from './compare.ts';
import type { Listing } from './listing.ts';

type Counts = Pick<InventorySync, 'added' | 'updated' | 'removed' | 'unchanged'>;

/** Items that are read or written between two turns of the event loop: each may have 16 KiB of attributes. */
const ITEMS_OF_READ = 100;

/** Columns of a row times rows of a statement stay below what databases bind. */
const ROWS_OF_STATEMENT = 100;

/** Items written before the event loop gets a turn: the database answers without giving it one. */
const OF_TURN = 50;

/** Brings the inventory of a provider to what it lists, within the caller's transaction. */
export async function writeListing(
  trx: Database,
  record: (change: Change) => void,
  { provider, listing, tenantLimits }: { provider: Provider; listing: Listing; tenantLimits: TenantLimits },
  now: Date,
): Promise<Counts> {
  const scope = scopeOf(provider);
  const { added, updated, removed, unchanged } = await compare(await knownItems(trx, provider, listing), listing, now);
  await tenantLimits.add(trx, provider.tenantId, 'inventoryItems', added.length);
  const lastSeenAt = now.toISOString();
  const written: string[] = [];
  for (const items of batches(added)) {
    written.push(...(await insertFoundItems(trx, provider, { providerId: provider.id, items }, now)));
    await breathe();
  }
  for (const [index, { id, change }] of updated.entries()) {
    await updateSyncedItem(trx, scope, id, { ...change, lastSeenAt }, now);
    written.push(id);
    if (index % OF_TURN === OF_TURN - 1) await breathe();
  }
  for (const [index, id] of removed.entries()) {
    await updateSyncedItem(trx, scope, id, { status: 'missing', lastSeenAt: null }, now);
    written.push(id);
    if (index % OF_TURN === OF_TURN - 1) await breathe();
  }
  for (const ids of batches(unchanged)) {
    await touchItems(trx, scope, ids, now);
    await breathe();
  }
  const blocked: Blocked = [];
  for (const [index, id] of written.entries()) {
    const item = await findInventoryItem(trx, scope, provider.id, id);
    if (item) blocked.push(...(await settleItem(trx, provider, item, now)));
    if (index % OF_TURN === OF_TURN - 1) await breathe();
  }
  await endSessions(trx, record, { provider, blocked }, now);
  return {
    added: added.length,
    updated: updated.length,
    removed: removed.length,
    unchanged: unchanged.length,
  };
}

function* batches<T>(all: readonly T[]): Generator<T[]> {
  for (let start = 0; start < all.length; start += ROWS_OF_STATEMENT) yield all.slice(start, start + ROWS_OF_STATEMENT);
}

async function knownItems(trx: Database, provider: Provider, { kinds }: Listing): Promise<KnownItem[]> {
  const known: KnownItem[] = [];
  for (let batch: KnownItem[] | null = null; batch === null || batch.length === ITEMS_OF_READ; ) {
    const after = known.at(-1)?.id ?? '';
    const of = { providerId: provider.id, kinds: [...kinds], after, limit: ITEMS_OF_READ };
    batch = await listKnownItems(trx, scopeOf(provider), of);
    known.push(...batch);
    await breathe();
  }
  return known;
}
