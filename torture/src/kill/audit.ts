import type { Database } from '@quartermaster/db/database.ts';
import { Connection } from '../connection.ts';
import { ADMIN, type Service } from '../service.ts';

/**
 * Lets the service verify the audit of every tenant after all kills. Each chain has to be intact. After a row of the first
 * chain is changed in the database, that chain must be broken.
 */
export async function chainFaults(service: Service, db: Database, tenantIds: readonly string[]): Promise<string[]> {
  const kindsOf = async (tenantId: string) => (await verifiedFaults(service, tenantId)).map(({ kind }) => kind);
  const faults: string[] = [];
  for (const tenantId of tenantIds) {
    const found = await kindsOf(tenantId);
    if (found.length > 0) faults.push(`${tenantId}: the audit is broken: ${found.join(', ')}`);
  }
  const [first = ''] = tenantIds;
  await tamper(db, first);
  if (!(await kindsOf(first)).includes('changed')) faults.push(`${first}: a changed audit event was not found`);
  return faults;
}

/** All faults that the verification of a tenant's whole chain finds. */
export async function verifiedFaults(
  service: Service,
  tenantId: string,
): Promise<{ kind: string; position: number | null }[]> {
  const connection = new Connection(service.url, ADMIN);
  try {
    const faults = [];
    for (let cursor: string | null = null; ; ) {
      const query: URLSearchParams = new URLSearchParams({ tenant_id: tenantId, ...(cursor !== null && { cursor }) });
      const page = await connection.ok('GET', `/v1/audit-events/verify?${query.toString()}`);
      faults.push(...page.faults);
      cursor = page.nextCursor;
      if (cursor === null) return faults;
    }
  } finally {
    connection.close();
  }
}

async function tamper(db: Database, tenantId: string): Promise<void> {
  const { id } = await db
    .selectFrom('audit_events')
    .select('id')
    .where('tenant_id', '=', tenantId)
    .orderBy('id')
    .limit(1)
    .executeTakeFirstOrThrow();
  await db
    .updateTable('audit_events')
    .set({ outcome: 'failure' })
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .execute();
}
