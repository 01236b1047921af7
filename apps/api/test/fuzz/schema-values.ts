import type { Arbitrary } from 'fast-check';
import * as fc from 'fast-check';
import { document } from '../support/contract-check.ts';

/** The part of JSON Schema that the document uses. */
export type Schema = {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
};

/** The longest generated text. Mutations add longer ones. */
const MAX_TEXT_LENGTH = 40;

/** The deepest nesting of generated values. The schemas of manifests are recursive. */
const MAX_LEVELS = 6;

/**
 * Values that match a schema of the document. They may break rules beyond the schema, such as the uniqueness of a name.
 *
 * @param name of the property. A property with the name of a path parameter often gets the id of an existing record.
 */
export function valuesOf(schema: Schema, name = '', level = 0): Arbitrary<unknown> {
  const known = knownIds(name);
  const own = plainValuesOf(schema, name, level);
  return known === null || schema.type === 'array' ? own : fc.oneof({ weight: 3, arbitrary: known }, own);
}

function plainValuesOf(schema: Schema, name: string, level: number): Arbitrary<unknown> {
  if (schema.$ref !== undefined) return valuesOf(resolved(schema.$ref), name, level);
  const options = schema.anyOf ?? schema.oneOf;
  if (options) return fc.oneof(...options.map((option) => valuesOf(option, name, level)));
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (Array.isArray(schema.type)) {
    return fc.oneof(...schema.type.map((type) => valuesOf({ ...schema, type }, name, level)));
  }
  switch (schema.type) {
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'integer': {
      const { minimum = -(2 ** 31), maximum = 2 ** 31 } = schema;
      return fc.oneof(fc.integer({ min: minimum, max: maximum }), fc.constantFrom(minimum, maximum));
    }
    case 'number':
      return fc.double({ min: schema.minimum ?? -1e9, max: schema.maximum ?? 1e9, noNaN: true });
    case 'string':
      return textsOf(schema);
    case 'array':
      return level > MAX_LEVELS
        ? fc.constant([])
        : fc.array(valuesOf(schema.items ?? {}, name.replace(/s$/, ''), level + 1), {
            minLength: schema.minItems ?? 0,
            maxLength: Math.min(schema.maxItems ?? 3, 3),
          });
    case 'object':
      return objectsOf(schema, level);
    default:
      return fc.jsonValue({ maxDepth: 3 });
  }
}

function objectsOf(schema: Schema, level: number): Arbitrary<unknown> {
  const { properties = {}, required = [], additionalProperties } = schema;
  const members = Object.entries(properties).filter(([key]) => level <= MAX_LEVELS || required.includes(key));
  const declared = fc.record(
    Object.fromEntries(members.map(([key, member]) => [key, valuesOf(member, key, level + 1)])),
    { requiredKeys: required.filter((key) => key in properties) },
  );
  if (additionalProperties === false || (additionalProperties === undefined && members.length > 0)) return declared;
  const more = typeof additionalProperties === 'object' ? additionalProperties : {};
  const further = fc.dictionary(fc.string({ maxLength: 12 }), valuesOf(more, '', level + 1), { maxKeys: 3 });
  return fc.tuple(declared, further).map(([named, free]) => ({ ...free, ...named }));
}

function textsOf({ format, pattern, minLength = 0, maxLength = Infinity }: Schema): Arbitrary<string> {
  if (format === 'email') return fc.emailAddress();
  if (format === 'uri') return fc.webUrl({ validSchemes: ['https', 'http'] });
  if (format === 'date-time') {
    return fc
      .date({ min: new Date('1970-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
      .map((date) => date.toISOString());
  }
  const fits = (text: string) => text.length >= minLength && text.length <= maxLength;
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern)).filter(fits);
  const plain = fc.string({ minLength, maxLength: Math.min(maxLength, MAX_TEXT_LENGTH) });
  const any = fc.string({ minLength, maxLength: Math.min(maxLength, MAX_TEXT_LENGTH), unit: 'grapheme' }).filter(fits);
  return fc.oneof(plain, any);
}

function resolved(reference: string): Schema {
  const schema = document.components.schemas[reference.replace('#/components/schemas/', '')];
  if (!schema) throw new Error(`the document has no ${reference}`);
  return schema;
}

/** A placeholder for the id of a record that exists when the request is sent. */
type Known = `@${string}#${number}`;

const KNOWN = /^@(\w+)#(\d+)$/;

/** Placeholders of provider ids for names such as `providerId`, `provider_id` and `providerIds`; null for other names. */
function knownIds(name: string): Arbitrary<Known> | null {
  const parameter = name
    .replace(/Ids?$/, '_id')
    .replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    .replace(/^owner_id$/, 'service_account_id');
  if (!parameter.endsWith('_id') || parameter === 'sub_tenant_id') return null;
  return fc.nat({ max: 999 }).map((index): Known => `@${parameter}#${index}`);
}

/** A value with its placeholders replaced. @param idOf returns the id of a record by path parameter and index */
export function withKnownIds(value: unknown, idOf: (parameter: string, index: number) => string): unknown {
  if (typeof value === 'string') {
    const [, parameter, index] = KNOWN.exec(value) ?? [];
    return parameter === undefined ? value : idOf(parameter, Number(index));
  }
  if (Array.isArray(value)) return value.map((item) => withKnownIds(item, idOf));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([key, member]) => [key, withKnownIds(member, idOf)] as const);
  // fromEntries keeps `__proto__` as an ordinary member. An assignment would set the prototype.
  return Object.fromEntries(members);
}
