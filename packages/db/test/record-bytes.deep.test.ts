import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { countedRecordBytes, recomputedRecordBytes } from '../testing/record-bytes.ts';
import { onPostgres } from '../testing/test-database.ts';
import type { Database } from '../src/database.ts';
import { COUNTED } from '../src/migrations/baseline/record-bytes.ts';
import { countTenantUsage, sumStoredBytes } from '../src/repositories/tenant-usage.ts';
import { deleteEndedSessions, eraseDeletedAccounts } from '../src/repositories/record-retention.ts';
import { insertServiceAccount, updateServiceAccount } from '../src/repositories/service-accounts.ts';
import type { TenantPlace } from '../src/tenancy.ts';
import { later, NOW, temporaryDatabase } from './temporary-database.ts';

const ACME = { tenantId: 'acme', subTenantId: null };
const GLOBEX = { tenantId: 'globex', subTenantId: null };

/** A value for each column of a table that needs one: texts of `length` characters of two bytes. */
async function rowOf(db: Database, table: string, tenantId: string, id: string, length: number) {
  const texts = COUNTED[table]?.texts ?? [];
  const columns = (await db.introspection.getTables()).find(({ name }) => name === table)?.columns ?? [];
  const values = columns
    .filter(({ name, isNullable, hasDefaultValue }) => texts.includes(name) || (!isNullable && !hasDefaultValue))
    .map(({ name, dataType }): [string, unknown] => {
      if (name === 'tenant_id') return [name, tenantId];
      if (/^(text|varchar)/i.test(dataType)) return [name, texts.includes(name) ? 'é'.repeat(length) : id];
      return [name, 0];
    });
  return Object.fromEntries(values);
}

/** A database that accepts rows without those that they refer to. */
async function databaseWithoutForeignKeys(...places: TenantPlace[]): Promise<Database> {
  const db = await temporaryDatabase(...places);
  if (!onPostgres()) {
    await sql`pragma foreign_keys = off`.execute(db);
    return db;
  }
  const { rows } = await sql<{ relation: string; name: string }>`
    select conrelid::regclass::text as relation, conname as name from pg_constraint
    where contype = 'f' and connamespace = current_schema()::regnamespace and conparentid = 0`.execute(db);
  for (const { relation, name } of rows) {
    await sql`alter table ${sql.table(relation)} drop constraint ${sql.ref(name)}`.execute(db);
  }
  return db;
}

async function insertRow(db: Database, table: string, row: Record<string, unknown>): Promise<void> {
  const names = sql.join(Object.keys(row).map((name) => sql.ref(name)));
  await sql`insert into ${sql.table(table)} (${names}) values (${sql.join(Object.values(row))})`.execute(db);
}

test.each(Object.keys(COUNTED))('inserting, changing and deleting rows of %s is counted', async (table) => {
  const db = await databaseWithoutForeignKeys();
  const { texts = [] } = COUNTED[table] ?? {};
  await insertRow(db, table, await rowOf(db, table, 'acme', 'one', 100));
  const one = (await countedRecordBytes(db))['acme'] ?? 0;
  expect(one).toBeGreaterThanOrEqual(texts.length * 200);
  expect(await countedRecordBytes(db)).toEqual(await recomputedRecordBytes(db));

  await insertRow(db, table, await rowOf(db, table, 'globex', 'two', 10));
  for (const column of texts) {
    await sql`update ${sql.table(table)} set ${sql.ref(column)} = ${'x'.repeat(500)} where tenant_id = 'acme'`.execute(
      db,
    );
  }
  const changed = await countedRecordBytes(db);
  expect(changed['acme']).toBe(one + texts.length * 300);
  expect(changed).toEqual(await recomputedRecordBytes(db));

  await sql`delete from ${sql.table(table)} where tenant_id = 'acme'`.execute(db);
  expect(Object.keys(await countedRecordBytes(db))).toEqual(['globex']);
  expect(await countedRecordBytes(db)).toEqual(await recomputedRecordBytes(db));
});

