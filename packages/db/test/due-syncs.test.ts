import { expect, test } from 'vitest';
import type { Database } from '../src/database.ts';
import {
  findProvidersDueForSync,
  insertProvider,
  type NewProvider,
  setNextSync,
} from '../src/repositories/providers.ts';
import { EVERYWHERE, scopeOf, type TenantPlace } from '../src/tenancy.ts';
import { later, NOW, temporaryDatabase } from './temporary-database.ts';

const ACME = { tenantId: 'acme', subTenantId: null };
const EU = { tenantId: 'acme', subTenantId: 'eu' };
const GLOBEX = { tenantId: 'globex', subTenantId: null };

test('finds the longest overdue providers, and no more than a number of one tenant', async () => {
  const db = await temporaryDatabase(ACME, EU, GLOBEX);
  for (const [index, place] of [ACME, EU, ACME, EU].entries()) await due(db, place, `slow ${index}`, index);
  await due(db, GLOBEX, 'theirs', 50);
  await due(db, GLOBEX, 'not yet', 61);
  await due(db, GLOBEX, 'disabled', 1, { status: 'disabled' });
  await due(db, GLOBEX, 'without an address', 2, { baseUrl: null });
  const found = async (limit: number, perTenant: number, scope = EVERYWHERE) =>
    (await findProvidersDueForSync(db, scope, later(60), { limit, perTenant })).map(({ name }) => name);
  expect(await found(10, 10)).toEqual(['slow 0', 'slow 1', 'slow 2', 'slow 3', 'theirs']);
  expect(await found(10, 2)).toEqual(['slow 0', 'slow 1', 'theirs']);
  expect(await found(2, 1)).toEqual(['slow 0', 'theirs']);
  expect(await found(1, 2)).toEqual(['slow 0']);
  expect(await found(10, 2, scopeOf(EU))).toEqual(['slow 1', 'slow 3']);
});

/** A provider whose sync is due some seconds after {@link NOW}. */
async function due(
  db: Database,
  place: TenantPlace,
  name: string,
  seconds: number,
  fields: Partial<NewProvider> = {},
): Promise<void> {
  const { id } = await insertProvider(
    db,
    place,
    {
      name,
      displayName: null,
      description: null,
      kind: 'llm',
      baseUrl: 'https://api.example.com/v1',
      status: 'active',
      syncIntervalSeconds: 300,
      metadata: {},
      ...fields,
    },
    NOW,
  );
  await setNextSync(db, scopeOf(place), id, later(seconds));
}
