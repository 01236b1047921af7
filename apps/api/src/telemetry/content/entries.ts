import { setAttribute } from '../otlp/assemble.ts';
import type { Attributes, AttributeValue } from '../otlp/span.ts';

/** Returned in place of a value that must not be stored. */
export const REMOVED = Symbol('removed');

/** Prefix of the attributes that the filter adds. Attributes of senders with this prefix are removed. */
const RESERVED_PREFIX = 'quartermaster.omitted';

/** Maps every value and shortens every name of attributes. Returns the input itself if nothing changes. */
export function mapEntries(
  entries: Attributes,
  map: (name: string, value: AttributeValue) => AttributeValue | typeof REMOVED,
  shortName: (name: string) => string,
): Attributes {
  // Copied only when the first difference is found, because most lists do not change.
  let copy: Attributes | undefined;
  let passed = 0;
  for (const name of Object.keys(entries)) {
    const value = entries[name] ?? null;
    const newName = shortName(name);
    const newValue = name.startsWith(RESERVED_PREFIX) ? REMOVED : map(name, value);
    if (!copy && (newName !== name || newValue !== value)) copy = copyFirst(entries, passed);
    if (copy && newValue !== REMOVED) setAttribute(copy, newName, newValue);
    passed += 1;
  }
  return copy ?? entries;
}

/** Whether a value can hold text. Numbers and booleans cannot, so `max_tokens` and `has_cookie` are stored. */
export function canHoldText(value: AttributeValue): boolean {
  return typeof value === 'string' || (typeof value === 'object' && value !== null);
}

function copyFirst(entries: Attributes, count: number): Attributes {
  const first: Attributes = {};
  for (const name of Object.keys(entries).slice(0, count)) setAttribute(first, name, entries[name] ?? null);
  return first;
}
