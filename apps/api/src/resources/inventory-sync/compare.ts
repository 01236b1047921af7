import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';
import { inBatches } from '@quartermaster/db/batches.ts';
import type {
  AddedItem,
  FoundItem,
  FoundItemChange,
  KnownItem,
} from '@quartermaster/db/repositories/inventory-sync.ts';
import type { Listing } from './listing.ts';

/** What a sync has to write. Known items are named by their ids. */
export type Comparison = {
  added: AddedItem[];
  /** Listed again, with changes. */
  updated: { id: string; change: FoundItemChange }[];
  /** To become missing: available until now, and not listed any more. */
  removed: string[];
  /** Would become missing, but stay as they are until a person confirms it, see {@link isDoubtful}. */
  held: string[];
  /** The kinds of the held items. */
  doubtful: DoubtfulKind[];
  /** To be retired: pending until now, and not listed any more, so nothing is left to decide. */
  withdrawn: string[];
  /** Those of the updated ones that wait for a decision from now on, or whose definition changed while they waited. */
  undecided: { id: string; isRedefined: boolean }[];
  /** Listed again, without changes. */
  unchanged: string[];
  /** Those of the unchanged ones that the last sync did not list. */
  newlyListed: string[];
  /** Listed by the last sync and not by this one, whatever their status. */
  noLongerListed: string[];
};

/** A kind of which a listing has none, or less than half, of the available items that earlier syncs found. */
export type DoubtfulKind = { kind: InventoryKind; heldCount: number; keptCount: number };

/** Items that are compared before the event loop gets a turn, because the attributes of each may be long. */
const BATCH_SIZE = 100;

/**
 * Compares the known items with the listed ones.
 *
 * - A new item is added. A missing item becomes available again. Blocked and retired items keep their status, except that a
 *   retired item that disappeared and is listed again is pending: a person is asked whether to restore it.
 * - A new item with the definition of one item that is not listed any more is renamed. Retired items are not considered.
 * - An item that is not listed any more becomes missing if a sync found it before. An item that a person declared and no sync
 *   ever found keeps its status. If too many of a kind would become missing at once, none of that kind does, see
 *   {@link isDoubtful}.
 * - An item without a digest takes the listed one. A digest other than the accepted one is drift: the item keeps everything
 *   that was accepted, and the listed definition is stored beside it until a person accepts it or the provider reverts it.
 *   A pending item takes the listed definition at once, because nothing of it was accepted.
 * - Texts and attributes follow the provider. For an item that a person declared, the sync only fills in empty ones.
 */
export async function compare(known: readonly KnownItem[], listing: Listing, now: Date): Promise<Comparison> {
  const found = new Map(listing.items.map((item) => [keyOf(item), item]));
  const result: Comparison = {
    added: [],
    updated: [],
    removed: [],
    held: [],
    doubtful: [],
    withdrawn: [],
    undecided: [],
    unchanged: [],
    newlyListed: [],
    noLongerListed: [],
  };
  const keptCounts = new Map<InventoryKind, number>();
  const removed = new Map<InventoryKind, string[]>();
  const formerNames = new Map<string, string | null>();
  for await (const batch of inBatches(known, BATCH_SIZE)) {
    for (const item of batch) {
      const key = keyOf(item);
      const again = found.get(key);
      if (again) {
        found.delete(key);
        if (item.status === 'available') keptCounts.set(item.kind, (keptCounts.get(item.kind) ?? 0) + 1);
        const change = changeOf(item, again, now);
        if (Object.keys(change).length > 0) {
          const { id } = item;
          result.updated.push({ id, change });
          const isRedefined = item.schemaDigest !== null && change.schemaDigest !== undefined;
          const waits = item.status === 'pending' && isRedefined;
          if (waits || change.status === 'pending') result.undecided.push({ id, isRedefined });
        } else {
          result.unchanged.push(item.id);
          if (!item.listed) result.newlyListed.push(item.id);
        }
      } else {
        if (item.listed) result.noLongerListed.push(item.id);
        const definition = definitionOf(item.kind, item.drift?.schemaDigest ?? item.schemaDigest);
        if (definition !== null && item.status !== 'retired') {
          // Two items with one definition do not say which of them was renamed.
          formerNames.set(definition, formerNames.has(definition) ? null : item.name);
        }
        const isOfKind = listing.kinds.includes(item.kind);
        if (isOfKind && item.status === 'available' && item.confirmed) {
          const ofKind = removed.get(item.kind);
          if (ofKind === undefined) removed.set(item.kind, [item.id]);
          else ofKind.push(item.id);
        }
        if (isOfKind && item.status === 'pending') result.withdrawn.push(item.id);
      }
    }
  }
  for (const item of found.values()) {
    const definition = definitionOf(item.kind, item.schemaDigest);
    const renamedFrom = (definition !== null && formerNames.get(definition)) || null;
    result.added.push({ ...item, renamedFrom });
  }
  for (const [kind, ids] of removed) {
    const keptCount = keptCounts.get(kind) ?? 0;
    if (isDoubtful({ keptCount, removedCount: ids.length })) {
      result.held.push(...ids);
      result.doubtful.push({ kind, heldCount: ids.length, keptCount });
    } else result.removed.push(...ids);
  }
  return result;
}

/**
 * Whether a listing has none, or less than half, of the available items of a kind that earlier syncs found. A server that starts, or
 * that lost its database, answers like that, and what it lists is no reason to give up the items. Each kind counts for itself, because
 * a server can lose its tools and keep its prompts.
 */
function isDoubtful({ keptCount, removedCount }: { keptCount: number; removedCount: number }): boolean {
  return removedCount > keptCount;
}

function changeOf(item: KnownItem, found: FoundItem, now: Date): FoundItemChange {
  const back = statusOfListed(item);
  const { schemaDigest, title, description, attributes } = found;
  const isRedefined = schemaDigest !== null && item.schemaDigest !== null && schemaDigest !== item.schemaDigest;
  if (isRedefined && (back.status ?? item.status) === 'pending') {
    return { ...back, schemaDigest, title, description, attributes, drift: null };
  }
  if (isRedefined) {
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

/** The status that an item gets because it is listed. Empty: it keeps its status. */
function statusOfListed({ status, confirmed, listed }: KnownItem): Pick<FoundItemChange, 'status'> {
  if (status === 'missing') return { status: 'available' };
  const isBack = confirmed && !listed;
  return status === 'retired' && isBack ? { status: 'pending' } : {};
}

function textsOf(item: KnownItem, found: FoundItem): FoundItemChange {
  const followsProvider = item.source === 'sync';
  const change: FoundItemChange = {};
  if (found.title !== item.title && (followsProvider || item.title === null)) change.title = found.title;
  if (found.description !== item.description && (followsProvider || item.description === null)) {
    change.description = found.description;
  }
  const isEmpty = Object.keys(item.attributes).length === 0;
  const isSame = JSON.stringify(found.attributes) === JSON.stringify(item.attributes);
  if (!isSame && (followsProvider || isEmpty)) change.attributes = found.attributes;
  return change;
}

/** The kind and digest of a definition; null without a digest. */
function definitionOf(kind: string, digest: string | null): string | null {
  return digest === null ? null : `${kind}:${digest}`;
}

function keyOf({ kind, nameKey }: { kind: string; nameKey: string }): string {
  return `${kind}:${nameKey}`;
}
