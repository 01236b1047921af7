import type { TenantResource } from '@quartermaster/contracts/tenant-usage.ts';
import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database.ts';
import { preparedStatement } from '../prepared-statement.ts';
import { isPostgres } from '../dialects/postgres.ts';
import { newId } from '../ids.ts';
import { inTransaction } from '../transaction.ts';

/** Resources that are counted in the database. Requests are counted in memory. */
export type CountedResource = Exclude<TenantResource, 'requestsPerMinute'>;

/** Changes that are added up in one transaction. */
const BATCH_SIZE = 1000;

/** The limits that were set for a tenant. A missing resource has the default limit. */
export async function findTenantLimits(
  db: Database,
  tenantId: string,
): Promise<Partial<Record<TenantResource, number>>> {
  const rows = await db
    .selectFrom('tenant_limits')
    .select(['resource', 'most'])
    .where('tenant_id', '=', tenantId)
    .execute();
  return Object.fromEntries(rows.map(({ resource, most }) => [resource, most]));
}

/** Sets a limit; null restores the default. */
export async function setTenantLimit(
  db: Database,
  tenantId: string,
  resource: TenantResource,
  most: number | null,
): Promise<void> {
  await db.deleteFrom('tenant_limits').where('tenant_id', '=', tenantId).where('resource', '=', resource).execute();
  if (most === null) return;
  await db.insertInto('tenant_limits').values({ tenant_id: tenantId, resource, most }).execute();
}

/**
 * How much of a resource a tenant uses. Records are counted up to `most`, so that the work is bounded. Bytes are exact.
 */
export async function countTenantUsage(
  db: Database,
  tenantId: string,
  { resource, most }: { resource: CountedResource; most: number },
  now: Date,
): Promise<number> {
  if (resource === 'storedBytes') return countStoredBytes(db, tenantId);
  const rows = COUNTED_ROWS[resource](tenantId, now.toISOString());
  const { rows: counts } = await sql<{ count: number }>`
    select count(*) as count from (select 1 from ${rows} limit ${most}) as counted`.execute(db);
  return Number(counts[0]?.count ?? 0);
}

/** The records that count. Their conditions match the partial indexes of the baseline migration. */
const COUNTED_ROWS: Record<
  Exclude<CountedResource, 'storedBytes'>,
  (tenantId: string, time: string) => RawBuilder<unknown>
> = {
  subTenants: (tenantId) => sql`sub_tenants where tenant_id = ${tenantId}`,
  memberships: (tenantId) => sql`memberships where tenant_id = ${tenantId}`,
  serviceAccounts: (tenantId) => sql`service_accounts where tenant_id = ${tenantId} and status <> 'deleted'`,
  apiKeys: (tenantId, time) => sql`credentials
    where tenant_id = ${tenantId} and kind = 'api_key' and revoked_at is null
    and (expires_at is null or expires_at > ${time})`,
  providers: (tenantId) => sql`providers where tenant_id = ${tenantId} and status <> 'deleted'`,
  inventoryItems: (tenantId) => sql`inventory_items where tenant_id = ${tenantId}`,
  gateways: (tenantId) => sql`gateways where tenant_id = ${tenantId} and status <> 'deleted'`,
  openSessions: (tenantId, time) => sql`gateway_sessions
    where tenant_id = ${tenantId} and revoked_at is null and expires_at > ${time}`,
};

async function countStoredBytes(db: Database, tenantId: string): Promise<number> {
  const [sums] = await sumsOfBytes(db, { tenantId });
  const numberOf = (sum: number | null | undefined) => Number(sum ?? 0);
  return Math.max(0, numberOf(sums?.total) + numberOf(sums?.changes)) + Math.max(0, numberOf(sums?.records));
}

const sumsOfBytes = preparedStatement((db, { tenantId }: { tenantId: string }) => {
  const sumOf = (table: 'stored_bytes' | 'stored_bytes_changes' | 'record_bytes') =>
    db
      .selectFrom(table)
      .select(({ fn }) => fn.sum<number | null>('bytes').as('bytes'))
      .where('tenant_id', '=', tenantId);
  return db.selectNoFrom([
    sumOf('stored_bytes').as('total'),
    sumOf('stored_bytes_changes').as('changes'),
    sumOf('record_bytes').as('records'),
  ]);
});

/**
 * The name under which the kept answers of a tenant's users are counted, apart from the tenant's own. No tenant has such an
 * id.
 */
export function usersOfTenant(tenantId: string): string {
  return `#users:${tenantId}`;
}

/** The name under which the kept answers of a user without a tenant are counted. */
export function userWithoutTenant(userId: string): string {
  return `#user:${userId}`;
}

/** Records a change of a tenant's stored bytes, in the transaction that stores or removes (negative) them. */
export async function addStoredBytes(db: Database, tenantId: string, bytes: number, now: Date): Promise<void> {
  if (bytes === 0) return;
  await db
    .insertInto('stored_bytes_changes')
    .values({ tenant_id: tenantId, id: newId('byt', now), bytes })
    .execute();
}

/** Adds up the recorded changes in batches. Returns the number of changes. */
export async function sumStoredBytes(db: Database): Promise<number> {
  if (isPostgres(db)) await sumRecordBytes(db);
  for (let summed = 0; ; ) {
    const batch = await inTransaction(db, sumBatch);
    summed += batch;
    if (batch < BATCH_SIZE) return summed;
  }
}

/** On Postgres: replaces the rows that the triggers added for each tenant by their sum. On SQLite there is only one row. */
async function sumRecordBytes(db: Database): Promise<void> {
  const { rows } = await sql<{ tenant_id: string }>`
    select tenant_id from record_bytes group by tenant_id having count(*) > 1`.execute(db);
  for (const { tenant_id: tenantId } of rows) {
    await inTransaction(db, (trx) =>
      sql`with removed as (
            delete from record_bytes where tenant_id = ${tenantId} returning bytes
          ) insert into record_bytes (tenant_id, bytes) select ${tenantId}, sum(bytes) from removed`.execute(trx),
    );
  }
}

async function sumBatch(trx: Database): Promise<number> {
  const changes = await trx
    .selectFrom('stored_bytes_changes')
    .select(['tenant_id', 'id', 'bytes'])
    .orderBy('tenant_id')
    .orderBy('id')
    .limit(BATCH_SIZE)
    .execute();
  for (const [tenantId, tenantChanges] of Map.groupBy(changes, (change) => change.tenant_id)) {
    const bytes = tenantChanges.reduce((sum, change) => sum + change.bytes, 0);
    await trx
      .insertInto('stored_bytes')
      .values({ tenant_id: tenantId, bytes })
      .onConflict((conflict) =>
        conflict
          .column('tenant_id')
          .doUpdateSet({ bytes: sql<number>`${sql.ref('stored_bytes.bytes')} + ${sql.ref('excluded.bytes')}` }),
      )
      .execute();
    for (const { id } of tenantChanges) {
      await trx.deleteFrom('stored_bytes_changes').where('tenant_id', '=', tenantId).where('id', '=', id).execute();
    }
  }
  return changes.length;
}
