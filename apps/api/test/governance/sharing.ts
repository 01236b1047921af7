import { sql } from 'kysely';
import { expect } from 'vitest';
import { accountWithKey } from '../support/people.ts';
import type { TestServer } from '../support/server.ts';
import { all, type SpanInput, toolRun } from '../telemetry/traces/sending.ts';
import { atOpenai, type Tenant } from './loop-support.ts';

export const LIMIT = 40;
export const SERIES = 60;

export function junk(prefix: string): SpanInput[] {
  return Array.from({ length: 2 * LIMIT }, (_, index) => toolRun(`${prefix}-${index}`));
}

export function models(...names: readonly string[]): SpanInput[] {
  return names.map(atOpenai);
}

/** What the tests of fair shares do on their server. */
export function sharingOn(server: () => TestServer) {
  function newSender({ tenantId }: Tenant, subTenantId?: string) {
    return accountWithKey(server(), { tenantId, subTenantId }, ['traces:write']);
  }

  async function observedNames({ operator }: Tenant, prefix = ''): Promise<string[]> {
    const observations = await all(server(), '/v1/runtime-observations?limit=100', operator);
    return observations.map(({ name }): string => name).filter((name) => name.startsWith(prefix));
  }

  /** Numbers of calls that were not observed, by the limit or share that was full. */
  async function unobserved(): Promise<Record<string, number>> {
    const { values } = await server().services.metrics.unobserved.get();
    return Object.fromEntries(values.map(({ labels, value }) => [String(labels.full), value]));
  }

  /** Expects that the counters equal the rows in the table. */
  async function countersAndRows({ tenantId }: Tenant) {
    const { db } = server().services;
    const counters = await db
      .selectFrom('observation_shares')
      .select(['holder_type', 'holder_id', 'observations'])
      .where('tenant_id', '=', tenantId)
      .execute();
    const { rows } = await sql<{ holder_type: string; holder_id: string; observations: number }>`
      select 'account' as holder_type, first_account as holder_id, count(*) as observations
        from runtime_observations where tenant_id = ${tenantId} group by first_account
      union all
      select 'sub_tenant', sub_tenant_id, count(*)
        from runtime_observations where tenant_id = ${tenantId} group by sub_tenant_id`.execute(db);
    const linesOf = (found: readonly { holder_type: string; holder_id: string; observations: number }[]) =>
      found.map((row) => `${row.holder_type} ${row.holder_id}: ${row.observations}`).toSorted();
    return { counters: linesOf(counters), rows: linesOf(rows) };
  }

  async function expectRightCounters(tenant: Tenant): Promise<string[]> {
    const { counters, rows } = await countersAndRows(tenant);
    expect(counters).toEqual(rows);
    return counters;
  }

  return { newSender, observedNames, unobserved, expectRightCounters };
}
