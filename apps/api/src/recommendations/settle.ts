import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameKey } from '@quartermaster/db/name-key.ts';
import { revokeSessionsOfItem, type SessionReference } from '@quartermaster/db/repositories/gateway-sessions.ts';
import { finishOperatorTask } from '@quartermaster/db/repositories/operator-tasks.ts';
import { supersedeRecommendationsOf } from '@quartermaster/db/repositories/recommendations.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import { settleDrift } from '../runtime-observations/drift.ts';
import { type FormerStates, recomputeProvider, recomputeSubject } from '../runtime-observations/recompute.ts';
import { adoptionTask, reconcileCredential, reconcileProvider } from './reconcile.ts';

/** Sessions ended with one statement's worth of work. */
const SESSIONS_AT_ONCE = 1000;

/**
 * What follows from an inventory item being as it is now: called in the transaction that made, changed or found it
 * missing, whoever did that. A block ends the sessions that hold the item; a drift becomes an observation; observations
 * are looked at again, recommendations are opened and superseded.
 *
 * @param former what an undo brings back
 * @returns the sessions that ended
 */
export async function settleItem(
  trx: Database,
  provider: Provider,
  item: InventoryItem,
  now: Date,
  former?: FormerStates,
): Promise<SessionReference[]> {
  const revoked = item.status === 'blocked' ? await revokeSessions(trx, provider, item, now) : [];
  if (!former) await settleDrift(trx, provider, item, now);
  await recomputeSubject(trx, provider, item, now, former);
  return revoked;
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
  const ended = provider.status === 'deleted' ? 'cancelled' : 'succeeded';
  await finishOperatorTask(trx, scopeOf(provider), adoptionTask(provider), ended, now);
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

async function revokeSessions(
  trx: Database,
  provider: Provider,
  { kind, name }: InventoryItem,
  now: Date,
): Promise<SessionReference[]> {
  // The whole tenant: its gateways list the providers of its sub-tenants as well.
  const scope = [{ tenantId: provider.tenantId, subTenantId: null }];
  const item = {
    providerId: provider.id,
    providerName: provider.name,
    kind,
    nameKey: nameKey(kind, name, provider.name),
  };
  const revoked: SessionReference[] = [];
  for (;;) {
    const batch = await revokeSessionsOfItem(trx, scope, item, now, SESSIONS_AT_ONCE);
    revoked.push(...batch);
    if (batch.length < SESSIONS_AT_ONCE) return revoked;
  }
}
