import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * The shares of accounts and sub-tenants in a tenant's limits: the account that first reported an observation, the account whose
 * traffic a provider was discovered in, and counters of observations by account and by sub-tenant.
 */
export const fairShares: Migration = { up };

const BATCH_SIZE = 1000;

async function up(db: Kysely<unknown>): Promise<void> {
  const addText = (table: string, column: string) =>
    db.schema
      .alterTable(table)
      .addColumn(column, 'text', (definition) => definition.notNull().defaultTo(''))
      .execute();
  await addText('runtime_observations', 'first_account');
  await fillFirstAccounts(db);
  await addText('providers', 'discovered_by');
  await sql`
    update providers set discovered_by = coalesce(
      (select account from provider_uses
        where provider_uses.tenant_id = providers.tenant_id and provider_uses.provider_id = providers.id
        order by first_used_at, account limit 1), '')
    where status = 'discovered'`.execute(db);
  for (const [name, column] of [
    ['providers_discovered_by', 'discovered_by'],
    ['providers_discovered_in', 'sub_tenant_id'],
  ] as const) {
    await db.schema
      .createIndex(name)
      .on('providers')
      .columns(['tenant_id', column])
      .where(sql.ref('status'), '=', sql.lit('discovered'))
      .execute();
  }
  await db.schema
    .createIndex('usage_series_by_sub_tenant')
    .on('usage_series')
    .columns(['tenant_id', 'sub_tenant_id'])
    .execute();
  await db.schema
    .createTable('observation_shares')
    .addColumn('tenant_id', 'text', (column) => column.notNull())
    .addColumn('holder_type', 'text', (column) => column.notNull())
    .addColumn('holder_id', 'text', (column) => column.notNull())
    .addColumn('observations', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('observation_shares_pk', ['tenant_id', 'holder_type', 'holder_id'])
    .execute();
  for (const [type, column] of [
    ['account', 'first_account'],
    ['sub_tenant', 'sub_tenant_id'],
  ] as const) {
    await sql`
      insert into observation_shares (tenant_id, holder_type, holder_id, observations)
      select tenant_id, ${sql.lit(type)}, ${sql.ref(column)}, count(*)
      from runtime_observations group by tenant_id, ${sql.ref(column)}`.execute(db);
  }
}

type EvidenceRow = { tenant_id: string; id: string; evidence: string };

/** In JavaScript, since PostgreSQL cannot parse JSON with \u0000. In pages, since a table may have millions of rows. */
async function fillFirstAccounts(db: Kysely<unknown>): Promise<void> {
  let [tenantId, id] = ['', ''];
  for (;;) {
    const { rows } = await sql<EvidenceRow>`
      select tenant_id, id, evidence from runtime_observations where (tenant_id, id) > (${tenantId}, ${id})
      order by tenant_id, id limit ${BATCH_SIZE}`.execute(db);
    const groups = Map.groupBy(rows, (row) => JSON.stringify([row.tenant_id, firstAccountOf(row.evidence)]));
    for (const [key, group] of groups) {
      const [tenant, account] = JSON.parse(key) as [string, string];
      const ids = sql.join(group.map((row) => row.id));
      await sql`
        update runtime_observations set first_account = ${account}
        where tenant_id = ${tenant} and id in (${ids})`.execute(db);
    }
    const last = rows.at(-1);
    if (!last || rows.length < BATCH_SIZE) return;
    [tenantId, id] = [last.tenant_id, last.id];
  }
}

function firstAccountOf(evidence: string): string {
  const { accounts } = JSON.parse(evidence) as { accounts?: string[] };
  return accounts?.[0] ?? '';
}
