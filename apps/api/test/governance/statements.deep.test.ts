import type { KyselyPlugin } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectProblem } from '../endpoints/harness.ts';
import { LOOPBACK, startPeer } from '../inventory-sync/peers.ts';
import { type Body, serverOfTest, startTestServer, type TestServer } from '../support/server.ts';
import { all, chat, nowInNanoseconds, sendSpans, toolRun } from '../telemetry/traces/sending.ts';
import { atOpenai, newTenant } from './loop-support.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(LOOPBACK);
});
afterAll(() => server.stop());

/** The most names that a transaction of spans has while other tenants work, as the administrator does here. */
const NAMES_OF_BATCH = 20;

/** Observations of a provider: more than two batches. */
const MANY = 450;

// Each block read and parsed the grants of all running sessions: 100 blocks with 200 sessions of 2,000 items blocked the only
// writer for 20 s.
test('sessions are read once for all items that a request blocks, and each session is revoked and recorded once', async () => {
  const tenant = await newTenant(server);
  const { operator: as, provider, path } = tenant;
  const names = Array.from({ length: 30 }, (_, index) => `model-${index}`);
  for (const name of names) await server.ok('POST', `${path}/inventory`, { as, body: { kind: 'model', name } });
  await server.ok('POST', `${path}/inventory`, { as, body: { kind: 'tool', name: 'kept' } });
  const gateway = await server.ok('POST', '/v1/gateways', { as, body: { name: 'edge', providerIds: [provider.id] } });
  const sessions = `/v1/gateways/${gateway.id}/sessions`;
  const held: Body[] = [];
  for (let count = 0; count < 3; count += 1) held.push(await server.ok('POST', sessions, { as }));
  await sendSpans(server, tenant.sender, names.map(atOpenai));
  for (const { id } of await all(server, `${path}/observations`, as)) await tenant.review(id, 'rejected');
  server.travel(1000);
  const start = nowInNanoseconds(server);
  await sendSpans(
    server,
    tenant.sender,
    names.map((name) => ({ ...atOpenai(name), start })),
  );

  let answer: Body;
  const statements = await statementsOf(async () => {
    answer = await tenant.apply({ kinds: ['block_item'] });
  });
  expect(answer.applied).toHaveLength(names.length);
  expect(answer.revokedSessions.map(({ id }: Body) => id)).toEqual(held.map(({ id }) => id));
  // One reads them, the other finds the providers of sub-tenants in sessions.
  const readsOfSessions = statements.filter((sql) => /^select .* from "gateway_session_grants"/.test(sql));
  expect(readsOfSessions.map((sql) => /from "(\w+)"/.exec(sql)?.[1])).toEqual(['gateway_session_grants', 'providers']);
  // All observations of the provider are read for that. Before, each applied recommendation read them again: 1,000 of them held
  // SQLite's writing connection for 16 s at a provider with 7,450 observations.
  expect(statements.filter((sql) => sql.includes('responseModels'))).toHaveLength(1);
  for (const { id } of held) {
    expect(await server.ok('GET', `${sessions}/${id}`, { as })).toMatchObject({ revokedReason: 'item_blocked' });
    const events = await all(server, `/v1/audit-events?target_id=${id}`, as);
    const ends = events.filter(({ operation }) => operation === 'apply_provider_recommendations');
    expect(ends.map(({ changedFields }) => changedFields)).toEqual([['revokedAt', 'revokedReason']]);
  }
});

