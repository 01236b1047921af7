import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { Database } from '../src/database.ts';
import type { Page, PageKey, PageRequest } from '../src/queries.ts';
import { type AuditEventFilter, listAuditEvents } from '../src/repositories/audit-events.ts';
import { listTraces } from '../src/repositories/traces.ts';
import type { TenantScope } from '../src/tenancy.ts';
import { onPostgres } from '../testing/test-database.ts';
import { later, NOW, temporaryDatabase } from './temporary-database.ts';

const ACME = { tenantId: 'acme', subTenantId: null };
const EU = { tenantId: 'acme', subTenantId: 'eu' };
const BETA = { tenantId: 'beta', subTenantId: null };

/** More than one page looks at. */
const MANY = 210_000;
const EVERY = 7777;

async function allPages<Item>(list: (page: PageRequest) => Promise<Page<Item>>, limit: number): Promise<Item[][]> {
  const pages: Item[][] = [];
  for (let after: PageKey | null = null; ; ) {
    const { items, next } = await list({ limit, after });
    pages.push(items);
    if (next === null) return pages;
    after = next;
  }
}

/** {@link MANY} events, of which each {@link EVERY}th is of a rare operation. The first ones have a later time. */
async function manyEvents(): Promise<Database> {
  const db = await temporaryDatabase(ACME);
  const [night, morning] = [NOW.toISOString(), later(1).toISOString()];
  await sql`
    with recursive numbers(i) as (select 1 union all select i + 1 from numbers where i < ${sql.lit(MANY)})
    insert into audit_events (tenant_id, sub_tenant_id, id, actor_type, operation, outcome, changed_fields, request_id, count,
      created_at)
    select 'acme', '', 'aud_' || cast(1000000 + i as text), 'system',
      case when i % ${sql.lit(EVERY)} = 0 then 'rare' else 'usual' end, 'success', '[]', 'r', 1,
      case when i > ${sql.lit(MANY - 10)} then ${morning} else ${night} end from numbers`.execute(db);
  if (onPostgres()) await sql`analyze audit_events`.execute(db);
  return db;
}

test('the audit is searched within bounds, and a time narrows what is looked at', { timeout: 120_000 }, async () => {
  const db = await manyEvents();
  const listed = (filter: AuditEventFilter, limit: number) =>
    allPages((page) => listAuditEvents(db, [ACME], filter, page), limit);
  expect(await listed({ operation: 'none' }, 25)).toEqual([[], []]);

  const rare = Array.from({ length: Math.floor(MANY / EVERY) }, (_, index) => `aud_${1_000_000 + (index + 1) * EVERY}`);
  const found = await listed({ operation: 'rare' }, 10);
  expect(found.flat().map(({ id }) => id)).toEqual(rare.toReversed());

  const morning = later(1).toISOString();
  // One page: it ends where the time does, long before it has looked at as much as it may.
  expect(await listed({ operation: 'rare', createdAfter: NOW.toISOString() }, 25)).toEqual([[]]);
  expect((await listed({ createdAfter: NOW.toISOString() }, 4)).map(({ length }) => length)).toEqual([4, 4, 2]);
  const [first] = await listed({ operation: 'rare', createdBefore: morning }, 25);
  expect(first?.map(({ id }) => id)).toEqual(rare.toReversed().slice(0, 25));
  expect(await listed({ createdBefore: NOW.toISOString() }, 25)).toEqual([[]]);
});

test('traces over several places are listed newest first, each once, by any length of pages', async () => {
  const db = await temporaryDatabase(ACME, EU, BETA);
  const trace = (tenant_id: string, sub_tenant_id: string, trace_id: string, minutes: number) => ({
    ...{ tenant_id, sub_tenant_id, trace_id, root_name: null, span_count: 1, error_count: 0 },
    ...{ service_name: minutes % 2 === 0 ? 'shop' : 'billing', start_time: 'x', end_time: 'x' },
    ...{ created_at: later(minutes).toISOString(), updated_at: NOW.toISOString() },
  });
  const rows = ['acme/', 'acme/eu', 'beta/'].flatMap((place, index) =>
    Array.from({ length: 9 }, (_, number) => {
      const [tenantId = '', subTenantId = ''] = place.split('/');
      // The same trace in several places, some at the same time.
      return trace(tenantId, subTenantId, `trace${number}`, Math.floor(number / 3) + (number % 2) * index);
    }),
  );
  await db.insertInto('traces').values(rows).execute();
  const key = (row: (typeof rows)[number]) =>
    [row.created_at, row.trace_id, row.tenant_id, row.sub_tenant_id].join('/');
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
        const keys = listed.map((one) => [one.createdAt, one.traceId, one.tenantId, one.subTenantId ?? ''].join('/'));
        expect(keys).toEqual(expected.map(key).toSorted().toReversed());
      }
    }
  }
});
