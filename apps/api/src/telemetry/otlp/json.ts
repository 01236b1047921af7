import {
  type Budget,
  collectSpans,
  doubleValue,
  isReadName,
  LIMITS,
  newBudget,
  newRawSpan,
  type RawSpan,
  scopeOf,
  setAttribute,
  TOO_DEEP,
} from './assemble.ts';
import {
  type Attributes,
  type AttributeValue,
  type DecodedTraces,
  OtlpDecodeError,
  type OtlpSpan,
  type PartialSuccess,
} from './span.ts';
import { storable } from './text.ts';

/**
 * Decodes an ExportTraceServiceRequest in OTLP's JSON form, which is proto3 JSON but for hex ids and integer enums
 * (OTLP specification, "JSON Protobuf Encoding"). `body` is what JSON.parse made of the request.
 *
 * Enum names are taken too. Absent and null are the same, as in proto3 JSON. Unknown fields are ignored. Throws
 * OtlpDecodeError, naming the place, where a known field has another shape than it should.
 *
 * @param take makes what is kept of a span; all of it, if there is none
 */
export function decodeJson(body: unknown): DecodedTraces;
export function decodeJson<Kept>(body: unknown, take: (span: OtlpSpan) => Kept): DecodedTraces<Kept>;
export function decodeJson(body: unknown, take: (span: OtlpSpan) => unknown = (span) => span): DecodedTraces<unknown> {
  const collector = collectSpans(take);
  const request = object(body, 'The body');
  for (const [resourceSpans, path] of list(request.resourceSpans, 'resourceSpans')) {
    const resourcePath = `${path}.resource`;
    const resource = attributesOf(
      optional(resourceSpans.resource, resourcePath).attributes,
      `${resourcePath}.attributes`,
    );
    for (const [scopeSpans, scopePath] of list(resourceSpans.scopeSpans, `${path}.scopeSpans`)) {
      const scope = readScope(optional(scopeSpans.scope, `${scopePath}.scope`), `${scopePath}.scope`);
      for (const [span, spanPath] of list(scopeSpans.spans, `${scopePath}.spans`)) {
        collector.add(readSpan(span, spanPath), scope, resource);
      }
    }
  }
  return collector.done();
}

/** ExportTraceServiceResponse; null is full success. */
export function jsonResponse(partial: PartialSuccess | null): object {
  if (partial === null) return {};
  return { partialSuccess: { rejectedSpans: String(partial.rejectedSpans), errorMessage: partial.errorMessage } };
}

type Json = { [key: string]: unknown };

const SPAN_KINDS = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'].map((k) => `SPAN_KIND_${k}`);
const STATUS_CODES = ['STATUS_CODE_UNSET', 'STATUS_CODE_OK', 'STATUS_CODE_ERROR'];

/** An id of any length is read, for the refusal of its span alone; 32 digits are the longest that matter. */
const LONGEST_ID = 32;

/** Digits of a 64-bit integer, and room for one that is out of range. */
const INTEGER = /^-?[0-9]{1,24}$/;
const SMALLEST_INT64 = -(2n ** 63n);
const LARGEST_INT64 = 2n ** 63n - 1n;

function readScope(scope: Json, path: string) {
  return scopeOf(
    string(scope.name, `${path}.name`),
    string(scope.version, `${path}.version`),
    attributesOf(scope.attributes, `${path}.attributes`),
  );
}

