import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameKey } from '@quartermaster/db/name-key.ts';
import { addToObservationCounts } from '@quartermaster/db/repositories/observation-counts.ts';
import { findObservationOfSubject, updateObservation } from '@quartermaster/db/repositories/runtime-observations.ts';
import { insertObservation } from '@quartermaster/db/repositories/seen-observations.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';

/** An item that was removed from the inventory. */
type RemovedItem = Pick<InventoryItem, 'kind' | 'name'> & { drift: null };
type Drift = NonNullable<RuntimeObservation['drift']>;

const NO_EVIDENCE = {
  serviceNames: [],
  serverAddresses: [],
  operations: [],
  accounts: [],
  names: [],
  responseModels: [],
  environments: [],
  errors: 0,
};

/**
 * Copies an item's drift to its observation in the provider's own place. A changed definition opens the observation,
 * whatever was decided about the former definition, unless the item itself was rejected. Creates the observation if no span
 * reported the item yet. The caller recomputes and reconciles afterwards.
 */
export async function updateDrift(
  db: Database,
  provider: Provider,
  item: InventoryItem | RemovedItem,
  now: Date,
): Promise<void> {
  const { kind, name } = item;
  const identity = { providerId: provider.id, kind, nameKey: nameKey(kind, name, provider.name) };
  const observation = await findObservationOfSubject(db, provider, identity);
  const drift = item.drift === null || isOutOfUse(item, observation) ? null : driftOf(item);
  if (observation) {
    if (observation.drift?.after.schemaDigest === drift?.after.schemaDigest) return;
    const change = { drift, ...decisionAfterDrift(observation, drift) };
    await updateObservation(db, scopeOf(provider), observation.id, change, now);
    return;
  }
  if (drift === null || item.drift === null) return;
  await insertObservation(
    db,
    provider,
    {
      ...identity,
      name,
      unknown: false,
      status: 'open',
      occurrences: 0,
      drift,
      inventoryItemId: item.id,
      firstSeenAt: drift.detectedAt,
      lastSeenAt: drift.detectedAt,
      lastTraceId: null,
      lastSpanId: null,
      evidence: NO_EVIDENCE,
      risk: { level: 'high', factors: [] },
    },
    now,
  );
  await addToObservationCounts(db, provider, [{ subTenantId: provider.subTenantId, firstAccount: '', by: 1 }]);
}

/**
 * The decision of an observation after its definition changed again, or changed back. A decision that was made after the
 * former change was about that change, and is removed with it. An earlier rejection was about the item, and stays.
 */
function decisionAfterDrift(
  { status, review, drift: former }: RuntimeObservation,
  drift: Drift | null,
): Partial<Pick<RuntimeObservation, 'status'> & { review: null }> {
  const isOfChange = former !== null && review !== null && review.reviewedAt >= former.detectedAt;
  if (drift !== null) return status === 'rejected' && !isOfChange ? {} : { status: 'open', review: null };
  return isOfChange && review.decision !== 'approved' ? { status: 'resolved', review: null } : {};
}

/** A blocked or retired item without traffic needs no decision until it is available again. */
function isOutOfUse({ status }: InventoryItem, observation: RuntimeObservation | undefined): boolean {
  return (status === 'blocked' || status === 'retired') && (observation?.occurrences ?? 0) === 0;
}

function driftOf({ schemaDigest, title, description, attributes, drift }: InventoryItem): Drift | null {
  if (drift === null) return null;
  const { detectedAt, ...after } = drift;
  return { before: { schemaDigest, title, description, attributes }, after, detectedAt };
}
