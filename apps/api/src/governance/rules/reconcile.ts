import { type InventoryItem, InventoryItemSchema, type InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { Credential } from '@quartermaster/contracts/credentials.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import { inBatches } from '@quartermaster/db/batches.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameKey } from '@quartermaster/naming/name-key.ts';
import { openOperatorTasks } from '@quartermaster/db/repositories/operator-tasks.ts';
import { findProviderSecret } from '@quartermaster/db/repositories/provider-secrets.ts';
import {
  findOpenRecommendationsOfSubjects,
  type OpenRecommendation,
} from '@quartermaster/db/repositories/recommendations.ts';
import { findObservationsOfSubjects } from '@quartermaster/db/repositories/runtime-observations.ts';
import { insertObservationLinks } from '@quartermaster/db/repositories/open-recommendations.ts';
import { scopeOf, type TenantPlace } from '@quartermaster/db/tenancy.ts';
import { findCoveringItems } from '../declarations/covering-items.ts';
import { findDenyingManifests, mergedDenials } from '../declarations/manifest-denials.ts';
import { subjectKey } from '../declarations/subject-key.ts';
import { countHeldItems } from '@quartermaster/db/repositories/inventory-sync.ts';
import { acceptDrift } from './accept-drift.ts';
import { adoptProvider } from './adopt-provider.ts';
import { allowInManifest } from './allow-in-manifest.ts';
import { blockItem } from './block-item.ts';
import { confirmRemovals, type RemovalState, removableKinds } from './confirm-removals.ts';
import { applyEvaluations, type ClosingStatus, recommendationKey, type RuleEvaluation } from './evaluation.ts';
import { registerItem } from './register-item.ts';
import { retireItem } from './retire-item.ts';
import { type CredentialState, rotateCredential } from './rotate-credential.ts';
import type { Change, Rule, SubjectState } from './rule.ts';

const ItemSchema = InventoryItemSchema.pick({ kind: true, name: true });

const SUBJECT_RULES: readonly Rule<SubjectState>[] = [
  registerItem,
  blockItem,
  retireItem,
  acceptDrift,
  allowInManifest,
];

/** The `subject` of the recommendation to adopt a provider. */
export const PROVIDER_SUBJECT = 'provider';

/** The `subject` of the recommendation to rotate a provider's credential. */
const CREDENTIAL_SUBJECT = 'credential';

/** The `subject` of the recommendation to confirm that items of a provider are gone. */
const REMOVALS_SUBJECT = 'removals';

/** Identifies the task to adopt a provider. There is one for each provider. */
export function adoptionTask({ id }: Pick<Provider, 'id'>) {
  return { kind: 'adopt_provider', subject: { type: 'provider', id } } as const;
}

/** Identifies the task to rotate a credential. There is one for each credential. */
export function rotationTask({ id }: Pick<Credential, 'id'>) {
  return { kind: 'rotate_credential', subject: { type: 'credential', id } } as const;
}

/** The `subject` of recommendations about a model, tool, agent, prompt or resource. */
export function subjectOf(provider: Provider, kind: InventoryKind, name: string): string {
  return `${kind}:${nameKey(kind, name, provider.name)}`;
}

type ProviderSubject = { provider: Provider; kind: InventoryKind; name: string };

type InTenant = Pick<TenantPlace, 'tenantId'>;

/** Subjects per batch. A batch may read all names of the families of its subjects, of which there may be thousands. */
const BATCH_SIZE = 256;

/**
 * Opens, updates and closes the recommendations about a subject, so that they match what the rules propose now. Called in
 * the transaction that changed the subject.
 *
 * @param closeAs the status that a recommendation gets if its rule no longer proposes it
 */
export async function reconcileSubject(
  db: Database,
  provider: Provider,
  { kind, name }: { kind: InventoryKind; name: string },
  now: Date,
  closeAs: ClosingStatus = 'superseded',
): Promise<void> {
  await reconcileSubjects(db, provider, [{ provider, kind, name }], now, closeAs);
}

/** {@link reconcileSubject} for subjects of several providers of a tenant, with a few statements for each batch. */
export async function reconcileSubjects(
  db: Database,
  tenant: InTenant,
  subjects: readonly ProviderSubject[],
  now: Date,
  closeAs: ClosingStatus = 'superseded',
): Promise<void> {
  // Variants of a name are one subject.
  const distinct = new Map(subjects.map((one) => [subjectKey(keyOf(one)), one]));
  for await (const batch of inBatches([...distinct.values()], BATCH_SIZE)) {
    await reconcileBatch(db, tenant, batch, now, closeAs);
  }
}

