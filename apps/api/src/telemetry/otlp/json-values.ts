import { storable } from '@quartermaster/db/storable-text.ts';
import {
  type Budget,
  doubleValue,
  instrumentationScope,
  LIMITS,
  newBudget,
  NO_NAMES,
  setAttribute,
  TOO_DEEP,
} from './assemble.ts';
import { type Attributes, type AttributeValue, OtlpDecodeError, type OtlpSpan } from './span.ts';
import { type RequestTime, timeOfInteger } from './time.ts';

// Readers for the parts of OTLP's JSON requests, for all signals. Each one throws an OtlpDecodeError with the path of a value
// that has the wrong type.

export type Json = { [key: string]: unknown };

/** Hex digits of the longest valid id. A wrong id makes its span be rejected, not the whole request. */
const MAX_ID_CHARACTERS = 32;

/** A 64-bit integer, or a slightly longer number that is out of range. */
const INTEGER = /^-?[0-9]{1,24}$/;
const SMALLEST_INT64 = -(2n ** 63n);
const LARGEST_INT64 = 2n ** 63n - 1n;

export function readScope(scope: Json, path: string): OtlpSpan['scope'] {
  return instrumentationScope(
    string(scope.name, `${path}.name`),
    string(scope.version, `${path}.version`),
    attributesOf(scope.attributes, `${path}.attributes`),
  );
}

/** The attributes of a `resource` field. */
export function readResource(holder: Json, path: string): Attributes {
  return attributesOf(optional(holder.resource, `${path}.resource`).attributes, `${path}.resource.attributes`);
}

/** Reads an AnyValue outside of attributes. */
export function readAnyValue(json: unknown, path: string): AttributeValue {
  return anyValue(json, { path, depth: 0, budget: newBudget() });
}

export function attributesOf(value: unknown, path: string, keptNames = NO_NAMES): Attributes {
  return keyValues({ value, path, keptNames, depth: 0 });
}

function keyValues(entries: {
  value: unknown;
  path: string;
  keptNames: ReadonlySet<string>;
  depth: number;
  budget?: Budget;
}): Attributes {
  const attributes: Attributes = {};
  let count = 0;
  for (const [entry, path] of list(entries.value, entries.path)) {
    if (entries.budget !== undefined && entries.budget.left <= 0) break;
    const key = storable(string(entry.key, `${path}.key`));
    count += 1;
    if (key === '' || (count > LIMITS.attributes && !entries.keptNames.has(key))) continue;
    const budget = entries.budget ?? newBudget();
    setAttribute(attributes, key, anyValue(entry.value, { path: `${path}.value`, depth: entries.depth, budget }));
  }
  return attributes;
}

/** @param place `depth` is the number of lists around the value */
function anyValue(json: unknown, place: { path: string; depth: number; budget: Budget }): AttributeValue {
  const { path, depth, budget } = place;
  budget.left -= 1;
  const value = optional(json, path);
  if (isSet(value.stringValue)) return storable(string(value.stringValue, `${path}.stringValue`));
  if (isSet(value.boolValue)) return boolean(value.boolValue, `${path}.boolValue`);
  if (isSet(value.intValue)) return int64(value.intValue, `${path}.intValue`);
  if (isSet(value.doubleValue)) return double(value.doubleValue, `${path}.doubleValue`);
  if (isSet(value.bytesValue)) return base64(value.bytesValue, `${path}.bytesValue`);
  if (isSet(value.arrayValue)) {
    if (depth >= LIMITS.depth) return TOO_DEEP;
    const values = optional(value.arrayValue, `${path}.arrayValue`).values;
    const items: AttributeValue[] = [];
    for (const [item, at] of list(values, `${path}.arrayValue.values`)) {
      if (budget.left <= 0) break;
      items.push(anyValue(item, { path: at, depth: depth + 1, budget }));
    }
    return items;
  }
  if (isSet(value.kvlistValue)) {
    if (depth >= LIMITS.depth) return TOO_DEEP;
    const values = optional(value.kvlistValue, `${path}.kvlistValue`).values;
    return keyValues({
      value: values,
      path: `${path}.kvlistValue.values`,
      keptNames: NO_NAMES,
      depth: depth + 1,
      budget,
    });
  }
  return null;
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

export function object(value: unknown, path: string): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new OtlpDecodeError(`${path} must be an object.`);
  }
  return value as Json;
}

export function optional(value: unknown, path: string): Json {
  return isSet(value) ? object(value, path) : {};
}

/** Yields each element with its path. A generator, so that elements beyond a limit are never read. */
export function* list(value: unknown, path: string): Generator<[Json, string]> {
  if (!isSet(value)) return;
  if (!Array.isArray(value)) throw new OtlpDecodeError(`${path} must be an array.`);
  for (let i = 0; i < value.length; i += 1) {
    const at = `${path}[${i}]`;
    yield [object(value[i], at), at];
  }
}

export function first<In, Out>(limit: number, items: Iterable<In>, map: (item: In) => Out): Out[] {
  const mapped: Out[] = [];
  for (const item of items) {
    if (mapped.length >= limit) break;
    mapped.push(map(item));
  }
  return mapped;
}

export function string(value: unknown, path: string): string {
  if (!isSet(value)) return '';
  if (typeof value !== 'string') throw new OtlpDecodeError(`${path} must be a string.`);
  return value;
}

export function id(value: unknown, path: string): string {
  const hex = string(value, path);
  return hex.length > MAX_ID_CHARACTERS ? 'too long' : hex.toLowerCase();
}

function boolean(value: unknown, path: string): boolean {
  if (typeof value !== 'boolean') throw new OtlpDecodeError(`${path} must be a boolean.`);
  return value;
}

export function enumeration(value: unknown, names: string[], path: string): number {
  if (!isSet(value)) return 0;
  if (typeof value === 'number' && Number.isInteger(value)) return value;
  const index = typeof value === 'string' ? names.indexOf(value) : -1;
  if (index < 0) throw new OtlpDecodeError(`${path} must be an integer, or one of ${names.join(', ')}.`);
  return index;
}

/** Nanoseconds since 1970. */
export function time(value: unknown, path: string): RequestTime {
  return timeOfInteger(integer(value, path));
}

/** Any whole number, even out of range. 0 if absent. */
function integer(value: unknown, path: string): bigint {
  if (!isSet(value)) return 0n;
  if (typeof value === 'number' && Number.isInteger(value)) return BigInt(value);
  if (typeof value === 'string' && INTEGER.test(value)) return BigInt(value);
  throw new OtlpDecodeError(`${path} must be a whole number, or a string of its decimal digits.`);
}

function int64(value: unknown, path: string): AttributeValue {
  const whole = integer(value, path);
  if (whole < SMALLEST_INT64 || whole > LARGEST_INT64) {
    throw new OtlpDecodeError(`${path} must be within 64 bits.`);
  }
  const number = Number(whole);
  return Number.isSafeInteger(number) ? number : String(whole);
}

function double(value: unknown, path: string): AttributeValue {
  if (typeof value === 'number') return doubleValue(value);
  if (value === 'NaN' || value === 'Infinity' || value === '-Infinity') return value;
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN;
  if (Number.isNaN(number)) throw new OtlpDecodeError(`${path} must be a number.`);
  return doubleValue(number);
}

/** Standard base64 with padding, from any form of base64. */
function base64(value: unknown, path: string): string {
  return Buffer.from(string(value, path), 'base64').toString('base64');
}
