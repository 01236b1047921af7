import { setImmediate as breathe } from 'node:timers/promises';
import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameKey } from '@quartermaster/db/name-key.ts';
import { folded } from '@quartermaster/db/queries.ts';
import { findProviderUses } from '@quartermaster/db/repositories/provider-uses.ts';
import { findProvidersDeclared } from '@quartermaster/db/repositories/providers.ts';
import type { FormerObservation } from '@quartermaster/db/repositories/recommendations.ts';
import { findObservationsOf, updateObservation } from '@quartermaster/db/repositories/runtime-observations.ts';
import { scopeOf, type TenantPlace } from '@quartermaster/db/tenancy.ts';
import { changedFields } from '../audit-events/write.ts';
import { reconcileSubject } from '../recommendations/reconcile.ts';
import { declaredAt, declaringItemId } from './declared.ts';
import { settleReviewTask } from './review-task.ts';
import { riskOf } from './risk.ts';
import { statusAfter } from './status.ts';

type Subject = { kind: InventoryKind; name: string };

/** What observations were, by their ids, where an undo brings that back. */
export type FormerStates = ReadonlyMap<string, FormerObservation>;

/** Observations looked at before the event loop gets a turn: the database answers without giving it one. */
const OF_TURN = 200;

/** Looks again at everything that is observed of a provider, after it or what is declared of it changed. */
export async function recomputeProvider(db: Database, provider: Provider, now: Date): Promise<void> {
  const changed = new Map<string, Subject>();
  for (const { kind, name } of await recompute(db, provider, undefined, undefined, now)) {
    changed.set(JSON.stringify([kind, name]), { kind, name });
  }
  for (const [index, subject] of [...changed.values()].entries()) {
    if (index % OF_TURN === OF_TURN - 1) await breathe();
    await reconcileSubject(db, provider, subject, now);
  }
}

/**
 * The same for one subject there, and for the recommendations about it.
 *
 * @param former what an undo brings back
 */
export async function recomputeSubject(
  db: Database,
  provider: Provider,
  subject: Subject,
  now: Date,
  former?: FormerStates,
): Promise<void> {
  await recompute(db, provider, subject, former, now);
  await reconcileSubject(db, provider, subject, now);
}

/** The same for the subjects that declarations of a manifest name. */
export async function recomputeDeclared(
  db: Database,
  place: TenantPlace,
  declarations: readonly (Subject & { provider: string })[],
  now: Date,
): Promise<void> {
  const names = [...new Set(declarations.map((declaration) => folded(declaration.provider)))];
  const ids = [...new Set(declarations.map((declaration) => declaration.provider))];
  const providers = await findProvidersDeclared(db, place, { names, ids });
  for (const { provider: called, kind, name } of declarations) {
    const named = providers.filter((provider) => provider.id === called || folded(provider.name) === folded(called));
    for (const provider of named) await recomputeSubject(db, provider, { kind, name }, now);
  }
}

/** Weighs an observation again, after somebody decided about it. */
export async function recomputeRisk(
  db: Database,
  provider: Provider,
  observation: RuntimeObservation,
  now: Date,
): Promise<RuntimeObservation> {
  const { item } = await declaredAt(db, observation, provider, observation);
  const uses = await findProviderUses(db, provider, provider.id, observation.evidence.accounts);
  const risk = riskOf({ provider, item, observation, uses }, now);
  return (await updateObservation(db, scopeOf(observation), observation.id, { risk }, now)) ?? observation;
}

/** Answers the observations that changed. */
async function recompute(
  db: Database,
  provider: Provider,
  subject: Subject | undefined,
  former: FormerStates | undefined,
  now: Date,
): Promise<RuntimeObservation[]> {
  const scope = scopeOf(provider);
  const key = subject && { kind: subject.kind, nameKey: nameKey(subject.kind, subject.name, provider.name) };
  const observations = await findObservationsOf(db, scope, { providerId: provider.id, ...key });
  const changed: RuntimeObservation[] = [];
  for (const [index, observation] of observations.entries()) {
    if (index % OF_TURN === OF_TURN - 1) await breathe();
    const change = await stateOf(db, provider, observation, former?.get(observation.id), now);
    const isSame = changedFields(observation, change).length === 0;
    // Of a deleted provider nothing is left to decide, whatever it is.
    if (isSame && provider.status !== 'deleted') continue;
    const updated = await updateObservation(db, scope, observation.id, storedChange(observation, change), now);
    if (!updated) continue;
    await settleReviewTask(db, provider, updated, now);
    changed.push(updated);
  }
  return changed;
}

async function stateOf(
  db: Database,
  provider: Provider,
  observation: RuntimeObservation,
  former: FormerObservation | undefined,
  now: Date,
) {
  const declared = await declaredAt(db, observation, provider, observation);
  const { drift } = former ?? observation;
  // What somebody resolved by hand is asked again when it is seen again, not when something else changes around it.
  const isAskedAgain = observation.status !== 'resolved' || (declared.unknown && !observation.unknown);
  const isKept = provider.status === 'deleted' || !isAskedAgain;
  const after = isKept ? observation : statusAfter({ ...observation, drift }, declared);
  // A decision that was made since is not undone with the change.
  const isAsReviewed = former !== undefined && former.reviewedAt === (observation.review?.reviewedAt ?? null);
  const { status, review } = isAsReviewed ? { status: former.status, review: observation.review } : after;
  const state = { unknown: declared.unknown, inventoryItemId: declaringItemId(declared), status, review, drift };
  const uses = await findProviderUses(db, provider, provider.id, observation.evidence.accounts);
  const seen = { ...observation, ...state };
  return { ...state, risk: riskOf({ provider, item: declared.item, observation: seen, uses }, now) };
}

/** A review is kept or ended here, never made: as it is stored it says more than it shows. */
function storedChange<C extends { review: RuntimeObservation['review'] }>(observation: RuntimeObservation, change: C) {
  const { review, ...rest } = change;
  return { ...rest, ...(review === null && observation.review !== null && { review }) };
}
