import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { AUDIT_OPERATIONS, SERVICE_ACTIONS } from '../src/audit-operations.ts';
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

test('operationIds are unique, and so are the combinations of method and path', () => {
  expect(OPERATIONS.length).toBeGreaterThanOrEqual(61);
  const ids = OPERATIONS.map(([, { operationId }]) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
  const places = OPERATIONS.map(([, { method, path }]) => `${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`);
  expect(new Set(places).size).toBe(places.length);
});

test('audit events can be filtered by every operation and every action of the service, and by nothing else', () => {
  // Decisions are counted, not audited.
  const audited = OPERATIONS.filter(([, { transport }]) => transport !== 'decision');
  const ids = audited.map(([, { operationId }]) => operationId);
  expect(AUDIT_OPERATIONS).toEqual([...ids, ...SERVICE_ACTIONS].toSorted());
  expect(new Set(AUDIT_OPERATIONS).size).toBe(AUDIT_OPERATIONS.length);
});

const OWN_PATH = /^\/v1(\/([a-z]+(-[a-z]+)*|\{[a-z]+(_[a-z]+)*\}))+$/;
const FOREIGN_PATH = /^\/v1(\/([a-z]+[\d_a-z]*|\{[a-z]+(_[a-z]+)*\}))+$/;

/** Whether its path and body are those of a foreign specification. */
function isDialect({ scope }: Operation): boolean {
  return scope === 'gateway_sessions:evaluate';
}

test.each(OPERATIONS)('%s has valid names, texts, scope, schemas and error codes', (name, definition) => {
  expect(definition.operationId).toMatch(/^[a-z]+(_[a-z]+)+$/);
  expect(name).toBe(definition.operationId.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()));
  expect(definition.path).toMatch(isDialect(definition) ? FOREIGN_PATH : OWN_PATH);
  expect(definition.summary).toMatch(/^[A-Z].{4,80}[^.]$/);
  expect(Object.keys(TAGS)).toContain(definition.tag);
  if (definition.scope !== null && definition.scope !== 'public')
    expect(ScopeSchema.options).toContain(definition.scope);
  expect(definition.output).toBeInstanceOf(z.ZodType);
  expect(definition.input.parse).toBeInstanceOf(Function);
  for (const code of definition.errors) expect(Object.keys(ERRORS)).toContain(code);
  expect(new Set(definition.errors).size).toBe(definition.errors.length);
});

test.each(OPERATIONS)('%s has a schema and a description for every parameter', (_, definition) => {
  const names = [...definition.path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter);
  expect(Object.keys(definition.params?.shape ?? {})).toEqual(names);
  for (const [parameter, schema] of Object.entries({ ...definition.params?.shape, ...definition.query?.shape })) {
    expect(parameter).toMatch(/^[a-z]+(_[a-z]+)*$/);
    expect(
      z.toJSONSchema(schema as z.ZodType, { io: 'input', unrepresentable: 'any' })['description'],
      parameter,
    ).toEqual(expect.any(String));
  }
  if (definition.method === 'GET' || definition.method === 'DELETE') expect(definition.body).toBeUndefined();
});

/** OTLP, and messages that the MCP proxy passes on. */
const hasForeignBody = ({ transport, operationId }: Operation) =>
  transport === 'otlp' || operationId === 'send_mcp_message';

const withBodies = OPERATIONS.filter(([, operation]) => operation.body !== undefined && !hasForeignBody(operation));

test.each(withBodies)('%s has valid examples of its body', (_, { body }) => {
  const examples = examplesOf(body as z.ZodType);
  expect(examples.length).toBeGreaterThan(0);
  for (const example of examples) expect(body?.safeParse(example)).toMatchObject({ success: true });
});

function examplesOf(schema: z.ZodType): unknown[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return examplesOf(schema.unwrap() as z.ZodType);
  const examples = z.globalRegistry.get(schema)?.['examples'];
  return Array.isArray(examples) ? examples : [];
}

test('operations that read need a read scope, and operations that write need another scope', () => {
  for (const [name, definition] of OPERATIONS) {
    const { method, scope, operationId } = definition;
    if (scope === null || scope === 'public') continue;
    const reads = !isDialect(definition) && (method === 'GET' || /^(search|plan)_/.test(operationId));
    expect(scope.endsWith(':read'), name).toBe(reads);
  }
});

test('only registration is public, and only operations on one’s own record and the manifest schema need no scope', () => {
  const named = (wanted: Operation['scope']) =>
    OPERATIONS.filter(([, { scope, transport }]) => scope === wanted && transport !== 'decision').map(([name]) => name);
  expect(named('public')).toEqual(['registerUser']);
  expect(new Set(named(null))).toEqual(
    new Set([
      'acceptMembership',
      'createOrganization',
      'getManifestSchema',
      'getMe',
      'listMySessions',
      'revokeMySession',
      'updateMyProfile',
    ]),
  );
});

test('an unknown field in a body is refused', () => {
  for (const [name, operationWithBody] of withBodies) {
    const { body } = operationWithBody;
    // Other clients may send members that their specification adds later.
    if (!body || isDialect(operationWithBody)) continue;
    const { error } = body.safeParse({ unheardOf: 1 });
    expect(
      error?.issues.some(({ code }) => code === 'unrecognized_keys'),
      name,
    ).toBe(true);
  }
});

test('the input is parsed as path, query and body, and an optional body may be absent, null or empty', () => {
  const updateThing = operation({
    method: 'PUT',
    path: '/v1/things/{thing_id}',
    operationId: 'update_thing',
    scope: null,
    tag: 'Users',
    summary: 'Update a thing',
    bodyOptional: true,
    params: { thing_id: z.string() },
    query: { limit: z.int().default(25) },
    body: z.strictObject({ name: z.string().optional() }),
    output: z.strictObject({}),
  });
  const parsed = { path: { thing_id: 'x' }, query: { limit: 25 }, body: {} };
  for (const body of [undefined, null, {}])
    expect(updateThing.input.parse({ path: { thing_id: 'x' }, body })).toEqual(parsed);
  const issues = (raw: unknown) => {
    try {
      return updateThing.input.parse(raw);
    } catch (error) {
      return (error as z.ZodError).issues.map(({ path }) => path.join('.'));
    }
  };
  expect(issues({ query: { limit: 'x' }, body: { name: 1 } })).toEqual(['path.thing_id', 'query.limit', 'body.name']);
  expect(issues(null)).toEqual(['path.thing_id']);
});

test('a path parameter without a schema is a compile error', () => {
  const path = '/v1/things/{thing_id}';
  const get = { method: 'GET', operationId: 'get_thing', tag: 'Users', summary: 'A thing' } as const;
  const rest = { ...get, output: z.strictObject({}) };
  const other = { id: z.string() };
  const checkedOnly = () => [
    // @ts-expect-error the schema of the path parameter is missing
    operation({ ...rest, scope: null, path }),
    // @ts-expect-error the path parameter has another name
    operation({ ...rest, scope: null, path, params: other }),
    // @ts-expect-error the scope does not exist
    operation({ ...rest, scope: 'things:read', path: '/v1/things' }),
  ];
  expect(checkedOnly).toBeInstanceOf(Function);
});
