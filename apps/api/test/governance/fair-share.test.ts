import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../support/server.ts';
import { all, chat, sendSpans } from '../telemetry/traces/sending.ts';
import { newTenant } from './loop-support.ts';
import { junk, LIMIT, models, SERIES, sharingOn } from './sharing.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ QM_MAX_OBSERVATIONS: String(LIMIT), QM_MAX_USAGE_SERIES: String(SERIES) });
});
afterAll(() => server.stop());

const { newSender, observedNames, unobserved, expectRightCounters } = sharingOn(() => server);

test('a sender cannot hide the use of a blocked item behind junk, and other names of it wait for room', async () => {
  const tenant = await newTenant(server);
  const { operator: as, path } = tenant;
  await server.ok('POST', `${path}/inventory`, { as, body: { kind: 'model', name: 'gpt-x', status: 'blocked' } });
  const senders = [await newSender(tenant), await newSender(tenant, 'eu')];
  for (const [index, sender] of senders.entries()) {
    for (let round = 0; round < 8; round += 1) await sendSpans(server, sender, junk(`junk-${index}-${round}`));
    await sendSpans(server, sender, models('gpt-y', 'gpt-x', 'openai/GPT-X', 'gpt-x-2026-01-01'));
  }
  expect((await observedNames(tenant, 'gpt')).toSorted()).toEqual(['gpt-x', 'gpt-x']);
  for (const place of [null, 'eu']) {
    const observation = await tenant.observation('gpt-x', place);
    expect([observation.occurrences, observation.risk.factors[0].factor]).toEqual([2, 'blocked_item']);
  }
  await expectRightCounters(tenant);
  expect((await tenant.tasks()).map(({ kind }) => kind)).toContain('review_cardinality');
});

test('regression: the junk names of one account leave room for what another account uses', async () => {
  const tenant = await newTenant(server);
  const [greedy, honest] = [await newSender(tenant), await newSender(tenant)];
  const before = await unobserved();
  await sendSpans(server, greedy, junk('junk'));
  await sendSpans(server, greedy, junk('more'));
  await sendSpans(server, honest, models('gpt-5', 'gpt-5-mini', 'o3'));
  await sendSpans(server, honest, models('gpt-4'));

  expect(await observedNames(tenant, 'junk')).toHaveLength(LIMIT / 2);
  expect(await observedNames(tenant, 'more')).toEqual([]);
  for (const name of ['gpt-5', 'gpt-5-mini', 'o3', 'gpt-4']) expect(await tenant.observation(name)).toBeDefined();
  const after = await unobserved();
  expect(after['account']).toBe((before['account'] ?? 0) + 4 * LIMIT - LIMIT / 2);
  expect(after['tenant']).toBe(before['tenant']);
  const limitTasks = (await tenant.tasks()).filter(({ kind }) => kind === 'review_cardinality');
  expect(limitTasks.map(({ title }): string => title)).toEqual([
    `The service account ${greedy.id} reached its share of the tenant's limit of 40 observations: its new ones are not observed`,
  ]);
  await expectRightCounters(tenant);
});

test('regression: providers that one account invents leave room for those that another account discovers', async () => {
  const tenant = await newTenant(server);
  const { operator: as } = tenant;
  await server.ok('PUT', `/v1/tenants/${tenant.tenantId}/limits`, { as: server.admin, body: { providers: 9 } });
  const at = (vendor: string) => chat('m', { 'gen_ai.provider.name': vendor });
  const discovered = async () => {
    const found = await all(server, '/v1/providers?status=discovered', as);
    return found.map(({ name }): string => name).toSorted();
  };
  await sendSpans(
    server,
    tenant.sender,
    Array.from({ length: 10 }, (_, index) => at(`junk-${index}`)),
  );
  await sendSpans(server, tenant.sender, [at('junk-11')]);
  expect(await discovered()).toEqual(['junk-0', 'junk-1', 'junk-2', 'junk-3']);
  await sendSpans(server, await newSender(tenant), ['real-1', 'real-2'].map(at));
  expect(await discovered()).toEqual(['junk-0', 'junk-1', 'junk-2', 'junk-3', 'real-1', 'real-2']);
  // An adopted provider no longer counts for an account.
  const [junkProvider] = await all(server, '/v1/providers?name=junk-0', as);
  await server.ok('PUT', `/v1/providers/${junkProvider.id}`, { as, body: { status: 'active' } });
  await server.ok('PUT', `/v1/tenants/${tenant.tenantId}/limits`, { as: server.admin, body: { providers: 11 } });
  await sendSpans(server, tenant.sender, [at('later')]);
  expect(await discovered()).toContain('later');
});
