import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import { inBatches } from '@quartermaster/db/batches.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameKey } from '@quartermaster/naming/name-key.ts';
import type { ProviderUses } from '@quartermaster/db/repositories/provider-uses.ts';
import type { FormerObservation } from '@quartermaster/db/repositories/recommendation-states.ts';
import { updateObservation } from '@quartermaster/db/repositories/runtime-observations.ts';
import { updateObservationStates } from '@quartermaster/db/repositories/seen-observations.ts';
import { scopeOf, type TenantPlace } from '@quartermaster/db/tenancy.ts';
import { changedFields } from '../../platform/audit/audited-write.ts';
import {
  type BlockedAnswer,
  type DeclaredState,
  declaringItemId,
  findBlockedAnswers,
  findDeclaredState,
  findDeclaredStates,
} from '../declarations/declared.ts';
import { findDenyingManifests } from '../declarations/manifest-denials.ts';
import { findUses } from './first-use.ts';
import { cancelObservationTasks } from './observation-tasks.ts';
import { type ObservationAtProvider, updateReviewTasks } from './review-task.ts';
import { computeRisk, isBlockedUse } from './risk.ts';
import { computeStatus } from './status.ts';

/** An observation before and after it was recomputed. */
export type Recomputed = { before: RuntimeObservation; after: RuntimeObservation };

/** The former states of observations, by their ids. An undo restores them. */
export type FormerStates = ReadonlyMap<string, FormerObservation>;

type Recomputation = {
  observed: readonly ObservationAtProvider[];
  former?: FormerStates | undefined;
  /** Whether resolved observations open that a manifest denies: a gateway has just denied them. */
  opensDenied?: boolean;
};

/** Observations per batch. Most statements run once for each batch. */
const BATCH_SIZE = 200;

/**
 * Recomputes observations of a tenant, and updates their tasks. A provider may have 10,000 observations, so this
 * works in batches.
 *
 * @returns those that changed
 */
export async function recompute(
  db: Database,
  tenant: Pick<TenantPlace, 'tenantId'>,
  { observed, former, opensDenied = false }: Recomputation,
  now: Date,
): Promise<Recomputed[]> {
  const changed: Recomputed[] = [];
  for await (const batch of inBatches(observed, BATCH_SIZE)) {
    changed.push(...(await recomputeBatch(db, tenant, { observed: batch, former, opensDenied }, now)));
  }
  return changed;
}

/** Recomputes the risk of an observation after a review. */
export async function recomputeRisk(
  db: Database,
  provider: Provider,
  observation: RuntimeObservation,
  now: Date,
): Promise<RuntimeObservation> {
  const { item } = await findDeclaredState(db, observation, provider, observation);
  const used = { provider, accounts: observation.evidence.accounts };
  const usesOf = await findUses(db, provider, [used]);
  const { responseModels } = observation.evidence;
  const answersOf = await findBlockedAnswers(db, observation, [{ provider, kind: observation.kind, responseModels }]);
  const blockedAnswers = answersOf(provider, responseModels);
  const risk = computeRisk({ provider, item, blockedAnswers, observation, uses: usesOf(used) }, now);
  return (await updateObservation(db, scopeOf(observation), observation.id, { risk }, now)) ?? observation;
}

async function recomputeBatch(
  db: Database,
  tenant: Pick<TenantPlace, 'tenantId'>,
  { observed, former, opensDenied = false }: Recomputation,
  now: Date,
): Promise<Recomputed[]> {
  const subjects = observed.map(({ provider, observation }) => {
    const { tenantId, subTenantId, kind, name, evidence } = observation;
    const key = nameKey(kind, name, provider.name);
    const { accounts, responseModels } = evidence;
    return { provider, before: observation, accounts, responseModels, tenantId, subTenantId, kind, nameKey: key };
  });
  const declaredOf = await findDeclaredStates(db, tenant, subjects);
  const usesOf = await findUses(db, tenant, subjects);
  const blockedAnswersOf = await findBlockedAnswers(db, tenant, subjects);
  const denyingOf = await findDenyingManifests(db, tenant, observed);
  const recomputed = subjects.map((subject) => {
    const { provider, before, responseModels } = subject;
    const state = computeState(
      provider,
      before,
      {
        declared: { ...declaredOf(subject), isDeniedByManifest: denyingOf(before).length > 0 },
        opensDenied,
        blockedAnswers: blockedAnswersOf(provider, responseModels),
        uses: usesOf(subject),
        former: former?.get(before.id),
      },
      now,
    );
    const isChanged = changedFields(before, state).length > 0;
    return { provider, before, after: { ...before, ...state }, isChanged };
  });
  const changed = recomputed.filter(({ isChanged }) => isChanged);
  // Reviews are only kept or removed here. The stored review has more fields than the API shows, so it is not rewritten.
  const stored = changed.map(({ before, after }) => ({
    ...after,
    isReviewObsolete: after.review === null && before.review !== null,
  }));
  await updateObservationStates(db, tenant, stored, now);
  // Observations of a deleted provider need no review, even if they did not change.
  const withTasks = recomputed.filter(({ provider, isChanged }) => provider.status === 'deleted' || isChanged);
  await updateReviewTasks(
    db,
    tenant,
    withTasks.map(({ provider, after }) => ({ provider, observation: after, denying: denyingOf(after) })),
    now,
  );
  const noLongerBlocked = changed.filter(({ before, after }) => isBlockedUse(before) && !isBlockedUse(after));
  const observations = noLongerBlocked.map(({ after }) => after);
  await cancelObservationTasks(db, tenant, { kind: 'investigate_blocked_use', observations }, now);
  return changed;
}

type StateInputs = {
  declared: DeclaredState & { isDeniedByManifest: boolean };
  opensDenied: boolean;
  blockedAnswers: readonly BlockedAnswer[];
  uses: ProviderUses;
  /** The state that an undo restores. */
  former: FormerObservation | undefined;
};

function computeState(
  provider: Provider,
  observation: RuntimeObservation,
  { declared, opensDenied, blockedAnswers, uses, former }: StateInputs,
  now: Date,
) {
  const { drift } = former ?? observation;
  // An undo restores the former status, unless a person reviewed the observation since then.
  const isRestored = former !== undefined && former.reviewedAt === (observation.review?.reviewedAt ?? null);
  const current = isRestored ? { ...observation, status: former.status } : observation;
  // A resolved observation opens here only if its declaration is gone, or a denial was folded. Otherwise the next sighting opens it.
  const lostDeclaration = !isRestored && declared.unknown && !observation.unknown;
  const mayChange = current.status !== 'resolved' || lostDeclaration || (opensDenied && declared.isDeniedByManifest);
  const { status, review } =
    provider.status === 'deleted' || !mayChange ? current : computeStatus({ ...current, drift }, declared);
  const state = { unknown: declared.unknown, inventoryItemId: declaringItemId(declared), status, review, drift };
  const risk = computeRisk(
    { provider, item: declared.item, blockedAnswers, observation: { ...observation, ...state }, uses },
    now,
  );
  return { ...state, risk };
}
