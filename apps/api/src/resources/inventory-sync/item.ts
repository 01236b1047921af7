import { METADATA_MAX_BYTES } from '@quartermaster/contracts/fields.ts';
import { type InventoryKind, isPlainItemName } from '@quartermaster/contracts/inventory.ts';
import { visibleLine, visibleText, visibleValue } from '@quartermaster/contracts/visible-text.ts';
import { nameKey, plainName } from '@quartermaster/naming/name-key.ts';
import type { FoundItem } from '@quartermaster/db/repositories/inventory-sync.ts';
import { storable } from '@quartermaster/db/storable-text.ts';
import { MAX_DEPTH } from '../../http/messages/limits.ts';
import { canonicalDigest } from '../../platform/canonical-digest.ts';

/** An item as the provider describes it: untrusted input. */
export type ListedItem = {
  kind: InventoryKind;
  name: string;
  /** Why the item cannot be read; undefined if it can. */
  fault?: string;
  title?: string | undefined;
  description?: string | undefined;
  /** What is stored of it, the most important member first. Undefined members are left out. */
  attributes: Record<string, unknown>;
  /** What a model sees of it. The digest covers this; without it the item has no digest. */
  definition?: Record<string, unknown>;
};

/** An item that is ready to be written, or refused with the reason. Its attributes are JSON text. */
export type ReadItem =
  | (Omit<FoundItem, 'attributes'> & { attributes: string })
  | { kind: InventoryKind; name: string; fault: string };

/** Longer lists are refused, because a sync compares all items in memory and writes them in one transaction. */
export const MAX_ITEMS = 5000;

export const TOO_MANY_ITEMS = `it lists more than ${MAX_ITEMS} items`;

/** A caller can store what it has read: a request may have this many levels in attributes, below the body and its member. */
const MAX_NESTED_LEVELS = MAX_DEPTH - 2;

const NAME_MAX = 256;
const TITLE_MAX = 200;
const DESCRIPTION_MAX = 2000;

/** Bytes reserved for `"truncated": true` and for commas. */
const TRUNCATION_MARK_BYTES = 32;

/** Prepares an item to be stored, or returns why it cannot be stored. */
export function readItem(item: ListedItem, { name: providerName }: { name: string }): ReadItem {
  const { kind, name, title, description, fault } = item;
  // People read the names in the list of errors, so hidden characters are escaped.
  const refuse = (reason: string) => ({ kind, name: shown(name, NAME_MAX, visibleLine), fault: reason });
  if (fault !== undefined) return refuse(fault);
  if (name === '') return refuse('its name is empty');
  if (name.length > NAME_MAX) return refuse(`its name is longer than ${NAME_MAX} characters`);
  if (name !== storable(name)) return refuse('its name has characters that cannot be stored');
  const plain = plainName(kind, name, providerName);
  if (!isPlainItemName(plain)) return refuse('its name has spaces around it or hidden characters, or is a lone *');
  const kept = keptOf(item);
  if ('fault' in kept) return refuse(kept.fault);
  return {
    kind,
    name: plain,
    nameKey: nameKey(kind, name, providerName),
    title: textOf(title, TITLE_MAX, visibleLine),
    description: textOf(description, DESCRIPTION_MAX, visibleText),
    ...kept,
  };
}

/** An item whose definition is not valid. It is counted as an error, and the other items are still read. */
export function unreadableItem(kind: InventoryKind, raw: unknown, nameMember: string): ListedItem {
  const name = typeof raw === 'object' && raw !== null ? (raw as Record<string, unknown>)[nameMember] : undefined;
  const fault = 'its definition is not valid';
  return { kind, name: typeof name === 'string' ? name : '', fault, attributes: {} };
}

type Kept = { attributes: string; schemaDigest: string | null };

const TOO_DEEP = { fault: 'its definition is nested too deeply' };

/** Such as 1e999, or half of a surrogate pair. RFC 8785 has no form for them. */
const NO_DIGEST = { fault: 'its definition has a number or a character that cannot be stored' };

/** What is stored of the attributes, and the digest; or why they cannot be stored. */
function keptOf({ attributes, definition }: ListedItem): Kept | { fault: string } {
  if (isNestedDeeper(attributes, MAX_NESTED_LEVELS)) return TOO_DEEP;
  try {
    // The digest covers the whole definition, even if the stored attributes are truncated.
    const schemaDigest = definition === undefined ? null : digestOf(withoutUndefined(definition));
    if (schemaDigest === undefined) return NO_DIGEST;
    // Cut before escaping hidden characters as well, because attributes may be very long.
    const visible = visibleValue(fitting(withoutUndefined(attributes)));
    return { attributes: JSON.stringify(fitting(visible)), schemaDigest };
  } catch (error) {
    if (error instanceof RangeError) return TOO_DEEP;
    throw error;
  }
}

/** Undefined if the definition has no digest. @throws RangeError if it is nested too deeply */
function digestOf(definition: Record<string, unknown>): string | undefined {
  try {
    return canonicalDigest(definition);
  } catch (error) {
    if (error instanceof RangeError) throw error;
    return undefined;
  }
}

/** The recursion is bounded by the levels that it looks for. */
function isNestedDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isNestedDeeper(member, levels - 1));
}

/** As many attributes as fit into a record, with `truncated: true` if some do not fit. */
function fitting(attributes: Record<string, unknown>): Record<string, unknown> {
  const kept: [string, unknown][] = [];
  let room = METADATA_MAX_BYTES - TRUNCATION_MARK_BYTES;
  let truncated = false;
  for (const [name, value] of Object.entries(attributes)) {
    const size = Buffer.byteLength(JSON.stringify({ [name]: value }));
    if (size <= room) {
      room -= size;
      kept.push([name, value]);
    } else truncated = true;
  }
  // Not assigned one by one, because a member may be named `__proto__`.
  return Object.fromEntries(truncated ? [...kept, ['truncated', true]] : kept);
}

function withoutUndefined(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined));
}

function textOf(text: string | undefined, length: number, visible: (text: string) => string): string | null {
  return text === undefined || text === '' ? null : shown(text, length, visible);
}

/** Cuts before escaping hidden characters, because a text may be very long; and after it, because escapes are longer. */
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
