import type { AuditEvent } from '@quartermaster/contracts/audit-events.ts';
import { listTenantsThatAuditReads } from '@quartermaster/db/repositories/tenants.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { CallerContext } from '../trpc.ts';
import { actorOf } from './write.ts';

/** The operation of the events that count the reads of a tenant beyond those that are told one by one. */
export const FURTHER_READS = 'further_reads';

/**
 * Notes that a caller read records, in the places of the records whose tenant has the setting `auditReads`. Reads of one
 * caller, operation and target within a minute are one event.
 *
 * @param records those that were answered
 * @param target what was read; null for a list
 */
export async function noteReads(
  ctx: CallerContext,
  records: readonly { tenantId: string | null; subTenantId: string | null }[],
  target: AuditEvent['target'],
): Promise<void> {
  const places = placesOf(records);
  if (places.length === 0) return;
  const tenantIds = new Set(places.map(({ tenantId }) => tenantId));
  const audited = await listTenantsThatAuditReads(ctx.services.db, [...tenantIds]);
  for (const place of places.filter(({ tenantId }) => audited.includes(tenantId))) {
    ctx.services.reads.note({
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

/** The distinct places of records; the platform's own have none. */
function placesOf(records: readonly { tenantId: string | null; subTenantId: string | null }[]): TenantPlace[] {
  const places = new Map<string, TenantPlace>();
  for (const { tenantId, subTenantId } of records) {
    if (tenantId !== null) places.set(JSON.stringify([tenantId, subTenantId]), { tenantId, subTenantId });
  }
  return [...places.values()];
}
