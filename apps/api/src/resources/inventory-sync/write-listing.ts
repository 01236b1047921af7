import type { InventorySync } from '@quartermaster/contracts/inventory-syncs.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import { inBatches } from '@quartermaster/db/batches.ts';
import { yieldWhenDue } from '@quartermaster/db/turns.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { findInventoryItems } from '@quartermaster/db/repositories/inventory.ts';
import {
  insertFoundItems,
  type KnownItem,
  listKnownItems,
  markItemsListed,
  markItemsUnlisted,
  setItemsStatus,
  updateFoundItems,
} from '@quartermaster/db/repositories/inventory-sync.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import type { AuditedChange } from '../../platform/audit/audited-write.ts';
import { reopenDecisions } from '../../governance/observations/reopen-decisions.ts';
import { reevaluateItems } from '../../governance/observations/reevaluate.ts';
import { type BlockCandidates, revokeSessionsOfBlocked } from '../../governance/observations/revoke-sessions.ts';
import type { TenantLimits } from '../../platform/tenant-limits.ts';
import { compare, type DoubtfulKind } from './compare.ts';
import type { Listing } from './listing.ts';

type Counts = Pick<InventorySync, 'added' | 'pending' | 'updated' | 'removed' | 'held' | 'unchanged'>;

/** Items that are read before the event loop gets a turn: each may have 16 KiB of attributes. */
const READ_BATCH_SIZE = 100;

/** Rows of one statement. Rows times columns must stay below the databases' limit of bound parameters. */
const ROWS_PER_STATEMENT = 100;

/** Written items that are read and reevaluated at once. A batch may read all names of the families of its items. */
const REEVALUATED_BATCH_SIZE = 256;

/**
 * How many items a listing contains if it changes no item; otherwise null. Most syncs change nothing, so this is read before the
 * transaction: comparing 5,000 items in it would hold SQLite's writing connection, and conflict with much on Postgres. What others
 * change until {@link writeListing} counts as changed after the sync.
 */
export async function countIfAllUnchanged(
  db: Database,
  provider: Provider,
  listing: Listing,
  now: Date,
): Promise<number | null> {
  const { unchanged, ...changes } = await compare(await knownItems(db, provider), listing, now);
  return Object.values(changes).every(({ length }) => length === 0) ? unchanged.length : null;
}

type Written = {
  provider: Provider;
  listing: Listing;
  /** See {@link countIfAllUnchanged}. */
  unchangedCount: number | null;
  tenantLimits: TenantLimits;
};

/**
 * Updates the inventory of a provider to match its listing, within the caller's transaction, which then stores the time of the sync
 * in the provider: that is when the listed items were last seen.
 */
export async function writeListing(
  trx: Database,
  record: (change: AuditedChange) => void,
  { provider, listing, unchangedCount, tenantLimits }: Written,
  now: Date,
): Promise<Counts & { doubtful: DoubtfulKind[] }> {
  const scope = scopeOf(provider);
  if (unchangedCount !== null)
    return { added: 0, pending: 0, updated: 0, removed: 0, held: 0, doubtful: [], unchanged: unchangedCount };
  const comparison = await compare(await knownItems(trx, provider), listing, now);
  const { added, updated, removed, held, withdrawn, undecided, unchanged, newlyListed, noLongerListed } = comparison;
  // The first sync declares what the provider offers. It stays the first one after a change of the base URL, because another
  // server must not add to what sessions grant.
  const isReviewed = provider.inventorySyncedAt !== null && provider.newItems === 'review';
  const status = isReviewed ? 'pending' : 'available';
  await tenantLimits.add(trx, provider.tenantId, 'inventoryItems', added.length);
  const addedIds: string[] = [];
  for await (const items of inBatches(added, ROWS_PER_STATEMENT)) {
    await tenantLimits.addRecord(trx, provider.tenantId, { content: items });
    addedIds.push(...(await insertFoundItems(trx, provider, { providerId: provider.id, status, items }, now)));
  }
  // Known items need no room: drift must be seen although the tenant is full. Their number and their size are limited.
  for await (const items of inBatches(updated, ROWS_PER_STATEMENT)) await updateFoundItems(trx, provider, items, now);
  for await (const ids of inBatches(removed, ROWS_PER_STATEMENT)) await setItemsStatus(trx, scope, ids, 'missing', now);
  for await (const ids of inBatches(withdrawn, ROWS_PER_STATEMENT)) {
    await setItemsStatus(trx, scope, ids, 'retired', now);
  }
  for await (const ids of inBatches(newlyListed, ROWS_PER_STATEMENT)) await markItemsListed(trx, scope, ids, now);
  for await (const ids of inBatches(noLongerListed, ROWS_PER_STATEMENT)) await markItemsUnlisted(trx, scope, ids);
  if (isReviewed) undecided.push(...addedIds.map((id) => ({ id, isRedefined: false })));
  for await (const batch of inBatches(undecided, REEVALUATED_BATCH_SIZE)) {
    await reopenDecisions(trx, provider, batch, now);
  }
  const written = [...addedIds, ...updated.map(({ id }) => id), ...removed, ...withdrawn];
  const candidates: BlockCandidates[number][] = [];
  for await (const ids of inBatches(written, REEVALUATED_BATCH_SIZE)) {
    const items = await findInventoryItems(trx, provider, provider.id, ids);
    candidates.push(...(await reevaluateItems(trx, provider, items, now)));
  }
  await revokeSessionsOfBlocked(trx, record, { provider, candidates }, now);
  return {
    added: added.length,
    pending: isReviewed ? added.length : 0,
    updated: updated.length,
    removed: removed.length + withdrawn.length,
    held: held.length,
    doubtful: comparison.doubtful,
    unchanged: unchanged.length,
  };
}

/** All items of a provider, of all kinds. */
async function knownItems(db: Database, provider: Provider): Promise<KnownItem[]> {
  const known: KnownItem[] = [];
  for (let batch: KnownItem[] | null = null; batch === null || batch.length === READ_BATCH_SIZE; ) {
    const filter = { providerId: provider.id, after: batch?.at(-1) ?? null, limit: READ_BATCH_SIZE };
    batch = await listKnownItems(db, scopeOf(provider), filter);
    known.push(...batch);
    await yieldWhenDue();
  }
  return known;
}
