import { setImmediate as breathe } from 'node:timers/promises';
import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameFamily } from '@quartermaster/db/name-family.ts';
import { nameKey } from '@quartermaster/db/name-key.ts';
import { calledNames } from '@quartermaster/db/provider-names.ts';
import { folded } from '@quartermaster/db/queries.ts';
import type { ProviderUses } from '@quartermaster/db/repositories/provider-uses.ts';
import { findProvidersDeclared } from '@quartermaster/db/repositories/providers.ts';
import type { FormerObservation } from '@quartermaster/db/repositories/recommendation-states.ts';
import {
  findObservationsOf,
  findObservationsOfFamilies,
  findObservationsWithAnswers,
  updateObservation,
} from '@quartermaster/db/repositories/runtime-observations.ts';
import { updateObservationStates } from '@quartermaster/db/repositories/seen-observations.ts';
import { scopeOf, type TenantPlace } from '@quartermaster/db/tenancy.ts';
import { changedFields } from '../audit-events/write.ts';
import { reconcileSubjects } from '../recommendations/reconcile.ts';
import {
  type BlockedAnswer,
  type Declared,
  declaredAt,
  declaredOfAll,
  declaringItemId,
  findBlockedAnswers,
} from './declared.ts';
import { usesOfAll } from './first-use.ts';
import { type Reviewed, settleReviewTasks } from './review-task.ts';
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
  const observations = await findObservationsOf(db, scopeOf(provider), provider.id);
  const changed = await recompute(
    db,
    provider,
    observations.map((observation) => ({ provider, observation })),
    undefined,
    now,
  );
  if (provider.status === 'deleted') return;
  const subjects = changed.filter(isOther).map(({ after: { kind, name } }) => ({ provider, kind, name }));
  await reconcileSubjects(db, provider, subjects, now);
}

/**
 * The same for one subject there and all names that a declaration of it covers, and for the recommendations about them.
 *
 * @param former what an undo brings back
 */
export async function recomputeSubject(
  db: Database,
  provider: Provider,
  { kind, name }: Subject,
  now: Date,
  former?: FormerStates,
): Promise<void> {
  await recomputeSubjects(db, provider, { subjects: [{ provider, kind, name }], former }, now);
}

/** The same for the subjects that declarations of a manifest name, and all that these cover. */
export async function recomputeDeclared(
  db: Database,
  place: TenantPlace,
  declarations: readonly (Subject & { provider: string })[],
  now: Date,
): Promise<void> {
  const names = [...new Set(declarations.map((declaration) => folded(declaration.provider)))];
  const ids = [...new Set(declarations.map((declaration) => declaration.provider))];
  const providers = await findProvidersDeclared(db, place, { names, ids });
  const byId = new Map(providers.map((provider) => [provider.id, provider]));
  const named = providers.flatMap((provider) => calledNames(provider).map((name) => ({ name, provider })));
  const byName = Map.groupBy(named, ({ name }) => name);
  const subjects = declarations.flatMap(({ provider: called, kind, name }) => {
    const meant = new Set(byName.get(folded(called))?.map(({ provider }) => provider));
    const identified = byId.get(called);
    if (identified) meant.add(identified);
    return [...meant].map((provider) => ({ provider, kind, name }));
  });
  await recomputeSubjects(db, place, { subjects }, now);
}

async function recomputeSubjects(
  db: Database,
  tenant: Pick<TenantPlace, 'tenantId'>,
  { subjects, former }: { subjects: readonly (Subject & { provider: Provider })[]; former?: FormerStates | undefined },
  now: Date,
): Promise<void> {
  const providers = new Map(subjects.map(({ provider }) => [provider.id, provider]));
  const covered: (Subject & { provider: Provider })[] = [];
  for (let start = 0; start < subjects.length; start += OF_TURN) {
    if (start > 0) await breathe();
    const some = subjects.slice(start, start + OF_TURN);
    const families = some.map(({ provider, kind, name }) => ({
      providerId: provider.id,
      kind,
      nameFamily: nameFamily(kind, nameKey(kind, name, provider.name)),
    }));
    const observations = await findObservationsOfFamilies(db, tenant, families);
    const answered = await findAnsweredObservations(db, tenant, some);
    // Names that are variants of one find the same twice.
    const distinct = new Map([...observations, ...answered].map((observation) => [observation.id, observation]));
    const observed = [...distinct.values()].flatMap((observation) => {
      const provider = providers.get(observation.providerId);
      return provider ? [{ provider, observation }] : [];
    });
    for (const { after } of (await recompute(db, tenant, observed, former, now)).filter(isOther)) {
      const provider = providers.get(after.providerId);
      if (provider) covered.push({ provider, kind: after.kind, name: after.name });
    }
  }
  await reconcileSubjects(db, tenant, [...covered, ...subjects], now);
}

