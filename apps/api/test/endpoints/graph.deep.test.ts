import { expect, test } from 'vitest';
import { partOfLongestTurn } from '../support/cpu-of-turns.ts';
import { accountWithKey, unique } from '../support/people.ts';
import { type Body, serverOfTest } from '../support/server.ts';
import { addCalls } from '../support/usage.ts';
import { chat, sendSpans } from '../telemetry/traces/sending.ts';

/** The part of the CPU time of a request that one turn of the event loop may take. */
const MOST_OF_TURNS = 0.35;

test('regression: a graph of many edges with equally many calls works in many turns of the event loop', async () => {
  const server = await serverOfTest();
  const tenantId = unique('graph');
  const { key, principal: account } = await accountWithKey(server, { tenantId });
  const [place, providerId, kind] = [{ tenantId, subTenantId: null }, 'p', 'model'] as const;
  const subjects = Array.from({ length: 10_000 }, (_, index) => {
    const name = `model-${index}`;
    return { providerId, kind, name, nameKey: name, agent: 'a', account };
  });
  const startTime = await addCalls(server, place, subjects);
  const part = await partOfLongestTurn(async () => {
    const graph = await server.ok('GET', `/v1/graph?max_edges=1&from=${startTime}`, { as: { key } });
    expect(graph).toMatchObject({ edges: [{ name: 'model-0' }], omittedEdges: 9999, omittedCalls: 9999 });
  }, MOST_OF_TURNS);
  expect(part).toBeLessThan(MOST_OF_TURNS);
});

test('regression: the observations of many items, with much evidence, are read in many turns of the event loop', async () => {
  const server = await serverOfTest();
  const tenantId = unique('graph');
  const as = { key: (await accountWithKey(server, { tenantId })).key };
  await sendSpans(server, as, [chat('gpt-5', { 'gen_ai.provider.name': 'openai' })]);
  const { db } = server.services;
  const { items } = await server.ok('GET', '/v1/runtime-observations?name=gpt-5', { as });
  const row = await db
    .selectFrom('runtime_observations')
    .selectAll()
    .where('id', '=', items[0].id)
    .executeTakeFirstOrThrow();
  const evidence = JSON.stringify({ ...JSON.parse(row.evidence), serviceNames: Array(100).fill('s'.repeat(200)) });
  const names = Array.from({ length: 1500 }, (_, index) => `model-${index}`);
  for (let start = 0; start < names.length; start += 100) {
    const rows = names
      .slice(start, start + 100)
      .map((name) => ({ ...row, id: row.id + name, name, name_key: name, evidence }));
    await db.insertInto('runtime_observations').values(rows).execute();
  }
  const place = { tenantId, subTenantId: null };
  const subjects = names.map((name) => {
    return { providerId: row.provider_id, kind: row.kind, name, nameKey: name, agent: 'a', account: 'b' };
  });
  await addCalls(server, place, subjects);
  const part = await partOfLongestTurn(async () => {
    const graph = await server.ok('GET', '/v1/graph?max_edges=2000', { as });
    expect(graph.items.filter(({ observationIds }: Body) => observationIds.length > 0).length).toBeGreaterThan(1500);
  }, MOST_OF_TURNS);
  expect(part).toBeLessThan(MOST_OF_TURNS);
});
