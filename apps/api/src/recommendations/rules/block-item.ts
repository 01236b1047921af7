import { isRejectedAgain, itemWithStatus, type Rule, type SubjectState } from './rule.ts';

/**
 * Opens when something that a person rejected is seen again; superseded when the inventory blocks it or what covers it, or a later review
 * decides otherwise. Applied: the item is blocked, made where there is none, and the sessions that hold it end.
 */
export const blockItem: Rule<SubjectState> = {
  kind: 'block_item',
  wanted(state, standing) {
    const { provider, kind, name, deciding, observations } = state;
    if (provider.status === 'deleted' || deciding?.status === 'blocked') return null;
    const again = observations.filter(isRejectedAgain);
    // A second rejection confirms the first: it does not take the block away that the sighting in between led to.
    const confirmed = standing ? observations.filter(({ status, review }) => status === 'rejected' && review) : [];
    const rests = again.length > 0 ? again : confirmed;
    const last = rests.map(({ review }) => review?.reviewedAt ?? '').toSorted();
    if (rests.length === 0) return null;
    return {
      reason: `The ${kind} ${name} at ${provider.name} was rejected, and agents use it all the same.`,
      cause: last.at(-1) ?? '',
      rests,
      change: itemWithStatus(state, 'blocked'),
    };
  },
};
