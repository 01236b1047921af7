import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { contractFaults, document } from './support/contract-check.ts';
import { userInTwoBrowsers } from './support/people.ts';
import { makeRecords, OPERATIONS, pathWith, TENANT } from './support/records.ts';
import { type Body, startTestServer, type TestServer } from './support/server.ts';

type Schema = {
  $ref?: string;
  type?: string | string[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  pattern?: string;
  minimum?: number;
  format?: string;
};

/** Properties with arbitrary objects, whose content comes from callers, spans or JSON Schema. */
const FREE = new Set(['metadata', 'attributes', 'resource', 'spec', 'before', 'after']);
for (const name of ['properties', 'patternProperties', '$defs']) FREE.add(name);

/** Properties that an answer may omit. */
const OPTIONAL = new Set(['partialSuccess', 'sub_tenant_id', 'act']);
/** Those of AuthZEN's access requests: that one of them is there is what it says. */
for (const name of ['evaluation_id', 'access_request', 'next_action', 'retry_after']) OPTIONAL.add(name);

/** Answers that may say nothing. Coding agents take a member that they do not know as permission. */
const EMPTY = new Set(['decide_tool_hook']);

const ANSWERS = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).flatMap(([method, { operationId, responses }]) => {
    const media = responses['200']?.content?.['application/json'];
    // Forward authentication and the MCP proxy answer no JSON of ours.
    if (media === undefined) return [];
    return { operationId, method: method.toUpperCase(), path, schema: media.schema as Schema };
  }),
);

function resolved(schema: Schema): Schema {
  if (schema.$ref === undefined) return schema;
  return document.components.schemas[schema.$ref.split('/').at(-1) ?? ''] as Schema;
}

/** The parts of a schema that allow unspecified fields or values. */
function looseness(schema: Schema, at: string, name: string): string[] {
  if (FREE.has(name)) return [];
  const here = resolved(schema);
  const options = here.anyOf ?? here.oneOf ?? here.allOf;
  const faults: string[] = [];
  if ('default' in here) faults.push(`${at} has a default`);
  if (options) return [...faults, ...options.flatMap((option) => looseness(option, at, name))];
  const types = [here.type ?? []].flat();
  if (types.length === 0 && !('const' in here) && !here.enum) faults.push(`${at} has no type`);
  if (types.includes('object')) {
    const properties = Object.entries(here.properties ?? {});
    if (here.additionalProperties !== false) faults.push(`${at} is open`);
    if (properties.length === 0 && !EMPTY.has(at)) faults.push(`${at} is empty`);
    for (const [key, value] of properties) {
      if (!here.required?.includes(key) && !OPTIONAL.has(key)) faults.push(`${at}.${key} is not required`);
      faults.push(...looseness(value, `${at}.${key}`, key));
    }
  }
  if (types.includes('array'))
    faults.push(...(here.items ? looseness(here.items, `${at}[]`, name) : [`${at} has no items`]));
  return faults;
}

test.each(ANSWERS)('$operationId answers closed objects in which every field has a type', ({ operationId, schema }) => {
  expect(looseness(schema, operationId, '')).toEqual([]);
});

test('a problem is a closed object too', () => {
  const { properties = {} } = resolved({ $ref: '#/components/schemas/Problem' });
  const always = ['type', 'title', 'status', 'detail', 'instance', 'code'];
  expect(Object.keys(properties)).toEqual([...always, 'scope', 'reason', 'observationId', 'reviewUrl']);
  expect(resolved({ $ref: '#/components/schemas/Problem' })).toMatchObject({
    additionalProperties: false,
    required: always,
  });
});

/** Copies of an answer with one field added or removed, for each object of it that is not arbitrary. */
function damagedCopies(value: unknown): { what: string; copy: unknown }[] {
  const found: { what: string; copy: unknown }[] = [];
  const visit = (part: unknown, at: string, put: (part: unknown) => unknown) => {
    if (Array.isArray(part)) {
      for (const [index, item] of part.entries())
        visit(item, `${at}[${index}]`, (changed) => put(part.with(index, changed)));
      return;
    }
    if (typeof part !== 'object' || part === null) return;
    found.push({ what: `${at} with a field more`, copy: put({ ...part, unheardOf: 1 }) });
    for (const [key, member] of Object.entries(part)) {
      const { [key]: _left, ...rest } = part as Record<string, unknown>;
      if (!OPTIONAL.has(key)) found.push({ what: `${at} without ${key}`, copy: put(rest) });
      if (member !== null)
        found.push({ what: `${at}.${key} of another type`, copy: put({ ...part, [key]: { odd: [] } }) });
      if (FREE.has(key)) found.pop();
      else visit(member, `${at}.${key}`, (changed) => put({ ...part, [key]: changed }));
    }
  };
  visit(value, '', (part) => part);
  return found;
}

