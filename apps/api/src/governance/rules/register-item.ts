import { isRejectedAgain, itemWithStatus, type Rule, type SubjectState } from './rule.ts';

/**
 * Proposed when a subject is used and not declared, or when its item waits for a decision. Superseded when an item or a manifest
 * declares it. Applied, it is an available item of the provider's inventory; a retired item becomes available again.
 */
export const registerItem: Rule<SubjectState> = {
  kind: 'register_item',
  evaluate(state) {
    const { provider, kind, name, item, observations } = state;
    if (provider.status === 'deleted') return null;
    const isPending = item?.status === 'pending';
    // An observation without occurrences comes from a sync alone, and is not used.
    const undeclared = observations.filter(
      (one) =>
        one.unknown &&
        (one.occurrences > 0 || isPending) &&
        (one.status === 'approved' || (one.status === 'open' && !isRejectedAgain(one))),
    );
    if (undeclared.length === 0) return null;
    const approvals = undeclared.flatMap(({ status, review }) =>
      status === 'approved' && review ? review.reviewedAt : [],
    );
    return {
      reason: isPending
        ? `${provider.name} lists the ${kind} ${name}, which was not there at its first sync, or came back after it was retired.`
        : `Agents use the ${kind} ${name} at ${provider.name}; no inventory item and no active manifest declares it.`,
      cause: approvals.toSorted().at(-1) ?? 'unknown',
      observations: undeclared,
      change: itemWithStatus(state, 'available'),
    };
  },
};
