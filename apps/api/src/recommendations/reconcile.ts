import { setImmediate as breathe } from 'node:timers/promises';
import { type InventoryItem, InventoryItemSchema, type InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameKey } from '@quartermaster/db/name-key.ts';
import { openOperatorTasks } from '@quartermaster/db/repositories/operator-tasks.ts';
import { findProviderSecret } from '@quartermaster/db/repositories/provider-secrets.ts';
import { findOpenOfSubjects, type StandingRecommendation } from '@quartermaster/db/repositories/recommendations.ts';
import { findObservationsOfSubjects } from '@quartermaster/db/repositories/runtime-observations.ts';
import { insertLinks } from '@quartermaster/db/repositories/standing-recommendations.ts';
import { scopeOf, type TenantPlace } from '@quartermaster/db/tenancy.ts';
import { findCoveringItems } from '../runtime-observations/declared.ts';
import { subjectKey } from '../runtime-observations/subject-key.ts';
import { acceptDrift } from './rules/accept-drift.ts';
import { adoptProvider } from './rules/adopt-provider.ts';
import { blockItem } from './rules/block-item.ts';
import { registerItem } from './rules/register-item.ts';
import { retireItem } from './rules/retire-item.ts';
import { type CredentialState, rotateCredential } from './rules/rotate-credential.ts';
import type { Change, Rule, SubjectState } from './rules/rule.ts';
import { aboutKey, type Ending, type Stand, settleStands } from './stands.ts';

const ItemSchema = InventoryItemSchema.pick({ kind: true, name: true });

const SUBJECT_RULES: readonly Rule<SubjectState>[] = [registerItem, blockItem, retireItem, acceptDrift];

/** What the recommendation to adopt a provider is about. */
export const PROVIDER_SUBJECT = 'provider';

/** What the recommendation to rotate its credential is about. */
const CREDENTIAL_SUBJECT = 'credential';

/** The one task that asks somebody to adopt a provider. */
export function adoptionTask({ id }: Pick<Provider, 'id'>) {
  return { kind: 'adopt_provider', subject: { type: 'provider', id } } as const;
}

/** What recommendations about a model, tool or agent are about: one of each kind is open for each provider. */
export function subjectOf(provider: Provider, kind: InventoryKind, name: string): string {
  return `${kind}:${nameKey(kind, name, provider.name)}`;
}

/** Something of a provider that rules look at. */
type ProviderSubject = { provider: Provider; kind: InventoryKind; name: string };

type InTenant = Pick<TenantPlace, 'tenantId'>;

/** Subjects whose rules are looked at before the event loop gets a turn: the database answers without giving it one. */
const OF_TURN = 64;

/**
 * Lets the rules look at a subject of a provider: opens what they want and is not open, keeps what is, and ends what they
 * want no more, or want otherwise. In the transaction that changed the subject.
 */
export async function reconcileSubject(
  db: Database,
  provider: Provider,
  { kind, name }: { kind: InventoryKind; name: string },
  now: Date,
  ending: Ending = 'superseded',
): Promise<void> {
  await reconcileSubjects(db, provider, [{ provider, kind, name }], now, ending);
}

/** The same for many subjects of a tenant's providers, with a few statements for {@link OF_TURN} of them. */
export async function reconcileSubjects(
  db: Database,
  tenant: InTenant,
  subjects: readonly ProviderSubject[],
  now: Date,
  ending: Ending = 'superseded',
): Promise<void> {
  // Variants of a name are one subject.
  const distinct = new Map(subjects.map((one) => [subjectKey(keyOf(one)), one]));
  const all = [...distinct.values()];
  for (let start = 0; start < all.length; start += OF_TURN) {
    if (start > 0) await breathe();
    await reconcileSome(db, tenant, all.slice(start, start + OF_TURN), now, ending);
  }
}

async function reconcileSome(
  db: Database,
  tenant: InTenant,
  subjects: readonly ProviderSubject[],
  now: Date,
  ending: Ending,
): Promise<void> {
  const states = await subjectStates(db, tenant, subjects);
  const abouts = subjects.map(({ provider, kind, name }) => ({
    providerId: provider.id,
    subject: subjectOf(provider, kind, name),
  }));
  const open = new Map<string, StandingRecommendation>();
  for (const one of await findOpenOfSubjects(db, tenant, abouts)) open.set(aboutKey(one), one);
  const stands = states.flatMap((state, index) =>
    SUBJECT_RULES.map((rule): Stand => {
      const about = { providerId: state.provider.id, kind: rule.kind, subject: abouts[index]?.subject ?? '' };
      const standing = open.get(aboutKey(about));
      return { provider: state.provider, about, standing, wanted: rule.wanted(state, standing !== undefined) };
    }),
  );
  await settleStands(db, tenant, { stands, ending }, now);
}

/** The same for a provider as a whole. */
export async function reconcileProvider(db: Database, provider: Provider, now: Date): Promise<void> {
  const about = { providerId: provider.id, kind: adoptProvider.kind, subject: PROVIDER_SUBJECT };
  const [standing] = await findOpenOfSubjects(db, provider, [about]);
  const wanted = adoptProvider.wanted({ provider, observations: [] }, standing !== undefined);
  if (!standing || !wanted) {
    const stands = [{ provider, about, standing, wanted }];
    const opened = await settleStands(db, provider, { stands, ending: 'superseded' }, now);
    if (opened.length === 0) return;
  }
  await openAdoptionTasks(db, provider, [provider], now);
}

