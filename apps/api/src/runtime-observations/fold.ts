import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { newId } from '@quartermaster/db/ids.ts';
import { insertDiscoveredProviders } from '@quartermaster/db/repositories/discovered-providers.ts';
import type { ProviderUses } from '@quartermaster/db/repositories/provider-uses.ts';
import { findObservationsInPlace } from '@quartermaster/db/repositories/runtime-observations.ts';
import { insertObservations, updateSeenObservations } from '@quartermaster/db/repositories/seen-observations.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { reconcileDiscovered, reconcileSubjects } from '../recommendations/reconcile.ts';
import type { TenantLimits } from '../tenants/limits.ts';
import { type BlockedAnswer, type Declared, declaredOfAll, declaringItemId, findBlockedAnswers } from './declared.ts';
import { usesNow } from './first-use.ts';
import { askAgain, settleReviewTasks } from './review-task.ts';
import { riskOf } from './risk.ts';
import { removeUnused } from './remove-unused.ts';
import { accountsOf, evidenceOf, type Sighting, seenIn } from './sightings.ts';
import { statusAfter, statusSeenAgain } from './status.ts';
import { subjectKey } from './subject-key.ts';
import { type Seen, type Unobserved, withinLimits } from './within-limits.ts';

/** A sighting, and what is observed of its subject now. */
type Folded = Seen & { observation: RuntimeObservation; isReviewSpent: boolean };

/** What folding may add at most. */
export type FoldLimits = {
  /** Observations that a tenant may have. */
  observations: number;
  /** Says how many providers may still be discovered. */
  tenantLimits: TenantLimits;
  /** Series of usage that a tenant may have. */
  usageSeries: number;
  /** For how many days the tenant keeps usage. */
  usageRetentionDays: number;
};

/** Sightings folded before the event loop gets a turn: the database answers without giving it one. */
const BATCH_SIZE = 64;

/**
 * Adds calls to observations, one for each (tenant, sub-tenant, provider, kind, name), in the transaction that stores the
 * spans or log records that tell of them: so counts are exact under retries. Counts go down where calls turn out to be of
 * another subject. It takes the same few statements for one subject as for {@link BATCH_SIZE}.
 *
 * @param made discovered providers that are not stored yet
 * @param sender who sent them, as evidence has it
 * @param limits what the tenant may have of observations and of providers
 * @returns how many calls were not observed, because a limit or a share of it was full, and the providers that were not
 *   stored for that reason
 */
export async function foldSightings(
  db: Database,
  place: TenantPlace,
  { sightings, made, sender, limits }: Folding,
  now: Date,
): Promise<{ unobserved: Unobserved; refused: ReadonlySet<Provider> }> {
  const formerOf = await findFormer(
    db,
    place,
    sightings.filter(({ provider }) => !made.has(provider)),
  );
  const all = sightings
    .map((sighting) => ({ sighting, former: formerOf(sighting) }))
    .filter(({ sighting, former }) => former || sighting.count > 0);
  const { kept, unobserved } = await withinLimits(db, place, { all, made, sender, limits }, now);
  const discovered = new Set(kept.map(({ sighting }) => sighting.provider).filter((provider) => made.has(provider)));
  await insertDiscoveredProviders(db, place, { providers: [...discovered], account: sender });
  for (let start = 0; start < kept.length; start += BATCH_SIZE) {
    if (start > 0) await yieldToEventLoop();
    await fold(db, place, { seen: kept.slice(start, start + BATCH_SIZE), sender }, now);
  }
  return { unobserved, refused: new Set([...made].filter((provider) => !discovered.has(provider))) };
}

type Folding = {
  sightings: readonly Sighting[];
  made: ReadonlySet<Provider>;
  sender: string;
  limits: FoldLimits;
};

/** What is observed in the place of the subjects of some sightings. */
async function findFormer(db: Database, place: TenantPlace, sightings: readonly Sighting[]) {
  const found = new Map<string, RuntimeObservation>();
  for (let start = 0; start < sightings.length; start += BATCH_SIZE) {
    if (start > 0) await yieldToEventLoop();
    const some = await findObservationsInPlace(db, place, sightings.slice(start, start + BATCH_SIZE));
    for (const { nameKey, ...observation } of some) found.set(subjectKey({ ...observation, nameKey }), observation);
  }
  return (sighting: Sighting) => found.get(subjectKey(sighting));
}

