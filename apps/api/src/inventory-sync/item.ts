import { METADATA_MAX_BYTES } from '@quartermaster/contracts/fields.ts';
import { type InventoryKind, isPlainItemName } from '@quartermaster/contracts/inventory.ts';
import { visibleLine, visibleText } from '@quartermaster/contracts/visible-text.ts';
import { nameKey, plainName } from '@quartermaster/db/name-key.ts';
import type { FoundItem } from '@quartermaster/db/repositories/inventory-sync.ts';
import { canonicalDigest } from '../crypto/canonical-digest.ts';

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

/** An item that was read: ready to be written, or refused for a reason. Its attributes are JSON text. */
export type ReadItem =
  | (Omit<FoundItem, 'attributes'> & { attributes: string })
  | { kind: InventoryKind; name: string; fault: string };

/** More than this a provider does not list: all is compared in memory, and written in one transaction. */
export const MAX_ITEMS = 5000;

/** Why a longer list is refused. */
export const TOO_MANY_ITEMS = `it lists more than ${MAX_ITEMS} items`;

const NAME_MAX = 256;
const TITLE_MAX = 200;
const DESCRIPTION_MAX = 2000;

/** What JSON takes for the mark that something was left out, and for commas. */
const ROOM_FOR_MARK = 32;

/** Prepares an item to be stored, or says why no inventory can hold it. */
export function readItem(item: ListedItem, { name: providerName }: { name: string }): ReadItem {
  const { kind, name, title, description, fault } = item;
  // In a list of errors a name is read by people, too.
  const refuse = (reason: string) => ({ kind, name: shown(name, NAME_MAX, visibleLine), fault: reason });
  if (fault !== undefined) return refuse(fault);
  if (name === '') return refuse('its name is empty');
  if (name.length > NAME_MAX) return refuse(`its name is longer than ${NAME_MAX} characters`);
  if (name !== storable(name)) return refuse('its name has characters that cannot be stored');
  const plain = plainName(kind, name, providerName);
  if (!isPlainItemName(plain)) return refuse('its name has spaces around it or hidden characters, or is a lone *');
  const kept = keptOf(item);
  if (kept === null) return refuse('its definition is nested too deeply');
  return {
    kind,
    name: plain,
    nameKey: nameKey(kind, name, providerName),
    title: textOf(title, TITLE_MAX, visibleLine),
    description: textOf(description, DESCRIPTION_MAX, visibleText),
    ...kept,
  };
}

/** An item that is not as its kind should be: it is counted as an error, and the others go on. */
export function unreadable(kind: InventoryKind, raw: unknown, nameMember: string): ListedItem {
  const name = typeof raw === 'object' && raw !== null ? (raw as Record<string, unknown>)[nameMember] : undefined;
  const fault = 'its definition is not valid';
  return { kind, name: typeof name === 'string' ? name : '', fault, attributes: {} };
}

/** Null where it is nested deeper than can be written down. */
function keptOf({ attributes, definition }: ListedItem): { attributes: string; schemaDigest: string | null } | null {
  try {
    // The digest covers all of it, whatever is left out or cut in what is kept.
    const schemaDigest = definition === undefined ? null : canonicalDigest(withoutUndefined(definition));
    return { attributes: fitting(withoutUndefined(attributes)), schemaDigest };
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** The members that fit together into what a record may have, as JSON; `truncated` where some do not. */
function fitting(attributes: Record<string, unknown>): string {
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
  return JSON.stringify(truncated ? { ...kept, truncated } : kept);
}

function withoutUndefined(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined));
}

function textOf(text: string | undefined, length: number, visible: (text: string) => string): string | null {
  return text === undefined || text === '' ? null : shown(text, length, visible);
}

/** Cut before and after hidden characters are written out: a text may be long, and escapes make it longer. */
function shown(text: string, length: number, visible: (text: string) => string): string {
  return cut(visible(storable(cut(text, length))), length);
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
