import { readGrants } from '@quartermaster/db/repositories/gateway-grants.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectInvalid, expectProblem } from './endpoints/harness.ts';
import { removeUnusedGrants } from '../src/resources/gateway-sessions/unused-grants.ts';
import { accountWithKey, unique } from './support/people.ts';
import { type Body, startTestServer, type TestServer } from './support/server.ts';

const LIMIT = 5;
const HOUR_MS = 3_600_000;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ QM_MAX_OPEN_SESSIONS: String(LIMIT) });
});
afterAll(() => server.stop());

type Edge = { as: { key: string }; tenantId: string; providers: Body[]; items: Body[]; path: string };

/** A gateway with two providers, which have these tools each. */
async function edge(tools: readonly string[] = ['a', 'b', 'c']): Promise<Edge> {
  const tenantId = unique('grants');
  const as = await accountWithKey(server, { tenantId });
  const providers: Body[] = [];
  const items: Body[] = [];
  for (const name of ['one', 'two']) {
    const provider = await server.ok('POST', '/v1/providers', { as, body: { name, kind: 'mcp' } });
    providers.push(provider);
    for (const tool of tools) items.push(await declare(as, provider.id, { kind: 'tool', name: tool }));
  }
  const body = { name: 'edge', providerIds: providers.map(({ id }) => id) };
  const { id } = await server.ok('POST', '/v1/gateways', { as, body });
  return { as, tenantId, providers, items, path: `/v1/gateways/${id}/sessions` };
}

const declare = (as: { key: string }, providerId: string, body: object): Promise<Body> =>
  server.ok('POST', `/v1/providers/${providerId}/inventory`, { as, body });

const rowsIn = async (table: 'gateway_grants' | 'gateway_grant_items' | 'gateway_session_grants', tenantId: string) =>
  (await server.services.db.selectFrom(table).selectAll().where('tenant_id', '=', tenantId).execute()).length;

test('regression: sessions with the same grants share one copy of them, even if they choose other providers', async () => {
  const { as, tenantId, providers, path } = await edge();
  const sessions: Body[] = [];
  for (let index = 0; index < LIMIT; index += 1) {
    const body = index === 0 ? {} : { providerIds: [providers[index % 2].id] };
    sessions.push(await server.ok('POST', path, { as, body }));
  }
  expect(await rowsIn('gateway_grants', tenantId)).toBe(2);
  expect(await rowsIn('gateway_grant_items', tenantId)).toBe(6);
  for (const { id, grants, grantsDigest } of sessions) {
    expect(await server.ok('GET', `${path}/${id}`, { as })).toMatchObject({ id, grants, grantsDigest });
  }
});

test('regression: a list of sessions shows the number of granted items and their digest instead of the grants', async () => {
  const { as, path } = await edge();
  const { grants, token: _token, tokenType: _type, ...summary } = await server.ok('POST', path, { as });
  expect(grants).toHaveLength(2);
  expect(summary).toMatchObject({ grantedItems: 6, grantsDigest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) });
  expect((await server.ok('GET', path, { as })).items).toEqual([summary]);
});

test('the grants of a session are listed in pages, as they were when it was opened', async () => {
  const { as, providers, items, path } = await edge();
  const { id } = await server.ok('POST', path, { as });
  await declare(as, providers[0].id, { kind: 'tool', name: 'later' });
  await server.ok('DELETE', `/v1/providers/${providers[1].id}/inventory/${items[3].id}`, { as });
  const found: Body[] = [];
  let cursor: string | null = null;
  let pages = 0;
  do {
    const query: string = cursor === null ? '' : `&cursor=${cursor}`;
    const page: Body = await server.ok('GET', `${path}/${id}/grants?limit=4${query}`, { as });
    found.push(...page.items);
    cursor = page.nextCursor;
    pages += 1;
  } while (cursor !== null);
  expect(pages).toBe(2);
  const listed = providers.flatMap(({ id: providerId, name: providerName }) =>
    ['a', 'b', 'c'].map((name) => ({ providerId, providerName, providerStatus: 'active', kind: 'tool', name })),
  );
  expect(found).toEqual(listed);
  expectProblem(await server.call('GET', `${path}/ses_none/grants`, { as }), 404, 'gateway_session_not_found');
});

