import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Recommendation } from '@quartermaster/contracts/recommendations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { DuplicateKeyError } from '@quartermaster/db/errors.ts';
import { findGatewayOfProvider } from '@quartermaster/db/repositories/gateways.ts';
import { listInventory, listItemIds } from '@quartermaster/db/repositories/inventory.ts';
import { findProviderSecret } from '@quartermaster/db/repositories/provider-secrets.ts';
import { findProvider } from '@quartermaster/db/repositories/providers.ts';
import {
  findFormerObservations,
  findItemsBefore,
  markUndone,
  reopenSuperseded,
} from '@quartermaster/db/repositories/recommendation-states.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import { staysWithin } from '@quartermaster/db/transaction.ts';
import { write } from '../audit-events/write.ts';
import { ApiError } from '../errors.ts';
import type { CallerContext } from '../trpc.ts';
import { backwards, changedNames, makeChange, targetOf } from './change.ts';
import { requireRecommendation } from './dismiss.ts';
import { itemOf, subjectOf } from './reconcile.ts';
import { endSessions } from './settle.ts';

/**
 * Takes an applied recommendation back: what it changed is as it was, its observations too, and it is open again.
 *
 * @throws 409 where it is not applied, or something was built on the change since; the answer says what
 */
export async function undoRecommendation(ctx: CallerContext, id: string): Promise<Recommendation> {
  return write(ctx, async (trx, record, now) => {
    const recommendation = await requireRecommendation(ctx, trx, id);
    staysWithin(trx, recommendation.tenantId);
    const { tenantLimits } = ctx.services;
    const { status, providerId, change, appliedAt } = recommendation;
    if (status !== 'applied') {
      throw new ApiError('recommendation_not_applied', `The recommendation is ${status}.`);
    }
    const provider = await findProvider(trx, scopeOf(recommendation), providerId);
    const builtOn = provider ? await whatWasBuiltOn(trx, provider, recommendation, now) : 'the provider was deleted';
    if (!provider || builtOn !== null) {
      throw new ApiError('recommendation_built_on', `It cannot be undone: ${builtOn}.`);
    }
    const former = await findFormerObservations(trx, scopeOf(recommendation), id);
    const made = await makeChange(trx, provider, { change: backwards(change), tenantLimits }, now);
    const planned = change.before === null ? { ...change, target: { ...change.target, id: null } } : change;
    const undone = await markUndone(trx, scopeOf(recommendation), id, planned, now).catch((error: unknown) => {
      if (!(error instanceof DuplicateKeyError)) throw error;
      throw new ApiError('recommendation_built_on', 'It cannot be undone: a newer one about the same is open.');
    });
    if (!undone) throw new ApiError('recommendation_not_applied', 'The recommendation is not applied any more.');
    if (change.target.type === 'inventory_item') {
      // What the change made needless is wanted again, as the one that it was.
      const { kind, name } = itemOf(change);
      const about = {
        providerId,
        subject: subjectOf(provider, kind, name),
        supersededAt: appliedAt ?? '',
        exceptId: id,
      };
      await reopenSuperseded(trx, scopeOf(provider), about, now);
    }
    const blocked = await made.settle(new Map(Object.entries(former)));
    await endSessions(trx, record, { provider, blocked }, now);
    record({ place: recommendation, target: { type: 'recommendation', id }, changed: ['status'] });
    const { type, id: targetId } = change.target;
    if (targetId !== null) record({ place: provider, target: { type, id: targetId }, changed: changedNames(change) });
    return undone;
  });
}

/** What stands in the way of an undo, as a sentence goes on after "It cannot be undone:". */
async function whatWasBuiltOn(
  db: Database,
  provider: Provider,
  { id, change, appliedAt }: Recommendation,
  now: Date,
): Promise<string | null> {
  const { type } = change.target;
  const what = type === 'inventory_item' ? 'the inventory item' : `the ${type}`;
  const target = await targetOf(db, provider, change, now);
  if (!target) return `${what} was deleted since`;
  const differing = Object.entries(change.after ?? {}).find(
    ([field, value]) => JSON.stringify(target[field] ?? null) !== JSON.stringify(value ?? null),
  );
  if (differing) return `its ${differing[0]} was changed since`;
  // What was made would be deleted, with whatever anybody added to it.
  if (change.before === null && target['updatedAt'] !== appliedAt) {
    return `${what} was changed since, on ${String(target['updatedAt'])}, by somebody or by a sync`;
  }
  return type === 'provider' ? whatAdoptionBears(db, provider, { id, appliedAt: appliedAt ?? '' }, now) : null;
}

/** Whether a provider has items that it did not have when it was adopted. */
async function hasNewItems(
  db: Database,
  provider: Provider,
  { id, appliedAt }: { id: string; appliedAt: string },
): Promise<boolean> {
  const scope = scopeOf(provider);
  const before = await findItemsBefore(db, scope, id);
  if (before !== null) {
    const known = new Set(before);
    return (await listItemIds(db, scope, provider.id)).some((item) => !known.has(item));
  }
  const { items } = await listInventory(db, scope, { providerId: provider.id }, { limit: 1, after: null });
  return items.some(({ createdAt }) => createdAt > appliedAt);
}

/** What somebody did with a provider since it was adopted. */
async function whatAdoptionBears(
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
  if (await hasNewItems(db, provider, adoption)) return 'its inventory got items since';
  // Not which is later, since processes have clocks of their own: a change sets another time.
  return provider.updatedAt === adoption.appliedAt ? null : `the provider was changed since, on ${provider.updatedAt}`;
}
