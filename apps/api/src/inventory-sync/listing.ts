import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { InventorySync } from '@quartermaster/contracts/inventory-syncs.ts';
import { SYNC_ERRORS_SHOWN } from '@quartermaster/contracts/inventory-syncs.ts';
import type { FoundItem } from '@quartermaster/db/repositories/inventory-sync.ts';
import { storedJson } from '@quartermaster/db/stored-json.ts';
import { OutboundFailure } from '../outbound/failure.ts';
import { MAX_ITEMS, type ReadItem, TOO_MANY_ITEMS } from './item.ts';

/** What a provider offers, as far as it can be taken over. */
export type Listing = {
  /** The kinds that were asked for: what is not among the items is gone. */
  kinds: readonly InventoryKind[];
  items: FoundItem[];
  errors: InventorySync['errors'];
  errorCount: number;
};

export type ListingMaker = {
  /** @throws OutboundFailure beyond `MAX_ITEMS` */
  add: (items: readonly ReadItem[]) => Promise<void>;
  count: () => number;
  /** Items that may still be added. */
  room: () => number;
  finished: () => Listing;
};

/** Items that are added before the event loop gets a turn. */
const BATCH_SIZE = 500;

/** Collects the items of a provider: each name once, and why the others are refused. */
export function listingOf(kinds: readonly InventoryKind[]): ListingMaker {
  const found = new Map<string, FoundItem>();
  const errors: InventorySync['errors'] = [];
  let listed = 0;
  let errorCount = 0;
  const refuse = ({ kind, name }: Pick<ReadItem, 'kind' | 'name'>, reason: string) => {
    errorCount += 1;
    if (errors.length < SYNC_ERRORS_SHOWN) errors.push({ kind, name, reason });
  };
  const addOne = (item: ReadItem) => {
    listed += 1;
    if (listed > MAX_ITEMS) throw new OutboundFailure(TOO_MANY_ITEMS);
    if ('fault' in item) return refuse(item, item.fault);
    const { kind, nameKey, attributes } = item;
    const place = `${kind}:${nameKey}`;
    // Models are listed under several spellings of one name; whatever else has one name is called by it.
    if (!found.has(place)) found.set(place, { ...item, attributes: storedJson(attributes) });
    else if (kind !== 'model') refuse(item, 'another one of this name is listed before it');
  };
  return {
    count: () => listed,
    room: () => MAX_ITEMS - listed,
    finished: () => ({ kinds, items: [...found.values()], errors, errorCount }),
    async add(items) {
      for (const item of items) {
        addOne(item);
        if (listed % BATCH_SIZE === 0) await yieldToEventLoop();
      }
    },
  };
}
