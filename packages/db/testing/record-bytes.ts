import { sql } from 'kysely';
import type { Database } from '../src/database.ts';
import { COUNTED, sumOf } from '../src/migrations/baseline/record-bytes.ts';

/** The bytes of each tenant's records, as the triggers counted them. Tenants without records are left out. */
export async function countedRecordBytes(db: Database): Promise<Record<string, number>> {
  return bytesByTenant(db, 'select tenant_id, bytes from record_bytes');
}

/** The same, computed from all records. */
export async function recomputedRecordBytes(db: Database): Promise<Record<string, number>> {
  const sums = Object.entries(COUNTED).map(
    ([table, counted]) => `select tenant_id, ${sumOf(counted, table)} as bytes from ${table} group by tenant_id`,
  );
  return bytesByTenant(db, sums.join(' union all '));
}

async function bytesByTenant(db: Database, rows: string): Promise<Record<string, number>> {
  const query = `select tenant_id, sum(bytes) as bytes from (${rows}) as counted group by tenant_id order by tenant_id`;
  const { rows: sums } = await sql<{ tenant_id: string; bytes: number | string }>`${sql.raw(query)}`.execute(db);
  return Object.fromEntries(
    sums.map(({ tenant_id, bytes }) => [tenant_id, Number(bytes)] as const).filter(([, bytes]) => bytes !== 0),
  );
}
