import { setImmediate as breathe } from 'node:timers/promises';
import { METADATA_MAX_BYTES } from '@quartermaster/contracts/fields.ts';
import { type InventoryKind, isPlainItemName } from '@quartermaster/contracts/inventory.ts';
import type { InventorySync } from '@quartermaster/contracts/inventory-syncs.ts';
import { SYNC_ERRORS_SHOWN } from '@quartermaster/contracts/inventory-syncs.ts';
import { nameKey, plainName } from '@quartermaster/db/name-key.ts';
import type { FoundItem } from '@quartermaster/db/repositories/inventory-sync.ts';
import { canonicalDigest } from '../crypto/canonical-digest.ts';
import { OutboundFailure } from '../outbound/failure.ts';

/** What a provider offers, as far as it can be taken over. */
export type Listing = {
  /** The kinds that were asked for: what is not among the items is gone. */
  kinds: readonly InventoryKind[];
  items: FoundItem[];
  errors: InventorySync['errors'];
  errorCount: number;
};

/** An item as the far side describes it: nothing of it is trusted. */
export type ListedItem = {
  kind: InventoryKind;
  name: string;
  /** What is wrong with it, where it cannot be read. */
  fault?: string;
  title?: string | undefined;
  description?: string | undefined;
  /** What is kept of it, the most important first; members that are undefined are left out. */
  attributes: Record<string, unknown>;
  /** What a model is shown of it and calls it by: the digest is of this. None: it has no digest. */
  definition?: Record<string, unknown>;
};

export type ListingMaker = {
  /** @throws OutboundFailure beyond {@link MAX_ITEMS} */
  add: (items: readonly ListedItem[]) => Promise<void>;
  count: () => number;
  finished: () => Listing;
};

/** More than this a provider does not list: all is compared in memory, and written in one transaction. */
export const MAX_ITEMS = 5000;

const NAME_MAX = 256;
const TITLE_MAX = 200;
const DESCRIPTION_MAX = 2000;

/** Items looked at before the event loop gets a turn: their digests take a while. */
const OF_TURN = 100;

/** What JSON takes for the mark that something was left out, and for commas. */
const ROOM_FOR_MARK = 32;

/** Collects items, sorts out what no inventory can hold, and says why. */
export function listingOf(provider: { name: string }, kinds: readonly InventoryKind[]): ListingMaker {
  const found = new Map<string, FoundItem>();
  const errors: InventorySync['errors'] = [];
  let listed = 0;
  let errorCount = 0;
  const refuse = ({ kind, name }: ListedItem, reason: string) => {
    errorCount += 1;
    if (errors.length < SYNC_ERRORS_SHOWN) errors.push({ kind, name: storable(cut(name, NAME_MAX)), reason });
  };
  const addOne = (item: ListedItem) => {
    listed += 1;
    if (listed > MAX_ITEMS) throw new OutboundFailure(`it lists more than ${MAX_ITEMS} items`);
    const { kind, name, title, description, fault } = item;
    if (fault !== undefined) return refuse(item, fault);
    if (name === '') return refuse(item, 'its name is empty');
    if (name.length > NAME_MAX) return refuse(item, `its name is longer than ${NAME_MAX} characters`);
    if (name !== storable(name)) return refuse(item, 'its name has characters that cannot be stored');
    const plain = plainName(kind, name, provider.name);
    if (!isPlainItemName(plain))
      return refuse(item, 'its name has spaces around it or hidden characters, or is a lone *');
    const key = nameKey(kind, name, provider.name);
    const place = `${kind}:${key}`;
    if (found.has(place)) {
      // Models are listed under several spellings of one name; whatever else has one name is called by it.
      if (kind !== 'model') refuse(item, 'another one of this name is listed before it');
      return;
    }
    const kept = keptOf(item);
    if (kept === null) return refuse(item, 'its definition is nested too deeply');
    found.set(place, {
      kind,
      name: plain,
      nameKey: key,
      title: textOf(title, TITLE_MAX),
      description: textOf(description, DESCRIPTION_MAX),
      ...kept,
    });
  };
  return {
    count: () => listed,
    finished: () => ({ kinds, items: [...found.values()], errors, errorCount }),
    async add(items) {
      for (const item of items) {
        addOne(item);
        if (listed % OF_TURN === 0) await breathe();
      }
    },
  };
}

/** An item that is not as its kind should be: it is counted as an error, and the others go on. */
export function unreadable(kind: InventoryKind, raw: unknown, nameMember: string): ListedItem {
  const name = typeof raw === 'object' && raw !== null ? (raw as Record<string, unknown>)[nameMember] : undefined;
  const fault = 'its definition is not valid';
  return { kind, name: typeof name === 'string' ? name : '', fault, attributes: {} };
}

/** Null where it is nested deeper than can be written down. */
function keptOf({ attributes, definition }: ListedItem): Pick<FoundItem, 'attributes' | 'schemaDigest'> | null {
  try {
    // The digest covers all of it, whatever is left out or cut in what is kept.
    const schemaDigest = definition === undefined ? null : canonicalDigest(withoutUndefined(definition));
    return { attributes: fitting(withoutUndefined(attributes)), schemaDigest };
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** The members that fit together into what a record may have; `truncated` where some do not. */
function fitting(attributes: Record<string, unknown>): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  let room = METADATA_MAX_BYTES - ROOM_FOR_MARK;
  let truncated = false;
  for (const [name, value] of Object.entries(attributes)) {
    const size = Buffer.byteLength(JSON.stringify({ [name]: value }));
    if (size <= room) {
      room -= size;
      kept[name] = value;
    } else truncated = true;
  }
  return truncated ? { ...kept, truncated } : kept;
}

function withoutUndefined(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined));
}

function textOf(text: string | undefined, length: number): string | null {
  return text === undefined || text === '' ? null : storable(cut(text, length));
}

function cut(text: string, length: number): string {
  return text.length <= length
    ? text
    : text
        .slice(0, length - 1)
        .replace(/[\ud800-\udbff]$/, '')
        .concat('…');
}

/** Without what databases refuse in texts: NUL, and halves of surrogate pairs. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}
