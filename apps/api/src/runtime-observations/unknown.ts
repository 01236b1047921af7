import { setImmediate as breathe } from 'node:timers/promises';
import type { InventoryItem, InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameKey } from '@quartermaster/db/name-key.ts';
import { folded } from '@quartermaster/db/queries.ts';
import { findInventoryItemByKey } from '@quartermaster/db/repositories/inventory.ts';
import { isDeclaredByManifest } from '@quartermaster/db/repositories/manifest-declarations.ts';
import { finishOperatorTask, openOperatorTask } from '@quartermaster/db/repositories/operator-tasks.ts';
import { findProvidersDeclared } from '@quartermaster/db/repositories/providers.ts';
import {
  closeRecommendations,
  openRecommendation,
  unlinkObservation,
} from '@quartermaster/db/repositories/recommendations.ts';
import {
  findObservationsOf,
  isRegistrationWantedElsewhere,
  updateObservation,
} from '@quartermaster/db/repositories/runtime-observations.ts';
import { scopeOf, type TenantPlace } from '@quartermaster/db/tenancy.ts';
import { changedFields } from '../audit-events/write.ts';
import { registerItemChange } from '../recommendations/register-item.ts';
import { riskOf } from './risk.ts';

/** What is declared of a subject at a provider. */
export type Declared = { unknown: boolean; item: InventoryItem | undefined };

type Subject = { kind: InventoryKind; name: string };

/** Observations looked at before the event loop gets a turn: the database answers without giving it one. */
const OF_TURN = 200;

/**
 * Whether something is declared, seen from where it was observed: by an inventory item that is not retired (a blocked
 * one is declared, as forbidden), or by an active manifest of the place or its whole tenant.
 */
export async function declaredAt(
  db: Database,
  place: TenantPlace,
  provider: Provider,
  subject: Subject,
): Promise<Declared> {
  const { kind, name } = subject;
  const key = { kind, nameKey: nameKey(kind, name, provider.name) };
  const item = await findInventoryItemByKey(db, scopeOf(provider), { providerId: provider.id, ...key });
  if (item && item.status !== 'retired') return { unknown: false, item };
  return { unknown: !(await isDeclaredByManifest(db, place, provider, key)), item };
}

/**
 * What follows from an observation being unknown or declared: an unknown open one has one recommendation and one review
 * task, an unknown approved one the recommendation alone; a declared one has neither.
 */
export async function settle(
  db: Database,
  provider: Provider,
  observation: RuntimeObservation,
  now: Date,
): Promise<void> {
  const { kind, name, id } = observation;
  const reviewTask = { kind: 'review_observation', subject: { type: 'runtime_observation', id } } as const;
  if (!observation.unknown || provider.status === 'deleted') {
    // Of a deleted provider nothing can be registered, whoever uses it.
    if (provider.status === 'deleted') await endRegistration(db, observation, 'superseded', now);
    else await closeRegistration(db, observation, 'superseded', now);
    await finishOperatorTask(db, scopeOf(observation), reviewTask, 'cancelled', now);
    return;
  }
  if (observation.status !== 'open' && observation.status !== 'approved') return;
  const recommendation = {
    ...registrationOf(observation),
    reason: `Agents use the ${kind} ${name} at ${provider.name}; no inventory item and no active manifest declares it.`,
    change: await registerItemChange(db, provider, observation),
  };
  await openRecommendation(db, provider, recommendation, id, now);
  if (observation.status === 'approved') return;
  const title = `Review the ${kind} ${name}, seen at ${provider.name} and declared by nobody`;
  const priority = observation.risk.level === 'high' ? 'high' : 'normal';
  await openOperatorTask(db, observation, { ...reviewTask, title, priority }, now);
}

/**
 * Ends the recommendation that rests on an observation. Where it rests on observations of other sub-tenants too, it
 * stays open for these: what one sub-tenant decides or declares for itself says nothing of the others' traffic.
 */
export async function closeRegistration(
  db: Database,
  observation: RuntimeObservation,
  status: 'dismissed' | 'superseded',
  now: Date,
): Promise<void> {
  if (await isRegistrationWantedElsewhere(db, observation)) {
    await unlinkObservation(db, observation, registrationOf(observation));
  } else await endRegistration(db, observation, status, now);
}

async function endRegistration(
  db: Database,
  observation: RuntimeObservation,
  status: 'dismissed' | 'superseded',
  now: Date,
): Promise<void> {
  const scope = [{ tenantId: observation.tenantId, subTenantId: null }];
  await closeRecommendations(db, scope, registrationOf(observation), status, now);
}

/** The recommendation that an observation leads to: there is one open for each provider and subject. */
function registrationOf({ providerId, kind, name }: RuntimeObservation) {
  return { providerId, kind: 'register_item', subject: `${kind}:${name}` } as const;
}

/** Looks again at what is observed of a provider, or of one subject there, after its declarations changed. */
export async function recomputeUnknown(db: Database, provider: Provider, now: Date, subject?: Subject): Promise<void> {
  const scope = scopeOf(provider);
  const key = subject && { kind: subject.kind, nameKey: nameKey(subject.kind, subject.name, provider.name) };
  const observations = await findObservationsOf(db, scope, { providerId: provider.id, ...key });
  for (const [index, observation] of observations.entries()) {
    if (index % OF_TURN === OF_TURN - 1) await breathe();
    const declared = await declaredAt(db, observation, provider, observation);
    const risk = riskOf({ provider, declared, evidence: observation.evidence });
    // Of a deleted provider nothing is left to decide.
    const status = provider.status === 'deleted' ? observation.status : statusAfter(observation, declared).status;
    const change = { unknown: declared.unknown, status, risk };
    const inventoryItemId = declared.unknown ? null : (declared.item?.id ?? null);
    const isSame = changedFields(observation, { ...change, inventoryItemId }).length === 0;
    if (isSame && provider.status !== 'deleted') continue;
    const updated = await updateObservation(db, scope, observation.id, { ...change, inventoryItemId }, now);
    if (updated) await settle(db, provider, updated, now);
  }
}

/** The same, for the providers that declarations of a manifest name. */
export async function recomputeUnknownOfDeclarations(
  db: Database,
  place: TenantPlace,
  declarations: readonly (Subject & { provider: string })[],
  now: Date,
): Promise<void> {
  const names = [...new Set(declarations.map((declaration) => folded(declaration.provider)))];
  const ids = [...new Set(declarations.map((declaration) => declaration.provider))];
  const providers = await findProvidersDeclared(db, place, { names, ids });
  for (const declaration of declarations) {
    const named = providers.filter(
      ({ id, name }) => id === declaration.provider || folded(name) === folded(declaration.provider),
    );
    const { kind, name } = declaration;
    for (const provider of named) await recomputeUnknown(db, provider, now, { kind, name });
  }
}

/** What a person decided stays; what nobody decided follows the declarations. */
export function statusAfter(
  observation: Pick<RuntimeObservation, 'status'>,
  declared: Pick<Declared, 'unknown'>,
): Pick<RuntimeObservation, 'status'> {
  const { status } = observation;
  if (declared.unknown) return { status: status === 'resolved' ? 'open' : status };
  return { status: status === 'open' || status === 'approved' ? 'resolved' : status };
}
