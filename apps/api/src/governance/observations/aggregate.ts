import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import { inBatches } from '@quartermaster/db/batches.ts';
import { together } from '@quartermaster/db/prepared-statement.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { newId } from '@quartermaster/db/ids.ts';
import { insertDiscoveredProviders } from '@quartermaster/db/repositories/discovered-providers.ts';
import {
  type AccountCounts,
  addToAccountCounts,
  findAccountCounts,
} from '@quartermaster/db/repositories/observation-accounts.ts';
import type { ProviderUses } from '@quartermaster/db/repositories/provider-uses.ts';
import { findObservationsInPlace } from '@quartermaster/db/repositories/runtime-observations.ts';
import { insertObservations, updateSeenObservations } from '@quartermaster/db/repositories/seen-observations.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { TenantLimits } from '../../platform/tenant-limits.ts';
import {
  type BlockedAnswer,
  type DeclaredState,
  declaringItemId,
  findBlockedAnswers,
  findDeclaredStates,
} from '../declarations/declared.ts';
import { wasDeniedByManifest } from '../declarations/manifest-denials.ts';
import { subjectKey } from '../declarations/subject-key.ts';
import { reconcileDiscovered, reconcileSubjects } from '../rules/reconcile.ts';
import { admitSightings, type ObservedSighting, type Unobserved } from './admit-sightings.ts';
import { type Block, findBlockBefore, openBlockedUseTasks } from './blocked-use-task.ts';
import { findUses, recordUses } from './first-use.ts';
import { removeUnused } from './remove-unused.ts';
import { reopenReviewTasks, updateReviewTasks } from './review-task.ts';
import { computeRisk } from './risk.ts';
import { addEvidence, addRecentAccount, laterOf, type Sighting, seenTimes } from './sightings.ts';
import { computeStatus, statusAfterSighting } from './status.ts';

/**
 * A sighting, the observation of its subject before and after the sighting was added, and the change to the counts of the
 * sending account.
 */
type Aggregated = ObservedSighting & {
  observation: RuntimeObservation;
  isReviewObsolete: boolean;
  change: AccountCounts;
  /** The block that was in force before the use: of the subject, of a model that answered, or of the provider. */
  blockedBy: Block | undefined;
};

/** What aggregation may add. */
export type AggregationLimits = {
  /** Observations that a tenant may have. */
  observations: number;
  /** Limits how many providers may be discovered. */
  tenantLimits: TenantLimits;
  /** Usage series that a tenant may have. */
  usageSeries: number;
  /** For how many days the tenant keeps usage. */
  usageRetentionDays: number;
};

type Aggregation = {
  sightings: readonly Sighting[];
  /** Discovered providers that are not stored yet. */
  newProviders: ReadonlySet<Provider>;
  /** The account that sent the spans or log records, as evidence names it. */
  sender: string;
  limits: Pick<AggregationLimits, 'observations' | 'tenantLimits'>;
};

/** Sightings per batch. Most statements run once for each batch. */
const BATCH_SIZE = 64;

/**
 * Adds calls to observations, one observation for each (tenant, sub-tenant, provider, kind, name). Runs in the transaction
 * that stores the spans or log records that report the calls, so counts are exact when an exporter retries. A count can go
 * down, when calls turn out to belong to another subject, but only by calls that the same account reported.
 *
 * @returns how many calls were not observed because a limit or a fair share was full, and the new providers that were not
 *   stored for that reason
 */
export async function aggregateSightings(
  db: Database,
  place: TenantPlace,
  { sightings, newProviders, sender, limits }: Aggregation,
  now: Date,
): Promise<{ unobserved: Unobserved; refused: ReadonlySet<Provider> }> {
  const ofKnownProviders = sightings.filter(({ provider }) => !newProviders.has(provider));
  const formerOf = await findFormerObservations(db, place, ofKnownProviders);
  const all = sightings
    .map((sighting) => ({ sighting, former: formerOf(sighting) }))
    .filter(({ sighting, former }) => former || sighting.count > 0 || sighting.denied !== undefined);
  const { admitted, unobserved } = await admitSightings(db, place, { all, newProviders, sender, limits }, now);
  const stored = new Set(
    admitted.map(({ sighting }) => sighting.provider).filter((provider) => newProviders.has(provider)),
  );
  await insertDiscoveredProviders(db, place, { providers: [...stored], account: sender });
  for await (const batch of inBatches(admitted, BATCH_SIZE)) {
    await aggregateBatch(db, place, { batch, sender }, now);
  }
  return { unobserved, refused: new Set([...newProviders].filter((provider) => !stored.has(provider))) };
}