async function reconcileBatch(
  db: Database,
  tenant: InTenant,
  subjects: readonly ProviderSubject[],
  now: Date,
  closeAs: ClosingStatus,
): Promise<void> {
  const states = await findSubjectStates(db, tenant, subjects);
  const keys = subjects.map(({ provider, kind, name }) => ({
    providerId: provider.id,
    subject: subjectOf(provider, kind, name),
  }));
  const openByKey = new Map<string, OpenRecommendation>();
  for (const recommendation of await findOpenRecommendationsOfSubjects(db, tenant, keys))
    openByKey.set(recommendationKey(recommendation), recommendation);
  const evaluations = states.flatMap((state, index) =>
    SUBJECT_RULES.map((rule): RuleEvaluation => {
      const key = { providerId: state.provider.id, kind: rule.kind, subject: keys[index]?.subject ?? '' };
      const open = openByKey.get(recommendationKey(key));
      return { provider: state.provider, key, open, proposal: rule.evaluate(state, open !== undefined) };
    }),
  );
  await applyEvaluations(db, tenant, { evaluations, closeAs }, now);
}

/** Opens or supersedes the recommendation to adopt a provider, and opens the task about it. */
export async function reconcileProvider(db: Database, provider: Provider, now: Date): Promise<void> {
  const key = { providerId: provider.id, kind: adoptProvider.kind, subject: PROVIDER_SUBJECT };
  const [open] = await findOpenRecommendationsOfSubjects(db, provider, [key]);
  const proposal = adoptProvider.evaluate({ provider, observations: [] }, open !== undefined);
  if (!open || !proposal) {
    const evaluations = [{ provider, key, open, proposal }];
    const opened = await applyEvaluations(db, provider, { evaluations, closeAs: 'superseded' }, now);
    if (opened.length === 0) return;
  }
  await openAdoptionTasks(db, provider, [provider], now);
}

/** Adds new observations of discovered providers to the recommendations to adopt them, and opens missing ones. */
export async function reconcileDiscovered(
  db: Database,
  tenant: InTenant,
  added: readonly { provider: Provider; observation: RuntimeObservation }[],
  now: Date,
): Promise<void> {
  const keys = [...new Set(added.map(({ provider }) => provider.id))].map((providerId) => ({
    providerId,
    kind: adoptProvider.kind,
    subject: PROVIDER_SUBJECT,
  }));
  const open = await findOpenRecommendationsOfSubjects(db, tenant, keys);
  const openIdOf = new Map(open.map(({ providerId, id }) => [providerId, id]));
  const links = added.flatMap(({ provider, observation }) => {
    const recommendationId = openIdOf.get(provider.id);
    return recommendationId === undefined ? [] : [{ recommendationId, observationId: observation.id }];
  });
  await insertObservationLinks(db, tenant, links);
  const withoutOpen = added.filter(({ provider }) => !openIdOf.has(provider.id));
  const evaluations = [...Map.groupBy(withoutOpen, ({ provider }) => provider)].map(
    ([provider, providerSubjects]): RuleEvaluation => {
      const observations = providerSubjects.map(({ observation }) => observation);
      const proposal = adoptProvider.evaluate({ provider, observations }, false);
      const key = { providerId: provider.id, kind: adoptProvider.kind, subject: PROVIDER_SUBJECT };
      return { provider, key, open: undefined, proposal };
    },
  );
  const opened = await applyEvaluations(db, tenant, { evaluations, closeAs: 'superseded' }, now);
  await openAdoptionTasks(
    db,
    tenant,
    opened.map(({ provider }) => provider),
    now,
  );
}

async function openAdoptionTasks(
  db: Database,
  tenant: InTenant,
  providers: readonly Provider[],
  now: Date,
): Promise<void> {
  const tasks = providers.map((provider) => ({
    ...adoptionTask(provider),
    subTenantId: provider.subTenantId,
    priority: 'normal' as const,
    title: `Adopt the provider ${provider.name}, which agents use but which is not declared, or dismiss it`,
  }));
  await openOperatorTasks(db, tenant, { kind: 'adopt_provider', subjectType: 'provider', tasks }, now);
}

/**
 * Opens or supersedes the recommendation to rotate the credential that a provider's syncs use. Called in the transaction that
 * changes a provider's credentials, and by the scheduled check for credentials that expire.
 *
 * @param refused whether the provider refused the current credential (401 or 403) at the last sync
 */
