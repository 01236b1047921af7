import type { InventoryItem, InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Recommendation, RecommendationKind } from '@quartermaster/contracts/recommendations.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { DenyingManifest } from '../declarations/manifest-denials.ts';

/** What applying a recommendation changes. Undo applies it with `before` and `after` exchanged. */
export type Change = Recommendation['change'];

/** What a rule proposes: the content of a recommendation. */
export type Proposal = {
  /** A sentence for people. */
  reason: string;
  /** Identifies why it is proposed. A recommendation that a person dismissed is not opened again for the same cause. */
  cause: string;
  /** The observations that it is based on. */
  observations: readonly RuntimeObservation[];
  change: Change;
};

/**
 * A rule returns what it proposes for a state, or null. A recommendation opens when its rule proposes something, and is
 * superseded when the rule proposes nothing or another change.
 */
export type Rule<State> = {
  kind: RecommendationKind;
  /** @param isOpen whether a recommendation of this kind is open for the state's subject */
  evaluate(state: State, isOpen: boolean): Proposal | null;
};

/** A model, tool, agent, prompt or resource of a provider, as it is declared and observed now. */
export type SubjectState = {
  provider: Provider;
  kind: InventoryKind;
  name: string;
  /** The inventory item with exactly this name. */
  item: InventoryItem | undefined;
  /** The inventory item that decides for the name: `item`, or one that covers it. */
  deciding: InventoryItem | undefined;
  /** The observations of the subject, in all sub-tenants. */
  observations: readonly RuntimeObservation[];
  /** The manifests that deny it now, at gateways that denied it. */
  denying: readonly DenyingManifest[];
};

/** The change that sets the status of an inventory item, or creates the item with this status. */
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

/** Whether an observation was rejected, and opened again because it was seen after that. */
export function isRejectedAgain({ status, review }: Pick<RuntimeObservation, 'status' | 'review'>): boolean {
  return status === 'open' && review?.decision === 'rejected';
}
