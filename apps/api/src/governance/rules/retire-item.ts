import type { Rule, SubjectState } from './rule.ts';

/**
 * Proposed when a sync no longer finds an item. Superseded when the item comes back, or is retired, blocked or deleted.
 * When it is applied, the item is retired, and no new session grants it.
 */
export const retireItem: Rule<SubjectState> = {
  kind: 'retire_item',
  evaluate({ provider, item, observations }) {
    if (provider.status === 'deleted' || item?.status !== 'missing') return null;
    const { kind, name, lastSeenAt } = item;
    return {
      reason: `${provider.name} no longer offers the ${kind} ${name}; a sync found it last on ${lastSeenAt}.`,
      cause: lastSeenAt,
      observations,
      change: {
        target: { type: 'inventory_item', id: item.id },
        before: { kind, name, status: 'missing' },
        after: { kind, name, status: 'retired' },
      },
    };
  },
};
