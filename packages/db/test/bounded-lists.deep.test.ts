import { type RawBuilder, sql } from 'kysely';
import { expect, test } from 'vitest';
import type { Database } from '../src/database.ts';
import type { Page, PageKey, PageRequest } from '../src/queries.ts';
import { type AuditEventFilter, listAuditEvents } from '../src/repositories/audit-events.ts';
import { listGatewaySessions } from '../src/repositories/gateway-sessions.ts';
import { insertGateway } from '../src/repositories/gateways.ts';
import { listInventory } from '../src/repositories/inventory.ts';
import { listMemberships, type MembershipFilter } from '../src/repositories/memberships.ts';
import { insertProvider } from '../src/repositories/providers.ts';
import { listRecommendations } from '../src/repositories/recommendations.ts';
import { listTraces } from '../src/repositories/traces.ts';
import { listUsers, type UserFilter } from '../src/repositories/users.ts';
import { EVERYWHERE, type TenantScope } from '../src/tenancy.ts';
import { scaled } from '../testing/scale.ts';
import { onPostgres } from '../testing/test-database.ts';
import { later, NOW, temporaryDatabase } from './temporary-database.ts';

const ACME = { tenantId: 'acme', subTenantId: null };
const EU = { tenantId: 'acme', subTenantId: 'eu' };
const BETA = { tenantId: 'beta', subTenantId: null };

/** How many rows one page may scan: the service's default in the full form, else a smaller bound that the tests pass in. */
const MAX_ROWS_SCANNED = scaled({ usual: 6000, full: 200_000 });

/** More rows than one page may scan. */
const MANY = MAX_ROWS_SCANNED * 1.05;
const EVERY = Math.floor(MANY / 27) - 1;

/** Runs a statement without the service's time limit, since a busy machine may need minutes for so many rows. */
function executeAtLeisure(db: Database, statement: RawBuilder<unknown>): Promise<unknown> {
  return db.transaction().execute(async (trx) => {
    if (onPostgres()) await sql`set local statement_timeout = 0`.execute(trx);
    return statement.execute(trx);
  });
}

async function allPages<Item>(list: (page: PageRequest) => Promise<Page<Item>>, limit: number): Promise<Item[][]> {
  const pages: Item[][] = [];
  for (let after: PageKey | null = null; ; ) {
    const { items, next } = await list({ limit, after, maxRowsScanned: MAX_ROWS_SCANNED });
    pages.push(items);
    if (next === null) return pages;
    after = next;
  }
}

/** Inserts {@link MANY} events. Every {@link EVERY}th has a rare operation. The first ones have a later time. */
async function manyEvents(): Promise<Database> {
  const db = await temporaryDatabase(ACME);
  const [night, morning] = [NOW.toISOString(), later(1).toISOString()];
  await sql`
    with recursive numbers(i) as (select 1 union all select i + 1 from numbers where i < ${sql.lit(MANY)})
    insert into audit_events (tenant_id, sub_tenant_id, id, actor_type, operation, outcome, changed_fields, changes, request_id,
      count, created_at)
    select 'acme', '', 'aud_' || cast(1000000 + i as text), 'system',
      case when i % ${sql.lit(EVERY)} = 0 then 'rare' else 'usual' end, 'success', '[]', '[]', 'r', 1,
      case when i > ${sql.lit(MANY - 10)} then ${morning} else ${night} end from numbers`.execute(db);
  if (onPostgres()) await sql`analyze audit_events`.execute(db);
  return db;
}

test('a search of the audit scans a bounded number of rows, and a time filter reduces it', async () => {
  const db = await manyEvents();
  const listed = (filter: AuditEventFilter, limit: number) =>
    allPages((page) => listAuditEvents(db, [ACME], filter, page), limit);
  expect(await listed({ operation: 'none' }, 25)).toEqual([[], []]);

  const rare = Array.from({ length: Math.floor(MANY / EVERY) }, (_, index) => `aud_${1_000_000 + (index + 1) * EVERY}`);
  const found = await listed({ operation: 'rare' }, 10);
  expect(found.flat().map(({ id }) => id)).toEqual(rare.toReversed());

  const morning = later(1).toISOString();
  // One page is enough: the time filter ends it long before the bound.
  expect(await listed({ operation: 'rare', createdAfter: NOW.toISOString() }, 25)).toEqual([[]]);
  expect((await listed({ createdAfter: NOW.toISOString() }, 4)).map(({ length }) => length)).toEqual([4, 4, 2]);
  const [first] = await listed({ operation: 'rare', createdBefore: morning }, 25);
  expect(first?.map(({ id }) => id)).toEqual(rare.toReversed().slice(0, 25));
  expect(await listed({ createdBefore: NOW.toISOString() }, 25)).toEqual([[]]);
});

