import type { AuditEvent, AuditOperation, listAuditEvents } from '@quartermaster/client';
import { useTenantFilter } from '../../data/tenant.ts';
import { startOfDay, useTimeZone } from '../../data/time-zone.ts';
import { useUrlState, useStartOfPeriod } from '../../data/url-state.ts';

export type AuditQuery = NonNullable<NonNullable<Parameters<typeof listAuditEvents>[0]>['query']>;

export const PERIODS = [
  { value: '1', label: 'Last hour' },
  { value: '24', label: 'Last 24 hours' },
  { value: '168', label: 'Last 7 days' },
  { value: '720', label: 'Last 30 days' },
  { value: 'between', label: 'Between days' },
];

/** The filter that the address says. */
export function useAuditQuery(): AuditQuery {
  const tenant = useTenantFilter();
  const timeZone = useTimeZone();
  const [{ actor, operation, target, outcome, period, from, to }] = useUrlState();
  const since = useStartOfPeriod(period);
  return {
    ...tenant,
    ...(actor !== undefined && { actor_id: actor }),
    ...(operation !== undefined && { operation: operation as AuditOperation }),
    ...(target !== undefined && { target_id: target }),
    ...(outcome !== undefined && { outcome: outcome as AuditEvent['outcome'] }),
    ...(since !== undefined && { created_after: since }),
    ...(period === 'between' && from !== undefined && { created_after: startOfDay(from, { timeZone, daysLater: 0 }) }),
    ...(period === 'between' && to !== undefined && { created_before: startOfDay(to, { timeZone, daysLater: 1 }) }),
  };
}

/** The values before and after: `viewer → admin`. */
export function textOfChange({ before, after }: AuditEvent['changes'][number]): string {
  return `${textOfValue(before)} → ${textOfValue(after)}`;
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
