import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import { isRejectedAgain } from '../recommendations/rules/rule.ts';
import type { Declared } from './declared.ts';

type Decided = Pick<RuntimeObservation, 'status' | 'review'>;
type Observed = Decided & Pick<RuntimeObservation, 'drift' | 'occurrences'>;

/**
 * What becomes of an observation by what is declared. A rejection and an ignoring stay, whatever is declared. The rest
 * is open while something is to be decided - it is used and nobody declares it, its definition changed, it was rejected
 * and seen again - and resolved when nothing is. An approval answers that, and is spent once the declaration that it led
 * to is gone.
 */
export function statusAfter(observation: Observed, { unknown, item }: Declared): Decided {
  const { status, review, drift, occurrences } = observation;
  if (status === 'rejected' || status === 'ignored') return { status, review };
  const isUnknown = unknown && occurrences > 0;
  const isUndecided = isUnknown || drift !== null || (isRejectedAgain(observation) && item?.status !== 'blocked');
  if (!isUndecided) return { status: 'resolved', review };
  if (status !== 'resolved') return { status, review };
  return { status: 'open', review: review?.decision === 'approved' ? null : review };
}

/** How late a span of before a decision may come: after that it counts as one of after it, whatever time it claims. */
const LATE_MS = 3600 * 1000;

/**
 * What a sighting makes of a person's decision: approved and ignored stay quiet, rejected is open again. A span of before
 * the rejection that comes somewhat late says nothing against it, nor does one of what is blocked by now. Not the time
 * that spans claim alone: their sender sets it, and could keep what is rejected quiet for ever.
 *
 * @param latest when the last of the spans began, as they say
 * @param now when they were received
 */
export function statusSeenAgain(
  observation: Pick<RuntimeObservation, 'status' | 'review'>,
  { item }: Pick<Declared, 'item'>,
  { latest, now }: { latest: Date; now: Date },
): RuntimeObservation['status'] {
  const { status, review } = observation;
  if (status !== 'rejected' || review === null || item?.status === 'blocked') return status;
  const reviewedAt = Date.parse(review.reviewedAt);
  return latest.getTime() > reviewedAt || now.getTime() - reviewedAt > LATE_MS ? 'open' : status;
}