test('traces of several places are listed newest first and once each, with any page size', async () => {
  const db = await temporaryDatabase(ACME, EU, BETA);
  const trace = (tenant_id: string, sub_tenant_id: string, trace_id: string, minutes: number) => ({
    tenant_id,
    sub_tenant_id,
    trace_id,
    root_name: null,
    span_count: 1,
    error_count: 0,
    service_name: minutes % 2 === 0 ? 'shop' : 'billing',
    start_time: later(minutes).toISOString().replace('Z', '000000Z'),
    end_time: 'x',
    created_at: NOW.toISOString(),
    updated_at: NOW.toISOString(),
  });
  const rows = ['acme/', 'acme/eu', 'beta/'].flatMap((place, index) =>
    Array.from({ length: 9 }, (_, number) => {
      const [tenantId = '', subTenantId = ''] = place.split('/');
      // The same trace at several places, sometimes with the same time.
      return trace(tenantId, subTenantId, `trace${number}`, Math.floor(number / 3) + (number % 2) * index);
    }),
  );
  await db.insertInto('traces').values(rows).execute();
  const key = (row: (typeof rows)[number]) =>
    [row.start_time, row.trace_id, row.tenant_id, row.sub_tenant_id].join('/');
  const scopes: [TenantScope, (row: (typeof rows)[number]) => boolean][] = [
    [[ACME, BETA], () => true],
    [[ACME, EU, ACME], (row) => row.tenant_id === 'acme'],
    [[EU, BETA], (row) => row.sub_tenant_id === 'eu' || row.tenant_id === 'beta'],
    [[EU], (row) => row.sub_tenant_id === 'eu'],
    [[], () => false],
  ];
  for (const [scope, isWithin] of scopes) {
    for (const serviceName of [null, 'shop']) {
      const expected = rows.filter(
        (row) => isWithin(row) && (serviceName === null || row.service_name === serviceName),
      );
      for (const limit of [1, 4, 100]) {
        const listed = (await allPages((page) => listTraces(db, scope, { serviceName }, page), limit)).flat();
        const keys = listed.map((one) => [one.startTime, one.traceId, one.tenantId, one.subTenantId ?? ''].join('/'));
        expect(keys).toEqual(expected.map(key).toSorted().toReversed());
      }
    }
  }
});

type ListOfParent = (
  db: Database,
  parentId: string,
  filter: Record<string, string>,
  page: PageRequest,
) => Promise<Page<{ id: string; createdAt: string }>>;

/** Lists of records of one parent. `rare` only finds the rare rows, `none` finds nothing. `i` is the number of a row. */
const LISTS_BY_PARENT: {
  table: 'gateway_sessions' | 'inventory_items' | 'recommendations';
  columns: string;
  values: (isRare: string) => string;
  rare: Record<string, string>;
  none: Record<string, string>;
  list: ListOfParent;
}[] = [
  {
    table: 'gateway_sessions',
    columns: 'gateway_id, subject, opened_by, issued_at, expires_at, metadata',
    values: (isRare) => `'user:' || i % 5, 'user:1', '${NOW.toISOString()}',
      case when ${isRare} then '${later(61).toISOString()}' else '${later(60).toISOString()}' end, '{}'`,
    rare: { status: 'active' },
    none: { status: 'expired', subject: 'user:5' },
    list: (db, gatewayId, filter, page) => listGatewaySessions(db, [EU], { ...filter, gatewayId }, page, later(60)),
  },
  {
    table: 'inventory_items',
    columns: 'provider_id, kind, name, name_key, status, source, attributes, first_seen_at, last_seen_at',
    values: (isRare) => `'tool', 'tool-' || i, 'tool-' || i, case when ${isRare} then 'blocked' else 'active' end,
      'sync', '{}', '${NOW.toISOString()}', '${NOW.toISOString()}'`,
    rare: { status: 'blocked', kind: 'tool' },
    none: { kind: 'prompt' },
    list: (db, providerId, filter, page) => listInventory(db, [EU], { ...filter, providerId }, page),
  },
  {
    table: 'recommendations',
    columns: 'provider_id, kind, status, subject, reason, change',
    values: (isRare) => `case when ${isRare} then 'block_item' else 'register_item' end, 'open', 'tool:' || i, 'seen',
      '{"target":{"type":"provider","id":"x"},"before":null,"after":null}'`,
    rare: { status: 'open', kind: 'block_item' },
    none: { status: 'dismissed' },
    list: (db, providerId, filter, page) => listRecommendations(db, [EU], { ...filter, providerId }, page),
  },
];