/** Finds the observations of sightings in the place. Returns a look-up function. */
async function findFormerObservations(db: Database, place: TenantPlace, sightings: readonly Sighting[]) {
  const found = new Map<string, RuntimeObservation>();
  for await (const batch of inBatches(sightings, BATCH_SIZE)) {
    const observations = await findObservationsInPlace(db, place, batch);
    for (const { nameKey, ...observation } of observations) {
      found.set(subjectKey({ ...observation, nameKey }), observation);
    }
  }
  return (sighting: Sighting) => found.get(subjectKey(sighting));
}

async function aggregateBatch(
  db: Database,
  place: TenantPlace,
  { batch, sender }: { batch: readonly ObservedSighting[]; sender: string },
  now: Date,
): Promise<void> {
  const aggregated = await aggregateEach(db, place, { batch, sender }, now);
  const created = aggregated.filter(({ former }) => !former);
  const unused = aggregated.filter(isUnused);
  const updated = aggregated.filter((result) => result.former && !isUnused(result));
  const remaining = aggregated.filter((result) => !isUnused(result));
  await together(db, [
    () =>
      insertObservations(
        db,
        place,
        created.map(({ observation, sighting: { nameKey } }) => ({ ...observation, nameKey, firstAccount: sender })),
        now,
      ),
    () =>
      updateSeenObservations(
        db,
        place,
        updated.map(({ observation, isReviewObsolete }) => ({ ...observation, isReviewObsolete })),
        now,
      ),
    () => reopenReviewTasks(db, place, remaining.filter(hasSameState).map(atProvider), now),
  ]);
  // After the insertions, because its rows refer to observations.
  await addToAccountCounts(db, place, { changes: remaining.flatMap(accountChange), account: sender });
  await updateTasksAndRecommendations(db, place, remaining, now);
  const blockedUses = remaining.flatMap((result) =>
    result.blockedBy ? [{ ...atProvider(result), blockedBy: result.blockedBy }] : [],
  );
  await openBlockedUseTasks(db, place, blockedUses, now);
  await removeUnused(db, place, unused.map(atProvider), now);
}

function accountChange({ observation, change }: Aggregated) {
  return change.occurrences === 0 && change.errors === 0 ? [] : [{ observationId: observation.id, ...change }];
}

/** Computes the new observation of each sighting. */
async function aggregateEach(
  db: Database,
  place: TenantPlace,
  { batch, sender }: { batch: readonly ObservedSighting[]; sender: string },
  now: Date,
): Promise<Aggregated[]> {
  const subjects = batch.map((observed) => {
    const { sighting, former } = observed;
    const { provider, kind, nameKey } = sighting;
    const isSeen = sighting.latest !== '';
    const accounts =
      isSeen || sighting.denied
        ? addRecentAccount(former?.evidence.accounts ?? [], sender)
        : (former?.evidence.accounts ?? []);
    const responseModels = [...new Set([...(former?.evidence.responseModels ?? []), ...sighting.responseModels])];
    return { ...observed, ...place, provider, kind, nameKey, accounts, responseModels };
  });
  // A denial is not a use.
  const [denied, used] = [subjects.filter(isDenialOnly), subjects.filter((subject) => !isDenialOnly(subject))];
  const [declaredOf, blockedAnswersOf, usesOf, formerUsesOf, changeOf] = await together(db, [
    () => findDeclaredStates(db, place, subjects),
    () => findBlockedAnswers(db, place, subjects),
    () => recordUses(db, place, { used, account: sender }, now),
    () => findUses(db, place, denied),
    () => findChanges(db, place, { batch, sender }),
  ]);
  return subjects.map((subject) =>
    aggregateOne(subject, {
      declared: declaredOf(subject),
      blockedAnswers: blockedAnswersOf(subject.provider, subject.responseModels),
      uses: isDenialOnly(subject) ? formerUsesOf(subject) : usesOf(subject),
      change: changeOf(subject),
      accounts: subject.accounts,
      place,
      now,
    }),
  );
}

/**
 * Finds what sightings change in the counts of observations. A sighting takes back at most the calls that the sender reported
 * of this observation. Others were never counted in it: they were left out at a limit, or counted in an observation that was
 * deleted later.
 */
async function findChanges(
  db: Database,
  place: TenantPlace,
  { batch, sender }: { batch: readonly ObservedSighting[]; sender: string },
): Promise<(observed: ObservedSighting) => AccountCounts> {
  const lowered = batch.flatMap(({ sighting: { removed }, former }) =>
    former && (removed.count > 0 || removed.errors > 0) ? [former.id] : [],
  );
  const accountCounts = await findAccountCounts(db, place, { observationIds: lowered, account: sender });
  return ({ sighting: { count, errors, removed }, former }) => {
    const reported = former && accountCounts.get(former.id);
    return {
      occurrences: count - Math.min(removed.count, reported?.occurrences ?? 0),
      errors: errors - Math.min(removed.errors, reported?.errors ?? 0),
    };
  };
}

function isDenialOnly({ sighting }: Pick<ObservedSighting, 'sighting'>): boolean {
  return sighting.denied !== undefined && sighting.latest === '';
}

