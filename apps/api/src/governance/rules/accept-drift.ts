import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import { isRejectedAgain, type Rule, type SubjectState } from './rule.ts';

/**
 * Proposed when a sync finds that an item's definition changed. Superseded when the definition changes back or again, or
 * when the item is blocked, retired or deleted. When it is applied, the item gets the provider's new definition with its
 * digest.
 */
export const acceptDrift: Rule<SubjectState> = {
  kind: 'accept_drift',
  evaluate({ provider, item, observations }) {
    if (provider.status === 'deleted' || !item?.drift) return null;
    if (item.status === 'blocked' || item.status === 'retired') return null;
    const drifted = observations.filter(({ drift }) => drift !== null);
    // If it was rejected and seen again, `block_item` is proposed instead.
    const isDecided = ({ status }: RuntimeObservation) => status === 'rejected' || status === 'ignored';
    if (drifted.some((one) => isDecided(one) || isRejectedAgain(one))) return null;
    // A new approval is a new cause, so it opens a recommendation again that a person dismissed before.
    const approvals = drifted.flatMap(({ status, review }) =>
      status === 'approved' && review ? review.reviewedAt : [],
    );
    const { kind, name, schemaDigest, title, description, attributes, drift } = item;
    const { detectedAt: _, ...changed } = drift;
    return {
      reason: `${provider.name} changed the definition of the ${kind} ${name} after it was accepted.`,
      cause: [drift.schemaDigest ?? '', ...approvals.toSorted().slice(-1)].join(' '),
      observations: drifted,
      change: {
        target: { type: 'inventory_item', id: item.id },
        before: { kind, name, schemaDigest, title, description, attributes, drift },
        after: { kind, name, ...changed, drift: null },
      },
    };
  },
};
