import { type Kysely, sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { beforeKey, containsText, inScope, type Page, type PageKey, pageOf, placeOf, timeKey } from '../src/queries.ts';
import { caseFolded } from '@quartermaster/naming/case-folded.ts';
import { covers, EVERYWHERE, narrowScope, type TenantPlace, type TenantScope } from '../src/tenancy.ts';
import { temporaryDatabase } from './temporary-database.ts';

type Row = { tenant_id: string; sub_tenant_id: string; id: string; created_at: string };
type Things = { things: Row };

const TENANTS = ['a', 'b', 'c'];
const PLACES: TenantPlace[] = TENANTS.flatMap((tenantId) =>
  [null, 'x', 'y'].map((subTenantId) => ({ tenantId, subTenantId })),
);

async function things(rows: Row[]): Promise<Kysely<Things>> {
  const db = (await temporaryDatabase()) as unknown as Kysely<Things>;
  await sql`create table things (tenant_id text, sub_tenant_id text, id text, created_at text)`.execute(db);
  if (rows.length > 0) await db.insertInto('things').values(rows).execute();
  return db;
}

function rowAt({ tenantId, subTenantId }: TenantPlace, id: string, created_at = '2026'): Row {
  return { tenant_id: tenantId, sub_tenant_id: subTenantId ?? '', id, created_at };
}

describe('inScope', () => {
  const wide = [null, ...TENANTS].flatMap((tenantId) =>
    [null, 'x', 'y'].map((subTenantId) => ({ tenantId, subTenantId })),
  );
  const pairs = wide.flatMap((one, at) => wide.slice(at + 1).map((other): TenantScope => [one, other]));
  const scopes: TenantScope[] = [[], EVERYWHERE, ...wide.map((one) => [one]), ...pairs, wide];

  test('selects exactly the rows that the scope covers, for every scope', async () => {
    const db = await things(PLACES.map((place, at) => rowAt(place, `thing-${at}`)));
    for (const scope of scopes) {
      const rows = await db.selectFrom('things').selectAll().where(inScope(scope)).execute();
      const expected = PLACES.filter((place) => covers(scope, place));
      expect(rows.map(placeOf), JSON.stringify(scope)).toEqual(expected);
    }
  });

  test('an empty scope selects nothing, and the condition combines with others', async () => {
    const db = await things(PLACES.map((place, at) => rowAt(place, `thing-${at}`)));
    const ids = (scope: TenantScope, id: string) =>
      db.selectFrom('things').select('id').where('id', '=', id).where(inScope(scope)).execute();
    expect(await ids([], 'thing-0')).toEqual([]);
    const two = [
      { tenantId: 'b', subTenantId: null },
      { tenantId: 'c', subTenantId: null },
    ];
    expect(await ids(two, 'thing-0')).toEqual([]);
    expect(await ids(two, 'thing-3')).toEqual([{ id: 'thing-3' }]);
  });

  test('tenant ids are bound as values, and never interpreted as SQL', async () => {
    const strange = { tenantId: "a' or '1'='1", subTenantId: null };
    const db = await things([...PLACES, strange].map((place, at) => rowAt(place, `thing-${at}`)));
    const rows = await db
      .selectFrom('things')
      .selectAll()
      .where(inScope([strange], 'things'))
      .execute();
    expect(rows.map(placeOf)).toEqual([strange]);
  });

  test('a narrowed scope covers exactly what both the scope and the named place cover', () => {
    const names = [null, ...TENANTS].flatMap((tenantId) =>
      [null, 'x', 'z'].map((subTenantId) => ({ tenantId, subTenantId })),
    );
    for (const scope of scopes) {
      for (const named of names) {
        for (const place of PLACES) {
          const both = covers(scope, place) && covers([named], place);
          expect(covers(narrowScope(scope, named), place)).toBe(both);
        }
      }
    }
  });
});

describe('pages', () => {
  // Many rows with the same time, so that the order depends on the id.
  const rows = Array.from({ length: 23 }, (_, at) =>
    rowAt(
      { tenantId: 'a', subTenantId: null },
      `thing-${String((at * 7) % 23).padStart(2, '0')}`,
      `2026-0${1 + (at % 3)}`,
    ),
  );
  const order = (a: Row, b: Row) => (`${a.created_at} ${a.id}` < `${b.created_at} ${b.id}` ? 1 : -1);

  async function pageAfter(db: Kysely<Things>, after: PageKey | null, limit: number): Promise<Page<string>> {
    const found = await db
      .selectFrom('things')
      .selectAll()
      .where(beforeKey(after, 'created_at', 'id'))
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(limit + 1)
      .execute();
    return pageOf(found, limit, ({ id }) => id, timeKey);
  }

  test.each([1, 2, 3, 7, 22, 23, 24, 100])('of %i each show every row once, newest first', async (limit) => {
    const db = await things(rows);
    const seen: string[] = [];
    let pages = 0;
    for (let after: PageKey | null = null; ; pages += 1) {
      const { items, next }: Page<string> = await pageAfter(db, after, limit);
      expect(items.length).toBeGreaterThan(0);
      expect(items.length).toBeLessThanOrEqual(limit);
      seen.push(...items);
      after = next;
      if (after === null) break;
    }
    expect(seen).toEqual(rows.toSorted(order).map(({ id }) => id));
    expect(pages + 1).toBe(Math.ceil(rows.length / limit));
  });

  test('continue at the same position, whatever is inserted or deleted in between', async () => {
    const db = await things(rows);
    const first = await pageAfter(db, null, 10);
    const place = { tenantId: 'a', subTenantId: null };
    await db
      .insertInto('things')
      .values([rowAt(place, 'newest', '2027'), rowAt(place, 'oldest', '2025')])
      .execute();
    await db
      .deleteFrom('things')
      .where('id', '=', first.items.at(-1) ?? '')
      .execute();
    const second = await pageAfter(db, first.next, 100);
    expect([...first.items, ...second.items]).toEqual([...rows.toSorted(order).map(({ id }) => id), 'oldest']);
    expect(second.next).toBeNull();
  });

  test('without rows are empty, and have no next page', async () => {
    expect(await pageAfter(await things([]), null, 10)).toEqual({ items: [], next: null });
  });
});

describe('containsText', () => {
  const TEXTS = ['100% sure', 'a_b', 'a\\b', 'axb', "it's", 'straße', 'ÀÉ', 'plain', '[x]*?'];

  test.each([
    ['%', ['100% sure']],
    ['_', ['a_b']],
    ['\\', ['a\\b']],
    ['A_B', ['a_b']],
    ["'", ["it's"]],
    ['ß', ['straße']],
    ['àé', ['ÀÉ']],
    ['[x]', ['[x]*?']],
    ['*', ['[x]*?']],
    ['nothing', []],
    ['', TEXTS],
  ])('takes its text as it is, in any case: %j', async (text, expected) => {
    const db = await things(TEXTS.map((one) => rowAt({ tenantId: 'a', subTenantId: null }, caseFolded(one))));
    const found = await db.selectFrom('things').select('id').where(containsText('id', text)).execute();
    expect(found.map(({ id }) => id)).toEqual(expected.map(caseFolded));
  });
});
