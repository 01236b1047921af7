import { setAttribute } from '../otlp/assemble.ts';
import type { Attributes, AttributeValue } from '../otlp/span.ts';

/** In the place of a value that is not stored. */
export const REMOVED = Symbol('removed');

/** Attributes that the filter adds itself. Those of senders are dropped. */
const RESERVED_PREFIX = 'quartermaster.omitted';

/** @returns the attributes with every value mapped and every name shortened; the input itself if nothing changes */
export function mapEntries(
  entries: Attributes,
  map: (name: string, value: AttributeValue) => AttributeValue | typeof REMOVED,
  shortName: (name: string) => string,
): Attributes {
  // Copied once something differs, which for most lists is never.
  let kept: Attributes | undefined;
  let passed = 0;
  for (const name of Object.keys(entries)) {
    const value = entries[name] ?? null;
    const newName = shortName(name);
    const newValue = name.startsWith(RESERVED_PREFIX) ? REMOVED : map(name, value);
    if (!kept && (newName !== name || newValue !== value)) kept = firstOf(entries, passed);
    if (kept && newValue !== REMOVED) setAttribute(kept, newName, newValue);
    passed += 1;
  }
  return kept ?? entries;
}

/** Numbers and booleans cannot: `max_tokens` and `has_cookie` are stored. */
export function canHoldText(value: AttributeValue): boolean {
  return typeof value === 'string' || (typeof value === 'object' && value !== null);
}

function firstOf(entries: Attributes, count: number): Attributes {
  const first: Attributes = {};
  for (const name of Object.keys(entries).slice(0, count)) setAttribute(first, name, entries[name] ?? null);
  return first;
}