test('creating a blocked item revokes the sessions that grant a variant of it, with an audit event', async () => {
  const { operator: as, provider, path } = await newTenant(server);
  const kept = await server.ok('POST', `${path}/inventory`, { as, body: { kind: 'model', name: 'gpt-5' } });
  const gateway = await server.ok('POST', '/v1/gateways', { as, body: { name: 'edge', providerIds: [provider.id] } });
  const session = await server.ok('POST', `/v1/gateways/${gateway.id}/sessions`, { as });
  await server.ok('DELETE', `${path}/inventory/${kept.id}`, { as });
  await server.ok('POST', `${path}/inventory`, { as, body: { kind: 'model', name: 'GPT-5', status: 'blocked' } });
  const ended = await server.ok('GET', `/v1/gateways/${gateway.id}/sessions/${session.id}`, { as });
  expect(ended).toMatchObject({ status: 'revoked', revokedReason: 'item_blocked' });
  const events = await all(server, `/v1/audit-events?target_id=${session.id}`, as);
  expect(events.map(({ operation }) => operation)).toContain('create_inventory_item');
});

// Before, each tool was looked up separately, without an index: 3,000 tools and 10,000 items took 5 s in one transaction.
test('the owners of all tools of a batch are found with one statement', async () => {
  const tenant = await newTenant(server);
  await server.ok('POST', `${tenant.path}/inventory`, { as: tenant.operator, body: { kind: 'tool', name: 'tool-7' } });
  const statements = await statementsOf(() =>
    sendSpans(
      server,
      tenant.sender,
      Array.from({ length: NAMES_OF_BATCH }, (_, index) => toolRun(`tool-${index}`)),
    ),
  );
  expect(statements.filter((sql) => sql.includes('from "inventory_items" as "item"'))).toHaveLength(1);
  expect((await tenant.observation('tool-7')).providerId).toBe(tenant.provider.id);
  expect((await tenant.observation('tool-8')).providerId).not.toBe(tenant.provider.id);
});

// Before, each observation was reevaluated separately: with 9,900 of them, adopting took 4.2 s, deleting 3.5 s, renaming 1.5 s, in one
// transaction, while other writes wait 5 s at the most.
test('a provider’s observations are reevaluated with a few statements, for any number of observations', async () => {
  const tenant = await newTenant(server);
  const { operator: as } = tenant;
  await sendSpans(
    server,
    tenant.sender,
    Array.from({ length: MANY }, (_, index) => chat(`m-${index}`, { 'gen_ai.provider.name': 'squat' })),
  );
  const [provider] = await all(server, '/v1/providers?name=squat', as);
  const path = `/v1/providers/${provider.id}`;
  const taking = async (method: string, body?: object) =>
    (await statementsOf(() => server.ok(method, path, { as, body }))).length;

  expect(await taking('PUT', { status: 'active' })).toBeLessThan(60);
  const adopted = await all(server, `${path}/observations?limit=100`, as);
  expect(adopted).toHaveLength(MANY);
  for (const { status, unknown, risk } of adopted) {
    expect([status, unknown, risk.factors.map(({ factor }: Body) => factor)]).toEqual(['open', true, ['unknown_item']]);
  }
  expect(await all(server, `${path}/recommendations?status=open&kind=register_item`, as)).toHaveLength(MANY);
  expect(await tenant.tasks()).toHaveLength(MANY);

  expect(await taking('PUT', { name: 'renamed' })).toBeLessThan(60);

  expect(await taking('DELETE')).toBeLessThan(60);
  expect(await tenant.tasks()).toEqual([]);
  const tasks = await all(server, '/v1/operator/tasks?status=cancelled&kind=review_observation&limit=100', as);
  expect(tasks).toHaveLength(MANY);
  for (const { completedAt } of tasks) expect(completedAt).not.toBeNull();
});

