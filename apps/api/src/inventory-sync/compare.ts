import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { FoundItem, KnownItem, SyncedChange } from '@quartermaster/db/repositories/inventory-sync.ts';
import type { Listing } from './listing.ts';

/** What a sync writes. */
export type Comparison = {
  added: FoundItem[];
  /** Found again, and not as they were known. */
  updated: { id: string; change: SyncedChange }[];
  /** Gone. */
  removed: string[];
  /** Found again as they were known. */
  unchanged: string[];
};

/** Items that are compared before the event loop gets a turn: the attributes of each may be long. */
const BATCH_SIZE = 100;

/**
 * Compares what is known with what was found.
 *
 * - What is new is added; what was missing is available again; blocked and retired items stay what they are.
 * - What is gone becomes missing, where a sync found it before: what people declared and no sync ever saw stays.
 * - An item without a digest takes the one that is found. Another digest than the accepted one is drift: the item keeps
 *   all that was accepted, and what was found stands beside it until somebody accepts it, or it is changed back.
 * - Texts and attributes follow the provider; what people declared keeps what they wrote, and is filled in alone.
 */
export async function compare(known: readonly KnownItem[], listing: Listing, now: Date): Promise<Comparison> {
  const found = new Map(listing.items.map((item) => [keyOf(item), item]));
  const result: Comparison = { added: [], updated: [], removed: [], unchanged: [] };
  for (const [index, item] of known.entries()) {
    if (index % BATCH_SIZE === BATCH_SIZE - 1) await yieldToEventLoop();
    const key = keyOf(item);
    const again = found.get(key);
    if (again) {
      found.delete(key);
      const change = changeOf(item, again, now);
      if (Object.keys(change).length === 0) result.unchanged.push(item.id);
      else result.updated.push({ id: item.id, change });
    } else if (item.status === 'available' && item.confirmed) result.removed.push(item.id);
  }
  result.added.push(...found.values());
  return result;
}

function changeOf(item: KnownItem, found: FoundItem, now: Date): SyncedChange {
  const back: SyncedChange = item.status === 'missing' ? { status: 'available' } : {};
  const { schemaDigest, title, description, attributes } = found;
  const isDrift = schemaDigest !== null && item.schemaDigest !== null && schemaDigest !== item.schemaDigest;
  if (isDrift) {
    if (item.drift?.schemaDigest === schemaDigest) return back;
    return { ...back, drift: { schemaDigest, title, description, attributes, detectedAt: now.toISOString() } };
  }
  return {
    ...back,
    ...(item.drift !== null && { drift: null }),
    ...(schemaDigest !== item.schemaDigest && schemaDigest !== null && { schemaDigest }),
    ...textsOf(item, found),
  };
}

function textsOf(item: KnownItem, found: FoundItem): SyncedChange {
  const followsProvider = item.source === 'sync';
  const change: SyncedChange = {};
  if (found.title !== item.title && (followsProvider || item.title === null)) change.title = found.title;
  if (found.description !== item.description && (followsProvider || item.description === null)) {
    change.description = found.description;
  }
  const isEmpty = Object.keys(item.attributes).length === 0;
  const isSame = JSON.stringify(found.attributes) === JSON.stringify(item.attributes);
  if (!isSame && (followsProvider || isEmpty)) change.attributes = found.attributes;
  return change;
}

function keyOf({ kind, nameKey }: { kind: string; nameKey: string }): string {
  return `${kind}:${nameKey}`;
}