export async function reconcileCredential(
  db: Database,
  provider: Provider,
  { refused }: { refused: boolean },
  now: Date,
): Promise<void> {
  const key = { providerId: provider.id, kind: rotateCredential.kind, subject: CREDENTIAL_SUBJECT };
  const [open] = await findOpenRecommendationsOfSubjects(db, provider, [key]);
  const state = { ...(await findCredentialState(db, provider, now)), refused };
  const proposal = rotateCredential.evaluate(state, open !== undefined);
  const evaluations = [{ provider, key, open, proposal }];
  await applyEvaluations(db, provider, { evaluations, closeAs: 'superseded' }, now);
}

/** Opens or supersedes the recommendation to confirm that the held items of a provider are gone. Called at the end of a sync. */
export async function reconcileRemovals(db: Database, provider: Provider, now: Date): Promise<void> {
  const key = { providerId: provider.id, kind: confirmRemovals.kind, subject: REMOVALS_SUBJECT };
  const [open] = await findOpenRecommendationsOfSubjects(db, provider, [key]);
  if (!open && provider.health !== 'doubtful') return;
  const proposal = confirmRemovals.evaluate(await findRemovalState(db, provider), open !== undefined);
  await applyEvaluations(
    db,
    provider,
    { evaluations: [{ provider, key, open, proposal }], closeAs: 'superseded' },
    now,
  );
}

async function findRemovalState(db: Database, provider: Provider): Promise<RemovalState> {
  const kinds = removableKinds(provider);
  return { provider, held: await countHeldItems(db, scopeOf(provider), { providerId: provider.id, kinds }) };
}

/** The cause that the rule of an open recommendation states now. */
export async function currentCause(
  db: Database,
  provider: Provider,
  { kind, change }: OpenRecommendation,
  now: Date,
): Promise<string> {
  if (kind === 'rotate_credential') {
    const state = { ...(await findCredentialState(db, provider, now)), refused: true };
    return rotateCredential.evaluate(state, true)?.cause ?? '';
  }
  if (kind === 'adopt_provider') return adoptProvider.evaluate({ provider, observations: [] }, true)?.cause ?? '';
  if (kind === 'confirm_removals') {
    return confirmRemovals.evaluate(await findRemovalState(db, provider), true)?.cause ?? '';
  }
  const rule = SUBJECT_RULES.find((one) => one.kind === kind);
  const item = itemOf(change);
  const state = await findSubjectState(db, { provider, ...item });
  return rule?.evaluate(state, true)?.cause ?? '';
}

/** The kind and name of the item that a change is about. */
export function itemOf({ before, after }: Change): Pick<InventoryItem, 'kind' | 'name'> {
  return ItemSchema.strip().parse(after ?? before);
}

/** What is declared and observed about a subject now. */
export async function findSubjectState(db: Database, subject: ProviderSubject): Promise<SubjectState> {
  const [state] = await findSubjectStates(db, subject.provider, [subject]);
  if (!state) throw new Error('findSubjectStates returned no state for the subject');
  return state;
}

/** The states of subjects, in their order. @param tenant the tenant of all their providers */
async function findSubjectStates(
  db: Database,
  tenant: InTenant,
  subjects: readonly ProviderSubject[],
): Promise<SubjectState[]> {
  const named = subjects.map((subject) => ({ ...keyOf(subject), provider: subject.provider }));
  const itemsOf = await findCoveringItems(db, tenant, named);
  const observationsOf = Map.groupBy(await findObservationsOfSubjects(db, tenant, named), subjectKey);
  const observed = named.flatMap((subject) =>
    (observationsOf.get(subjectKey(subject)) ?? []).map((observation) => ({ provider: subject.provider, observation })),
  );
  const denyingOf = await findDenyingManifests(db, tenant, observed);
  return named.map((subject, index) => {
    const { provider, kind } = subject;
    const { exactItem: item, deciding } = itemsOf(subject);
    const name = subjects[index]?.name ?? '';
    const observations = observationsOf.get(subjectKey(subject)) ?? [];
    // Of several spellings the declared one is shown, otherwise that of the first observation.
    const denying = mergedDenials(observations.map(denyingOf));
    return { provider, kind, name: item?.name ?? observations[0]?.name ?? name, item, deciding, observations, denying };
  });
}

function keyOf({ provider, kind, name }: ProviderSubject) {
  return { providerId: provider.id, kind, nameKey: nameKey(kind, name, provider.name) };
}

async function findCredentialState(
  db: Database,
  provider: Provider,
  now: Date,
): Promise<Omit<CredentialState, 'refused'>> {
  const scope = scopeOf(provider);
  const current = await findProviderSecret(db, scope, provider.id, 'current', now);
  const standby = await findProviderSecret(db, scope, provider.id, 'standby', now);
  return { provider, current, standby };
}
