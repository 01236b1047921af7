import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';
import { expect, test } from 'vitest';
import type { Database } from '../src/database.ts';
import { compareSchema, migrate, MIGRATIONS, requireSchema } from '../src/migrate.ts';
import { DatabaseUnfitError } from '../src/errors.ts';
import { onPostgres } from '../testing/test-database.ts';
import { emptyDatabase, temporaryDatabase } from './temporary-database.ts';

async function rows<Row>(db: Database, text: string): Promise<Row[]> {
  return (await sql<Row>`${sql.raw(text)}`.execute(db)).rows;
}

async function tablesOf(db: Database): Promise<string[]> {
  const found = onPostgres()
    ? await rows<{ name: string }>(
        db,
        `select relname as name from pg_class
         where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition`,
      )
    : await rows<{ name: string }>(db, `select name from sqlite_master where type = 'table'`);
  return found.map(({ name }) => name).filter((name) => !name.startsWith('kysely_'));
}

/** The schema, as the database describes it. */
function schemaOf(db: Database): Promise<unknown[]> {
  if (!onPostgres()) return rows(db, 'select type, name, sql from sqlite_master order by name');
  return rows(
    db,
    `select table_name as name, column_name as part, data_type || is_nullable || coalesce(collation_name, '') as said
       from information_schema.columns where table_schema = current_schema()
     union all select tablename, indexname, indexdef from pg_indexes where schemaname = current_schema()
     union all select conrelid::regclass::text, conname, pg_get_constraintdef(oid) from pg_constraint
       where connamespace = current_schema()::regnamespace
     order by 1, 2, 3`,
  );
}

type Column = { name: string; notnull: number; pk: number };

/** The columns of a table: whether they are nullable, and their position in the primary key, from 1. */
async function columnsOf(db: Database, table: string): Promise<Column[]> {
  if (!onPostgres()) return rows<Column>(db, `pragma table_info(${table})`);
  return rows<Column>(
    db,
    `select attname as name, attnotnull::int as notnull, coalesce(array_position(indkey::int2[], attnum) + 1, 0) as pk
     from pg_attribute left join pg_index on indrelid = attrelid and indisprimary
     where attrelid = '${table}'::regclass and attnum > 0 and not attisdropped`,
  );
}

test('on an empty database, the migrations create every table', async () => {
  const db = await emptyDatabase();
  await migrate(db);
  expect((await tablesOf(db)).toSorted()).toEqual([
    'account_bytes',
    'account_telemetry',
    'agent_channels',
    'audit_chain',
    'audit_events',
    'audit_heads',
    'audit_unsealed',
    'console_sessions',
    'credentials',
    'decision_batches',
    'decision_counts',
    'gateway_grant_items',
    'gateway_grants',
    'gateway_providers',
    'gateway_session_decisions',
    'gateway_session_grants',
    'gateway_sessions',
    'gateways',
    'idempotency_keys',
    'identities',
    'inventory_items',
    'manifest_declarations',
    'manifests',
    'memberships',
    'observation_accounts',
    'observation_denials',
    'observation_shares',
    'operator_tasks',
    'prices',
    'provider_aliases',
    'provider_uses',
    'providers',
    'rate_limit_windows',
    'recommendation_observations',
    'recommendations',
    'record_bytes',
    'runtime_observations',
    'service_account_metadata',
    'service_accounts',
    'span_blocks',
    'stored_bytes',
    'stored_bytes_changes',
    'sub_tenants',
    'telemetry_call_counts',
    'telemetry_calls',
    'tenant_limits',
    'tenants',
    'trace_blocks',
    'traces',
    'usage_rollups',
    'usage_series',
    'users',
  ]);
});

test('running the migrations again changes nothing', async () => {
  const db = await temporaryDatabase({ tenantId: 'acme', subTenantId: 'east' });
  const before = await schemaOf(db);
  expect(before.length).toBeGreaterThan(100);
  await migrate(db);
  await migrate(db);
  expect(await schemaOf(db)).toEqual(before);
  expect(await rows(db, 'select id from tenants')).toEqual([{ id: 'acme' }]);
});

test('two concurrent migrations do not conflict', async () => {
  const db = await emptyDatabase();
  await Promise.all([migrate(db), migrate(db), migrate(db)]);
  expect(await rows(db, 'select name from kysely_migration')).toEqual([{ name: '0001-baseline' }]);
});

