import type { AuditEvent, AuditOperation, listAuditEvents } from '@quartermaster/client';
import { useTenantFilter } from '../../data/tenant.ts';
import { MINUTE_MS, useTimeRange } from '../../data/time-range.ts';
import { useUrlState } from '../../data/url-state.ts';

export type AuditQuery = NonNullable<NonNullable<Parameters<typeof listAuditEvents>[0]>['query']>;

/** The filter that the address says. */
export function useAuditQuery(): AuditQuery {
  const tenant = useTenantFilter();
  const [{ actor, operation, target, outcome, decision }] = useUrlState();
  const { from, to } = useTimeRange(MINUTE_MS);
  return {
    ...tenant,
    ...(actor !== undefined && { actor_id: actor }),
    ...(operation !== undefined && { operation: operation as AuditOperation }),
    ...(target !== undefined && { target_id: target }),
    ...(outcome !== undefined && { outcome: outcome as AuditEvent['outcome'] }),
    ...(decision !== undefined && { decision: decision as NonNullable<AuditEvent['decision']> }),
    ...(from !== undefined && { created_after: from }),
    ...(to !== undefined && { created_before: to }),
  };
}

/** The values before and after: `viewer → admin`. */
export function textOfChange({ before, after }: AuditEvent['changes'][number]): string {
  return `${textOfValue(before)} → ${textOfValue(after)}`;
}

/** The same for a table: only the ends of ids that the service made. The panel has the whole. */
export function shortTextOfChange(change: AuditEvent['changes'][number]): string {
  return textOfChange(change).replaceAll(/\b[a-z]+_[0-9a-z]{22}([0-9a-z]{4})\b/g, '…$1');
}

function textOfValue(value: AuditEvent['changes'][number]['before']): string {
  if (value === null || (Array.isArray(value) && value.length === 0)) return 'none';
  return Array.isArray(value) ? value.join(', ') : String(value);
}

/** The actor as other records name it, or null if it is neither a user nor an account. */
export function actorOf({ actor: { type, id, tenantId } }: AuditEvent): string | null {
  if (id === null) return null;
  if (type === 'user') return `user:${id}`;
  return type === 'service_account' ? `service_account:${tenantId ?? ''}/${id}` : null;
}
