import { isObject } from '../../platform/json-values.ts';

/** The range that zod gives to an integer without bounds: JavaScript's safe integers. */
const UNBOUNDED = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };

const INT32 = { minimum: -(2 ** 31), maximum: 2 ** 31 - 1 };

type Json = { [key: string]: unknown };

/**
 * Returns a copy of a part of the document in which every integer and number has a format (`int32`, `int64`, `double`), as
 * client generators expect. Bounds that are those of JavaScript's safe integers are removed, and so is a parameter's
 * description that its schema repeats.
 */
export function withNumberFormats<Part>(part: Part): Part {
  if (Array.isArray(part)) return part.map(withNumberFormats) as Part;
  if (typeof part !== 'object' || part === null) return part;
  const copy: Json = Object.fromEntries(Object.entries(part).map(([key, value]) => [key, withNumberFormats(value)]));
  if (copy['type'] === 'integer') return withIntegerFormat(copy) as Part;
  if (copy['type'] === 'number') copy['format'] = 'double';
  if (typeof copy['in'] === 'string' && isObject(copy['schema'])) removeRepeatedDescription(copy, copy['schema']);
  return copy as Part;
}

function withIntegerFormat(schema: Json): Json {
  const {
    minimum = UNBOUNDED.minimum,
    maximum = UNBOUNDED.maximum,
    ...rest
  } = schema as {
    minimum?: number;
    maximum?: number;
  };
  const format = minimum >= INT32.minimum && maximum <= INT32.maximum ? 'int32' : 'int64';
  return {
    ...rest,
    format,
    ...(minimum !== UNBOUNDED.minimum && { minimum }),
    ...(maximum !== UNBOUNDED.maximum && { maximum }),
  };
}

function removeRepeatedDescription(parameter: Json, schema: Json): void {
  if (schema['description'] === parameter['description']) delete schema['description'];
}
