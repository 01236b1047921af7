import { ownMember } from '../../platform/own-member.ts';
import type { AttributeValue } from '../otlp/span.ts';

/** Longer texts are not parsed. Such attributes may contain large inputs of the application. */
const MAX_CHARACTERS = 64 * 1024;

/** A cache of the last parsed text, because several facts may be read from one attribute. */
let last: { text: string; value: unknown } = { text: '', value: undefined };

/** The string or number under a path of keys in an attribute that is a JSON text. The path may also be one key with dots. */
export function readInside(attribute: AttributeValue | undefined, path: readonly string[]): string | number | null {
  const whole = parsedAttribute(attribute);
  if (typeof whole !== 'object' || whole === null) return null;
  let value: unknown = whole;
  for (const key of path) value = ownMember(value, key);
  if (value === undefined && path.length > 1) value = ownMember(whole, path.join('.'));
  return typeof value === 'string' || typeof value === 'number' ? value : null;
}

/** The value of an attribute that is a JSON text. */
export function parsedAttribute(attribute: AttributeValue | undefined): unknown {
  return typeof attribute === 'string' ? parsedJson(attribute) : undefined;
}

/** The member of a key in snake case, which may also be written in camel case. Google's clients do either. */
export function memberOfEitherCase(value: unknown, key: string): unknown {
  return ownMember(value, key) ?? ownMember(value, camelCased(key));
}

export function camelCased(key: string): string {
  return key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Parses a JSON object or array. Returns undefined for other texts, and for texts that are too long. */
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
