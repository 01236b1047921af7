import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { DeclaredState } from '../declarations/declared.ts';
import { isRejectedAgain } from '../rules/rule.ts';

type Decision = Pick<RuntimeObservation, 'status' | 'review'>;
type Observed = Decision & Pick<RuntimeObservation, 'drift' | 'occurrences' | 'denials'>;

/** What is declared now, and whether the manifest of a gateway denies what the inventory has. */
type Declared = DeclaredState & { isDeniedByManifest: boolean };

/**
 * The status of an observation, by what is declared now. `rejected` and `ignored` do not depend on declarations. Any other
 * observation is undecided in five cases:
 * - It is used, denied or pending, but not declared.
 * - A gateway denied it, and only a manifest declares it.
 * - The manifest of a gateway denies it, and it is available.
 * - Its definition changed.
 * - It was rejected and then seen again.
 *
 * If none of them applies, it is `resolved`. An undecided observation that was `approved` or `open` keeps its status. An undecided
 * observation that was `resolved` becomes `open` and loses its approval, because the declaration that the approval led to is gone.
 */
export function computeStatus(observation: Observed, { unknown, item, isDeniedByManifest }: Declared): Decision {
  const { status, review, drift, occurrences, denials } = observation;
  if (status === 'rejected' || status === 'ignored') return { status, review };
  const isUnknown = unknown && (occurrences > 0 || denials > 0 || item?.status === 'pending');
  const lacksItem = denials > 0 && item === undefined;
  const lacksEntry = isDeniedByManifest && item?.status === 'available';
  const isUndecided =
    isUnknown ||
    lacksItem ||
    lacksEntry ||
    drift !== null ||
    (isRejectedAgain(observation) && item?.status !== 'blocked');
  if (!isUndecided) return { status: 'resolved', review };
  if (status !== 'resolved') return { status, review };
  return { status: 'open', review: review?.decision === 'approved' ? null : review };
}

/**
 * For this long after a decision, a span that claims an earlier start time is taken for a late one. After that, every new call
 * counts as a use after the decision, whatever start time its span claims.
 */
const LATE_MS = 3600 * 1000;

/** The last start time that spans claim, when they were received, and whether they report a call that was not counted before. */
export type UseTimes = { latest: Date; now: Date; hasNewCall: boolean };

/**
 * Whether a subject was used after a decision. The claimed start time is not enough to decide this, because a sender could then
 * hide a use forever. A span that only adds details to an earlier call, such as the span of an agent whose run ends, is not
 * a new use.
 */
export function isUseAfter(decidedAt: string, { latest, now, hasNewCall }: UseTimes): boolean {
  const decided = Date.parse(decidedAt);
  return latest.getTime() > decided || (hasNewCall && now.getTime() - decided > LATE_MS);
}

/**
 * The status after a new sighting: `rejected` becomes `open`, all others stay. A rejected observation stays rejected if it
 * is blocked by now, or if the spans began before the rejection and were only sent late.
 */
export function statusAfterSighting(
  observation: Pick<RuntimeObservation, 'status' | 'review'>,
  { item }: Pick<DeclaredState, 'item'>,
  times: UseTimes,
): RuntimeObservation['status'] {
  const { status, review } = observation;
  if (status !== 'rejected' || review === null || item?.status === 'blocked') return status;
  return isUseAfter(review.reviewedAt, times) ? 'open' : status;
}
