import { isRejectedAgain, itemWithStatus, type Rule, type SubjectState } from './rule.ts';

/**
 * Proposed when a subject that a person rejected is seen again. Superseded when the inventory blocks it or an item that covers
 * it, or when a later review decides otherwise. When it is applied, the item is blocked (and created if there is none), and the
 * sessions that grant it are revoked.
 */
export const blockItem: Rule<SubjectState> = {
  kind: 'block_item',
  evaluate(state, isOpen) {
    const { provider, kind, name, deciding, observations } = state;
    if (provider.status === 'deleted' || deciding?.status === 'blocked') return null;
    const again = observations.filter(isRejectedAgain);
    // A second rejection confirms the first one, so an open recommendation to block stays open.
    const confirmed = isOpen ? observations.filter(({ status, review }) => status === 'rejected' && review) : [];
    const rejected = again.length > 0 ? again : confirmed;
    if (rejected.length === 0) return null;
    const reviewTimes = rejected.map(({ review }) => review?.reviewedAt ?? '').toSorted();
    return {
      reason: `The ${kind} ${name} at ${provider.name} was rejected, but agents use it.`,
      cause: reviewTimes.at(-1) ?? '',
      observations: rejected,
      change: itemWithStatus(state, 'blocked'),
    };
  },
};
