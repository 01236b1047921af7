import type { InventoryItem, InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Recommendation, RecommendationKind } from '@quartermaster/contracts/recommendations.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';

/** What applying a recommendation changes. Undoing it makes the same change backwards. */
export type Change = Recommendation['change'];

/** Why a recommendation should stand open, and what it would change. */
export type Wanted = {
  /** In words, for people. */
  reason: string;
  /** What it is made for: one that somebody dismissed is not made again for the same cause. */
  cause: string;
  /** The observations that it rests on. */
  rests: readonly RuntimeObservation[];
  change: Change;
};

/**
 * A rule says of a state whether its recommendation should stand open. It opens when this becomes so, and is superseded
 * when it is so no more, or would change something else.
 */
export type Rule<State> = {
  kind: RecommendationKind;
  /** @param standing whether one is open already */
  wanted(state: State, standing: boolean): Wanted | null;
};

/** A model, tool or agent of a provider as it is now: declared, observed, both or neither. */
export type SubjectState = {
  provider: Provider;
  kind: InventoryKind;
  name: string;
  item: InventoryItem | undefined;
  /** The item that says what holds for the name: that one, or one that covers it. */
  deciding: InventoryItem | undefined;
  /** Those of it, in whatever sub-tenants. */
  observations: readonly RuntimeObservation[];
};

/** The change that gives an inventory item a status, or makes the item with it. */
export function itemWithStatus({ kind, name, item }: SubjectState, status: 'available' | 'blocked'): Change {
  if (!item) {
    const after = { kind, name, status, source: 'recommendation' };
    return { target: { type: 'inventory_item', id: null }, before: null, after };
  }
  return {
    target: { type: 'inventory_item', id: item.id },
    before: { kind, name: item.name, status: item.status },
    after: { kind, name: item.name, status },
  };
}

/** Whether a person's rejection stands, although it was seen again since. */
export function isRejectedAgain({ status, review }: Pick<RuntimeObservation, 'status' | 'review'>): boolean {
  return status === 'open' && review?.decision === 'rejected';
}
