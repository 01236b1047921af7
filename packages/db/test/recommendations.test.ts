import { expect, test } from 'vitest';
import { insertObservationLinks, insertRecommendations } from '../src/repositories/open-recommendations.ts';
import { insertProvider } from '../src/repositories/providers.ts';
import { findRecommendation, findRecommendations } from '../src/repositories/recommendations.ts';
import { recordingDatabase } from './recorded-results.ts';
import { later, NOW, temporaryDatabase } from './temporary-database.ts';

const ACME = { tenantId: 'acme', subTenantId: null };

test('regression: recommendations of some ids come oldest first, in whatever order they were stored and are asked for', async () => {
  const db = await temporaryDatabase(ACME);
  const named = { name: 'openai', displayName: null, description: null, baseUrl: null, metadata: {} };
  const provider = await insertProvider(db, ACME, { ...named, kind: 'llm', status: 'active' }, NOW);
  const recommended = async (name: string, seconds: number) => {
    const target = { type: 'inventory_item', id: null } as const;
    const change = { target, before: null, after: { kind: 'model', name } };
    const made = { providerId: provider.id, kind: 'register_item', subject: `model:${name}`, reason: 'seen' } as const;
    const row = { ...made, change, isApplicable: true, subTenantId: null };
    return (await insertRecommendations(db, ACME, [row], later(seconds)))[0] ?? '';
  };
  const [third, first, second] = [await recommended('c', 3), await recommended('a', 1), await recommended('b', 2)];
  for (const ids of [
    [third, first, second],
    [second, first, third],
  ]) {
    const found = await findRecommendations(db, [ACME], provider.id, ids);
    expect(found.map(({ id }) => id)).toEqual([first, second, third]);
  }
});

test('a recommendation shows the first of its observations, and reads no more of them', async () => {
  const db = await temporaryDatabase(ACME);
  const named = { name: 'openai', displayName: null, description: null, baseUrl: null, metadata: {} };
  const provider = await insertProvider(db, ACME, { ...named, kind: 'llm', status: 'active' }, NOW);
  const change = { target: { type: 'provider', id: provider.id }, before: null, after: null } as const;
  const made = {
    providerId: provider.id,
    kind: 'adopt_provider',
    subject: 'provider',
    reason: 'seen',
    change,
  } as const;
  const row = { ...made, isApplicable: false, subTenantId: null };
  const [id = ''] = await insertRecommendations(db, ACME, [row], NOW);
  const observationIds = Array.from({ length: 150 }, (_, index) => `obs_${1000 + index}`);
  const time = NOW.toISOString();
  const observation = {
    tenant_id: 'acme',
    sub_tenant_id: '',
    provider_id: provider.id,
    kind: 'model',
    name_family: 'gpt',
    unknown: 1,
    status: 'open',
    occurrences: 1,
    first_seen_at: time,
    last_seen_at: time,
    last_trace_id: '',
    last_span_id: '',
    evidence: '{}',
    environments: '',
    risk: '{}',
    inventory_item_id: null,
    review: null,
    drift: null,
    first_account: '',
    created_at: time,
    updated_at: time,
  } as const;
  await db
    .insertInto('runtime_observations')
    .values(observationIds.map((name) => ({ ...observation, id: name, name, name_key: name })))
    .execute();
  const links = observationIds.toReversed().map((observationId) => ({ recommendationId: id, observationId }));
  await insertObservationLinks(db, ACME, links);
  const { recording, results } = recordingDatabase(db);
  const found = await findRecommendation(recording, [ACME], id);
  expect(found?.observationIds).toEqual(observationIds.slice(0, 100));
  expect(results.flatMap(({ rows }) => rows)).toHaveLength(101);
});
