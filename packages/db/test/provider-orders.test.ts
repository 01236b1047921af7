import { beforeEach, expect, test } from 'vitest';
import type { Database } from '../src/database.ts';
import type { PageKey } from '../src/queries.ts';
import { areMoreProvidersThan, listSortedProviders, type ProviderOrder } from '../src/repositories/provider-orders.ts';
import { insertProvider } from '../src/repositories/providers.ts';
import { EVERYWHERE, type TenantScope } from '../src/tenancy.ts';
import { NOW, temporaryDatabase } from './temporary-database.ts';

const ACME = { tenantId: 'acme', subTenantId: null };
const EAST = { tenantId: 'acme', subTenantId: 'east' };
const OTHER = { tenantId: 'other', subTenantId: null };

let db: Database;

beforeEach(async () => {
  db = await temporaryDatabase(EAST, OTHER);
  const add = (place: typeof ACME | typeof EAST, name: string, values: object = {}) => {
    const fields = { displayName: null, description: null, kind: 'llm', baseUrl: null, status: 'active' } as const;
    return insertProvider(db, place, { ...fields, name, metadata: {}, ...values }, NOW);
  };
  await add(ACME, 'Beta');
  await add(EAST, 'zeta', { displayName: 'Alpha 1' });
  await add(ACME, 'gamma', { status: 'disabled' });
  await add(EAST, 'gamma', { status: 'deleted' });
  await add(OTHER, 'aaa');
});

async function namesOf(scope: TenantScope, order: ProviderOrder, limit: number): Promise<string[]> {
  const names: string[] = [];
  for (let after: PageKey | null = null; ; ) {
    const { items, next } = await listSortedProviders(db, scope, { order }, { limit, after });
    names.push(...items.map(({ name }) => name));
    if (next === null) return names;
    after = next;
  }
}

test.each<[string, TenantScope, ProviderOrder, string[]]>([
  ['a tenant', [ACME], 'name', ['zeta', 'Beta', 'gamma']],
  ['a sub-tenant', [EAST], 'name', ['zeta']],
  ['places that overlap', [ACME, EAST], 'name', ['zeta', 'Beta', 'gamma']],
  ['two tenants', [EAST, OTHER], 'name', ['aaa', 'zeta']],
  ['everywhere', EVERYWHERE, 'name', ['aaa', 'zeta', 'Beta', 'gamma']],
  ['a tenant, by equal values', [ACME], 'kind', ['zeta', 'Beta', 'gamma']],
  ['a tenant, by status', [ACME], 'status', ['zeta', 'Beta', 'gamma']],
])('the providers of %s are sorted, once each, with any page size', async (_what, scope, order, names) => {
  for (const limit of [1, 2, 9]) expect(await namesOf(scope, order, limit)).toEqual(names);
});

test('it is known whether there are too many providers to sort', async () => {
  expect(await areMoreProvidersThan(db, EVERYWHERE, 4)).toBe(true);
  expect(await areMoreProvidersThan(db, EVERYWHERE, 5)).toBe(false);
  expect(await areMoreProvidersThan(db, [OTHER], 0)).toBe(true);
  expect(await areMoreProvidersThan(db, [OTHER], 1)).toBe(false);
});
