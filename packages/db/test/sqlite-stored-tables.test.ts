import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { DERIVED_TABLES, TABLE_KEYS, TABLE_NAMES } from '../src/stored-tables.ts';
import { temporaryDatabase } from './temporary-database.ts';

test('every table that is not derived is listed with its primary key, and an insert of 500 rows fits into one statement', async () => {
  const db = await temporaryDatabase();
  const tables = (await db.introspection.getTables()).map(({ name }) => name);
  expect([...TABLE_NAMES, ...DERIVED_TABLES].toSorted()).toEqual(tables.toSorted());
  for (const table of TABLE_NAMES) {
    const { rows } = await sql<{ name: string; pk: number }>`select name, pk from pragma_table_info(${table})`.execute(
      db,
    );
    const key = rows.filter(({ pk }) => pk > 0).toSorted((a, b) => a.pk - b.pk);
    expect(
      key.map(({ name }) => name),
      table,
    ).toEqual(TABLE_KEYS[table]);
    expect(rows.length, table).toBeLessThan(60);
  }
});

test('every table comes after the tables that it refers to', async () => {
  const db = await temporaryDatabase();
  for (const [index, table] of TABLE_NAMES.entries()) {
    const { rows } = await sql<{ table: string }>`select "table" from pragma_foreign_key_list(${table})`.execute(db);
    const before: string[] = TABLE_NAMES.slice(0, index + 1);
    for (const other of rows) expect(before, table).toContain(other.table);
  }
});
