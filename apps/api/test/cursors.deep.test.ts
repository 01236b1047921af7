import type { Operation } from '@quartermaster/contracts/operation.ts';
import { scaled } from '@quartermaster/db/testing/scale.ts';
import * as fc from 'fast-check';
import type { z } from 'zod';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { chatSpan } from './endpoints/spec-fixtures.ts';
import { userInTwoBrowsers } from './support/people.ts';
import { makeRecords, OPERATIONS, pathWith, TENANT } from './support/records.ts';
import { type Answered, type Body, type Credential, startTestServer, type TestServer } from './support/server.ts';

/** How many cursors are tried, in all lists together. */
const CASES = scaled({ usual: 3_000, full: 10_000 });
const AT_ONCE = 20;

const lists = OPERATIONS.map(({ operation }) => operation).filter(
  // A list that requires a further parameter is tested in its own suite.
  ({ query, body }) => (hasCursor(query) && query?.safeParse({}).success === true) || hasCursor(body),
);

function hasCursor(schema: unknown): boolean {
  return typeof schema === 'object' && schema !== null && 'shape' in schema && 'cursor' in Object(schema.shape);
}

let server: TestServer;
let records: Record<string, string>;
let worker: { key: string };
/** Two users with console sessions, which service accounts cannot have. */
let users: { first: { token: string }; second: { token: string } };
/** A cursor that each list gave to each of its two callers, for the page after the first row. */
const genuine = new Map<Operation, { first: string; second: string }>();

beforeAll(async () => {
  server = await startTestServer();
  records = await makeRecords(server);
  worker = { key: records['worker_key'] ?? '' };
  users = { first: await userInTwoBrowsers(server), second: await userInTwoBrowsers(server) };
  await makeSecondRecords();
  for (const operation of lists) {
    const { first, second } = callersOf(operation);
    const [firsts, seconds] = [await firstPage(operation, first), await firstPage(operation, second)];
    genuine.set(operation, { first: firsts.body.nextCursor, second: seconds.body.nextCursor });
  }
});
afterAll(() => server.stop());

/** The two callers of a list: the worker and the platform administrator, or two users if only users may call it. */
function callersOf({ operationId }: Operation): { first: Credential; second: Credential } {
  return operationId === 'list_my_sessions' ? users : { first: worker, second: server.admin };
}

const PRICE = { validFrom: '2026-01-01', inputPrice: 1, outputPrice: 2 };

/** Creates a second row for each list, so that each has a second page. */
async function makeSecondRecords(): Promise<void> {
  const post = (path: string, body: object): Promise<Body> => server.ok('POST', path, { as: server.admin, body });
  await post('/v1/service-accounts', { id: 'second', name: 'second', tenantId: TENANT });
  await post(`/v1/service-accounts/worker/keys?tenant_id=${TENANT}`, { scopes: ['traces:read'] });
  await post('/v1/providers', { name: 'second', kind: 'llm', tenantId: TENANT });
  await post(`/v1/providers/${records['provider_id']}/inventory`, { kind: 'model', name: 'second' });
  await post('/v1/gateways', { name: 'second', tenantId: TENANT });
  await post('/v1/prices', { ...PRICE, modelPattern: 'second', tenantId: TENANT });
  // It grants two items.
  const session = await server.ok('POST', `/v1/gateways/${records['gateway_id']}/sessions`, { as: worker });
  records['session_id'] = session.id;
  await post('/v1/manifests', {
    name: 'second',
    kind: 'agent',
    spec: { channels: ['email', 'web'] },
    tenantId: TENANT,
  });
  await post('/v1/tenants', { id: 'second' });
  await post(`/v1/tenants/${TENANT}/memberships`, { email: 'second@example.com', role: 'viewer' });
  for (const email of ['member@example.com', 'second@example.com']) {
    const { token } = await server.tokenOf(email);
    await server.ok('PUT', '/v1/me/profile', { as: { token }, body: { terms: { accepted: true } } });
    await server.ok('POST', `/v1/me/memberships/${TENANT}/accept`, { as: { token } });
  }
  const span = (traceId: string, spanId: string) =>
    JSON.parse(
      JSON.stringify(chatSpan(traceId, 'second-model', 'records-llm')).replaceAll(
        /"spanId":"[0-9a-f]+"/g,
        `"spanId":"${spanId}"`,
      ),
    );
  for (const [trace, id] of [
    [records['trace_id'], 'c3'],
    ['c3'.repeat(16), 'c4'],
  ]) {
    await server.ok('POST', '/v1/traces', { as: worker, body: span(trace ?? '', (id ?? '').repeat(8)) });
  }
  const { key } = await post(`/v1/service-accounts/second/keys?tenant_id=${TENANT}`, { scopes: ['traces:write'] });
  await server.ok('POST', '/v1/traces', { as: { key }, body: span('c5'.repeat(16), 'c5'.repeat(8)) });
  await server.services.telemetry.accounts.flush('all');
  await makeSecondDenials();
}

