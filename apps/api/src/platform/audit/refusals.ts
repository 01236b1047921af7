import type { ServiceAction } from '@quartermaster/contracts/audit-operations.ts';
import type { ErrorCode } from '@quartermaster/contracts/errors.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { type Actor, actorOf } from './audited-write.ts';
import type { SummedEvents } from './summed-events.ts';

/** The operation of events that only count further refusals, after a tenant has reached the limit of separate events. */
export const FURTHER_REFUSALS: ServiceAction = 'further_refusals';

/** One refused request of an authenticated caller. */
type Refusal = {
  principal: Actor & { grants: readonly TenantPlace[] };
  operationId: string;
  reason: ErrorCode;
  /** `denied`: the caller lacks rights, or does not reach the record. `failure`: any other reason. */
  outcome: 'denied' | 'failure';
  requestId: string;
  callerRequestId?: string;
};

/** Records a refusal in the audit of the caller's own tenant, never in that of another tenant whose record was requested. */
export function noteRefused(
  refusals: SummedEvents,
  { principal, operationId, reason, outcome, ...requestIds }: Refusal,
): void {
  const [place] = principal.grants;
  refusals.note({
    place: place === undefined ? null : { tenantId: place.tenantId, subTenantId: place.subTenantId },
    ...actorOf(principal),
    operation: operationId,
    target: null,
    outcome,
    reason,
    changedFields: [],
    count: 1,
    ...requestIds,
  });
}
