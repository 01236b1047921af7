import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameKey } from '@quartermaster/db/name-key.ts';
import { addToObservationCounts } from '@quartermaster/db/repositories/observation-counts.ts';
import { findObservationOf, updateObservation } from '@quartermaster/db/repositories/runtime-observations.ts';
import { insertObservation } from '@quartermaster/db/repositories/seen-observations.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';

type Drifted = Pick<InventoryItem, 'kind' | 'name'> & { drift: null };
type Drift = NonNullable<RuntimeObservation['drift']>;

const NO_EVIDENCE = {
  serviceNames: [],
  serverAddresses: [],
  operations: [],
  accounts: [],
  names: [],
  responseModels: [],
  errors: 0,
};

/**
 * Lets the observation of an item, in the provider's own place, say what a sync found of it: a changed definition opens
 * it, whatever was decided about the former one, unless the item itself was rejected. Made where no span reported the item yet.
 * What follows from that is for the caller to settle.
 */
export async function settleDrift(
  db: Database,
  provider: Provider,
  item: InventoryItem | Drifted,
  now: Date,
): Promise<void> {
  const { kind, name } = item;
  const identity = { providerId: provider.id, kind, nameKey: nameKey(kind, name, provider.name) };
  const observation = await findObservationOf(db, provider, identity);
  const drift = item.drift === null || isAtRest(item, observation) ? null : driftOf(item);
  if (observation) {
    if (observation.drift?.after.schemaDigest === drift?.after.schemaDigest) return;
    await updateObservation(db, scopeOf(provider), observation.id, { drift, ...decisionOn(observation, drift) }, now);
    return;
  }
  if (drift === null || item.drift === null) return;
  await insertObservation(
    db,
    provider,
    {
      ...identity,
      name,
      ...{ unknown: false, status: 'open', occurrences: 0, drift, inventoryItemId: item.id },
      ...{ firstSeenAt: drift.detectedAt, lastSeenAt: drift.detectedAt, lastTraceId: null, lastSpanId: null },
      ...{ evidence: NO_EVIDENCE, risk: { level: 'high', factors: [] } },
    },
    now,
  );
  await addToObservationCounts(db, provider, [{ subTenantId: provider.subTenantId, firstAccount: '', by: 1 }]);
}

/**
 * What remains of a decision when a definition changes again, or back. One that was made since the former change was about
 * that change: it ends with it. A rejection of before was about the item, and stays.
 */
function decisionOn(
  { status, review, drift: former }: RuntimeObservation,
  drift: Drift | null,
): Partial<Pick<RuntimeObservation, 'status'> & { review: null }> {
  const isOfChange = former !== null && review !== null && review.reviewedAt >= former.detectedAt;
  if (drift !== null) return status === 'rejected' && !isOfChange ? {} : { status: 'open', review: null };
  return isOfChange && review.decision !== 'approved' ? { status: 'resolved', review: null } : {};
}

/** Of what is blocked or retired, and used by nobody, nothing is to be decided until it is available again. */
function isAtRest({ status }: InventoryItem, observation: RuntimeObservation | undefined): boolean {
  return (status === 'blocked' || status === 'retired') && (observation?.occurrences ?? 0) === 0;
}

function driftOf({ schemaDigest, title, description, attributes, drift }: InventoryItem): Drift | null {
  if (drift === null) return null;
  const { detectedAt, ...after } = drift;
  return { before: { schemaDigest, title, description, attributes }, after, detectedAt };
}