test('a later migration is applied to a database that has the earlier ones', async () => {
  const db = await temporaryDatabase({ tenantId: 'acme', subTenantId: null });
  const addColumn: Migration = {
    up: (schema: Kysely<unknown>) => schema.schema.alterTable('tenants').addColumn('color', 'text').execute(),
  };
  const later = { ...MIGRATIONS, '0002-colors': addColumn };
  await Promise.all([migrate(db, later), migrate(db, later)]);
  expect(await rows(db, 'select id, color from tenants')).toEqual([{ id: 'acme', color: null }]);
  // A process of the earlier version does not know the schema.
  await expect(migrate(db)).rejects.toThrow('has the migration 0002-colors, which this version does not know');
});

test('the earlier version runs on a later schema whose migrations say so by their names', async () => {
  const db = await temporaryDatabase({ tenantId: 'acme', subTenantId: null });
  const addColumn = (name: string): Migration => ({
    up: (schema: Kysely<unknown>) => schema.schema.alterTable('tenants').addColumn(name, 'text').execute(),
  });
  const second = { ...MIGRATIONS, '0002-colors-from-0001': addColumn('color') };
  await migrate(db, second);
  await migrate(db);
  await requireSchema(db);
  expect(await compareSchema(db)).toBe('newer');
  expect(await rows(db, 'select id, color from tenants')).toEqual([{ id: 'acme', color: null }]);
  // The third one runs with releases that have the second one.
  await migrate(db, { ...second, '0003-sizes-from-0002': addColumn('size') });
  await migrate(db, second);
  for (const check of [migrate, requireSchema, compareSchema]) {
    await expect(check(db)).rejects.toThrow('has the migration 0003-sizes-from-0002, which this version does not know');
  }
  // A schema of two branches has to be sorted out by a person.
  await expect(migrate(db, { ...second, '0003-shapes': addColumn('shape') })).rejects.toThrow(
    'has the migration 0003-sizes-from-0002, which this version does not know',
  );
});

test('each migration after the first release says by its name which releases run on its schema', () => {
  const [, ...later] = Object.keys(MIGRATIONS);
  for (const name of later) expect(name).toMatch(/^\d{4}-[a-z-]+-from-\d{4}$/);
});

test('a database of a version before the first release is refused, and not changed', async () => {
  const db = await emptyDatabase();
  await db.schema.createTable('kysely_migration').addColumn('name', 'text').addColumn('timestamp', 'text').execute();
  await sql`insert into kysely_migration (name, timestamp) values ('0001-initial', ''), ('0002-governance-loop', '')`.execute(
    db,
  );
  for (const check of [migrate, requireSchema]) {
    const refused = check(db);
    await expect(refused).rejects.toThrow(DatabaseUnfitError);
    await expect(refused).rejects.toThrow(
      /^was made by a version before the first release, .*: use an empty database$/,
    );
  }
  expect(await tablesOf(db)).toEqual([]);
});

test('primary keys of tenant data begin with the tenant', async () => {
  const db = await temporaryDatabase();
  for (const table of await tablesOf(db)) {
    const columns = await columnsOf(db, table);
    const key = columns.filter(({ pk }) => pk > 0).toSorted((a, b) => a.pk - b.pk);
    expect(key.length, `${table} has a primary key`).toBeGreaterThan(0);
    if (columns.some(({ name }) => name === 'tenant_id')) expect(key[0]?.name, table).toBe('tenant_id');
  }
});

test('columns of a place are not nullable, since null would break unique indexes', async () => {
  const db = await temporaryDatabase();
  for (const table of await tablesOf(db)) {
    const columns = await columnsOf(db, table);
    for (const { name, notnull } of columns) {
      if (name === 'tenant_id' || name === 'sub_tenant_id') expect(notnull, `${table}.${name}`).toBe(1);
    }
  }
});

test('a reference to a missing tenant is refused', async () => {
  const db = await temporaryDatabase();
  const insert = sql`insert into sub_tenants (tenant_id, id, created_at) values ('none', 'x', 'now')`.execute(db);
  await expect(insert).rejects.toMatchObject({
    code: onPostgres() ? '23503' : 'SQLITE_CONSTRAINT_FOREIGNKEY',
  });
});
