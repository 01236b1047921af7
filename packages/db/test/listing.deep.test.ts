import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { Database } from '../src/database.ts';
import type { PageKey } from '../src/queries.ts';
import { insertProvider, listProviders } from '../src/repositories/providers.ts';
import { type ServiceAccountFilter, searchServiceAccounts } from '../src/repositories/service-accounts.ts';
import { EVERYWHERE, type TenantPlace, type TenantScope } from '../src/tenancy.ts';
import { scaled } from '../testing/scale.ts';
import { onPostgres } from '../testing/test-database.ts';
import { later, NOW, temporaryDatabase } from './temporary-database.ts';
import { countTurns } from './count-turns.ts';

const ACME = { tenantId: 'acme', subTenantId: null };

/**
 * The service's default bound, on SQLite and in the full form. Other lists are tested with a smaller bound that is passed in
 * (bounded-lists.test.ts), since all lists share the code.
 */
const MAX_ROWS_SCANNED = onPostgres() ? scaled({ usual: 6000, full: undefined }) : undefined;

/** More rows than one page may scan. */
const MANY = (MAX_ROWS_SCANNED ?? 200_000) * 1.05;
const EVERY = Math.floor(MANY / 27) - 1;

/** A database with many accounts. Every {@link EVERY}th has a different name. */
async function largeDatabase(count: number): Promise<Database> {
  const db = await temporaryDatabase(ACME);
  const time = NOW.toISOString();
  await sql`
    with recursive numbers(i) as (select 1 union all select i + 1 from numbers where i < ${sql.lit(count)})
    insert into service_accounts (tenant_id, sub_tenant_id, id, name, status, platform_administrator, metadata,
      search_text, created_at, updated_at)
    select 'acme', '', 'sa_' || cast(1000000 + i as text), case when i % ${sql.lit(EVERY)} = 0 then 'rare' else 'usual' end,
      'active', 0, '{}', 'usual', ${time}, ${time} from numbers`.execute(db);
  // Updates the statistics of Postgres, which otherwise would not know of the rows yet.
  if (onPostgres()) await sql`analyze service_accounts`.execute(db);
  return db;
}

/** Reads all pages of a search, and counts the turns of the event loop in between. */
async function pagesOf(db: Database, filter: ServiceAccountFilter, limit: number) {
  const pages: string[][] = [];
  const counted = countTurns();
  const bound = MAX_ROWS_SCANNED === undefined ? {} : { maxRowsScanned: MAX_ROWS_SCANNED };
  for (let after: PageKey | null = null; ; ) {
    const page = await searchServiceAccounts(db, [ACME], filter, { limit, after, ...bound }, NOW);
    pages.push(page.items.map(({ id }) => id));
    after = page.next;
    if (after === null) break;
  }
  counted.stop();
  return { pages, turns: counted.turns() };
}

test('a search scans a bounded number of rows for each page, and yields to the event loop', async () => {
  const db = await largeDatabase(MANY);
  const nothing = await pagesOf(db, { name: 'none' }, 25);
  expect(nothing.pages).toEqual([[], []]);
  // It scans two thousand rows at a time.
  expect(nothing.turns).toBeGreaterThanOrEqual(MANY / 2000 - 1);

  const rare = Array.from({ length: Math.floor(MANY / EVERY) }, (_, index) => `sa_${1_000_000 + (index + 1) * EVERY}`);
  for (const limit of [4, 27, 100]) {
    const { pages } = await pagesOf(db, { name: 'rare' }, limit);
    expect(pages.flat()).toEqual(rare.toReversed());
    for (const page of pages) expect(page.length).toBeLessThanOrEqual(limit);
  }
});

test('no row is lost or repeated at the boundary of two batches of a search', async () => {
  // Three batches of two thousand matching rows, so that one page spans both boundaries.
  const count = 4500;
  const db = await largeDatabase(count);
  const found = await searchServiceAccounts(db, [ACME], { status: 'active' }, { limit: 5000, after: null }, NOW);
  const expected = Array.from({ length: count }, (_, index) => `sa_${1_000_000 + index + 1}`).toReversed();
  expect(found.items.map(({ id }) => id)).toEqual(expected);
});

test('a list over several places contains each of their records once, newest first', async () => {
  const places: TenantPlace[] = ['acme', 'beta', 'gamma'].flatMap((tenantId) => [
    { tenantId, subTenantId: null },
    { tenantId, subTenantId: 'eu' },
  ]);
  const db = await temporaryDatabase(...places);
  const fields = { kind: 'llm', status: 'active', displayName: null, description: null, baseUrl: null } as const;
  for (let index = 0; index < 30; index += 1) {
    const place = places[(index * 7) % places.length] ?? ACME;
    // Some have the same millisecond.
    const at = later(Math.floor(index / 4));
    await insertProvider(db, place, { ...fields, name: `provider-${index}`, metadata: {} }, at);
  }
  const listed = async (scope: TenantScope, limit: number, kind: string | null) => {
    const items = [];
    for (let after: PageKey | null = null; ; ) {
      const page = await listProviders(db, scope, { kind }, { limit, after });
      items.push(...page.items);
      after = page.next;
      if (after === null) return items;
    }
  };
  const all = await listed(EVERYWHERE, 100, null);
  expect(all).toHaveLength(30);
  const scopes: TenantScope[] = [
    [places[0], places[2]].flatMap((place) => place ?? []),
    [places[1], places[2], places[3], places[5]].flatMap((place) => place ?? []),
    [ACME, ACME],
    [...places, { tenantId: null, subTenantId: 'eu' }],
    [],
  ];
  for (const scope of scopes) {
    const expected = all.filter(({ tenantId, subTenantId }) =>
      scope.some(
        (place) => (place.tenantId ?? tenantId) === tenantId && (place.subTenantId ?? subTenantId) === subTenantId,
      ),
    );
    for (const limit of [1, 3, 100]) {
      for (const kind of [null, 'llm']) expect(await listed(scope, limit, kind)).toEqual(expected);
    }
  }
});
