import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Recommendation } from '@quartermaster/contracts/recommendations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { DuplicateKeyError } from '@quartermaster/db/errors.ts';
import { findGatewayOfProvider } from '@quartermaster/db/repositories/gateways.ts';
import { listItemIds } from '@quartermaster/db/repositories/inventory.ts';
import { findProviderSecret, listSealedHeaders } from '@quartermaster/db/repositories/provider-secrets.ts';
import { findProvider } from '@quartermaster/db/repositories/providers.ts';
import {
  findFormerObservations,
  findItemsBefore,
  markUndone,
  reopenSuperseded,
} from '@quartermaster/db/repositories/recommendation-states.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import { confineToTenant } from '@quartermaster/db/transaction.ts';
import { auditedWrite } from '../../platform/audit/audited-write.ts';
import { ApiError } from '../../platform/errors.ts';
import type { CallerContext } from '../../auth/context.ts';
import { revokeSessionsOfBlocked, revokeSessionsOfChangedProvider } from '../observations/revoke-sessions.ts';
import { itemOf, subjectOf } from '../rules/reconcile.ts';
import { applyChange, changedNames, findTarget, inverse, isRemoval } from './change.ts';
import { requireRecommendation } from './dismiss.ts';

/**
 * Undoes an applied recommendation: restores what it changed and the observations, and opens it again.
 *
 * @throws 409 if it is not applied, or if something was built on the change since. The message says what
 */
export async function undoRecommendation(ctx: CallerContext, id: string): Promise<Recommendation> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const recommendation = await requireRecommendation(ctx, trx, id);
    confineToTenant(trx, recommendation.tenantId);
    const { tenantLimits } = ctx.services;
    const { status, providerId, change, appliedAt } = recommendation;
    if (status !== 'applied') {
      throw new ApiError('recommendation_not_applied', `The recommendation is ${status}.`);
    }
    const provider = await findProvider(trx, scopeOf(recommendation), providerId);
    const obstacle = provider ? await findUndoObstacle(trx, provider, recommendation, now) : 'the provider was deleted';
    if (!provider || obstacle !== null) {
      throw new ApiError('recommendation_built_on', `The recommendation cannot be undone: ${obstacle}.`);
    }
    const former = await findFormerObservations(trx, scopeOf(recommendation), id);
    const { reevaluate } = await applyChange(
      trx,
      provider,
      { change: inverse(change), tenantLimits, undoneSince: appliedAt },
      now,
    );
    // An item that the change created is deleted now, so the reopened recommendation has no target id.
    const planned = change.before === null ? { ...change, target: { ...change.target, id: null } } : change;
    const undone = await markUndone(trx, scopeOf(recommendation), id, planned, now).catch((error: unknown) => {
      if (!(error instanceof DuplicateKeyError)) throw error;
      throw new ApiError(
        'recommendation_built_on',
        'The recommendation cannot be undone: a newer recommendation for the same record is open.',
      );
    });
    if (!undone) throw new ApiError('recommendation_not_applied', 'The recommendation is no longer applied.');
    if (change.target.type === 'inventory_item') {
      // Opens the recommendations again that the change superseded, with their former ids.
      const { kind, name } = itemOf(change);
      const about = {
        providerId,
        subject: subjectOf(provider, kind, name),
        supersededAt: appliedAt ?? '',
        exceptId: id,
      };
      await reopenSuperseded(trx, scopeOf(provider), about, now);
    }
    const candidates = await reevaluate(new Map(Object.entries(former)));
    await revokeSessionsOfBlocked(trx, record, { provider, candidates }, now);
    if (change.target.type === 'provider') await revokeSessionsOfChangedProvider(trx, record, provider, now);
    record({ place: recommendation, target: { type: 'recommendation', id }, changed: ['status'] });
    const { type, id: targetId } = change.target;
    if (targetId !== null) record({ place: provider, target: { type, id: targetId }, changed: changedNames(change) });
    return undone;
  });
}

/** Why a recommendation cannot be undone: the end of the sentence "The recommendation cannot be undone: ...". Null if it can. */
async function findUndoObstacle(
  db: Database,
  provider: Provider,
  { id, change, appliedAt }: Recommendation,
  now: Date,
): Promise<string | null> {
  const { type } = change.target;
  const what = type === 'inventory_item' ? 'the inventory item' : `the ${type}`;
  const target = await findTarget(db, provider, change, now);
  if (!target) return `${what} has been deleted`;
  if (isRemoval(change)) return isSyncedSince(provider, appliedAt) ? 'the provider was synced since' : null;
  const differing = Object.entries(change.after ?? {}).find(
    ([field, value]) => JSON.stringify(target[field] ?? null) !== JSON.stringify(value ?? null),
  );
  if (differing) return `the field ${differing[0]} has been changed`;
  // An undo would delete the created item, and with it all changes that people or syncs made to it since.
  if (change.before === null && target['updatedAt'] !== appliedAt) {
    return `${what} was changed on ${String(target['updatedAt'])}, by a person or a sync`;
  }
  // Without this the item would be missing until the next sync, although the last one found it.
  const isListed = provider.inventorySyncedAt !== null && target['lastSeenAt'] === provider.inventorySyncedAt;
  if (change.before?.['status'] === 'missing' && isListed) return `a sync found ${what} again`;
  return type === 'provider' ? findAdoptionObstacle(db, provider, { id, appliedAt: appliedAt ?? '' }, now) : null;
}

/** A sync that succeeded or failed since then decided the health of the provider anew. */
function isSyncedSince({ inventorySyncedAt, health }: Provider, time: string | null): boolean {
  return health !== 'healthy' || (inventorySyncedAt ?? '') > (time ?? '');
}

/** Whether a provider has inventory items that it did not have when it was adopted. */
async function hasNewItems(db: Database, provider: Provider, adoptionId: string): Promise<boolean> {
  const scope = scopeOf(provider);
  const known = new Set(await findItemsBefore(db, scope, adoptionId));
  return (await listItemIds(db, scope, provider.id)).some((item) => !known.has(item));
}

/** Why the adoption of a provider cannot be undone. */
async function findAdoptionObstacle(
  db: Database,
  provider: Provider,
  adoption: { id: string; appliedAt: string },
  now: Date,
): Promise<string | null> {
  const scope = scopeOf(provider);
  const gateway = await findGatewayOfProvider(db, scope, provider.id);
  if (gateway) return `the gateway ${gateway.id} lists the provider`;
  for (const slot of ['current', 'standby'] as const) {
    if (await findProviderSecret(db, scope, provider.id, slot, now)) return 'the provider has a credential';
  }
  if ((await listSealedHeaders(db, scope, provider.id, now)).length > 0) return 'the provider has a secret header';
  if (await hasNewItems(db, provider, adoption.id)) return 'the inventory of the provider has new items';
  // Compared for equality, because the clocks of processes differ. Every change sets another `updatedAt`.
  return provider.updatedAt === adoption.appliedAt ? null : `the provider was changed on ${provider.updatedAt}`;
}