function faultsOf(answer: { method: string; path: string }, body: unknown): string[] {
  return contractFaults({ ...answer, status: 200, contentType: 'application/json', body });
}

function unnoticed(answer: { method: string; path: string }, body: unknown): string[] {
  return damagedCopies(body)
    .filter(({ copy }) => faultsOf(answer, copy).length === 0)
    .map(({ what }) => what);
}

const TEXTS = ['x', '2026-03-01', '2026-03-01T12:00:00.000Z', '2026-03-01T12:00:00.000000000Z', 'user:x'];

/** An answer that the schema allows, with every field and one item in every list. */
function sample(schema: Schema, name = ''): unknown {
  const here = resolved(schema);
  const [option] = here.anyOf ?? here.oneOf ?? [];
  if (option) return sample(option, name);
  if ('const' in here) return here.const;
  if (here.enum) return here.enum[0];
  switch ([here.type].flat()[0]) {
    case 'object':
      return FREE.has(name) && !here.properties
        ? {}
        : Object.fromEntries(Object.entries(here.properties ?? {}).map(([key, value]) => [key, sample(value, key)]));
    case 'array':
      return [sample(here.items ?? {}, name)];
    case 'integer':
    case 'number':
      return Math.max(100, here.minimum ?? 0);
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return TEXTS.find((text) => new RegExp(here.pattern ?? '').test(text)) ?? '';
  }
}

test.each(ANSWERS)(
  'the check notices an additional, missing or wrongly typed field in an answer of $operationId',
  ({ method, path, schema }) => {
    const body = sample(schema);
    expect(faultsOf({ method, path }, body)).toEqual([]);
    const damaged = damagedCopies(body);
    expect(damaged.length).toBeGreaterThan(0);
    expect(unnoticed({ method, path }, body)).toEqual([]);
  },
);

describe('answers of a running service', () => {
  let server: TestServer;
  let records: Record<string, string>;

  beforeAll(async () => {
    server = await startTestServer();
    records = await makeRecords(server);
  });
  afterAll(() => server.stop());

  const READS = OPERATIONS.map(({ operation }) => operation).filter(
    ({ method, operationId }) => method === 'GET' || operationId.startsWith('search_'),
  );

  /** The records that the first administrator created. */
  const REQUIRED_QUERIES: Record<string, string> = {
    list_derived_access: '?source=service_account:default/bootstrap',
    group_runtime_observations: '?by=provider',
  };

  test.each(READS)(
    'the check notices an additional or missing field in a real answer of $operationId',
    async (operation) => {
      const path = `${pathWith(operation, records)}${REQUIRED_QUERIES[operation.operationId] ?? ''}`;
      // Only users have console sessions.
      const as = operation.operationId === 'list_my_sessions' ? await userInTwoBrowsers(server) : server.admin;
      const body: Body = await server.ok(operation.method, path, { as });
      if ('items' in body) expect(body.items.length).toBeGreaterThan(0);
      const damaged = damagedCopies(body);
      expect(damaged.length).toBeGreaterThan(3);
      expect(unnoticed({ method: operation.method, path }, body)).toEqual([]);
    },
  );

  test('the check notices a status, media type or path that is not in the document', () => {
    const good = { method: 'GET', path: `/v1/tenants/${TENANT}`, contentType: 'application/json', body: {} };
    expect(contractFaults({ ...good, status: 418 })).toEqual(['GET /v1/tenants/{tenant_id} does not declare 418']);
    expect(contractFaults({ ...good, status: 200, contentType: 'text/html' })).toHaveLength(1);
    expect(contractFaults({ ...good, status: 200, path: '/v1/nothing' })).toHaveLength(1);
  });
});
