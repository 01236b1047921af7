import { listRecommendations } from '@quartermaster/contracts/recommendations.ts';
import { beforeAll, expect, test } from 'vitest';
import { newTenant } from '../governance/loop-support.ts';
import { all, chat, sendSpans } from '../telemetry/traces/sending.ts';
import { checkCoverageAfterAll, type Endpoints, serverFor } from './harness.ts';

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor({ listRecommendations });
});
checkCoverageAfterAll(() => server);

test('list_recommendations lists those of all providers, newest first, and filters them', async () => {
  const tenant = await newTenant(server);
  const other = await newTenant(server);
  await other.see('elsewhere');
  await tenant.see('gpt-5');
  server.travel(1000);
  await tenant.see('gpt-6');
  server.travel(1000);
  await sendSpans(server, tenant.sender, [chat('m', { 'gen_ai.provider.name': 'mistral_ai' })]);
  const list = (query: string) => all(server, `/v1/recommendations?${query}`, tenant.operator);
  const everything = await list('');
  expect(new Set(everything.map(({ tenantId }) => tenantId))).toEqual(new Set([tenant.tenantId]));
  expect(new Set(everything.map(({ providerId }) => providerId)).size).toBe(2);
  const times: string[] = everything.map(({ createdAt }) => createdAt);
  expect(times).toEqual(times.toSorted().toReversed());
  expect(await list('limit=1')).toEqual(everything);
  expect(await list(`provider_id=${tenant.provider.id}`)).toHaveLength(2);
  expect((await list('kind=adopt_provider')).map(({ kind }) => kind)).toEqual(['adopt_provider']);
  const { id } = await tenant.observation('gpt-5');
  expect((await list(`observation_id=${id}`)).map(({ observationIds }) => observationIds)).toEqual([[id]]);
  const [first] = everything;
  await server.ok('POST', `/v1/recommendations/${first.id}/dismiss`, { as: tenant.operator, body: { reason: 'no' } });
  expect((await list('status=dismissed')).map((one) => one.id)).toEqual([first.id]);
  expect(await list('status=open')).toHaveLength(everything.length - 1);
});

test('list_recommendations separates the open ones that wait for a review from those that do not', async () => {
  const tenant = await newTenant(server);
  await tenant.see('gpt-5');
  await tenant.see('gpt-6');
  await sendSpans(server, tenant.sender, [chat('m', { 'gen_ai.provider.name': 'mistral_ai' })]);
  const list = (query: string) => all(server, `/v1/recommendations?${query}`, tenant.operator);
  const ids = async (query: string) => (await list(query)).map(({ id }): string => id).toSorted();
  const everything = await ids('');
  expect(await ids('needs_review=true')).toEqual(everything);
  expect(await ids('needs_review=false')).toEqual([]);
  const review = (id: string, decision: string) =>
    server.ok('POST', `/v1/runtime-observations/${id}/review`, { as: tenant.operator, body: { decision } });
  const [adoption] = await list('kind=adopt_provider');
  const approved = [(await tenant.observation('gpt-5')).id, adoption?.observationIds[0]];
  for (const id of approved) await review(id, 'approved');
  // The approval of the model of the provider that is not declared backs both: its adoption, and the item.
  const backed = await list('needs_review=false');
  expect(backed.map(({ kind }): string => kind).toSorted()).toEqual([
    'adopt_provider',
    'register_item',
    'register_item',
  ]);
  expect(await ids('needs_review=true')).toEqual(everything.filter((id) => !backed.some((one) => one.id === id)));
  // A block narrows what agents may use.
  await review((await tenant.observation('gpt-6')).id, 'rejected');
  server.travel(2 * 3_600_000);
  await tenant.see('gpt-6');
  expect((await list('needs_review=false&kind=block_item')).map(({ status }) => status)).toEqual(['open']);
  await server.ok('POST', `/v1/providers/${tenant.provider.id}/recommendations/apply`, {
    as: tenant.operator,
    body: {},
  });
  expect((await list('needs_review=false')).map(({ status }) => status)).not.toContain('applied');
});