test.each(LISTS_BY_PARENT)(
  'a list of one parent scans a bounded number of rows: $table',
  async ({ table, columns, values, rare, none, list }) => {
    const db = await temporaryDatabase(EU);
    const newParent = table === 'gateway_sessions' ? gateway : provider;
    const parent = await newParent(db, 'one');
    const insert = (parentId: string, prefix: string, count: number) =>
      executeAtLeisure(
        db,
        sql`
      with recursive numbers(i) as (select 1 union all select i + 1 from numbers where i < ${sql.lit(count)})
      insert into ${sql.table(table)} (tenant_id, sub_tenant_id, id, ${sql.raw(columns)}, created_at, updated_at)
      select 'acme', 'eu', ${sql.lit(prefix)} || cast(1000000 + i as text), ${sql.lit(parentId)},
        ${sql.raw(values(`i % ${EVERY} = 0`))}, ${sql.lit(NOW.toISOString())}, ${sql.lit(NOW.toISOString())}
      from numbers`,
      );
    await insert(parent, 'b_', MANY);
    // In the order of the list, rows of other parents come before and after.
    for (const other of ['a_', 'c_']) await insert(await newParent(db, other), other, EVERY);
    if (onPostgres()) await sql`analyze ${sql.table(table)}`.execute(db);

    const first = await list(db, parent, none, FIRST);
    // Only rows of this parent count towards the bound.
    expect(first).toEqual({ items: [], next: [NOW.toISOString(), `b_${1_000_000 + MANY - MAX_ROWS_SCANNED + 1}`] });
    expect(await allPages((page) => list(db, parent, none, page), 25)).toEqual([[], []]);

    const expected = Array.from(
      { length: Math.floor(MANY / EVERY) },
      (_, index) => `b_${1_000_000 + (index + 1) * EVERY}`,
    );
    for (const limit of [10, 27]) {
      const found = await allPages((page) => list(db, parent, rare, page), limit);
      expect(found.flat().map(({ id }) => id)).toEqual(expected.toReversed());
    }
    const all = await list(db, parent, {}, { limit: 3, after: [NOW.toISOString(), 'b_1000003'] });
    expect(all.items.map(({ id }) => id)).toEqual(['b_1000002', 'b_1000001']);
    expect(all.next).toBeNull();
  },
);

async function gateway(db: Database, name: string): Promise<string> {
  const fields = {
    displayName: null,
    url: null,
    status: 'active',
    manifestId: null,
    sessionTtlSeconds: 600,
    enforcement: 'observe' as const,
    mcpProxy: 'off' as const,
  } as const;
  return (await insertGateway(db, EU, { name, providerIds: [], ...fields }, NOW)).id;
}

async function provider(db: Database, name: string): Promise<string> {
  const fields = { displayName: null, description: null, baseUrl: null, metadata: {} };
  return (await insertProvider(db, EU, { name, kind: 'mcp', status: 'active', ...fields }, NOW)).id;
}

const FIRST = { limit: 25, after: null, maxRowsScanned: MAX_ROWS_SCANNED };
const idOf = (number: number) => `usr_${1_000_000 + number}`;
const RARE = Array.from({ length: Math.floor(MANY / EVERY) }, (_, index) => idOf((index + 1) * EVERY)).toReversed();
/** The page key of a page that found nothing. */
const END = idOf(MANY - MAX_ROWS_SCANNED + 1);

