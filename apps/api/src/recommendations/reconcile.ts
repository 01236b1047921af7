import { type InventoryItem, InventoryItemSchema, type InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RecommendationKind } from '@quartermaster/contracts/recommendations.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameKey } from '@quartermaster/db/name-key.ts';
import { findInventoryItemByKey } from '@quartermaster/db/repositories/inventory.ts';
import { openOperatorTask } from '@quartermaster/db/repositories/operator-tasks.ts';
import { findProviderSecret } from '@quartermaster/db/repositories/provider-secrets.ts';
import { closeRecommendation, findDismissedCause } from '@quartermaster/db/repositories/recommendation-states.ts';
import {
  addObservations,
  findOpenOfSubject,
  insertRecommendation,
  type StandingRecommendation,
  setObservations,
  updateReason,
} from '@quartermaster/db/repositories/recommendations.ts';
import { findObservationsOf } from '@quartermaster/db/repositories/runtime-observations.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import { acceptDrift } from './rules/accept-drift.ts';
import { adoptProvider } from './rules/adopt-provider.ts';
import { blockItem } from './rules/block-item.ts';
import { registerItem } from './rules/register-item.ts';
import { retireItem } from './rules/retire-item.ts';
import { type CredentialState, rotateCredential } from './rules/rotate-credential.ts';
import type { Change, Rule, SubjectState, Wanted } from './rules/rule.ts';

const ItemSchema = InventoryItemSchema.pick({ kind: true, name: true });

const SUBJECT_RULES: readonly Rule<SubjectState>[] = [registerItem, blockItem, retireItem, acceptDrift];

/** How what is not wanted any more ends: by itself, or because somebody decided about its observations. */
type Ending = 'superseded' | 'dismissed';

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
  const state = await subjectState(db, provider, kind, name);
  const subject = subjectOf(provider, kind, name);
  const open = await findOpenOfSubject(db, scopeOf(provider), { providerId: provider.id, subject });
  for (const rule of SUBJECT_RULES) {
    const standing = open.find((recommendation) => recommendation.kind === rule.kind);
    const wanted = rule.wanted(state, standing !== undefined);
    await stand(db, provider, { kind: rule.kind, subject }, { standing, wanted, ending }, now);
  }
}

/**
 * The same for a provider as a whole.
 *
 * @param seen a new observation at it
 */
export async function reconcileProvider(
  db: Database,
  provider: Provider,
  now: Date,
  seen?: RuntimeObservation,
): Promise<void> {
  const [standing] = await findOpenOfSubject(db, scopeOf(provider), {
    providerId: provider.id,
    subject: PROVIDER_SUBJECT,
  });
  const wanted = adoptProvider.wanted({ provider, observations: seen ? [seen] : [] }, standing !== undefined);
  if (standing && wanted) {
    if (seen) {
      await addObservations(db, standing, [seen.id]);
      return;
    }
  } else {
    const about = { kind: adoptProvider.kind, subject: PROVIDER_SUBJECT };
    const isOpened = await stand(db, provider, about, { standing, wanted, ending: 'superseded' }, now);
    if (!isOpened) return;
  }
  const title = `Adopt the provider ${provider.name}, which traffic names and nobody declared, or dismiss it`;
  await openOperatorTask(db, provider, { ...adoptionTask(provider), title, priority: 'normal' }, now);
}

/** The same for the credential that a provider's syncs use. */
export async function reconcileCredential(
  db: Database,
  provider: Provider,
  { refused }: { refused: boolean },
  now: Date,
): Promise<void> {
  const { kind } = rotateCredential;
  const about = { providerId: provider.id, subject: CREDENTIAL_SUBJECT };
  const [standing] = await findOpenOfSubject(db, scopeOf(provider), about);
  const wanted = rotateCredential.wanted({ ...(await credentialState(db, provider, now)), refused }, false);
  await stand(db, provider, { kind, subject: about.subject }, { standing, wanted, ending: 'superseded' }, now);
}

/** Opens, keeps or ends one recommendation. Answers whether it was opened. */
async function stand(
  db: Database,
  provider: Provider,
  { kind, subject }: { kind: RecommendationKind; subject: string },
  { standing, wanted, ending }: { standing: StandingRecommendation | undefined; wanted: Wanted | null; ending: Ending },
  now: Date,
): Promise<boolean> {
  const scope = scopeOf(provider);
  if (!wanted) {
    if (standing) await closeRecommendation(db, scope, standing.id, ending, now);
    return false;
  }
  const { reason, change } = wanted;
  const rests = wanted.rests.map(({ id }) => id);
  // What an id stands for never changes: whoever looked at it and names it applies what they saw, or nothing.
  if (standing && JSON.stringify(standing.change) !== JSON.stringify(change)) {
    await closeRecommendation(db, scope, standing.id, 'superseded', now);
  } else if (standing) {
    if (standing.reason !== reason) await updateReason(db, scope, standing.id, reason, now);
    await setObservations(db, standing, rests);
    return false;
  }
  const about = { providerId: provider.id, kind, subject };
  if ((await findDismissedCause(db, scope, about)) === wanted.cause) return false;
  const id = await insertRecommendation(db, provider, { ...about, reason, change }, now);
  await addObservations(db, { tenantId: provider.tenantId, id }, rests);
  return true;
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
  const state = await subjectState(db, provider, item.kind, item.name);
  return rule?.wanted(state, true)?.cause ?? '';
}

/** The item that a change is about, by its kind and name. */
export function itemOf({ before, after }: Change): Pick<InventoryItem, 'kind' | 'name'> {
  return ItemSchema.strip().parse(after ?? before);
}

/** What is declared and observed of a subject now. */
export async function subjectState(
  db: Database,
  provider: Provider,
  kind: InventoryKind,
  name: string,
): Promise<SubjectState> {
  const key = { providerId: provider.id, kind, nameKey: nameKey(kind, name, provider.name) };
  const item = await findInventoryItemByKey(db, scopeOf(provider), key);
  const observations = await findObservationsOf(db, scopeOf(provider), key);
  // Of variants one is said, whichever was looked at: the declared one, else the one that was seen first.
  return { provider, kind, name: item?.name ?? observations[0]?.name ?? name, item, observations };
}

async function credentialState(db: Database, provider: Provider, now: Date): Promise<Omit<CredentialState, 'refused'>> {
  const scope = scopeOf(provider);
  const current = await findProviderSecret(db, scope, provider.id, 'current', now);
  const standby = await findProviderSecret(db, scope, provider.id, 'standby', now);
  return { provider, current, standby };
}