/** The same for discovered providers at which something was observed that was not before. */
export async function reconcileDiscovered(
  db: Database,
  tenant: InTenant,
  seen: readonly { provider: Provider; observation: RuntimeObservation }[],
  now: Date,
): Promise<void> {
  const abouts = [...new Set(seen.map(({ provider }) => provider.id))].map((providerId) => ({
    ...{ providerId, kind: adoptProvider.kind, subject: PROVIDER_SUBJECT },
  }));
  const standing = await findOpenOfSubjects(db, tenant, abouts);
  const idOf = new Map(standing.map(({ providerId, id }) => [providerId, id]));
  const links = seen.flatMap(({ provider, observation }) => {
    const recommendationId = idOf.get(provider.id);
    return recommendationId === undefined ? [] : [{ recommendationId, observationId: observation.id }];
  });
  await insertLinks(db, tenant, links);
  const unsaid = seen.filter(({ provider }) => !idOf.has(provider.id));
  const stands = [...Map.groupBy(unsaid, ({ provider }) => provider)].map(([provider, own]): Stand => {
    const observations = own.map(({ observation }) => observation);
    const wanted = adoptProvider.wanted({ provider, observations }, false);
    const about = { providerId: provider.id, kind: adoptProvider.kind, subject: PROVIDER_SUBJECT };
    return { provider, about, standing: undefined, wanted };
  });
  const opened = await settleStands(db, tenant, { stands, ending: 'superseded' }, now);
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
    ...{ ...adoptionTask(provider), subTenantId: provider.subTenantId, priority: 'normal' as const },
    title: `Adopt the provider ${provider.name}, which traffic names and nobody declared, or dismiss it`,
  }));
  await openOperatorTasks(db, tenant, { kind: 'adopt_provider', subjectType: 'provider', tasks }, now);
}

/** The same for the credential that a provider's syncs use. */
export async function reconcileCredential(
  db: Database,
  provider: Provider,
  { refused }: { refused: boolean },
  now: Date,
): Promise<void> {
  const about = { providerId: provider.id, kind: rotateCredential.kind, subject: CREDENTIAL_SUBJECT };
  const [standing] = await findOpenOfSubjects(db, provider, [about]);
  const wanted = rotateCredential.wanted({ ...(await credentialState(db, provider, now)), refused }, false);
  await settleStands(db, provider, { stands: [{ provider, about, standing, wanted }], ending: 'superseded' }, now);
}

/** What an open recommendation is made for now. */
export async function causeOf(
  db: Database,
  provider: Provider,
  { kind, change }: StandingRecommendation,
  now: Date,
): Promise<string> {
  if (kind === 'rotate_credential') {
    const state = { ...(await credentialState(db, provider, now)), refused: true };
    return rotateCredential.wanted(state, true)?.cause ?? '';
  }
  if (kind === 'adopt_provider') return adoptProvider.wanted({ provider, observations: [] }, true)?.cause ?? '';
  const rule = SUBJECT_RULES.find((one) => one.kind === kind);
  const item = itemOf(change);
  const state = await subjectState(db, { provider, ...item });
  return rule?.wanted(state, true)?.cause ?? '';
}

/** The item that a change is about, by its kind and name. */
export function itemOf({ before, after }: Change): Pick<InventoryItem, 'kind' | 'name'> {
  return ItemSchema.strip().parse(after ?? before);
}

/** What is declared and observed of a subject now. */
export async function subjectState(db: Database, subject: ProviderSubject): Promise<SubjectState> {
  const [state] = await subjectStates(db, subject.provider, [subject]);
  if (!state) throw new Error('a subject has a state');
  return state;
}

/** The same of many. @param tenant the one that all of their providers are of */
async function subjectStates(
  db: Database,
  tenant: InTenant,
  subjects: readonly ProviderSubject[],
): Promise<SubjectState[]> {
  const keys = subjects.map(keyOf);
  const named = subjects.map(({ provider, kind, name }) => ({
    provider,
    kind,
    nameKey: nameKey(kind, name, provider.name),
  }));
  const itemsOf = await findCoveringItems(db, tenant, named);
  const observationsOf = Map.groupBy(await findObservationsOfSubjects(db, tenant, keys), subjectKey);
  return named.map((one, index) => {
    const { provider, kind } = one;
    const key = subjectKey({ ...one, providerId: provider.id });
    const { own: item, deciding } = itemsOf(one);
    const name = subjects[index]?.name ?? '';
    const observations = observationsOf.get(key) ?? [];
    // Of variants one is said, whichever was looked at: the declared one, else the one that was seen first.
    return { provider, kind, name: item?.name ?? observations[0]?.name ?? name, item, deciding, observations };
  });
}

function keyOf({ provider, kind, name }: ProviderSubject) {
  return { providerId: provider.id, kind, nameKey: nameKey(kind, name, provider.name) };
}

async function credentialState(db: Database, provider: Provider, now: Date): Promise<Omit<CredentialState, 'refused'>> {
  const scope = scopeOf(provider);
  const current = await findProviderSecret(db, scope, provider.id, 'current', now);
  const standby = await findProviderSecret(db, scope, provider.id, 'standby', now);
  return { provider, current, standby };
}
