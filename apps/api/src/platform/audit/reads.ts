import type { ServiceAction } from '@quartermaster/contracts/audit-operations.ts';
import type { AuditEvent } from '@quartermaster/contracts/audit-events.ts';
import { listTenantsThatAuditReads } from '@quartermaster/db/repositories/tenants.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { type Actor, actorOf } from './audited-write.ts';
import type { SummedEvents } from './summed-events.ts';

/** The operation of events that only count further reads, after a tenant has reached the limit of separate events. */
export const FURTHER_READS: ServiceAction = 'further_reads';

type ReadContext = {
  services: { db: Database; audit: { reads: SummedEvents } };
  principal: Actor;
  operation: { operationId: string };
  requestId: string;
  callerRequestId: string | null;
};

/**
 * Records in the audit that a caller read these records, if their tenant has the setting `auditReads`. Reads with the same
 * caller, operation and target within a minute become one event with a count.
 *
 * @param records the records in the response
 * @param target the record that was read, as a whole or in part; null for a list of the tenant
 */
export async function noteReads(
  ctx: ReadContext,
  records: readonly { tenantId: string | null; subTenantId: string | null }[],
  target: AuditEvent['target'],
): Promise<void> {
  const places = placesOf(records);
  if (places.length === 0) return;
  const tenantIds = new Set(places.map(({ tenantId }) => tenantId));
  const audited = await listTenantsThatAuditReads(ctx.services.db, [...tenantIds]);
  for (const place of places.filter(({ tenantId }) => audited.includes(tenantId))) {
    ctx.services.audit.reads.note({
      place,
      ...actorOf(ctx.principal),
      operation: ctx.operation.operationId,
      target,
      outcome: 'success',
      reason: null,
      changedFields: [],
      count: 1,
      requestId: ctx.requestId,
      callerRequestId: ctx.callerRequestId,
    });
  }
}

/** The distinct places of the records. Records of the platform itself have none. */
function placesOf(records: readonly { tenantId: string | null; subTenantId: string | null }[]): TenantPlace[] {
  const places = new Map<string, TenantPlace>();
  for (const { tenantId, subTenantId } of records) {
    if (tenantId !== null) places.set(JSON.stringify([tenantId, subTenantId]), { tenantId, subTenantId });
  }
  return [...places.values()];
}