// Before, each model was renamed separately: with 5,000 of them, a rename held SQLite's writing connection for 3 to 7 s.
test('a rename gives models, their recommendations and their usage new keys with a few statements, for any number of models', async () => {
  const tenant = await newTenant(server);
  const { operator: as, provider, path } = tenant;
  const names = Array.from({ length: MANY }, (_, index) => `m-${index}`);
  // Half of them will be merged with an observation that has the new name already.
  const prefixed = names.map((name) => `acme/${name}`);
  await sendSpans(server, tenant.sender, [...prefixed, ...names.slice(0, MANY / 2)].map(atOpenai));
  for (let index = 0; index < 5; index += 1) {
    await server.ok('POST', `${path}/inventory`, { as, body: { kind: 'model', name: `acme/item-${index}` } });
  }

  const statements = await statementsOf(() => server.ok('PUT', path, { as, body: { name: 'acme' } }));
  // Less than one for each model. Before, each took more than 13.
  expect(statements.length).toBeLessThan(MANY);

  const withoutPrefix = (name: string) => name.replace('acme/', '');
  const observed = await all(server, `${path}/observations?limit=100`, as);
  expect(observed.map(({ name }) => withoutPrefix(name)).toSorted()).toEqual(names.toSorted());
  const twice = observed.filter(({ occurrences }) => occurrences === 2);
  expect(twice.map(({ name }) => withoutPrefix(name)).toSorted()).toEqual(names.slice(0, MANY / 2).toSorted());
  for (const { evidence } of twice) expect(evidence.names).toHaveLength(2);
  // The variants of a name are one item now.
  for (const name of ['item-0', 'acme/item-4']) {
    expectProblem(
      await server.call('POST', `${path}/inventory`, { as, body: { kind: 'model', name } }),
      409,
      'name_taken',
    );
  }
  const open = await all(server, `${path}/recommendations?status=open&kind=register_item`, as);
  expect(open).toHaveLength(MANY);
  expect(new Set(open.flatMap(({ observationIds }) => observationIds))).toEqual(new Set(observed.map(({ id }) => id)));
  const usage = await all(server, `/v1/usage?group_by=name&provider_id=${provider.id}&limit=100`, as);
  expect(usage.map(({ name, calls }) => `${withoutPrefix(name)} ${calls}`).toSorted()).toEqual(
    observed.map(({ name, occurrences }) => `${withoutPrefix(name)} ${occurrences}`).toSorted(),
  );
});

// Before, all series of the provider were searched again for each batch of 64 observations.
test('pruning observations reads the usage of their provider once', async () => {
  const small = await serverOfTest({ QM_MAX_OBSERVATIONS: String(2 * MANY) });
  const { operator: as, sender, path, tasks } = await newTenant(small);
  const names = Array.from({ length: MANY + 1 }, (_, index) => `m-${index}`);
  await sendSpans(small, sender, names.map(atOpenai));
  const task = (await tasks()).find(({ kind }) => kind === 'review_cardinality');
  const complete = () =>
    small.ok('POST', `/v1/operator/tasks/${task?.id}/complete`, { as, body: { outcome: 'pruned' } });
  const statements = await statementsOf(complete, small);
  expect(statements.filter((sql) => /^select .* from "usage_series" .*"provider_id"/.test(sql))).toHaveLength(1);
  expect(statements.length).toBeLessThan(MANY / 2);
  expect(await all(small, `${path}/observations`, as)).toEqual([]);
  const usage = await all(small, '/v1/usage?group_by=name', as);
  expect(usage.find(({ name }) => name === 'other')).toMatchObject({ calls: MANY });
  // The name that was beyond the limit was counted, and is not observed, so it is not pruned.
  expect(await all(small, '/v1/usage', as)).toMatchObject([{ calls: MANY + 1 }]);
});

test('aggregation takes as many statements for 16 subjects as for 4, and counts each of them', async () => {
  const tenant = await newTenant(server);
  const { sender } = tenant;
  const batch = (count: number, prefix = '') =>
    Array.from({ length: count }, (_, index) => atOpenai(`${prefix}m-${index}`));
  // More than one batch, each in two spellings.
  await sendSpans(server, sender, [...batch(MANY), ...batch(MANY, 'OpenAI/')]);
  const observed = await all(server, `${tenant.path}/observations?limit=100`, tenant.operator);
  expect(observed).toHaveLength(MANY);
  for (const { occurrences, evidence } of observed) expect([occurrences, evidence.names.length]).toEqual([2, 2]);

  // The minimum of several runs, because background jobs run statements as well.
  const fewestFor = async (count: number) => {
    const counts: number[] = [];
    // The same number of spans each time, because the index of a larger trace has an additional row.
    const spans = Array.from({ length: 16 / count }, () => batch(count)).flat();
    for (let attempt = 0; attempt < 3; attempt += 1) {
      counts.push((await statementsOf(() => sendSpans(server, sender, spans))).length);
    }
    return Math.min(...counts);
  };
  const [few, many] = [await fewestFor(4), await fewestFor(16)];
  expect(many).toBe(few);
  expect(many).toBeLessThan(25);
});

