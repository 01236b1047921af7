import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { InventorySync } from '@quartermaster/contracts/inventory-syncs.ts';
import { MAX_LISTED_SYNC_ERRORS } from '@quartermaster/contracts/inventory-syncs.ts';
import type { FoundItem } from '@quartermaster/db/repositories/inventory-sync.ts';
import { storedJson } from '@quartermaster/db/stored-json.ts';
import { OutboundFailure } from '../../platform/outbound/failure.ts';
import type { HeaderChecks } from './probe-headers.ts';
import { MAX_ITEMS, type ReadItem, TOO_MANY_ITEMS } from './item.ts';

/** What a provider offers, as far as the inventory can hold it. */
export type Listing = {
  /** The kinds that the provider was asked for. A known item of these kinds that is not listed is missing. */
  kinds: readonly InventoryKind[];
  items: FoundItem[];
  errors: InventorySync['errors'];
  errorCount: number;
  /** What the provider announced and did not list, in our own words. */
  notes: string[];
  /** What was found out about an MCP server. Other providers have none. */
  mcp?: { headerChecks: HeaderChecks; protocolVersions: string[] };
};

export type ListingMaker = {
  /** @throws OutboundFailure beyond `MAX_ITEMS` */
  add: (items: readonly ReadItem[]) => Promise<void>;
  count: () => number;
  /** Adds to the notes of the listing. */
  note: (text: string) => void;
  /** How many items may still be added. */
  room: () => number;
  finished: () => Listing;
};

/** Items that are added before the event loop gets a turn. */
const BATCH_SIZE = 500;

/** Collects the items of a provider, each name once, with the reasons why others are refused. */
export function listingOf(kinds: readonly InventoryKind[]): ListingMaker {
  const found = new Map<string, FoundItem>();
  const errors: InventorySync['errors'] = [];
  const notes: string[] = [];
  let listed = 0;
  let errorCount = 0;
  const refuse = ({ kind, name }: Pick<ReadItem, 'kind' | 'name'>, reason: string) => {
    errorCount += 1;
    if (errors.length < MAX_LISTED_SYNC_ERRORS) errors.push({ kind, name, reason });
  };
  const addOne = (item: ReadItem) => {
    listed += 1;
    if (listed > MAX_ITEMS) throw new OutboundFailure(TOO_MANY_ITEMS);
    if ('fault' in item) return refuse(item, item.fault);
    const { kind, nameKey, attributes } = item;
    const place = `${kind}:${nameKey}`;
    // Providers list models under several spellings of one name. Two items of any other kind with one name are an error.
    if (!found.has(place)) found.set(place, { ...item, attributes: storedJson(attributes) });
    else if (kind !== 'model') refuse(item, 'another one of this name is listed before it');
  };
  return {
    count: () => listed,
    room: () => MAX_ITEMS - listed,
    finished: () => ({ kinds, items: [...found.values()], errors, errorCount, notes }),
    note: (text) => void notes.push(text),
    async add(items) {
      for (const item of items) {
        addOne(item);
        if (listed % BATCH_SIZE === 0) await yieldToEventLoop();
      }
    },
  };
}
