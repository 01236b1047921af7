import type { AttributeValue } from '../otlp/span.ts';

/** Such attributes also hold what the application wrote. Longer texts are not parsed. */
const MAX_CHARACTERS = 64 * 1024;

/** The last text that was parsed: several facts are read from one attribute. */
let last: { text: string; value: unknown } = { text: '', value: undefined };

/** The string or number under a path of keys in an attribute that is a JSON text. */
export function readInside(attribute: AttributeValue | undefined, path: readonly string[]): string | number | null {
  let value: unknown = typeof attribute === 'string' ? parsedJson(attribute) : undefined;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return null;
    value = (value as Record<string, unknown>)[key];
  }
  return typeof value === 'string' || typeof value === 'number' ? value : null;
}

/** The object or array that a text is in JSON; undefined for other texts and for long ones. */
export function parsedJson(text: string): unknown {
  if (text.length > MAX_CHARACTERS || (!text.startsWith('{') && !text.startsWith('['))) return undefined;
  if (text === last.text) return last.value;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  last = { text, value };
  return value;
}
