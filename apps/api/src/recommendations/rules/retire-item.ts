import type { Rule, SubjectState } from './rule.ts';

/**
 * Opens when a sync does not find an item any more; superseded when it comes back, or somebody retires, blocks or
 * deletes it. Applied: the item is retired, and no new session grants it.
 */
export const retireItem: Rule<SubjectState> = {
  kind: 'retire_item',
  wanted({ provider, item, observations }) {
    if (provider.status === 'deleted' || item?.status !== 'missing') return null;
    const { kind, name, lastSeenAt } = item;
    return {
      reason: `${provider.name} no longer offers the ${kind} ${name}; a sync found it last on ${lastSeenAt}.`,
      cause: lastSeenAt,
      rests: observations,
      change: {
        target: { type: 'inventory_item', id: item.id },
        before: { kind, name, status: 'missing' },
        after: { kind, name, status: 'retired' },
      },
    };
  },
};
