import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';
import { SYNCED_KINDS } from '@quartermaster/contracts/inventory-syncs.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Rule } from './rule.ts';

export type RemovalState = {
  provider: Provider;
  /** The available items that the last sync did not find, and when one of them was last found. */
  held: { count: number; lastSeenAt: string | null };
};

/**
 * Proposed when a sync finds none, or less than half, of the available items of a provider. Superseded when a later sync finds
 * enough items, or when the number of items that are not found changes. When it is applied, the items become missing, and their
 * retirement is recommended.
 */
export const confirmRemovals: Rule<RemovalState> = {
  kind: 'confirm_removals',
  evaluate({ provider, held }) {
    if (provider.health !== 'doubtful' || held.count === 0) return null;
    const { id, name, healthReason } = provider;
    return {
      reason: `${name} may have lost items by mistake: ${healthReason}. Until this is applied, ${held.count} of them stay available.`,
      cause: `${held.lastSeenAt} ${held.count}`,
      observations: [],
      change: {
        target: { type: 'provider', id },
        before: { health: 'doubtful', missingItems: 0 },
        after: { health: 'healthy', missingItems: held.count },
      },
    };
  },
};

/** The kinds of items that become missing at a provider when syncs do not find them. */
export function removableKinds({ kind }: Pick<Provider, 'kind'>): readonly InventoryKind[] {
  return kind === 'llm' || kind === 'mcp' ? SYNCED_KINDS[kind] : [];
}
