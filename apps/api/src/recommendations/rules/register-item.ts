import { isRejectedAgain, itemWithStatus, type Rule, type SubjectState } from './rule.ts';

/**
 * Opens when something is used that nobody declares; superseded when an item or a manifest declares it. Applied: it is
 * an available item of the provider's inventory, a retired one again.
 */
export const registerItem: Rule<SubjectState> = {
  kind: 'register_item',
  wanted(state) {
    const { provider, kind, name, observations } = state;
    if (provider.status === 'deleted') return null;
    const rests = observations.filter(
      (one) =>
        // What a sync alone reported is no use of anything.
        one.unknown &&
        one.occurrences > 0 &&
        (one.status === 'approved' || (one.status === 'open' && !isRejectedAgain(one))),
    );
    if (rests.length === 0) return null;
    const approvals = rests.flatMap(({ status, review }) => (status === 'approved' && review ? review.reviewedAt : []));
    return {
      reason: `Agents use the ${kind} ${name} at ${provider.name}; no inventory item and no active manifest declares it.`,
      cause: approvals.toSorted().at(-1) ?? 'unknown',
      rests,
      change: itemWithStatus(state, 'available'),
    };
  },
};