/** A second name that the gateway denies, and a second account to which it denies the first name. */
async function makeSecondDenials(): Promise<void> {
  const body = { scopes: ['gateway_sessions:write'] };
  const path = `/v1/service-accounts/second/keys?tenant_id=${TENANT}`;
  const { key } = await server.ok('POST', path, { as: server.admin, body });
  for (const [as, name] of [
    [worker, 'second-denied'],
    [{ key }, 'unknown-model'],
  ] as const) {
    const gateway = `/v1/gateways/${records['gateway_id']}`;
    const { token } = await server.ok('POST', `${gateway}/sessions`, { as });
    const headers = { Authorization: `Bearer ${token}` };
    const asked = { provider: records['provider_id'], kind: 'model', name };
    await server.ok('POST', `${gateway}/decisions`, { headers, body: asked });
  }
  await server.decisions.flush();
}

let added = 0;

/** Adds a record to most lists. */
async function addRecords(): Promise<void> {
  added += 1;
  const name = `added-${added}`;
  const post = (path: string, body: object): Promise<Body> => server.ok('POST', path, { as: server.admin, body });
  await post('/v1/service-accounts', { id: name, name, tenantId: TENANT });
  await post(`/v1/service-accounts/worker/keys?tenant_id=${TENANT}`, { scopes: ['traces:read'] });
  await post('/v1/providers', { name, kind: 'llm', tenantId: TENANT });
  await post(`/v1/providers/${records['provider_id']}/inventory`, { kind: 'model', name });
  await post('/v1/gateways', { name, tenantId: TENANT });
  await post('/v1/prices', { ...PRICE, modelPattern: name, tenantId: TENANT });
  await post('/v1/manifests', { name, kind: 'agent', spec: { channels: ['web'] }, tenantId: TENANT });
  await post('/v1/tenants', { id: name });
  await post(`/v1/tenants/${TENANT}/memberships`, { email: `${name}@example.com`, role: 'viewer' });
  await server.ok('POST', `/v1/gateways/${records['gateway_id']}/sessions`, { as: worker });
  const [traceId, spanId] = [added.toString(16).padStart(32, 'd'), added.toString(16).padStart(16, 'd')];
  const span = JSON.stringify(chatSpan(traceId, name, 'records-llm')).replaceAll(
    /"spanId":"[0-9a-f]+"/g,
    `"spanId":"${spanId}"`,
  );
  await server.ok('POST', '/v1/traces', { as: worker, body: JSON.parse(span) });
}

/** The queries that some lists need to have more than one row. The spans of the records are from 2023. */
const QUERIES: Record<string, Record<string, string>> = {
  list_usage: { group_by: 'name', from: '2023-01-01T00:00:00Z' },
};

function ask(operation: Operation, as: Credential, paging: Record<string, unknown>): Promise<Answered> {
  const path = pathWith(operation, records);
  if (operation.method === 'POST') return server.call('POST', path, { as, body: paging });
  const query = new URLSearchParams(
    Object.entries({ ...QUERIES[operation.operationId], ...paging }).map(([name, value]): [string, string] => [
      name,
      String(value),
    ]),
  );
  return server.call('GET', `${path}?${query.toString()}`, { as });
}

