import { expect, test } from 'vitest';
import { insertRecommendations } from '../src/repositories/open-recommendations.ts';
import { insertProvider } from '../src/repositories/providers.ts';
import { findRecommendations } from '../src/repositories/recommendations.ts';
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
