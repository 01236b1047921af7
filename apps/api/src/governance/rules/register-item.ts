import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import { type Change, isRejectedAgain, itemWithStatus, type Rule, type SubjectState } from './rule.ts';

/**
 * Proposed when a subject is used or denied and not declared, or when its item waits for a decision. For a subject that was
 * denied, the declaration of a manifest is not enough, because sessions grant only what the inventory has. Superseded when an
 * item or a manifest declares it. When it is applied, the subject becomes an available item of the provider's inventory. A
 * retired item becomes available again.
 */
export const registerItem: Rule<SubjectState> = {
  kind: 'register_item',
  evaluate(state) {
    const { provider, kind, name, item, observations } = state;
    if (provider.status === 'deleted') return null;
    const pending = item?.status === 'pending' ? item : null;
    // An observation without calls and denials comes from a sync alone.
    const undeclared = observations.filter(
      (one) =>
        (one.unknown || (one.denials > 0 && item === undefined)) &&
        (one.occurrences > 0 || one.denials > 0 || pending !== null) &&
        (one.status === 'approved' || (one.status === 'open' && !isRejectedAgain(one))),
    );
    if (undeclared.length === 0) return null;
    const approvals = undeclared.flatMap(({ status, review }) =>
      status === 'approved' && review ? review.reviewedAt : [],
    );
    return {
      reason: pending
        ? `${provider.name} lists the ${kind} ${name}, which was not there at its first sync, or came back after it was retired.${renamed(pending)}`
        : reasonOf(state, undeclared),
      // A new definition is a new cause, so it opens a recommendation again that a person dismissed before.
      cause: [approvals.toSorted().at(-1) ?? 'unknown', ...(pending?.schemaDigest ? [pending.schemaDigest] : [])].join(
        ' ',
      ),
      observations: undeclared,
      change: pending === null ? itemWithStatus(state, 'available') : acceptance(pending),
    };
  },
};

function reasonOf({ provider, kind, name }: SubjectState, undeclared: SubjectState['observations']): string {
  const isUsed = undeclared.some(({ occurrences }) => occurrences > 0);
  const what = `the ${kind} ${name} at ${provider.name}`;
  if (!undeclared.every(({ unknown }) => unknown)) {
    return `Gateways deny ${what}, because only a manifest declares it; no inventory item does.`;
  }
  const happens = isUsed ? `Agents use ${what}` : `Gateways deny ${what} to agents`;
  return `${happens}; no inventory item and no active manifest declares it.`;
}

/** Names the definition, so that a recommendation that a person saw is superseded when the definition changes. */
function acceptance({ id, kind, name, schemaDigest }: InventoryItem): Change {
  return {
    target: { type: 'inventory_item', id },
    before: { kind, name, status: 'pending', schemaDigest },
    after: { kind, name, status: 'available', schemaDigest },
  };
}

function renamed({ renamedFrom }: InventoryItem): string {
  return renamedFrom === null
    ? ''
    : ` It is renamed from ${renamedFrom}: it has the same definition, and ${renamedFrom} is no longer listed.`;
}
