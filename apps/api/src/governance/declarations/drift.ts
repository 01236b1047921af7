import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { newId } from '@quartermaster/db/ids.ts';
import { nameKey } from '@quartermaster/naming/name-key.ts';
import { addToObservationCounts } from '@quartermaster/db/repositories/observation-counts.ts';
import { findObservationsInPlace, type NewObservation } from '@quartermaster/db/repositories/runtime-observations.ts';
import {
  insertObservations,
  type ObservationState,
  updateObservationStates,
} from '@quartermaster/db/repositories/seen-observations.ts';
import { subjectKey } from './subject-key.ts';

/** An item that was removed from the inventory. */
type RemovedItem = Pick<InventoryItem, 'kind' | 'name'> & { drift: null; status: 'removed' };
type Drift = NonNullable<RuntimeObservation['drift']>;

const NO_EVIDENCE = {
  serviceNames: [],
  agents: [],
  serverAddresses: [],
  operations: [],
  accounts: [],
  names: [],
  responseModels: [],
  environments: [],
  errors: 0,
  deniedReasons: [],
  sources: [],
};

/**
 * Copies the drift of items to their observations in the provider's own place. A changed definition opens the observation,
 * whatever was decided about the former definition, unless the item itself was rejected. Creates the observation of an item
 * that no span reported yet, if its definition changed or it is pending. The caller recomputes and reconciles afterwards.
 */
export async function updateDrifts(
  db: Database,
  provider: Provider,
  items: readonly (InventoryItem | RemovedItem)[],
  now: Date,
): Promise<void> {
  const subjects = items.map((item) => {
    const { kind, name } = item;
    return { item, providerId: provider.id, kind, nameKey: nameKey(kind, name, provider.name) };
  });
  const observations = await findObservationsInPlace(db, provider, subjects);
  const observationOf = new Map(observations.map((observation) => [subjectKey(observation), observation]));
  const changed: ObservationState[] = [];
  const added: (NewObservation & { id: string; firstAccount: '' })[] = [];
  for (const { item, ...identity } of subjects) {
    const observation = observationOf.get(subjectKey(identity));
    const drift = item.drift === null || isOutOfUse(item, observation) ? null : driftOf(item);
    if (observation) {
      if (observation.drift?.after.schemaDigest === drift?.after.schemaDigest) continue;
      changed.push({ ...observation, drift, ...decisionAfterDrift(observation, drift) });
    } else if (item.status !== 'removed' && (drift !== null || item.status === 'pending')) {
      added.push({ ...identity, ...unseen(item, drift, now), id: newId('obs', now), firstAccount: '' });
    }
  }
  await updateObservationStates(db, provider, changed, now);
  await insertObservations(db, provider, added, now);
  await addToObservationCounts(db, provider, [
    { subTenantId: provider.subTenantId, firstAccount: '', by: added.length },
  ]);
}

/** An observation of an item that no span reported yet. */
function unseen({ id, name, status }: InventoryItem, drift: Drift | null, now: Date) {
  const seenAt = drift?.detectedAt ?? now.toISOString();
  const isPending = status === 'pending';
  return {
    name,
    unknown: isPending,
    status: 'open' as const,
    occurrences: 0,
    denials: 0,
    lastDeniedAt: null,
    drift,
    inventoryItemId: isPending ? null : id,
    firstSeenAt: seenAt,
    lastSeenAt: seenAt,
    lastTraceId: null,
    lastSpanId: null,
    evidence: NO_EVIDENCE,
    risk: { level: 'high' as const, factors: [] },
  };
}

/**
 * The decision of an observation after its definition changed again, or changed back. A decision that was made after the former
 * change was about that change, so it is removed. A rejection before the former change was about the item itself, so it stays.
 */
function decisionAfterDrift(
  { status, review, drift: former }: RuntimeObservation,
  drift: Drift | null,
): Pick<ObservationState, 'status' | 'isReviewObsolete'> {
  const unchanged = { status, isReviewObsolete: false };
  const isOfChange = former !== null && review !== null && review.reviewedAt >= former.detectedAt;
  if (drift !== null) {
    return status === 'rejected' && !isOfChange ? unchanged : { status: 'open', isReviewObsolete: true };
  }
  return isOfChange && review.decision !== 'approved' ? { status: 'resolved', isReviewObsolete: true } : unchanged;
}

/** A blocked or retired item without traffic needs no decision until it is available again. */
function isOutOfUse({ status }: Pick<InventoryItem, 'status'>, observation: RuntimeObservation | undefined): boolean {
  return (status === 'blocked' || status === 'retired') && (observation?.occurrences ?? 0) === 0;
}

function driftOf({ schemaDigest, title, description, attributes, drift }: InventoryItem): Drift | null {
  if (drift === null) return null;
  const { detectedAt, ...after } = drift;
  return { before: { schemaDigest, title, description, attributes }, after, detectedAt };
}
