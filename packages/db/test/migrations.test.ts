import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { type Database, migrate } from '../src/database.ts';
import { listAcceptedMemberships } from '../src/repositories/memberships.ts';
import { EVERYWHERE } from '../src/tenancy.ts';
import { onPostgres } from '../testing/test-database.ts';
import { emptyDatabase, firstReleaseDatabase, NOW, temporaryDatabase } from './temporary-database.ts';

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
    'audit_chain',
    'audit_events',
    'audit_heads',
    'audit_unsealed',
    'console_sessions',
    'credentials',
    'gateway_grant_items',
    'gateway_grants',
    'gateway_providers',
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
    'observation_shares',
    'operator_tasks',
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
    'trace_accounts',
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
  expect(await rows(db, 'select name from kysely_migration')).toEqual([
    { name: '0001-initial' },
    { name: '0002-governance-loop' },
    { name: '0003-postgres' },
    { name: '0004-idempotency-rate-limits' },
    { name: '0005-audit-chain' },
    { name: '0006-span-partitions' },
    { name: '0007-place-indexes' },
    { name: '0008-trace-place-index' },
    { name: '0009-folded-tenant-ids' },
    { name: '0010-membership-indexes' },
    { name: '0011-lineage' },
    { name: '0012-gateway-grants' },
    { name: '0013-evidence' },
    { name: '0015-retention' },
    { name: '0017-unused-tenant-index' },
    { name: '0019-tenant-limits' },
    { name: '0020-durable-marks' },
    { name: '0021-span-blocks' },
    { name: '0023-usage' },
    { name: '0024-telemetry-calls' },
    { name: '0025-provider-aliases' },
    { name: '0026-name-families' },
    { name: '0027-account-telemetry' },
    { name: '0029-approved-recommendations' },
    { name: '0030-fair-shares' },
    { name: '0031-trace-place-order' },
    { name: '0032-console-sessions' },
    { name: '0033-recommendation-lists' },
    { name: '0034-console-session-claims' },
    { name: '0035-account-bytes' },
    { name: '0036-audit-decision' },
    { name: '0037-expiring-credentials' },
    { name: '0038-observation-environments' },
    { name: '0039-listed-items' },
    { name: '0040-record-bytes' },
    { name: '0041-counted-answers' },
    { name: '0042-calls-of-records' },
    { name: '0043-observation-accounts' },
    { name: '0044-calls-of-senders' },
    { name: '0045-deleted-tenants' },
    { name: '0046-hosts-without-dot' },
    { name: '0047-links-of-observations' },
    { name: '0048-series-of-names' },
  ]);
});

test('memberships from before acceptance existed count as accepted', async () => {
  const db = await firstReleaseDatabase();
  const time = NOW.toISOString();
  await sql`
    insert into users (id, status, platform_administrator, terms, terms_accepted, marketing_consent, metadata, created_at, updated_at)
    values ('usr_1', 'active', 0, '{}', 1, '{}', '{}', ${time}, ${time})`.execute(db);
  await sql`
    insert into memberships (tenant_id, sub_tenant_id, user_id, email, role, created_at, updated_at)
    values ('acme', '', 'usr_1', 'ada@x.example', 'owner', ${time}, ${time})`.execute(db);
  await migrate(db);
  expect(await listAcceptedMemberships(db, EVERYWHERE, 'usr_1')).toMatchObject([
    { tenantId: 'acme', acceptedAt: time },
  ]);
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
