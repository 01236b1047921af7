import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import { isRejectedAgain } from '../recommendations/rules/rule.ts';
import type { Declared } from './declared.ts';

type Decided = Pick<RuntimeObservation, 'status' | 'review' | 'drift'>;

/**
 * What becomes of an observation by what is declared. A rejection and an ignoring stay, whatever is declared. The rest
 * is open while something is to be decided - nobody declares it, its definition changed, it was rejected and seen again -
 * and resolved when nothing is. An approval answers that, and is spent once the declaration that it led to is gone.
 */
export function statusAfter(observation: Decided, { unknown, item }: Declared): Pick<Decided, 'status' | 'review'> {
  const { status, review, drift } = observation;
  if (status === 'rejected' || status === 'ignored') return { status, review };
  const isUndecided = unknown || drift !== null || (isRejectedAgain(observation) && item?.status !== 'blocked');
  if (!isUndecided) return { status: 'resolved', review };
  if (status !== 'resolved') return { status, review };
  return { status: 'open', review: review?.decision === 'approved' ? null : review };
}

/**
 * What a sighting makes of a person's decision: approved and ignored stay quiet, rejected is open again. A span of before
 * the rejection that comes late says nothing against it, nor does one of what is blocked by now.
 */
export function statusSeenAgain(
  observation: Pick<RuntimeObservation, 'status' | 'review'>,
  { item }: Pick<Declared, 'item'>,
  latest: Date,
): RuntimeObservation['status'] {
  const { status, review } = observation;
  if (status !== 'rejected' || review === null || item?.status === 'blocked') return status;
  return latest > new Date(review.reviewedAt) ? 'open' : status;
}