test('regression: blocking an item ends the sessions that grant it, and no others', async () => {
  const { as, providers, items, path } = await edge();
  const both = await server.ok('POST', path, { as });
  const first = await server.ok('POST', path, { as, body: { providerIds: [providers[0].id] } });
  const second = await server.ok('POST', path, { as, body: { providerIds: [providers[1].id] } });
  const blocked = `/v1/providers/${providers[0].id}/inventory/${items[0].id}`;
  await server.ok('PUT', blocked, { as, body: { status: 'blocked' } });
  const statusOf = async ({ id }: Body) => (await server.ok('GET', `${path}/${id}`, { as })).revokedReason;
  expect(await Promise.all([both, first, second].map(statusOf))).toEqual(['item_blocked', 'item_blocked', null]);
});

test('a blocked model ends sessions that grant it under another name, also after its provider was renamed', async () => {
  const { as, providers, path } = await edge([]);
  const [{ id }] = providers;
  const item = await declare(as, id, { kind: 'model', name: 'Two/GPT-5' });
  const session = await server.ok('POST', path, { as });
  await server.ok('PUT', `/v1/providers/${providers[1].id}`, { as, body: { name: 'three' } });
  await server.ok('PUT', `/v1/providers/${id}`, { as, body: { name: 'two' } });
  await server.ok('PUT', `/v1/providers/${id}/inventory/${item.id}`, { as, body: { status: 'blocked' } });
  expect(await server.ok('GET', `${path}/${session.id}`, { as })).toMatchObject({ revokedReason: 'item_blocked' });
});

test('regression: a subject has a limited number of open sessions at a gateway', async () => {
  const { as, tenantId, path } = await edge();
  const opened: Body[] = [];
  for (let index = 0; index < LIMIT; index += 1) {
    opened.push(await server.ok('POST', path, { as, body: { ttlSeconds: 60 } }));
  }
  expectProblem(await server.call('POST', path, { as }), 409, 'session_limit_reached');
  const { principal } = await accountWithKey(server, { tenantId });
  await server.ok('POST', path, { as, body: { subject: principal } });
  await server.ok('DELETE', `${path}/${opened[0].id}`, { as });
  await server.ok('POST', path, { as });
  expectProblem(await server.call('POST', path, { as }), 409, 'session_limit_reached');
  server.travel(61_000);
  await server.ok('POST', path, { as });
});

test('grants beyond 1 MiB are refused', async () => {
  const { as, providers, path } = await edge([]);
  const { db } = server.services;
  const one = await declare(as, providers[0].id, { kind: 'tool', name: 'x' });
  const row = await db.selectFrom('inventory_items').selectAll().where('id', '=', one.id).executeTakeFirstOrThrow();
  const rows = Array.from({ length: 4500 }, (_, index) => {
    const name = `${index}`.padEnd(256, '-');
    return { ...row, id: `${row.id}_${index}`, name, name_key: name };
  });
  for (let start = 0; start < rows.length; start += 500) {
    await db
      .insertInto('inventory_items')
      .values(rows.slice(start, start + 500))
      .execute();
  }
  expectInvalid(await server.call('POST', path, { as }), { loc: ['body', 'providerIds'], type: 'value_error' });
});

test('items that no session refers to are removed after an hour, and stored again when they are granted', async () => {
  const { as, tenantId, path } = await edge();
  const { id } = await server.ok('POST', path, { as });
  const { db } = server.services;
  server.travel(2 * HOUR_MS);
  await removeUnusedGrants(server.services);
  expect(await rowsIn('gateway_grants', tenantId)).toBe(2);
  // As the retention of ended sessions does.
  await db.deleteFrom('gateway_session_grants').where('session_id', '=', id).execute();
  await db.deleteFrom('gateway_sessions').where('id', '=', id).execute();
  await removeUnusedGrants(server.services);
  expect([await rowsIn('gateway_grants', tenantId), await rowsIn('gateway_grant_items', tenantId)]).toEqual([0, 0]);
  const session = await server.ok('POST', path, { as });
  expect(await readGrants(db, { tenantId, id: session.id })).toEqual(session.grants);
  expect(await rowsIn('gateway_grant_items', tenantId)).toBe(6);
});