/** The observations of other models whose calls some models answered. */
async function findAnsweredObservations(
  db: Database,
  tenant: Pick<TenantPlace, 'tenantId'>,
  subjects: readonly (Subject & { provider: Provider })[],
): Promise<RuntimeObservation[]> {
  const models = subjects.filter(({ kind }) => kind === 'model');
  if (models.length === 0) return [];
  const familyOf = (provider: Provider, name: string) =>
    `${provider.id} ${nameFamily('model', nameKey('model', name, provider.name))}`;
  const families = new Set(models.map(({ provider, name }) => familyOf(provider, name)));
  const providers = new Map(models.map(({ provider }) => [provider.id, provider]));
  const answered = await findObservationsWithAnswers(db, tenant, [...providers.keys()]);
  return answered.filter(({ providerId, evidence: { responseModels } }) => {
    const provider = providers.get(providerId);
    return provider && responseModels.some((model) => families.has(familyOf(provider, model)));
  });
}

/** Of an observation, rules look at nothing else that a declaration changes. */
function isOther({ before, after }: Changed): boolean {
  return before.unknown !== after.unknown || before.status !== after.status;
}

/** Weighs an observation again, after somebody decided about it. */
export async function recomputeRisk(
  db: Database,
  provider: Provider,
  observation: RuntimeObservation,
  now: Date,
): Promise<RuntimeObservation> {
  const { item } = await declaredAt(db, observation, provider, observation);
  const used = { provider, accounts: observation.evidence.accounts };
  const usesOf = await usesOfAll(db, provider, [used]);
  const { responseModels } = observation.evidence;
  const answersOf = await findBlockedAnswers(db, observation, [{ provider, kind: observation.kind, responseModels }]);
  const blockedAnswers = answersOf(provider, responseModels);
  const risk = riskOf({ provider, item, blockedAnswers, observation, uses: usesOf(used) }, now);
  return (await updateObservation(db, scopeOf(observation), observation.id, { risk }, now)) ?? observation;
}

/** Answers the observations that changed. In batches, each with a few statements: there may be 10,000. */
async function recompute(
  db: Database,
  tenant: Pick<TenantPlace, 'tenantId'>,
  observed: readonly Reviewed[],
  former: FormerStates | undefined,
  now: Date,
): Promise<Changed[]> {
  const changed: Changed[] = [];
  for (let start = 0; start < observed.length; start += OF_TURN) {
    if (start > 0) await breathe();
    changed.push(...(await recomputeSome(db, tenant, observed.slice(start, start + OF_TURN), former, now)));
  }
  return changed;
}

async function recomputeSome(
  db: Database,
  tenant: Pick<TenantPlace, 'tenantId'>,
  observed: readonly Reviewed[],
  former: FormerStates | undefined,
  now: Date,
): Promise<Changed[]> {
  const seen = observed.map(({ provider, observation }) => {
    const { tenantId, subTenantId, kind, name, evidence } = observation;
    const key = nameKey(kind, name, provider.name);
    const { accounts, responseModels } = evidence;
    return { provider, before: observation, accounts, responseModels, tenantId, subTenantId, kind, nameKey: key };
  });
  const declaredOf = await declaredOfAll(db, tenant, seen);
  const usesOf = await usesOfAll(db, tenant, seen);
  const blockedAnswersOf = await findBlockedAnswers(db, tenant, seen);
  const states = seen.map((one) => {
    const { provider, before } = one;
    const blockedAnswers = blockedAnswersOf(provider, one.responseModels);
    const known = { declared: declaredOf(one), blockedAnswers, uses: usesOf(one), former: former?.get(before.id) };
    const state = stateOf(provider, before, known, now);
    return { provider, before, after: { ...before, ...state }, isSame: changedFields(before, state).length === 0 };
  });
  const changed = states.filter(({ isSame }) => !isSame);
  // A review is kept or ended here, never made: as it is stored it says more than it shows.
  const stored = changed.map(({ before, after }) => ({
    ...after,
    isReviewSpent: after.review === null && before.review !== null,
  }));
  await updateObservationStates(db, tenant, stored, now);
  // Of a deleted provider nothing is left to decide, whatever it is.
  const settled = states.filter(({ provider, isSame }) => provider.status === 'deleted' || !isSame);
  await settleReviewTasks(
    db,
    tenant,
    settled.map(({ provider, after }) => ({ provider, observation: after })),
    now,
  );
  return changed;
}

/** What an observation is weighed by. */
type Known = {
  declared: Declared;
  blockedAnswers: readonly BlockedAnswer[];
  uses: ProviderUses;
  former: FormerObservation | undefined;
};

function stateOf(
  provider: Provider,
  observation: RuntimeObservation,
  { declared, blockedAnswers, uses, former }: Known,
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
  return { ...state, risk: riskOf({ provider, item: declared.item, blockedAnswers, observation: seen, uses }, now) };
}