/** {@link MANY} members of a sub-tenant of acme. Few of them are members of beta, which has invited many. */
async function manyPeople(): Promise<Database> {
  const db = await temporaryDatabase(EU, BETA);
  const time = sql.lit(NOW.toISOString());
  const numbers = sql`recursive numbers(i) as (select 1 union all select i + 1 from numbers where i < ${sql.lit(MANY)})`;
  const isRare = sql`i % ${sql.lit(EVERY)} = 0`;
  const insert = (rows: RawBuilder<unknown>) => executeAtLeisure(db, rows);
  await insert(sql`with ${numbers}
    insert into users (id, email, email_key, status, platform_administrator, terms, terms_accepted, marketing_consent,
      metadata, created_at, updated_at)
    select 'usr_' || cast(1000000 + i as text), i || '@x.example', i || '@x.example',
      case when ${isRare} then 'disabled' else 'active' end, 0, '{}', 1, '{}', '{}', ${time}, ${time}
    from numbers`);
  const memberships = sql`
    insert into memberships (tenant_id, sub_tenant_id, user_id, email, role, accepted_at, created_at, updated_at)`;
  const user = sql`'usr_' || cast(1000000 + i as text), i || '@x.example'`;
  await insert(sql`with ${numbers} ${memberships} select 'acme', 'eu', ${user},
    case when ${isRare} then 'owner' else 'viewer' end, ${time}, ${time}, ${time} from numbers`);
  await insert(sql`with ${numbers} ${memberships} select 'beta', '', ${user}, 'owner',
    case when i <= 3 then ${time} end, ${time}, ${time} from numbers where i <= 5000`);
  if (onPostgres()) await sql`analyze users, memberships`.execute(db);
  return db;
}

test('a search of users scans a bounded number of rows, and finds the few members of a tenant among many', async () => {
  const db = await manyPeople();
  const users = (scope: TenantScope, filter: UserFilter) => (page: PageRequest) =>
    listUsers(db, scope, { scope, self: null }, filter, page);
  for (const scope of [EVERYWHERE, [ACME], [EU]]) {
    expect(await users(scope, { status: 'deleted' })(FIRST)).toEqual({ items: [], next: [NOW.toISOString(), END] });
    expect(await allPages(users(scope, { status: 'deleted' }), 25)).toEqual([[], []]);
    expect(await allPages(users(scope, { text: 'none' }), 25)).toEqual([[], []]);
    const [named] = await allPages(users(scope, { text: `${MANY}@X` }), 25);
    expect(named?.map(({ id }) => id)).toEqual([idOf(MANY)]);
    for (const limit of [10, 27]) {
      const found = await allPages(users(scope, { status: 'disabled' }), limit);
      expect(found.flat().map(({ id }) => id)).toEqual(RARE);
    }
    const { items } = await users(scope, { email: '7@x.example' })(FIRST);
    expect(items.map(({ id }) => id)).toEqual([idOf(7)]);
  }
  // No page is short, although all other users are newer.
  const few = await allPages(users([BETA], {}), 2);
  expect(few.map((page) => page.map(({ id }) => id))).toEqual([[idOf(3), idOf(2)], [idOf(1)]]);
  expect(await allPages(users([BETA], { email: '7@x.example' }), 25)).toEqual([[]]);
});

test('a search of memberships scans a bounded number of rows', async () => {
  const db = await manyPeople();
  const memberships = (scope: TenantScope, filter: MembershipFilter) => (page: PageRequest) =>
    listMemberships(db, scope, filter, page);
  for (const scope of [[ACME], [EU]]) {
    expect(await memberships(scope, { status: 'pending' })(FIRST)).toEqual({
      items: [],
      next: [NOW.toISOString(), JSON.stringify([END, 'acme', 'eu'])],
    });
    expect(await allPages(memberships(scope, { status: 'pending' }), 25)).toEqual([[], []]);
    expect(await allPages(memberships(scope, { text: 'none' }), 25)).toEqual([[], []]);
    const found = await allPages(memberships(scope, { role: 'owner' }), 10);
    expect(found.flat().map(({ userId }) => userId)).toEqual(RARE);
  }
  const offered = await allPages(memberships([BETA], { status: 'active' }), 25);
  expect(offered.flat().map(({ userId }) => userId)).toEqual([idOf(3), idOf(2), idOf(1)]);
});