function readSpan(span: Json, path: string): RawSpan {
  const status = optional(span.status, `${path}.status`);
  return {
    ...newRawSpan(),
    traceId: id(span.traceId, `${path}.traceId`),
    spanId: id(span.spanId, `${path}.spanId`),
    parentSpanId: id(span.parentSpanId, `${path}.parentSpanId`),
    name: string(span.name, `${path}.name`),
    kind: enumeration(span.kind, SPAN_KINDS, `${path}.kind`),
    start: integer(span.startTimeUnixNano, `${path}.startTimeUnixNano`),
    end: integer(span.endTimeUnixNano, `${path}.endTimeUnixNano`),
    statusCode: enumeration(status.code, STATUS_CODES, `${path}.status.code`),
    statusMessage: string(status.message, `${path}.status.message`),
    traceState: string(span.traceState, `${path}.traceState`),
    attributes: attributesOf(span.attributes, `${path}.attributes`, isReadName),
    events: first(LIMITS.events, list(span.events, `${path}.events`), ([event, at]) => ({
      name: string(event.name, `${at}.name`),
      time: integer(event.timeUnixNano, `${at}.timeUnixNano`),
      attributes: attributesOf(event.attributes, `${at}.attributes`),
    })),
    links: first(LIMITS.links, list(span.links, `${path}.links`), ([link, at]) => ({
      traceId: id(link.traceId, `${at}.traceId`),
      spanId: id(link.spanId, `${at}.spanId`),
      attributes: attributesOf(link.attributes, `${at}.attributes`),
    })),
  };
}

function attributesOf(value: unknown, path: string, always: (key: string) => boolean = () => false): Attributes {
  return keyValues({ value, path, always, depth: 0 });
}

function keyValues(entries: {
  value: unknown;
  path: string;
  always: (key: string) => boolean;
  depth: number;
  budget?: Budget;
}): Attributes {
  const attributes: Attributes = {};
  let count = 0;
  for (const [entry, path] of list(entries.value, entries.path)) {
    if (entries.budget !== undefined && entries.budget.left <= 0) break;
    const key = storable(string(entry.key, `${path}.key`));
    count += 1;
    if (key === '' || (count > LIMITS.attributes && !entries.always(key))) continue;
    const budget = entries.budget ?? newBudget();
    setAttribute(attributes, key, anyValue(entry.value, { path: `${path}.value`, depth: entries.depth, budget }));
  }
  return attributes;
}

/** `depth` is the number of lists around the value. */
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
      always: () => false,
      depth: depth + 1,
      budget,
    });
  }
  return null;
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function object(value: unknown, path: string): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new OtlpDecodeError(`${path} must be an object.`);
  }
  return value as Json;
}

function optional(value: unknown, path: string): Json {
  return isSet(value) ? object(value, path) : {};
}

/** Each element with its path. A generator: what lies past a bound is never looked at. */
function* list(value: unknown, path: string): Generator<[Json, string]> {
  if (!isSet(value)) return;
  if (!Array.isArray(value)) throw new OtlpDecodeError(`${path} must be an array.`);
  for (let i = 0; i < value.length; i += 1) {
    const at = `${path}[${i}]`;
    yield [object(value[i], at), at];
  }
}

function first<In, Out>(limit: number, items: Iterable<In>, map: (item: In) => Out): Out[] {
  const mapped: Out[] = [];
  for (const item of items) {
    if (mapped.length >= limit) break;
    mapped.push(map(item));
  }
  return mapped;
}

function string(value: unknown, path: string): string {
  if (!isSet(value)) return '';
  if (typeof value !== 'string') throw new OtlpDecodeError(`${path} must be a string.`);
  return value;
}

function id(value: unknown, path: string): string {
  const hex = string(value, path);
  return hex.length > LONGEST_ID ? 'too long' : hex.toLowerCase();
}

function boolean(value: unknown, path: string): boolean {
  if (typeof value !== 'boolean') throw new OtlpDecodeError(`${path} must be a boolean.`);
  return value;
}

function enumeration(value: unknown, names: string[], path: string): number {
  if (!isSet(value)) return 0;
  if (typeof value === 'number' && Number.isInteger(value)) return value;
  const index = typeof value === 'string' ? names.indexOf(value) : -1;
  if (index < 0) throw new OtlpDecodeError(`${path} must be an integer, or one of ${names.join(', ')}.`);
  return index;
}

/** Any whole number, in range or not; 0 where absent. */
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

/** Standard base64 with padding, whichever of its forms was sent. */
function base64(value: unknown, path: string): string {
  return Buffer.from(string(value, path), 'base64').toString('base64');
}