test('a statement that writes rows of several tenants counts for each, and a rollback counts nothing', async () => {
  const db = await databaseWithoutForeignKeys();
  const account = (tenantId: string) => rowOf(db, 'service_accounts', tenantId, 'agent', 50);
  const [acme, globex] = [await account('acme'), await account('globex')];
  const names = sql.join(Object.keys(acme).map((name) => sql.ref(name)));
  const values = [acme, globex, { ...acme, id: 'other' }].map((row) => sql`(${sql.join(Object.values(row))})`);
  await sql`insert into service_accounts (${names}) values ${sql.join(values)} on conflict do nothing`.execute(db);
  const counted = await countedRecordBytes(db);
  expect(counted).toEqual(await recomputedRecordBytes(db));
  expect(counted['acme']).toBe(2 * (counted['globex'] ?? 0));
  await sql`insert into service_accounts (${names}) values ${sql.join(values)} on conflict do nothing`.execute(db);
  const failed = db.transaction().execute(async (trx) => {
    await sql`delete from service_accounts`.execute(trx);
    throw new Error('rolled back');
  });
  await expect(failed).rejects.toThrow('rolled back');
  expect(await countedRecordBytes(db)).toEqual(counted);
});

test('adding up changes neither the sum nor what is counted later', async () => {
  const db = await temporaryDatabase(ACME, GLOBEX);
  const account = { name: 'agent', status: 'active', platformAdministrator: false } as const;
  const texts = { displayName: null, description: null };
  for (const place of [ACME, GLOBEX]) {
    for (const id of ['one', 'two']) {
      await insertServiceAccount(db, place, { id, ...account, ...texts, metadata: { note: 'x'.repeat(1000) } }, NOW);
    }
  }
  const before = await countedRecordBytes(db);
  const used = () => countTenantUsage(db, 'acme', { resource: 'storedBytes', most: 1 }, NOW);
  const usedBefore = await used();
  expect(usedBefore).toBeGreaterThan(2000);
  await sumStoredBytes(db);
  expect(await countedRecordBytes(db)).toEqual(before);
  expect(await used()).toBe(usedBefore);
  const { rows } = await sql`select * from record_bytes`.execute(db);
  expect(rows).toHaveLength(2);
  await sql`delete from service_account_metadata where tenant_id = 'acme'`.execute(db);
  await sumStoredBytes(db);
  expect(await countedRecordBytes(db)).toEqual(await recomputedRecordBytes(db));
});

test('retention frees the bytes of ended sessions, and of the content of deleted accounts', async () => {
  const db = await databaseWithoutForeignKeys(ACME);
  const texts = { name: 'agent', displayName: null, description: 'x'.repeat(1000) };
  const state = { status: 'active', platformAdministrator: false } as const;
  const metadata = { note: 'x'.repeat(5000) };
  const account = await insertServiceAccount(db, ACME, { id: 'agent', ...texts, ...state, metadata }, NOW);
  await updateServiceAccount(db, [ACME], account, { status: 'deleted' }, later(1));
  for (const id of ['one', 'two'])
    await insertRow(db, 'gateway_sessions', await rowOf(db, 'gateway_sessions', 'acme', id, 1000));
  const before = (await countedRecordBytes(db))['acme'] ?? 0;
  const past = { tenantId: 'acme', before: later(2).toISOString(), limit: 10 };
  expect(await eraseDeletedAccounts(db, { ...past, before: later(1).toISOString() })).toBe(0);
  expect(await eraseDeletedAccounts(db, past)).toBe(1);
  expect(await eraseDeletedAccounts(db, past)).toBe(0);
  const after = (await countedRecordBytes(db))['acme'] ?? 0;
  expect(before - after).toBeGreaterThan(7000);
  await sql`update gateway_sessions set expires_at = ${NOW.toISOString()} where id = 'one'`.execute(db);
  await sql`update gateway_sessions set expires_at = ${later(9).toISOString()} where id = 'two'`.execute(db);
  expect(await deleteEndedSessions(db, past)).toBe(1);
  expect(after - ((await countedRecordBytes(db))['acme'] ?? 0)).toBeGreaterThan(6000);
  expect(await countedRecordBytes(db)).toEqual(await recomputedRecordBytes(db));
});

test('on Postgres each write adds a row, so that writes do not wait for each other; on SQLite there is one row', async () => {
  const db = await databaseWithoutForeignKeys();
  for (const id of ['one', 'two'])
    await insertRow(db, 'service_accounts', await rowOf(db, 'service_accounts', 'acme', id, 1));
  const { rows } = await sql`select * from record_bytes`.execute(db);
  expect(rows).toHaveLength(onPostgres() ? 2 : 1);
});