/** Whether all calls of an observation turned out to belong to other subjects, and it has no review and no drift. */
function isUnused({ former, observation }: Aggregated): boolean {
  if (!former || former.review !== null || former.drift !== null) return false;
  return former.occurrences > 0 && observation.occurrences === 0 && observation.denials === 0;
}

/** Whether the tasks and recommendations of an observation stay as they are. They depend only on `unknown` and `status`. */
function hasSameState({ former, observation }: Aggregated): boolean {
  return former?.unknown === observation.unknown && former.status === observation.status;
}

/** Updates the review tasks and recommendations of observations that were created or changed. */
async function updateTasksAndRecommendations(
  db: Database,
  place: TenantPlace,
  aggregated: readonly Aggregated[],
  now: Date,
): Promise<void> {
  const discovered = aggregated.filter(({ former, sighting }) => !former && sighting.provider.status === 'discovered');
  await reconcileDiscovered(db, place, discovered.map(atProvider), now);
  const changed = aggregated.filter((result) => !hasSameState(result));
  await updateReviewTasks(db, place, changed.map(atProvider), now);
  await reconcileSubjects(
    db,
    place,
    changed.map(({ sighting: { provider, kind, name } }) => ({ provider, kind, name })),
    now,
  );
}

function atProvider({ sighting: { provider }, observation }: Aggregated) {
  return { provider, observation };
}

function aggregateOne(
  { sighting, former }: ObservedSighting,
  {
    declared,
    blockedAnswers,
    uses,
    accounts,
    change,
    place,
    now,
  }: {
    declared: DeclaredState;
    blockedAnswers: readonly BlockedAnswer[];
    uses: ProviderUses;
    accounts: string[];
    change: AccountCounts;
    place: TenantPlace;
    now: Date;
  },
): Aggregated {
  const { provider, providerId, kind, name } = sighting;
  const { tenantId, subTenantId } = place;
  const time = now.toISOString();
  const before = former
    ? { ...former, status: statusWithSighting(former, sighting, declared, now) }
    : ({ status: 'open', review: null, drift: null } as const);
  const occurrences = (former?.occurrences ?? 0) + change.occurrences;
  const errors = (former?.evidence.errors ?? 0) + change.errors;
  const denials = (former?.denials ?? 0) + (sighting.denied?.count ?? 0);
  const lastDeniedAt = sighting.denied
    ? laterOf(former?.lastDeniedAt ?? '', sighting.denied.lastAt)
    : (former?.lastDeniedAt ?? null);
  // Only the fold of denials and changes of manifests open it for this reason, or end that: telemetry reads no manifests.
  const isDeniedByManifest = former !== undefined && former.status !== 'resolved' && wasDeniedByManifest(former);
  const { status, review } = computeStatus({ ...before, occurrences, denials }, { ...declared, isDeniedByManifest });
  const evidence = addEvidence(former?.evidence, sighting, {
    accounts,
    errors,
    blockedModels: blockedAnswers.map(({ model }) => model),
  });
  const { unknown, item } = declared;
  const observation: RuntimeObservation = {
    ...(former ?? { id: newId('obs', now), tenantId, subTenantId, providerId, kind, name, createdAt: time }),
    unknown,
    inventoryItemId: declaringItemId(declared),
    occurrences,
    denials,
    lastDeniedAt,
    evidence,
    status,
    review,
    drift: before.drift,
    updatedAt: time,
    risk: computeRisk(
      {
        provider,
        item,
        blockedAnswers,
        observation: { unknown, status, review, occurrences, denials, lastDeniedAt, evidence },
        uses,
      },
      now,
    ),
    ...seenTimes(former, sighting),
  };
  const isReviewObsolete = former?.review != null && review === null;
  const blockedBy = findBlock(sighting, { item, blockedAnswers }, now);
  return { sighting, former, observation, change, isReviewObsolete, blockedBy };
}

/** Finds the block that was in force before a sighting: an item for its subject or for a model that answered, or its provider. */
function findBlock(
  { provider, latest, hasNewCall, responseModels }: Sighting,
  { item, blockedAnswers }: { item: InventoryItem | undefined; blockedAnswers: readonly BlockedAnswer[] },
  now: Date,
): Block | undefined {
  if (latest === '') return undefined;
  const answers = blockedAnswers.filter(({ model }) => responseModels.has(model));
  return findBlockBefore([item, ...answers.map((answer) => answer.item), provider], {
    latest: new Date(latest),
    now,
    hasNewCall,
  });
}

function statusWithSighting(
  former: RuntimeObservation,
  { latest, hasNewCall }: Sighting,
  declared: DeclaredState,
  now: Date,
): RuntimeObservation['status'] {
  return latest === ''
    ? former.status
    : statusAfterSighting(former, declared, { latest: new Date(latest), now, hasNewCall });
}
