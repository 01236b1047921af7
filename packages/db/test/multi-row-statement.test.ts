import { expect, test } from 'vitest';
import { multiRowStatement } from '../src/multi-row-statement.ts';
import { temporaryDatabase } from './temporary-database.ts';

const TIME = '2026-01-01T00:00:00.000Z';

const insertSubTenants = multiRowStatement((db, rows: readonly { id: string }[], { tenantId }: { tenantId: string }) =>
  db
    .insertInto('sub_tenants')
    .values(rows.map(({ id }) => ({ tenant_id: tenantId, id, created_at: TIME })))
    .returning('id'),
);

// One row, powers of two, one less and one more, and more rows than one statement takes.
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

test('a cached statement runs with the values of each call, not with those of its compilation', async () => {
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
