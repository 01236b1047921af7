import { setTimeout as sleep } from 'node:timers/promises';
import { type CompiledQuery, Kysely, sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '../src/database.ts';
import { postgresDialect } from '../src/dialects/postgres.ts';
import { type PageRequest, placeColumns } from '../src/queries.ts';
import { listAuditEvents } from '../src/repositories/audit-events.ts';
import { searchCredentials } from '../src/repositories/credentials.ts';
import { listGatewaySessions } from '../src/repositories/gateway-sessions.ts';
import { listGateways } from '../src/repositories/gateways.ts';
import { listInventory } from '../src/repositories/inventory.ts';
import { listKnownItems, markItemsListed } from '../src/repositories/inventory-sync.ts';
import { listManifests } from '../src/repositories/manifests.ts';
import { listMemberships } from '../src/repositories/memberships.ts';
import { listOperatorTasks } from '../src/repositories/operator-tasks.ts';
import { listProviders } from '../src/repositories/providers.ts';
import {
  findOpenRecommendationsOfSubject,
  findOpenRecommendationsOfSubjects,
  listRecommendations,
} from '../src/repositories/recommendations.ts';
import { listObservations } from '../src/repositories/runtime-observations.ts';
import { searchServiceAccounts } from '../src/repositories/service-accounts.ts';
import { selectTraceRows } from '../src/repositories/trace-rows.ts';
import { listTraces } from '../src/repositories/traces.ts';
import { listUsers } from '../src/repositories/users.ts';
import type { Tables } from '../src/tables.ts';
import { EVERYWHERE, type TenantScope } from '../src/tenancy.ts';
import { scaled } from '../testing/scale.ts';
import { newTestDatabase } from '../testing/test-database.ts';
import { NOW } from './temporary-database.ts';

/** Rows of each table: many times a list's batch size, so that a scan of the table would be noticed. */
const ROWS = scaled({ usual: 16_000, full: 40_000 });

/** Of fewer traces the planner would read all, because that costs less. */
const ROWS_OF: Partial<Record<string, number>> = { traces: 40_000 };

/** Rows that are added unnoticed. A look-up may read a few of them, so a scan of all would be noticed. */
const ROWS_UNNOTICED = scaled({ usual: 4000, full: 40_000 });

/** The most attempts to mark all pages of a table as all-visible. */
const MAX_VACUUMS = 50;

/** The most rows that one statement of a list may read: a batch, and rows with the same time as its first and last row. */
const MAX_ROWS_READ = 2100;

const ACME: TenantScope = [{ tenantId: 'acme', subTenantId: null }];
const ACME_EU: TenantScope = [{ tenantId: 'acme', subTenantId: 'eu' }];

/** Filler text, so that rows are as wide as those of the service. */
const DOCUMENT = JSON.stringify({ text: 'x'.repeat(200) });

/** The scopes of lists of child records, which are in the place of their parent. */
const SCOPES: Partial<Record<keyof Tables, TenantScope[]>> = {
  memberships: [ACME, ACME_EU],
  gateway_sessions: [ACME],
  inventory_items: [ACME],
  recommendations: [ACME],
};

/** Columns whose values differ between rows. */
const COLUMNS: Record<string, string> = {
  tenant_id: `case when i % 20 = 0 then 'beta' else 'acme' end`,
  sub_tenant_id: `case when i % 3 = 0 then 'eu' else '' end`,
  id: `'id_' || md5(i::text)`,
  name: `'name ' || i`,
  name_key: `'name ' || i`,
  subject: `'subject ' || i`,
  trace_id: 'md5(i::text)',
  user_id: `'id_' || md5(i::text)`,
  email_key: `i || '@x.example'`,
  secret_hash: 'md5(i::text)',
  provider_id: `'prov_1'`,
  gateway_id: `'gw_1'`,
  accepted_at: `'2026-03-01T00:00:00.000Z'`,
  start_time: `to_char(timestamp '2026-03-01' + i / 50 * interval '1 second', 'YYYY-MM-DD"T"HH24:MI:SS.000000000Z')`,
  created_at: `to_char(timestamp '2026-03-01' + i / 50 * interval '1 second', 'YYYY-MM-DD"T"HH24:MI:SS.000Z')`,
};

type List = (db: Database, scope: TenantScope, page: PageRequest) => Promise<{ items: readonly unknown[] }>;

/** One list for each way in which lists are written, with a filter that matches nothing, which reads the most rows. */
const SHAPES: [keyof Tables, List][] = [
  ['audit_events', (db, scope, page) => listAuditEvents(db, scope, { operation: 'none' }, page)],
  [
    'gateway_sessions',
    (db, scope, page) => listGatewaySessions(db, scope, { gatewayId: 'gw_1', subject: 'none' }, page, NOW),
  ],
  ['memberships', (db, scope, page) => listMemberships(db, scope, { status: 'pending' }, page)],
  ['runtime_observations', (db, scope, page) => listObservations(db, scope, { name: 'none' }, page)],
  ['traces', (db, scope, page) => listTraces(db, scope, { serviceName: 'none' }, page)],
  ['users', (db, scope, page) => listUsers(db, EVERYWHERE, { scope, self: null }, { status: 'disabled' }, page)],
];

/** All other lists, which are written like one of those. */
const OTHERS: [keyof Tables, List][] = [
  ['credentials', (db, scope, page) => searchCredentials(db, scope, { name: 'none' }, page, NOW)],
  ['gateways', (db, scope, page) => listGateways(db, scope, { status: 'none' }, page)],
  ['inventory_items', (db, scope, page) => listInventory(db, scope, { providerId: 'prov_1', kind: 'tool' }, page)],
  ['manifests', (db, scope, page) => listManifests(db, scope, { name: 'none' }, page)],
  ['operator_tasks', (db, scope, page) => listOperatorTasks(db, scope, { status: 'open' }, page, NOW)],
  ['providers', (db, scope, page) => listProviders(db, scope, { name: 'none' }, page)],
  [
    'recommendations',
    (db, scope, page) => listRecommendations(db, scope, { providerId: 'prov_1', kind: 'none' }, page),
  ],
  ['service_accounts', (db, scope, page) => searchServiceAccounts(db, scope, { query: 'none' }, page, NOW)],
];

const LISTS = scaled({ usual: SHAPES, full: [...SHAPES, ...OTHERS] });

let db: Database;
let remove: () => Promise<void>;
let statements: CompiledQuery[] = [];

beforeAll(async () => {
  const made = await newTestDatabase('migrated');
  ({ remove } = made);
  const dialect = postgresDialect({ url: made.url, poolSize: 1 });
  const log = ({ query }: { query: CompiledQuery }) => void statements.push(query);
  db = new Kysely<Tables>({ dialect, log });
  // Vacuum marks no page as all-visible before the commits of its rows are flushed.
  await sql`set synchronous_commit = on`.execute(db);
  for (const table of new Set(LISTS.map(([name]) => name))) await fill(table);
});

afterAll(async () => {
  await db.destroy();
  await remove();
});

/** Fills a table with rows in random order, as after long use. Foreign keys are not checked. */
async function fill(
  table: string,
  { rows = ROWS_OF[table] ?? ROWS, ...given }: { rows?: number; status?: string } = {},
): Promise<void> {
  const own: Record<string, string> = { ...COLUMNS, ...given };
  await sql`set session_replication_role = replica`.execute(db);
  const { rows: columns } = await sql<{ name: string; type: string; nullable: string }>`
    select column_name as name, data_type as type, is_nullable as nullable from information_schema.columns
    where table_schema = 'public' and table_name = ${table}`.execute(db);
  const values = columns.map(({ name, type, nullable }) => {
    if (own[name] !== undefined) return own[name];
    if (nullable === 'YES') return 'null';
    return type === 'bigint' ? '0' : `'${DOCUMENT}'`;
  });
  const names = columns.map(({ name }) => `"${name}"`).join();
  await sql
    .raw(
      `insert into ${table} (${names}) select ${values.join()} from generate_series(1, ${rows}) i order by md5(i::text)`,
    )
    .execute(db);
  await sql`reset session_replication_role`.execute(db);
  await vacuum(table);
}

/**
 * As autovacuum does. Index-only scans need the visibility map to mark pages as all-visible. A client of any database that connects
 * at this moment can have an older snapshot, and then no page is marked.
 */
async function vacuum(table: string): Promise<void> {
  for (let attempt = 0; attempt < MAX_VACUUMS; attempt += 1) {
    await sql.raw(`vacuum (analyze) ${table}`).execute(db);
    const { rows } = await sql<{ marked: boolean }>`
      select relallvisible >= relpages as marked from pg_class where oid = ${table}::regclass`.execute(db);
    if (rows[0]?.marked) return;
    await sleep(100);
  }
  throw new Error(`not all pages of ${table} are all-visible`);
}

/**
 * Postgres first plans a parameterized statement for its values, and later for any values if that plan costs no more. Both plans
 * must read one batch of rows, whatever the filter matches.
 */
test.each(LISTS)(
  'regression: a filtered list of %s reads one batch of rows at a time, not the table',
  async (table, list) => {
    for (const scope of SCOPES[table] ?? [ACME, ACME_EU, EVERYWHERE]) {
      statements = [];
      const page = await list(db, scope, { limit: 25, after: null });
      expect(page.items).toEqual([]);
      const ofList = statements.filter(
        ({ sql: text }) => text.includes(`from "${table}"`) && text.includes('order by'),
      );
      // The second and the last batch. Each has one statement that finds its end, and one that reads it.
      const chosen = [...ofList.slice(2, 4), ...ofList.slice(-2)];
      expect(chosen).toHaveLength(4);
      for (const mode of ['force_custom_plan', 'force_generic_plan']) {
        for (const statement of chosen) {
          const { rows, plan } = await rowsRead(statement, mode);
          expect(rows, `${mode}: ${statement.sql}\n${plan}`).toBeLessThanOrEqual(MAX_ROWS_READ);
        }
      }
    }
  },
);

test('regression: the open recommendations of a subject are found by their index even with old statistics', async () => {
  await growUnnoticed('recommendations', `'id', 'new_' || i, 'subject', 'model:' || i`, { status: `'open'` });
  statements = [];
  const about = (subject: string) => ({ providerId: 'prov_1', subject });
  await findOpenRecommendationsOfSubject(db, ACME, about('none'));
  await findOpenRecommendationsOfSubjects(db, { tenantId: 'acme' }, [about('none'), about('neither')]);
  expect(statements).toHaveLength(2);
  await expectFewRowsRead(statements, 10);
});

// Postgres keeps the plan that it made while the table was small. It read all traces of the tenant for each look-up, and so every
// trace that was stored meanwhile was a serialization conflict.
test('regression: the rows of traces are found by their key in a new database', async () => {
  const { url, remove: removeNew } = await newTestDatabase('migrated');
  const asked: CompiledQuery[] = [];
  const log = ({ query }: { query: CompiledQuery }) => void asked.push(query);
  const fresh = new Kysely<Tables>({ dialect: postgresDialect({ url, poolSize: 1 }), log });
  try {
    await insertTraces(fresh, 500);
    const ids = Array.from({ length: 50 }, (_, index) => ({ traceId: `none ${index}` }));
    asked.length = 0;
    await selectTraceRows(fresh, ids, placeColumns({ tenantId: 'acme', subTenantId: null }));
    const lookUps = asked.slice();
    expect(lookUps.length).toBeGreaterThan(0);
    for (const mode of ['force_custom_plan', 'force_generic_plan']) {
      for (const lookUp of lookUps) {
        const { plan } = await rowsRead(lookUp, mode, fresh);
        // traces_by_tenant would be read as a whole.
        expect(plan.match(/"Index Name": "\w+"/g)?.join()).toMatch(/^"Index Name": "traces_(key|by_trace)"$/);
      }
    }
  } finally {
    await fresh.destroy();
    await removeNew();
  }
});

async function insertTraces(into: Database, count: number): Promise<void> {
  const time = '2026-03-01T00:00:00.000Z';
  await sql`
    insert into traces (tenant_id, sub_tenant_id, trace_id, start_time, end_time, span_count, error_count, created_at,
      updated_at, duration_ms, services, models, tools, agents)
    select 'acme', '', md5(i::text), ${time}, ${time}, 1, 0, ${time}, ${time}, 0, '', '', '', ''
    from generate_series(1, ${sql.lit(count)}) i`.execute(into);
}

// A sync reads all items of a provider, a batch at a time. It read and sorted all of them for each batch.
test('regression: a batch of known items is read in the order of an index even with old statistics', async () => {
  await growUnnoticed(
    'inventory_items',
    `'id', 'new_' || i, 'name_key', 'new ' || i, 'tenant_id', 'acme', 'kind', 'model'`,
  );
  const filter = { providerId: 'prov_1', limit: 100 };
  statements = [];
  await listKnownItems(db, ACME, { ...filter, after: null });
  await listKnownItems(db, ACME, { ...filter, after: { kind: 'model', nameKey: 'new 2' } });
  await markItemsListed(
    db,
    ACME,
    Array.from({ length: 100 }, (_, index) => `new_${index}`),
    NOW,
  );
  await expectFewRowsRead(statements, 100);
});

/** Adds many copies of one row to a table while the planner still sees a small table, since autovacuum has not noticed its growth. */
async function growUnnoticed(table: string, changes: string, given: { status?: string } = {}): Promise<void> {
  await sql.raw(`truncate ${table} cascade`).execute(db);
  await fill(table, { rows: 100, ...given });
  await sql`set session_replication_role = replica`.execute(db);
  await sql
    .raw(
      `insert into ${table} select (jsonb_populate_record(r, jsonb_build_object(${changes}))).*
       from ${table} r, generate_series(1, ${ROWS_UNNOTICED}) i where r.ctid = (select ctid from ${table} limit 1)`,
    )
    .execute(db);
  await sql`reset session_replication_role`.execute(db);
}

async function expectFewRowsRead(chosen: readonly CompiledQuery[], most: number): Promise<void> {
  for (const statement of chosen.slice()) {
    for (const mode of ['force_custom_plan', 'force_generic_plan']) {
      const { rows, plan } = await rowsRead(statement, mode);
      expect(rows, `${mode}: ${statement.sql}\n${plan}`).toBeLessThanOrEqual(most);
    }
  }
}

type Plan = {
  'Node Type': string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: Plan[];
};

/** The number of rows that a statement reads from tables and indexes. */
async function rowsRead({ sql: text, parameters }: CompiledQuery, mode: string, at: Database = db) {
  const values = parameters.map((value) =>
    typeof value === 'number' ? value : `'${String(value).replaceAll("'", "''")}'`,
  );
  await sql.raw(`set plan_cache_mode = ${mode}`).execute(at);
  await sql.raw(`prepare planned as ${text}`).execute(at);
  const call = values.length === 0 ? 'planned' : `planned (${values.join()})`;
  const { rows } = await sql
    .raw<{ 'QUERY PLAN': [{ Plan: Plan }] }>(`explain (analyze, format json) execute ${call}`)
    .execute(at);
  await sql`deallocate planned`.execute(at);
  await sql`reset plan_cache_mode`.execute(at);
  const plan = rows[0]?.['QUERY PLAN'][0].Plan;
  if (!plan) throw new Error('the server answered no plan');
  return { rows: readBy(plan), plan: JSON.stringify(plan, null, 1) };
}

function readBy(plan: Plan): number {
  const removed = (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0);
  // The rows of a bitmap index scan are counted by the heap scan above it.
  const isRead = plan['Node Type'].endsWith('Scan') && plan['Node Type'] !== 'Bitmap Index Scan';
  const own = isRead ? (plan['Actual Rows'] + removed) * plan['Actual Loops'] : 0;
  return (plan.Plans ?? []).reduce((sum, child) => sum + readBy(child), own);
}