async function fold(
  db: Database,
  place: TenantPlace,
  { seen, sender }: { seen: readonly Seen[]; sender: string },
  now: Date,
): Promise<void> {
  const observed = seen.map((one) => ({
    ...{ ...one, ...place, provider: one.sighting.provider, kind: one.sighting.kind, nameKey: one.sighting.nameKey },
    accounts:
      one.sighting.latest === '' ? (one.former?.evidence.accounts ?? []) : accountsOf(one.former?.evidence, sender),
    responseModels: [...(one.former?.evidence.responseModels ?? []), ...one.sighting.responseModels],
  }));
  const declaredOf = await declaredOfAll(db, place, observed);
  const blockedAnswersOf = await findBlockedAnswers(db, place, observed);
  const usesOf = await usesNow(db, place, { used: observed, account: sender }, now);
  const folded = observed.map((one) =>
    foldOne(one, {
      declared: declaredOf(one),
      blockedAnswers: blockedAnswersOf(one.provider, one.responseModels),
      uses: usesOf(one),
      accounts: one.accounts,
      place,
      now,
    }),
  );
  const added = folded.filter(({ former }) => !former);
  const unused = folded.filter(isUnused);
  const known = folded.filter((one) => one.former && !isUnused(one));
  await insertObservations(
    db,
    place,
    added.map(({ observation, sighting: { nameKey } }) => ({ ...observation, nameKey, firstAccount: sender })),
    now,
  );
  await updateSeenObservations(
    db,
    place,
    known.map(({ observation, isReviewSpent }) => ({ ...observation, isReviewSpent })),
    now,
  );
  await settle(
    db,
    place,
    folded.filter((one) => !isUnused(one)),
    now,
  );
  await removeUnused(
    db,
    place,
    unused.map(({ sighting: { provider }, observation }) => ({ provider, observation })),
    now,
  );
}

/** Whether all calls of an observation turned out to be of other subjects, and nothing else is known of it. */
function isUnused({ former, observation }: Folded): boolean {
  return former !== undefined && former.occurrences > 0 && observation.occurrences === 0 && !isDecided(former);
}

/** Whether a person or a sync said something of an observation, which stays with it. */
function isDecided({ review, drift }: RuntimeObservation): boolean {
  return review !== null || drift !== null;
}

/** What follows from what was observed. */
async function settle(db: Database, place: TenantPlace, folded: readonly Folded[], now: Date): Promise<void> {
  const toReviewed = ({ sighting: { provider }, observation }: Folded) => ({ provider, observation });
  const discovered = folded.filter(({ former, sighting }) => !former && sighting.provider.status === 'discovered');
  await reconcileDiscovered(db, place, discovered.map(toReviewed), now);
  // What follows from it was done when it became what it is.
  const isSame = ({ former, observation }: Folded) =>
    former?.unknown === observation.unknown && former.status === observation.status;
  await askAgain(db, place, folded.filter(isSame).map(toReviewed), now);
  const changed = folded.filter((one) => !isSame(one));
  await settleReviewTasks(db, place, changed.map(toReviewed), now);
  await reconcileSubjects(
    db,
    place,
    changed.map(({ sighting: { provider, kind, name } }) => ({ provider, kind, name })),
    now,
  );
}

function foldOne(
  { sighting, former }: Seen,
  known: {
    declared: Declared;
    blockedAnswers: readonly BlockedAnswer[];
    uses: ProviderUses;
    accounts: string[];
    place: TenantPlace;
    now: Date;
  },
): Folded {
  const { provider, providerId, kind, name } = sighting;
  const { declared, blockedAnswers, uses, accounts, place, now } = known;
  const isSeen = sighting.latest !== '';
  const decided = former
    ? !isSeen
      ? former
      : { ...former, status: statusSeenAgain(former, declared, { latest: new Date(sighting.latest), now }) }
    : ({ status: 'open', review: null, drift: null } as const);
  const occurrences = Math.max(0, (former?.occurrences ?? 0) + sighting.count);
  const { status, review } = statusAfter({ ...decided, occurrences }, declared);
  const evidence = evidenceOf(former?.evidence, sighting, accounts);
  const { unknown, item } = declared;
  const time = now.toISOString();
  const { tenantId, subTenantId } = place;
  const observation: RuntimeObservation = {
    ...(former ?? { id: newId('obs', now), tenantId, subTenantId, providerId, kind, name, createdAt: time }),
    ...{ unknown, inventoryItemId: declaringItemId(declared), occurrences, evidence, status, review },
    ...{ drift: decided.drift, updatedAt: time },
    risk: riskOf({ provider, item, blockedAnswers, observation: { unknown, status, review, evidence }, uses }, now),
    ...seenIn(former, sighting),
  };
  return { sighting, former, observation, isReviewSpent: former?.review != null && review === null };
}
