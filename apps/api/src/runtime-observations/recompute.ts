import { setImmediate as breathe } from 'node:timers/promises';
import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameKey } from '@quartermaster/db/name-key.ts';
import { folded } from '@quartermaster/db/queries.ts';
import { findProviderUses } from '@quartermaster/db/repositories/provider-uses.ts';
import { findProvidersDeclared } from '@quartermaster/db/repositories/providers.ts';
import type { FormerObservation } from '@quartermaster/db/repositories/recommendation-states.ts';
import {
  findObservationsOf,
  updateObservation,
  updateObservationStates,
} from '@quartermaster/db/repositories/runtime-observations.ts';
import { scopeOf, type TenantPlace } from '@quartermaster/db/tenancy.ts';
import { changedFields } from '../audit-events/write.ts';
import { reconcileSubject } from '../recommendations/reconcile.ts';
import { type Declared, declaredAt, declaredOfAll, declaringItemId } from './declared.ts';
import type { ProviderUses } from './first-use.ts';
import { settleReviewTasks } from './review-task.ts';
import { riskOf } from './risk.ts';
import { statusAfter } from './status.ts';

type Subject = { kind: InventoryKind; name: string };

/** An observation as it was, and as it is now that it was looked at again. */
type Changed = { before: RuntimeObservation; after: RuntimeObservation };

/** What observations were, by their ids, where an undo brings that back. */
export type FormerStates = ReadonlyMap<string, FormerObservation>;

/** Observations looked at before the event loop gets a turn: the database answers without giving it one. */
const OF_TURN = 200;

/**
 * Looks again at everything that is observed of a provider, after it or what is declared of it changed. What is
 * recommended of a deleted one is for the caller to end.
 */
export async function recomputeProvider(db: Database, provider: Provider, now: Date): Promise<void> {
  const subjects = new Map<string, Subject>();
  for (const { before, after } of await recompute(db, provider, undefined, undefined, now)) {
    // Of an observation, rules look at nothing else that a provider changes.
    if (before.unknown === after.unknown && before.status === after.status) continue;
    const { kind, name } = after;
    subjects.set(JSON.stringify([kind, name]), { kind, name });
  }
  if (provider.status === 'deleted') return;
  for (const [index, subject] of [...subjects.values()].entries()) {
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

/** Answers the observations that changed. In batches, each with a few statements: there may be 10,000. */
async function recompute(
  db: Database,
  provider: Provider,
  subject: Subject | undefined,
  former: FormerStates | undefined,
  now: Date,
): Promise<Changed[]> {
  const key = subject && { kind: subject.kind, nameKey: nameKey(subject.kind, subject.name, provider.name) };
  const observations = await findObservationsOf(db, scopeOf(provider), { providerId: provider.id, ...key });
  const changed: Changed[] = [];
  for (let start = 0; start < observations.length; start += OF_TURN) {
    if (start > 0) await breathe();
    changed.push(...(await recomputeSome(db, provider, observations.slice(start, start + OF_TURN), former, now)));
  }
  return changed;
}

async function recomputeSome(
  db: Database,
  provider: Provider,
  observations: readonly RuntimeObservation[],
  former: FormerStates | undefined,
  now: Date,
): Promise<Changed[]> {
  const declaredOf = await declaredOfAll(db, provider, observations);
  const usesOf = await knownUses(db, provider, observations);
  const states = observations.map((before) => {
    const known = { declared: declaredOf(before), uses: usesOf(before), former: former?.get(before.id) };
    const state = stateOf(provider, before, known, now);
    return { before, after: { ...before, ...state }, isSame: changedFields(before, state).length === 0 };
  });
  const changed = states.filter(({ isSame }) => !isSame);
  // A review is kept or ended here, never made: as it is stored it says more than it shows.
  const stored = changed.map(({ before, after }) => ({
    ...after,
    isReviewSpent: after.review === null && before.review !== null,
  }));
  await updateObservationStates(db, scopeOf(provider), stored, now);
  // Of a deleted provider nothing is left to decide, whatever it is.
  const settled = provider.status === 'deleted' ? states : changed;
  await settleReviewTasks(
    db,
    provider,
    settled.map(({ after }) => after),
    now,
  );
  return changed;
}

/** The uses of a provider by the accounts of some observations. */
async function knownUses(db: Database, provider: Provider, observations: readonly RuntimeObservation[]) {
  const accounts = new Set(observations.flatMap(({ evidence }) => evidence.accounts));
  const { first, uses } = await findProviderUses(db, provider, provider.id, [...accounts]);
  const byAccount = new Map(uses.map((use) => [use.account, use]));
  return ({ evidence }: RuntimeObservation) => ({
    first,
    uses: evidence.accounts.flatMap((account) => byAccount.get(account) ?? []),
  });
}

function stateOf(
  provider: Provider,
  observation: RuntimeObservation,
  { declared, uses, former }: { declared: Declared; uses: ProviderUses; former: FormerObservation | undefined },
  now: Date,
) {
  const { drift } = former ?? observation;
  // What somebody resolved by hand is asked again when it is seen again, not when something else changes around it.
  const isAskedAgain = observation.status !== 'resolved' || (declared.unknown && !observation.unknown);
  const isKept = provider.status === 'deleted' || !isAskedAgain;
  const after = isKept ? observation : statusAfter({ ...observation, drift }, declared);
  // A decision that was made since is not undone with the change.
  const isAsReviewed = former !== undefined && former.reviewedAt === (observation.review?.reviewedAt ?? null);
  const { status, review } = isAsReviewed ? { status: former.status, review: observation.review } : after;
  const state = { unknown: declared.unknown, inventoryItemId: declaringItemId(declared), status, review, drift };
  const seen = { ...observation, ...state };
  return { ...state, risk: riskOf({ provider, item: declared.item, observation: seen, uses }, now) };
}
