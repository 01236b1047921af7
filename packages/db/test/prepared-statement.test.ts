import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { Database } from '../src/database.ts';
import { insertProvider } from '../src/repositories/providers.ts';
import { multiRowStatement, preparedStatement } from '../src/prepared-statement.ts';
import { inTransaction } from '../src/transaction.ts';
import { NOW, temporaryDatabase } from './temporary-database.ts';

const ACME = { tenantId: 'acme', subTenantId: null };
const FIELDS = {
  kind: 'llm',
  status: 'active',
  displayName: null,
  description: null,
  baseUrl: null,
  metadata: {},
} as const;

type Filter = { names: readonly string[]; kind?: string | null; rows: number };

/** A statement that counts how often it is built. */
function counted() {
  const built: string[] = [];
  const run = preparedStatement((db: Database, { names, kind, rows }: Filter) => {
    let query = db.selectFrom('providers').select('name').where('name', 'in', names);
    if (kind != null) query = query.where('kind', '=', kind as 'llm');
    const complete = query.orderBy('name').limit(rows);
    built.push(complete.compile().sql);
    return complete;
  });
  const names = async (db: Database, filter: Filter) => (await run(db, filter)).map(({ name }) => name);
  return { built, names };
}

async function databaseOf(...names: string[]): Promise<Database> {
  const db = await temporaryDatabase(ACME);
  for (const name of names) await insertProvider(db, ACME, { ...FIELDS, name }, NOW);
  return db;
}

test('a statement is built once, and then run with other values', async () => {
  const db = await databaseOf('a', 'b', 'c');
  const { built, names } = counted();
  expect(await names(db, { names: ['a', 'b'], rows: 5 })).toEqual(['a', 'b']);
  expect(await names(db, { names: ['c', 'b'], rows: 1 })).toEqual(['b']);
  expect(await names(db, { names: ['c', 'none'], rows: 9 })).toEqual(['c']);
  expect(built).toHaveLength(1);
});

test('it is built again if a list has another length, or a member is null or missing', async () => {
  const db = await databaseOf('a', 'b');
  const { built, names } = counted();
  expect(await names(db, { names: ['a'], rows: 5 })).toEqual(['a']);
  expect(await names(db, { names: ['a', 'b'], rows: 5 })).toEqual(['a', 'b']);
  expect(await names(db, { names: ['a', 'b'], kind: null, rows: 5 })).toEqual(['a', 'b']);
  expect(await names(db, { names: ['a', 'b'], kind: 'mcp', rows: 5 })).toEqual([]);
  expect(await names(db, { names: ['b', 'a'], kind: 'llm', rows: 5 })).toEqual(['a', 'b']);
  expect(built).toHaveLength(4);
});

test('inside a transaction it sees the writes of the transaction, and another database has its own cache', async () => {
  const [db, other] = [await databaseOf('a'), await databaseOf('a', 'b')];
  const { built, names } = counted();
  const filter = { names: ['a', 'b'], rows: 5 };
  expect(await names(db, filter)).toEqual(['a']);
  await inTransaction(db, async (trx) => {
    await insertProvider(trx, ACME, { ...FIELDS, name: 'b' }, NOW);
    expect(await names(trx, filter)).toEqual(['a', 'b']);
    expect(await names(db, filter)).toEqual(['a']);
  });
  expect(await names(other, filter)).toEqual(['a', 'b']);
  expect(built).toHaveLength(2);
});

test('a builder that computes with a value fails', async () => {
  const db = await databaseOf();
  const computing: ((values: { name: string; rows: number }) => unknown)[] = [
    ({ name }) => `%${name}%`,
    ({ rows }) => rows + 1,
    ({ name }) => name < 'b',
  ];
  for (const compute of computing) {
    const run = preparedStatement((within: Database, values: { name: string; rows: number }) =>
      within.selectNoFrom(sql`${compute(values)}`.as('computed')),
    );
    await expect(run(db, { name: 'a', rows: 1 })).rejects.toThrow('compute with them before');
  }
});

test('a statement may bind a value twice, or not at all', async () => {
  const db = await databaseOf();
  const run = preparedStatement((within: Database, { a, c }: { a: string; b: string; c: number }) =>
    within.selectNoFrom([
      sql`cast(${c} as integer)`.as('first'),
      sql`cast(${a} as text)`.as('second'),
      sql`cast(${c} as integer)`.as('third'),
      sql`cast(${'x'} as text)`.as('own'),
    ]),
  );
  expect(await run(db, { a: 'A', b: 'B', c: 3 })).toEqual([{ first: 3, second: 'A', third: 3, own: 'x' }]);
  expect(await run(db, { a: 'D', b: 'E', c: 4 })).toEqual([{ first: 4, second: 'D', third: 4, own: 'x' }]);
});

test('the number of cached shapes is limited, and statements with many values are not cached', async () => {
  const db = await databaseOf('a');
  const { built, names } = counted();
  const many = (length: number) => Array.from({ length }, (_, index) => (index === 0 ? 'a' : `none-${index}`));
  for (const length of [1, ...Array.from({ length: 100 }, (_, index) => index + 2), 1]) {
    expect(await names(db, { names: many(length), rows: 5 })).toEqual(['a']);
  }
  expect(built).toHaveLength(102);
  for (const _ of [1, 2]) expect(await names(db, { names: many(1000), rows: 5 })).toEqual(['a']);
  expect(built).toHaveLength(104);
});

const TIME = '2026-01-01T00:00:00.000Z';

const insertSubTenants = multiRowStatement((db, rows: readonly { id: string }[], { tenantId }: { tenantId: string }) =>
  db
    .insertInto('sub_tenants')
    .values(rows.map(({ id }) => ({ tenant_id: tenantId, id, created_at: TIME })))
    .returning('id'),
);

// One row, the sizes around those of a split, and more rows than one statement takes.
test.each([0, 1, 2, 3, 127, 128, 129, 511, 512, 513, 1500])(
  '%i rows are each written once, in order',
  async (count) => {
    const db = await temporaryDatabase({ tenantId: 'acme', subTenantId: null });
    const rows = Array.from({ length: count }, (_, index) => ({ id: `sub-${String(index).padStart(4, '0')}` }));
    const ids = rows.map(({ id }) => id);
    const returned = await insertSubTenants(db, rows, { tenantId: 'acme' });
    expect(returned.map(({ id }) => id)).toEqual(ids);
    const stored = await db
      .selectFrom('sub_tenants')
      .select('id')
      .where('tenant_id', '=', 'acme')
      .orderBy('id')
      .execute();
    expect(stored.map(({ id }) => id)).toEqual(ids);
  },
);

test('a multi-row statement runs with the values of each call, not with those of its compilation', async () => {
  const db = await temporaryDatabase({ tenantId: 'acme', subTenantId: null });
  await insertSubTenants(db, [{ id: 'a' }], { tenantId: 'acme' });
  await insertSubTenants(db, [{ id: 'b' }], { tenantId: 'acme' });
  const stored = await db.selectFrom('sub_tenants').select('id').orderBy('id').execute();
  expect(stored.map(({ id }) => id)).toEqual(['a', 'b']);
});

test('a statement that copies all values without naming them fails to compile', async () => {
  const db = await temporaryDatabase({ tenantId: 'acme', subTenantId: null });
  const careless = multiRowStatement((some, rows: readonly { id: string }[]) =>
    some.insertInto('sub_tenants').values(rows.map((row) => ({ ...row, tenant_id: 'acme', created_at: TIME }))),
  );
  await expect(careless(db, [{ id: 'a' }], {})).rejects.toThrow('name each value');
});
