import { describe, expect, test } from 'vitest';
import { serviceDocument } from '../src/server/document.ts';

type Json = { [key: string]: unknown };
type Described = { operationId: string; summary: string; description?: string; parameters?: Json[]; responses: Json };
type Served = { paths: Record<string, Record<string, Described>>; components: Record<string, Record<string, Json>> };

const served = JSON.parse(JSON.stringify(serviceDocument('http://127.0.0.1:8080'))) as Served;

const OPERATIONS = Object.values(served.paths).flatMap((methods) => Object.values(methods));

type Place = { at: string; schema: Json; isComponent: boolean };

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const ONE = ['items', 'additionalProperties', 'propertyNames', 'not'];
const SEVERAL = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const NAMED = ['properties', 'patternProperties', '$defs'];

function schemasBelow(schema: unknown, at: string, isComponent: boolean): Place[] {
  if (!isObject(schema)) return [];
  const inner = [
    ...ONE.map((keyword): [string, unknown] => [keyword, schema[keyword]]),
    ...SEVERAL.flatMap((keyword) =>
      ((schema[keyword] ?? []) as unknown[]).map((one, index): [string, unknown] => [`${keyword}/${index}`, one]),
    ),
    ...NAMED.flatMap((keyword) =>
      Object.entries((schema[keyword] ?? {}) as Json).map(([name, one]): [string, unknown] => [
        `${keyword}/${name}`,
        one,
      ]),
    ),
  ];
  return [{ at, schema, isComponent }, ...inner.flatMap(([step, one]) => schemasBelow(one, `${at}/${step}`, false))];
}

/** The schemas outside of `components/schemas`: of parameters, headers, request bodies and responses. */
function schemasOfMessages(part: unknown, at: string): Place[] {
  if (Array.isArray(part)) return part.flatMap((one, index) => schemasOfMessages(one, `${at}/${index}`));
  if (!isObject(part)) return [];
  return Object.entries(part).flatMap(([key, value]) =>
    key === 'schema' ? schemasBelow(value, `${at}/schema`, false) : schemasOfMessages(value, `${at}/${key}`),
  );
}

const { schemas = {}, ...messages } = served.components;
const SCHEMAS = [
  ...Object.entries(schemas).flatMap(([name, schema]) => schemasBelow(schema, name, true)),
  ...schemasOfMessages(messages, 'components'),
  ...schemasOfMessages(served.paths, 'paths'),
];

describe('regression: client generators find a name for each type', () => {
  test('every object with properties is a component', () => {
    const inline = SCHEMAS.filter(({ schema, isComponent }) => !isComponent && isObject(schema['properties']));
    expect(inline.map(({ at }) => at)).toEqual([]);
    expect(SCHEMAS.length).toBeGreaterThan(500);
  });

  test('an object that may be null is a component, even with arbitrary members', () => {
    const inline = SCHEMAS.filter(({ at, schema }) => schema['type'] === 'object' && /(any|one|all)Of\/\d+$/.test(at));
    expect(inline.map(({ at }) => at)).toEqual([]);
  });

  test('a field that may be null refers to the same component', () => {
    const genAi = { anyOf: [{ $ref: '#/components/schemas/SpanGenAi' }, { type: 'null' }] };
    expect(schemas['Span']).toMatchObject({ properties: { genAi } });
  });
});

test('regression: every integer has a format that fits its range', () => {
  const integers = SCHEMAS.filter(({ schema }) => [schema['type']].flat().includes('integer'));
  expect(integers.length).toBeGreaterThan(30);
  for (const { at, schema } of integers) {
    const { minimum = -Infinity, maximum = Infinity } = schema as { minimum?: number; maximum?: number };
    const fits = minimum >= -(2 ** 31) && maximum < 2 ** 31;
    expect(schema['format'], at).toBe(fits ? 'int32' : 'int64');
  }
});

test.each(OPERATIONS)(
  'regression: $operationId has a description that differs from its summary',
  ({ summary, description = '' }) => {
    const own = description.replace(/ ?Unknown query parameters are ignored\.$/, '');
    expect(own).toMatch(/^[A-Z`].*\.$/s);
    expect(own.length).toBeGreaterThan(40);
    expect(own).not.toContain(`${summary}.`);
  },
);

/** The parts that occur more than once, as JSON. */
function repeated(parts: unknown[]): string[] {
  const texts = parts.filter((part) => isObject(part) && !('$ref' in part)).map((part) => JSON.stringify(part));
  return texts.filter((text, index) => texts.indexOf(text) !== index);
}

test('a parameter or a refusal that several operations share is a component', () => {
  expect(repeated(OPERATIONS.flatMap(({ parameters = [] }) => parameters))).toEqual([]);
  const refusals = OPERATIONS.flatMap(({ responses }) => {
    const { 200: _success, 201: _created, 202: _accepted, ...others } = responses;
    return Object.values(others);
  });
  expect(repeated(refusals)).toEqual([]);
});

test('no two components have the same name, ignoring kind and case', () => {
  // Generators use one namespace for schemas, parameters and responses, and write files on disks that ignore case.
  const named = Object.entries(served.components).filter(([kind]) => !['headers', 'securitySchemes'].includes(kind));
  const names = named.flatMap(([, components]) => Object.keys(components).map((name) => name.toLowerCase()));
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

test('every component is used', () => {
  const text = JSON.stringify(served);
  for (const [kind, components] of Object.entries(messages)) {
    if (kind === 'securitySchemes') continue;
    for (const name of Object.keys(components)) expect(text).toContain(`"#/components/${kind}/${name}"`);
  }
});
