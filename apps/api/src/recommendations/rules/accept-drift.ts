import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import { isRejectedAgain, type Rule, type SubjectState } from './rule.ts';

/**
 * Opens when a sync finds an item's definition changed; superseded when it is changed back, changed again, or the item is
 * blocked, retired or deleted. Applied: the item is what the provider made of it, digest, description and all.
 */
export const acceptDrift: Rule<SubjectState> = {
  kind: 'accept_drift',
  wanted({ provider, item, observations }) {
    if (provider.status === 'deleted' || !item?.drift) return null;
    if (item.status === 'blocked' || item.status === 'retired') return null;
    const rests = observations.filter(({ drift }) => drift !== null);
    // Seen again, what was rejected is to be blocked, not to be accepted.
    const isDecided = ({ status }: RuntimeObservation) => status === 'rejected' || status === 'ignored';
    if (rests.some((one) => isDecided(one) || isRejectedAgain(one))) return null;
    const { kind, name, schemaDigest, title, description, attributes, drift } = item;
    const { detectedAt: _, ...changed } = drift;
    return {
      reason: `${provider.name} changed the definition of the ${kind} ${name} after it was accepted.`,
      cause: drift.schemaDigest ?? '',
      rests,
      change: {
        target: { type: 'inventory_item', id: item.id },
        before: { kind, name, schemaDigest, title, description, attributes, drift },
        after: { kind, name, ...changed, drift: null },
      },
    };
  },
};
