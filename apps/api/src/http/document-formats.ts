/** The range of an integer whose schema says nothing of it. */
const UNBOUNDED = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };

const INT32 = { minimum: -(2 ** 31), maximum: 2 ** 31 - 1 };

type Json = { [key: string]: unknown };

/**
 * Completes what the generator leaves open, for generators of clients: integers and numbers have a format, by their
 * range. And it removes what is said twice: the bounds of JavaScript's safe integers, and a parameter's description in
 * its schema.
 *
 * @returns a copy
 */
export function tidied<Part>(part: Part): Part {
  if (Array.isArray(part)) return part.map(tidied) as Part;
  if (typeof part !== 'object' || part === null) return part;
  const copy: Json = Object.fromEntries(Object.entries(part).map(([key, value]) => [key, tidied(value)]));
  if (copy['type'] === 'integer') return integer(copy) as Part;
  if (copy['type'] === 'number') copy['format'] = 'double';
  if (typeof copy['in'] === 'string' && isObject(copy['schema'])) dropRepeatedDescription(copy, copy['schema']);
  return copy as Part;
}

function integer(schema: Json): Json {
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

function dropRepeatedDescription(parameter: Json, schema: Json): void {
  if (schema['description'] === parameter['description']) delete schema['description'];
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
