import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { coveringAt, decidingItem, nameFamily } from '@quartermaster/db/name-family.ts';
import { nameKey } from '@quartermaster/db/name-key.ts';
import { findInventoryItemsOfFamilies, type KeyedItem } from '@quartermaster/db/repositories/inventory.ts';
import { finishOperatorTask } from '@quartermaster/db/repositories/operator-tasks.ts';
import { supersedeRecommendationsOf } from '@quartermaster/db/repositories/recommendation-states.ts';
import { revokeSessionsOfItems, type SessionReference } from '@quartermaster/db/repositories/sessions-of-items.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import type { Change } from '../audit-events/write.ts';
import { settleDrift } from '../runtime-observations/drift.ts';
import { type FormerStates, recomputeProvider, recomputeSubject } from '../runtime-observations/recompute.ts';
import { adoptionTask, reconcileCredential, reconcileProvider } from './reconcile.ts';

/** Items of a provider that a call blocked: the sessions that hold one of them are still to be ended. */
export type Blocked = Pick<InventoryItem, 'kind' | 'name'>[];

/**
 * What follows from an inventory item being as it is now: called in the transaction that made, changed or found it
 * missing, whoever did that. A drift becomes an observation; observations are looked at again, recommendations are opened
 * and superseded.
 *
 * @param former what an undo brings back
 * @returns what is blocked by that, for {@link endSessions}: a call goes through the sessions once, at its end
 */
export async function settleItem(
  trx: Database,
  provider: Provider,
  item: InventoryItem,
  now: Date,
  former?: FormerStates,
): Promise<Blocked> {
  if (!former) await settleDrift(trx, provider, item, now);
  await recomputeSubject(trx, provider, item, now, former);
  return item.status === 'blocked' ? [item] : [];
}

/**
 * Ends the sessions that hold something that a call blocked, in its transaction and before its answer.
 *
 * @returns which they were
 */
export async function endSessions(
  trx: Database,
  record: (change: Change) => void,
  { provider, blocked }: { provider: Provider; blocked: Blocked },
  now: Date,
): Promise<SessionReference[]> {
  if (blocked.length === 0) return [];
  const { id: providerId, name: providerName, tenantId } = provider;
  // The whole tenant: its gateways list the providers of its sub-tenants as well.
  const scope = [{ tenantId, subTenantId: null }];
  const items = await coveredBy(trx, provider, blocked);
  const ended = await revokeSessionsOfItems(trx, scope, { providerId, providerName, items }, now);
  for (const session of ended) {
    const target = { type: 'gateway_session', id: session.id };
    record({ place: session, target, changed: ['revokedAt', 'revokedReason'] });
  }
  return ended;
}

/** These items, and those of the inventory that a block of one of them covers. */
async function coveredBy(trx: Database, provider: Provider, blocked: Blocked): Promise<Blocked> {
  const families = blocked.map(({ kind, name }) => ({
    providerId: provider.id,
    kind,
    nameFamily: nameFamily(kind, nameKey(kind, name, provider.name)),
  }));
  const related = await findInventoryItemsOfFamilies(trx, provider, families);
  const familyOf = ({ kind, nameKey: key }: KeyedItem) => `${kind} ${nameFamily(kind, key)}`;
  const byFamily = Map.groupBy(related, familyOf);
  const isBlocked = (item: KeyedItem) =>
    decidingItem(byFamily.get(familyOf(item)) ?? [], coveringAt(provider, item.kind), item.nameKey)?.status ===
    'blocked';
  return [...blocked, ...related.filter(isBlocked).map(({ kind, name }) => ({ kind, name }))];
}

/** The same for an item that is gone. */
export async function settleRemovedItem(
  trx: Database,
  provider: Provider,
  item: Pick<InventoryItem, 'kind' | 'name'>,
  now: Date,
  former?: FormerStates,
): Promise<void> {
  if (!former) await settleDrift(trx, provider, { ...item, drift: null }, now);
  await recomputeSubject(trx, provider, item, now, former);
}

/** What follows from a provider being as it is now: declared, renamed, moved or deleted. */
export async function settleProvider(trx: Database, provider: Provider, now: Date): Promise<void> {
  await recomputeProvider(trx, provider, now);
  if (provider.status === 'deleted') await supersedeRecommendationsOf(trx, scopeOf(provider), provider.id, now);
  else await reconcileProvider(trx, provider, now);
  if (provider.status === 'discovered') return;
  const isDeleted = provider.status === 'deleted';
  const answered = { ...adoptionTask(provider), outcome: isDeleted ? null : 'adopted' } as const;
  await finishOperatorTask(trx, scopeOf(provider), answered, isDeleted ? 'cancelled' : 'succeeded', now);
}

/**
 * What follows from a provider's credentials being as they are now: opens or supersedes `rotate_credential`. Called in
 * the transaction that changed them, and by the scheduled check of what expires.
 *
 * @param refused whether the provider refused the credential in use (401 or 403) at the last sync
 */
export async function settleCredential(
  trx: Database,
  provider: Provider,
  how: { refused: boolean },
  now: Date,
): Promise<void> {
  await reconcileCredential(trx, provider, how, now);
}
