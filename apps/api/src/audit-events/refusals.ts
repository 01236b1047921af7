import type { ErrorCode } from '@quartermaster/contracts/errors.ts';
import type { Principal } from '../access/principal.ts';
import type { SummedEvents } from './summed-events.ts';
import { actorOf } from './write.ts';

/** The operation of the event that counts the refusals of a tenant beyond those that are told one by one. */
export const FURTHER_REFUSALS = 'further_refusals';

/** One refused request of an authenticated caller. */
type Refusal = {
  principal: Principal;
  operationId: string;
  reason: ErrorCode;
  /** `denied`: for lack of rights, or of a record in the caller's reach. `failure`: for another reason. */
  outcome: 'denied' | 'failure';
  requestId: string;
  callerRequestId?: string;
};

/** Notes a refusal in the caller's own tenant: another tenant whose record was asked for never learns of it. */
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