async function firstPage(operation: Operation, as: Credential): Promise<Answered> {
  const page = await ask(operation, as, { limit: 1 });
  expect(page.status, `${operation.operationId}: ${page.text}`).toBe(200);
  return page;
}

test('every list answers a cursor for its next page', async () => {
  expect(lists.map(({ operationId }) => operationId)).toHaveLength(32);
  for (const operation of lists) {
    const { first: cursor } = genuine.get(operation) ?? {};
    // The worker sees only its own tenant, so its list has one page.
    if (operation.operationId === 'list_tenants') continue;
    expect(cursor, operation.operationId).toEqual(expect.any(String));
    const next = await ask(operation, callersOf(operation).first, { limit: 1, cursor });
    expect(next.status, `${operation.operationId}: ${next.text}`).toBe(200);
  }
});

const bytes = fc.uint8Array({ minLength: 1, maxLength: 120 }).map((given) => Buffer.from(given));

/** Cursors invented by a caller who knows their format. */
const forged = fc.oneof(
  bytes.map((given) => given.toString('base64url')),
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc
    .tuple(
      fc.uint8Array({ minLength: 16, maxLength: 16 }),
      fc.date({ noInvalidDate: true }),
      fc.string({ maxLength: 40 }),
    )
    .map(([tag, time, id]) =>
      Buffer.concat([Buffer.from(tag), Buffer.from(JSON.stringify([time.toISOString(), id]))]).toString('base64url'),
    ),
);

type Edit = (cursor: string) => string;

/** Edits of a genuine cursor. */
const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 })).map(
    ([at, mask]): Edit =>
      (cursor) => {
        const changed = Buffer.from(cursor, 'base64url');
        const index = at % changed.length;
        changed[index] = (changed[index] ?? 0) ^ mask;
        return changed.toString('base64url');
      },
  ),
  fc.integer({ min: 1, max: 40 }).map(
    (count): Edit =>
      (cursor) =>
        cursor.slice(0, -count),
  ),
  bytes.map(
    (more): Edit =>
      (cursor) =>
        cursor + more.toString('base64url'),
  ),
  fc.constantFrom<Edit>(
    (cursor) => `${cursor}=`,
    (cursor) => ` ${cursor}`,
    (cursor) => cursor.toUpperCase(),
    (cursor) => cursor.slice(16) + cursor.slice(0, 16),
    (cursor) => Buffer.from(cursor, 'base64url').toString('hex'),
  ),
);

test.each(lists.map((operation) => [operation.operationId, operation] as const))(
  '%s refuses cursors that are invented, edited, or from another list or caller',
  async (_, operation) => {
    const others = [...genuine]
      .filter(([other]) => other !== operation)
      .flatMap(([, pair]) => [pair.first, pair.second]);
    const own = genuine.get(operation);
    const given = [own?.first, own?.second].filter((cursor) => typeof cursor === 'string');
    expect(given.length).toBeGreaterThan(0);
    const foreign = [...others.filter((cursor) => typeof cursor === 'string'), own?.second ?? ''];
    const cursors = fc.oneof(
      forged,
      fc.tuple(fc.constantFrom(...given), edit).map(([cursor, change]) => change(cursor)),
      fc.constantFrom(...foreign),
    );
    const { first } = callersOf(operation);
    const part = operation.method === 'POST' ? 'body' : 'query';
    const refusals = fc.asyncProperty(
      fc.array(
        cursors.filter((cursor) => cursor !== own?.first),
        { minLength: AT_ONCE, maxLength: AT_ONCE },
      ),
      async (tried) => {
        const answers = await Promise.all(tried.map((cursor) => ask(operation, first, { limit: 1, cursor })));
        for (const [index, { status, body, text }] of answers.entries()) {
          expect(status, `${tried[index]}: ${text}`).toBe(422);
          expect(body.detail.map(({ loc }: Body) => loc)).toEqual([[part, 'cursor']]);
        }
      },
    );
    await fc.assert(refusals, { numRuns: Math.ceil(CASES / lists.length / AT_ONCE), endOnFailure: true });
  },
);