// Before, each declared name was reevaluated separately.
test('a manifest’s declarations are reevaluated with a few statements, for any number of declarations', async () => {
  const tenant = await newTenant(server);
  const { operator: as } = tenant;
  const names = Array.from({ length: 200 }, (_, index) => `m-${index}`);
  await sendSpans(server, tenant.sender, names.map(atOpenai));
  const declares = names.map((name) => ({ provider: 'openai', kind: 'model', name }));
  const body = { name: 'declaring', kind: 'agent', spec: { declares } };
  const statements = await statementsOf(() => server.ok('POST', '/v1/manifests', { as, body }));
  expect(statements.length).toBeLessThan(100);
  const observed = await all(server, `${tenant.path}/observations?limit=100`, as);
  expect(new Set(observed.map(({ unknown, status }) => `${unknown} ${status}`))).toEqual(new Set(['false resolved']));
  expect(await all(server, `${tenant.path}/recommendations?status=open`, as)).toEqual([]);
});

// Before, each item that a sync wrote was reevaluated separately: the first sync of 5,000 models was one transaction of 17 s on
// PostgreSQL.
test('what a sync writes is stored and reevaluated with a few statements, for any number of items', async () => {
  const { operator: as, provider, path } = await newTenant(server);
  let listed: object[] = [];
  const peer = await startPeer((_req, res) => {
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data: listed }));
  });
  await server.ok('PUT', path, { as, body: { baseUrl: peer.url } });
  const models = (attributes: object = {}) =>
    Array.from({ length: MANY }, (_, index) => ({ id: `m-${index}`, object: 'model', ...attributes }));
  const syncing = async (data: object[]) => {
    listed = data;
    let answer: Body;
    const statements = await statementsOf(async () => {
      answer = await server.ok('POST', `/v1/providers/${provider.id}/sync`, { as });
    });
    // Batches of 64 and 100 items take some each. Before, each item took more than four.
    expect(statements.length).toBeLessThan(MANY / 2);
    return answer;
  };

  expect(await syncing(models())).toMatchObject({ added: MANY });
  expect(await syncing(models({ owned_by: 'another' }))).toMatchObject({ updated: MANY });
  // If more than half were gone, they would be held until a person confirms it.
  const half = MANY / 2;
  expect(await syncing(models({ owned_by: 'another' }).slice(0, half))).toMatchObject({ removed: half });
  const missing = await all(server, `${path}/inventory?status=missing&limit=100`, as);
  expect(missing).toHaveLength(half);
  expect(await syncing(models({ owned_by: 'another' }))).toMatchObject({ updated: half });
  expect(await syncing([])).toMatchObject({ held: MANY });
  const items = await all(server, `${path}/inventory?status=available&limit=100`, as);
  expect(items).toHaveLength(MANY);
  for (const { attributes } of items) expect(attributes).toEqual({ owned_by: 'another' });
});

/** The SQL statements that run during `work`. A statement that was compiled before is an empty text. */
async function statementsOf(work: () => Promise<unknown>, { services }: TestServer = server): Promise<string[]> {
  const { db } = services;
  const compiled = new Map<object, string>();
  const statements: string[] = [];
  const listening: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      compiled.set(queryId, db.getExecutor().compileQuery(node, queryId).sql);
      return node;
    },
    async transformResult({ queryId, result }) {
      statements.push(compiled.get(queryId) ?? '');
      return result;
    },
  };
  services.db = db.withPlugin(listening);
  try {
    await work();
  } finally {
    services.db = db;
  }
  return statements;
}
