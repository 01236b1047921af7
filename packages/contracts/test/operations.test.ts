import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { ERRORS } from '../src/errors.ts';
import { isOperation, type Operation, operation, TAGS } from '../src/operation.ts';
import { ScopeSchema } from '../src/scopes.ts';

const SOURCES = fileURLToPath(new URL('../src', import.meta.url));
const modules = await Promise.all(
  (await readdir(SOURCES)).map((file) => import(join(SOURCES, file)) as Promise<Record<string, unknown>>),
);
const OPERATIONS: [string, Operation][] = modules.flatMap((module) =>
  Object.entries(module).flatMap(([name, value]): [string, Operation][] => (isOperation(value) ? [[name, value]] : [])),
);

test('there are operations, each with a name, a path and a method of its own', () => {
  expect(OPERATIONS.length).toBeGreaterThanOrEqual(61);
  const ids = OPERATIONS.map(([, { operationId }]) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
  const places = OPERATIONS.map(([, { method, path }]) => `${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`);
  expect(new Set(places).size).toBe(places.length);
});

test.each(OPERATIONS)('%s says all that the document and the service need', (name, said) => {
  expect(said.operationId).toMatch(/^[a-z]+(_[a-z]+)+$/);
  expect(name).toBe(said.operationId.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()));
  expect(said.path).toMatch(/^\/v1(\/([a-z]+(-[a-z]+)*|\{[a-z]+(_[a-z]+)*\}))+$/);
  expect(said.summary).toMatch(/^[A-Z].{4,80}[^.]$/);
  expect(Object.keys(TAGS)).toContain(said.tag);
  if (said.scope !== null && said.scope !== 'public') expect(ScopeSchema.options).toContain(said.scope);
  expect(said.output).toBeInstanceOf(z.ZodType);
  expect(said.input.parse).toBeInstanceOf(Function);
  for (const code of said.errors) expect(Object.keys(ERRORS)).toContain(code);
  expect(new Set(said.errors).size).toBe(said.errors.length);
});

test.each(OPERATIONS)('%s has a schema and a description for every parameter', (_, said) => {
  const names = [...said.path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter);
  expect(Object.keys(said.params?.shape ?? {})).toEqual(names);
  for (const [parameter, schema] of Object.entries({ ...said.params?.shape, ...said.query?.shape })) {
    expect(parameter).toMatch(/^[a-z]+(_[a-z]+)*$/);
    expect(
      z.toJSONSchema(schema as z.ZodType, { io: 'input', unrepresentable: 'any' })['description'],
      parameter,
    ).toEqual(expect.any(String));
  }
  if (said.method === 'GET' || said.method === 'DELETE') expect(said.body).toBeUndefined();
});

test('reads need a scope for reading, and writes one that is not', () => {
  for (const [name, { method, scope, operationId }] of OPERATIONS) {
    if (scope === null || scope === 'public') continue;
    const reads = method === 'GET' || operationId.startsWith('search_');
    expect(scope.endsWith(':read'), name).toBe(reads);
  }
});

test('only registration is public, and only what is one’s own or a schema needs no scope', () => {
  const named = (wanted: Operation['scope']) =>
    OPERATIONS.filter(([, { scope }]) => scope === wanted).map(([name]) => name);
  expect(named('public')).toEqual(['registerUser']);
  expect(new Set(named(null))).toEqual(
    new Set(['acceptMembership', 'createOrganization', 'getManifestSchema', 'updateMyProfile']),
  );
});

test('bodies are strict objects: an unknown field is refused', () => {
  for (const [name, { body, transport }] of OPERATIONS) {
    if (!body || transport === 'otlp') continue;
    const { error } = body.safeParse({ unheardOf: 1 });
    expect(
      error?.issues.some(({ code }) => code === 'unrecognized_keys'),
      name,
    ).toBe(true);
  }
});

test('the input is nested by where its parts come from, and an optional body may be absent, null or empty', () => {
  const said = operation({
    ...{ method: 'PUT', path: '/v1/things/{thing_id}', operationId: 'update_thing', scope: null, tag: 'Users' },
    ...{ summary: 'Update a thing', bodyOptional: true },
    params: { thing_id: z.string() },
    query: { limit: z.int().default(25) },
    body: z.strictObject({ name: z.string().optional() }),
    output: z.strictObject({}),
  });
  const parsed = { path: { thing_id: 'x' }, query: { limit: 25 }, body: {} };
  for (const body of [undefined, null, {}]) expect(said.input.parse({ path: { thing_id: 'x' }, body })).toEqual(parsed);
  const issues = (raw: unknown) => {
    try {
      return said.input.parse(raw);
    } catch (error) {
      return (error as z.ZodError).issues.map(({ path }) => path.join('.'));
    }
  };
  expect(issues({ query: { limit: 'x' }, body: { name: 1 } })).toEqual(['path.thing_id', 'query.limit', 'body.name']);
  expect(issues(null)).toEqual(['path.thing_id']);
});

test('a path whose parameter has no schema does not compile', () => {
  const path = '/v1/things/{thing_id}';
  const get = { method: 'GET', operationId: 'get_thing', tag: 'Users', summary: 'A thing' } as const;
  const rest = { ...get, output: z.strictObject({}) };
  const other = { id: z.string() };
  const checkedOnly = () => [
    // @ts-expect-error the parameter of the path is missing
    operation({ ...rest, scope: null, path }),
    // @ts-expect-error it has another name in the path
    operation({ ...rest, scope: null, path, params: other }),
    // @ts-expect-error no such scope
    operation({ ...rest, scope: 'things:read', path: '/v1/things' }),
  ];
  expect(checkedOnly).toBeInstanceOf(Function);
});