/** A caller for whom a list has a second page, and the cursor of that page. */
function callerWithPages(operation: Operation): { as: Credential; cursor: string | undefined } {
  const { first, second } = callersOf(operation);
  const cursors = genuine.get(operation);
  return cursors?.first == null ? { as: second, cursor: cursors?.second } : { as: first, cursor: cursors.first };
}

/** Values for filters of any type. The first that the schema of a filter accepts is sent. */
const CANDIDATES = [true, TENANT, '2026-01-01T00:00:00Z', ['name'], 7, 3, 'a1'.repeat(8), { team: 'blue' }];

/** The filters of a list with a value for each, beside those that {@link QUERIES} sets. */
function filtersOf(operation: Operation): [name: string, value: unknown][] {
  const input = (operation.query ?? operation.body) as z.ZodObject;
  return Object.entries<z.ZodType>(input.shape).flatMap(([name, schema]): [string, unknown][] => {
    if (['limit', 'cursor', ...Object.keys(QUERIES[operation.operationId] ?? {})].includes(name)) return [];
    const byDefault = schema.safeParse(undefined).data;
    const value = [...optionsOf(schema), ...CANDIDATES].find(
      (one) => one !== byDefault && schema.safeParse(one).success,
    );
    if (value === undefined)
      throw new Error(`${operation.operationId} has the filter ${name}, for which there is no value`);
    return [[name, value]];
  });
}

/** The values of an enum, which may be optional or have a default. */
function optionsOf(schema: unknown): unknown[] {
  if (typeof schema !== 'object' || schema === null) return [];
  if ('options' in schema && Array.isArray(schema.options))
    return schema.options.filter((one) => typeof one === 'string');
  return 'unwrap' in schema && typeof schema.unwrap === 'function' ? optionsOf(schema.unwrap()) : [];
}

test.each(lists.map((operation) => [operation.operationId, operation] as const))(
  'a cursor of %s works with its own filters alone',
  async (_, operation) => {
    const { as, cursor } = callerWithPages(operation);
    const part = operation.method === 'POST' ? 'body' : 'query';
    for (const [name, value] of filtersOf(operation)) {
      const { status, body, text } = await ask(operation, as, { limit: 1, cursor, [name]: value });
      // A list of an account or trace that is not in the named sub-tenant.
      if (name === 'sub_tenant_id' && status === 404) continue;
      expect([name, status, body.detail?.map(({ loc }: Body) => loc)], text).toEqual([name, 422, [[part, 'cursor']]]);
    }
  },
);

const listsOfRecords = lists.filter(({ operationId }) => operationId !== 'verify_audit_events');

test.each(listsOfRecords.map((operation) => [operation.operationId, operation] as const))(
  '%s has each record once, also if others are added while its pages are read',
  async (_, operation) => {
    const { as } = callerWithPages(operation);
    const whole = await ask(operation, as, { limit: 100 });
    const seen: string[] = [];
    let pages = 0;
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const { body, status, text } = await ask(operation, as, { limit: 1, ...(cursor !== undefined && { cursor }) });
      expect(status, text).toBe(200);
      seen.push(...body.items.map(textOf));
      cursor = body.nextCursor;
      pages += 1;
      // Not after each page: some lists are sorted by name, and would never end.
      if (pages <= 3) await addRecords();
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toEqual(expect.arrayContaining(whole.body.items.map(textOf)));
  },
);

/** What tells a record of any list apart. */
function textOf(item: Body): string {
  const { id, tenantId, subTenantId, userId, spanId, traceId, name, kind, agent, channel } = item;
  const { observationId, providerId, account } = item;
  const names = id === undefined ? [name, kind, agent, channel, observationId, providerId, account] : null;
  return JSON.stringify([id, tenantId, subTenantId, userId, spanId, traceId, names]);
}
