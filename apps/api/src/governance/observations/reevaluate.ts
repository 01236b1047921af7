import type { InventoryItem, InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import { inBatches } from '@quartermaster/db/batches.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameFamily } from '@quartermaster/naming/name-family.ts';
import { nameKey } from '@quartermaster/naming/name-key.ts';
import { caseFoldedNames } from '@quartermaster/naming/provider-names.ts';
import { caseFolded } from '@quartermaster/naming/case-folded.ts';
import { findObservationsDeniedByManifest } from '@quartermaster/db/repositories/manifest-denials.ts';
import { finishOperatorTask } from '@quartermaster/db/repositories/operator-tasks.ts';
import { findProviders, findProvidersDeclared } from '@quartermaster/db/repositories/providers.ts';
import { supersedeRecommendationsOfProvider } from '@quartermaster/db/repositories/recommendation-states.ts';
import {
  findObservationsByIds,
  findObservationsOfAnyProvider,
  findObservationsOfFamilies,
  findObservationsOfProvider,
} from '@quartermaster/db/repositories/runtime-observations.ts';
import { scopeOf, type TenantPlace, wholeTenant } from '@quartermaster/db/tenancy.ts';
import { updateDrifts } from '../declarations/drift.ts';
import { adoptionTask, reconcileProvider, reconcileSubjects } from '../rules/reconcile.ts';
import { findObservationsAnsweredBy } from './answered-by.ts';
import { type FormerStates, recompute, type Recomputed } from './recompute.ts';
import type { ObservationAtProvider } from './review-task.ts';
import type { BlockCandidates } from './revoke-sessions.ts';

// These functions are called in the transaction that changes a declaration. They recompute the observations that it affects,
// then reconcile the recommendations about them.

type Subject = { kind: InventoryKind; name: string };
type ProviderSubject = Subject & { provider: Provider };

/** Subjects per batch. The observations of a batch are read at once. */
const BATCH_SIZE = 200;

/**
 * Reevaluates inventory items of a provider that were created, changed, or found missing by a sync. Also copies their drift to
 * their observations.
 *
 * @param former the states that an undo restores. They contain the drift, so it is not copied from the items
 * @returns the items that `revokeSessionsOfBlocked` has to check at the end of the request
 */
export async function reevaluateItems(
  trx: Database,
  provider: Provider,
  items: readonly InventoryItem[],
  now: Date,
  former?: FormerStates,
): Promise<BlockCandidates> {
  if (!former) await updateDrifts(trx, provider, items, now);
  const subjects = items.map(({ kind, name }) => ({ provider, kind, name }));
  await reevaluateSubjectsOfItems(trx, provider, { subjects, former }, now);
  return items.filter(({ status }) => status === 'blocked' || status === 'retired' || status === 'pending');
}

/** {@link reevaluateItems} for an inventory item that was deleted. */
export async function reevaluateRemovedItem(
  trx: Database,
  provider: Provider,
  item: Pick<InventoryItem, 'kind' | 'name'>,
  now: Date,
  former?: FormerStates,
): Promise<BlockCandidates> {
  if (!former)
    await updateDrifts(trx, provider, [{ kind: item.kind, name: item.name, drift: null, status: 'removed' }], now);
  await reevaluateSubjectsOfItems(trx, provider, { subjects: [{ ...item, provider }], former }, now);
  return [item];
}

/** Reevaluates an item that a manifest allows now, or no longer allows. */
export async function reevaluateAllowed(
  trx: Database,
  provider: Provider,
  item: Subject,
  now: Date,
  former?: FormerStates,
): Promise<void> {
  await reevaluateSubjectsOfItems(trx, provider, { subjects: [{ ...item, provider }], former }, now);
}

/**
 * Reevaluates observations of a tenant that gateways denied because of their manifests.
 *
 * @param opens whether resolved ones open: a gateway has just denied them
 */
export async function reevaluateDenied(
  db: Database,
  tenant: Pick<TenantPlace, 'tenantId'>,
  { observed, opens }: { observed: readonly ObservationAtProvider[]; opens: boolean },
  now: Date,
): Promise<void> {
  await recompute(db, tenant, { observed, opensDenied: opens }, now);
  const subjects = observed.map(({ provider, observation: { kind, name } }) => ({ provider, kind, name }));
  await reconcileSubjects(db, tenant, subjects, now);
}

/**
 * Reevaluates what gateways denied because of their manifests, because another manifest or another version counts now.
 *
 * @returns how many observations these are
 */
export async function reevaluateDeniedAt(
  db: Database,
  tenant: Pick<TenantPlace, 'tenantId'>,
  gatewayIds: readonly string[],
  now: Date,
): Promise<number> {
  const ids = await findObservationsDeniedByManifest(db, tenant, gatewayIds);
  for await (const batch of inBatches(ids, BATCH_SIZE)) {
    const observations = await findObservationsByIds(db, tenant, batch);
    const providerIds = [...new Set(observations.map(({ providerId }) => providerId))];
    const found = await findProviders(db, wholeTenant(tenant.tenantId), providerIds);
    const providers = new Map(found.map((provider) => [provider.id, provider]));
    const observed = observations.flatMap((observation) => {
      const provider = providers.get(observation.providerId);
      return provider ? [{ provider, observation }] : [];
    });
    await reevaluateDenied(db, tenant, { observed, opens: false }, now);
  }
  return ids.length;
}

/** Reevaluates a provider that was declared, renamed, moved or deleted, and finishes the task to adopt it. */
export async function reevaluateProvider(trx: Database, provider: Provider, now: Date): Promise<void> {
  await reevaluateObservations(trx, provider, now);
  if (provider.status === 'deleted') await supersedeRecommendationsOfProvider(trx, scopeOf(provider), provider.id, now);
  else await reconcileProvider(trx, provider, now);
  if (provider.status === 'discovered') return;
  const isDeleted = provider.status === 'deleted';
  const answered = { ...adoptionTask(provider), outcome: isDeleted ? null : 'adopted' } as const;
  await finishOperatorTask(trx, scopeOf(provider), answered, isDeleted ? 'cancelled' : 'succeeded', now);
}

/** Reevaluates what the given declarations of a manifest name, and all names that they cover. */
export async function reevaluateDeclared(
  db: Database,
  place: TenantPlace,
  declarations: readonly (Subject & { provider: string })[],
  now: Date,
): Promise<void> {
  const names = [...new Set(declarations.map((declaration) => caseFolded(declaration.provider)))];
  const ids = [...new Set(declarations.map((declaration) => declaration.provider))];
  const providers = await findProvidersDeclared(db, place, { names, ids });
  const byId = new Map(providers.map((provider) => [provider.id, provider]));
  const named = providers.flatMap((provider) => caseFoldedNames(provider).map((name) => ({ name, provider })));
  const byName = Map.groupBy(named, ({ name }) => name);
  const subjects = declarations.flatMap(({ provider: nameOrId, kind, name }) => {
    const meant = new Set(byName.get(caseFolded(nameOrId))?.map(({ provider }) => provider));
    const identified = byId.get(nameOrId);
    if (identified) meant.add(identified);
    return [...meant].map((provider) => ({ provider, kind, name }));
  });
  const affected = await reevaluateSubjects(db, place, { subjects }, now);
  // A manifest changes no item, so recommendations change only with observations.
  await reconcileSubjects(db, place, affected, now);
}

/**
 * Reevaluates the observations of an agent, at all providers, because its first manifest was published or its last one deleted.
 *
 * @returns the number of these observations
 */
export async function reevaluateAgent(db: Database, place: TenantPlace, name: string, now: Date): Promise<number> {
  const families = [{ kind: 'agent', nameFamily: nameFamily('agent', name) }] as const;
  const observations = await findObservationsOfAnyProvider(db, place, families);
  const ids = [...new Set(observations.map(({ providerId }) => providerId))];
  const tenantScope = wholeTenant(place.tenantId);
  const providers = new Map((await findProviders(db, tenantScope, ids)).map((provider) => [provider.id, provider]));
  const observed = observations.flatMap((observation) => {
    const provider = providers.get(observation.providerId);
    return provider ? [{ provider, observation }] : [];
  });
  const changed = new Set(
    (await recompute(db, place, { observed }, now)).filter(affectsRules).map(({ after }) => after.id),
  );
  const affected = observed.filter(({ observation }) => changed.has(observation.id));
  await reconcileSubjects(
    db,
    place,
    affected.map(({ provider, observation: { kind } }) => ({ provider, kind, name })),
    now,
  );
  return observed.length;
}

/** Reevaluates all observations of a provider. The caller closes the recommendations of a deleted provider. */
async function reevaluateObservations(db: Database, provider: Provider, now: Date): Promise<void> {
  const subjects: ProviderSubject[] = [];
  let batch: RuntimeObservation[] = [];
  do {
    const page = { after: batch.at(-1), limit: BATCH_SIZE };
    batch = await findObservationsOfProvider(db, provider, provider.id, page);
    const observed = batch.map((observation) => ({ provider, observation }));
    const changed = (await recompute(db, provider, { observed }, now)).filter(affectsRules);
    subjects.push(...changed.map(({ after: { kind, name } }) => ({ provider, kind, name })));
  } while (batch.length === BATCH_SIZE);
  if (provider.status !== 'deleted') await reconcileSubjects(db, provider, subjects, now);
}

/** Reevaluates subjects whose items changed. Their recommendations may change even if none of their observations does. */
async function reevaluateSubjectsOfItems(
  db: Database,
  provider: Provider,
  changed: Parameters<typeof reevaluateSubjects>[2],
  now: Date,
): Promise<void> {
  const affected = await reevaluateSubjects(db, provider, changed, now);
  await reconcileSubjects(db, provider, [...affected, ...changed.subjects], now);
}

/**
 * Reevaluates the observations of subjects of a tenant, and of all names that a declaration of one of them may cover.
 *
 * @returns the subjects whose recommendations may change as well
 */
async function reevaluateSubjects(
  db: Database,
  tenant: Pick<TenantPlace, 'tenantId'>,
  { subjects, former }: { subjects: readonly ProviderSubject[]; former?: FormerStates | undefined },
  now: Date,
): Promise<ProviderSubject[]> {
  const providers = new Map(subjects.map(({ provider }) => [provider.id, provider]));
  const affected: ProviderSubject[] = [];
  for await (const batch of inBatches(subjects, BATCH_SIZE)) {
    const families = batch.map(({ provider, kind, name }) => ({
      providerId: provider.id,
      kind,
      nameFamily: nameFamily(kind, nameKey(kind, name, provider.name)),
    }));
    const covered = await findObservationsOfFamilies(db, tenant, families);
    const answered = await findObservationsAnsweredBy(db, tenant, batch);
    // Subjects of one family find the same observations, so each is taken once.
    const distinct = new Map([...covered, ...answered].map((observation) => [observation.id, observation]));
    const observed = [...distinct.values()].flatMap((observation) => {
      const provider = providers.get(observation.providerId);
      return provider ? [{ provider, observation }] : [];
    });
    for (const { after } of (await recompute(db, tenant, { observed, former }, now)).filter(affectsRules)) {
      const provider = providers.get(after.providerId);
      if (provider) affected.push({ provider, kind: after.kind, name: after.name });
    }
  }
  return affected;
}

/** Whether a change of an observation matters to rules. Of the fields that a declaration changes they read only these two. */
function affectsRules({ before, after }: Recomputed): boolean {
  return before.unknown !== after.unknown || before.status !== after.status;
}
