import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Recommendation, UndoneRecommendations } from '@quartermaster/contracts/recommendations.ts';
import { inBatches } from '@quartermaster/db/batches.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { DuplicateKeyError } from '@quartermaster/db/errors.ts';
import { findGatewayOfProvider } from '@quartermaster/db/repositories/gateways.ts';
import { listItemIds } from '@quartermaster/db/repositories/inventory.ts';
import { findProviderSecret, listSealedHeaders } from '@quartermaster/db/repositories/provider-secrets.ts';
import { closeRecommendations } from '@quartermaster/db/repositories/open-recommendations.ts';
import { findProvider } from '@quartermaster/db/repositories/providers.ts';
import {
  findFormerObservations,
  findItemsBefore,
  findRecommendationsOfApply,
  markUndone,
  reopenSuperseded,
} from '@quartermaster/db/repositories/recommendation-states.ts';
import { findOpenRecommendationsOfSubjects } from '@quartermaster/db/repositories/recommendations.ts';
import { scopeOf, wholeTenant } from '@quartermaster/db/tenancy.ts';
import { confineToTenant } from '@quartermaster/db/transaction.ts';
import { principalName } from '../../auth/principal.ts';
import { type AuditedChange, auditedWrite } from '../../platform/audit/audited-write.ts';
import { ApiError } from '../../platform/errors.ts';
import type { CallerContext } from '../../auth/context.ts';
import { revokeSessionsOfBlocked, revokeSessionsOfChangedProvider } from '../observations/revoke-sessions.ts';
import { itemOf, subjectOf } from '../rules/reconcile.ts';
import { applyChange, changedBy, findTarget, inverse, isRemoval } from './change.ts';
import { requireRecommendation } from './dismiss.ts';
import { asProposed, findManifestObstacle } from './manifest-change.ts';

/** Recommendations per batch. After each batch the event loop gets a turn. */
const BATCH_SIZE = 20;

/** The maximum number of reasons in an error message. */
const MAX_OBSTACLES = 20;

/**
 * Undoes an applied recommendation: restores what it changed and the observations, and opens it again.
 *
 * @throws 409 if it is not applied, or if something was built on the change since. The message says what
 */
export async function undoRecommendation(ctx: CallerContext, id: string): Promise<Recommendation> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const recommendation = await requireRecommendation(ctx, trx, id);
    confineToTenant(trx, recommendation.tenantId);
    if (recommendation.status !== 'applied') {
      throw new ApiError('recommendation_not_applied', `The recommendation is ${recommendation.status}.`);
    }
    const result = await undoApplied(ctx, { trx, record, now }, recommendation);
    if (typeof result === 'string') throw builtOn(`The recommendation cannot be undone: ${result}.`);
    return result;
  });
}

/**
 * Undoes everything that was applied with an apply id and not undone since, in the reverse order: all or nothing.
 *
 * @throws 404; 403 if the caller does not reach all of it; 409 if something was built on a part of it. The message says what
 */
export async function undoRecommendations(ctx: CallerContext, applyId: string): Promise<UndoneRecommendations> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const inReach = await findRecommendationsOfApply(trx, ctx.reach, applyId);
    const [first] = inReach;
    if (!first) throw new ApiError('apply_not_found', 'Nothing in your reach is applied with this id.');
    confineToTenant(trx, first.tenantId);
    const applied = await findRecommendationsOfApply(trx, wholeTenant(first.tenantId), applyId);
    if (applied.length > inReach.length) {
      throw new ApiError('tenant_forbidden', 'A part of what was applied is outside your reach. Undo single ones.');
    }
    const undone: Recommendation[] = [];
    const obstacles: string[] = [];
    for await (const batch of inBatches(applied.toReversed(), BATCH_SIZE)) {
      for (const recommendation of batch) {
        const result = await undoApplied(ctx, { trx, record, now }, recommendation);
        if (typeof result === 'string') obstacles.push(`${recommendation.id}: ${result}`);
        else undone.push(result);
      }
    }
    if (obstacles.length === 0) return { applyId, undone };
    const shown = obstacles.slice(0, MAX_OBSTACLES);
    const others = obstacles.length - shown.length;
    const list = [...shown, ...(others === 0 ? [] : [`${others} more`])].join('; ');
    throw builtOn(`${obstacles.length} of ${applied.length} cannot be undone, so nothing was undone. ${list}.`);
  });
}

type Writing = { trx: Database; record: (change: AuditedChange) => void; now: Date };

/** Undoes an applied recommendation in the caller's transaction. If something was built on it, changes nothing and returns what. */
async function undoApplied(
  { services: { tenantLimits }, principal }: CallerContext,
  { trx, record, now }: Writing,
  recommendation: Recommendation,
): Promise<Recommendation | string> {
  const { id, providerId, change, appliedAt } = recommendation;
  const provider = await findProvider(trx, scopeOf(recommendation), providerId);
  const obstacle = provider ? await findUndoObstacle(trx, provider, recommendation, now) : 'the provider was deleted';
  if (!provider || obstacle !== null) return obstacle ?? 'the provider was deleted';
  const former = await findFormerObservations(trx, scopeOf(recommendation), id);
  const { reevaluate } = await applyChange(
    trx,
    provider,
    { change: inverse(change), tenantLimits, record, appliedBy: principalName(principal), undoneSince: appliedAt },
    now,
  );
  const isManifest = change.target.type === 'manifest';
  // Another manifest may deny the same, which was recommended next.
  if (isManifest) await supersedeNext(trx, provider, recommendation, now);
  // An item that the change created is deleted now, so the reopened recommendation has no target id.
  const created = change.before === null ? { ...change, target: { ...change.target, id: null } } : change;
  const planned = isManifest ? asProposed(change) : created;
  const undone = await markUndone(trx, scopeOf(recommendation), id, planned, now).catch((error: unknown) => {
    if (!(error instanceof DuplicateKeyError)) throw error;
    throw builtOn(`The recommendation ${id} cannot be undone: a newer recommendation for the same record is open.`);
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
  const changed = { fields: ['status'], before: recommendation, after: undone };
  record({ place: recommendation, target: { type: 'recommendation', id }, changed });
  const { type, id: targetId } = change.target;
  if (targetId !== null && !isManifest) {
    record({ place: provider, target: { type, id: targetId }, changed: changedBy(inverse(change)) });
  }
  return undone;
}

/** Supersedes the open recommendation of the same kind about the same subject. */
async function supersedeNext(
  trx: Database,
  provider: Provider,
  { kind, change }: Recommendation,
  now: Date,
): Promise<void> {
  const item = itemOf(change);
  const subject = { providerId: provider.id, subject: subjectOf(provider, item.kind, item.name) };
  const open = await findOpenRecommendationsOfSubjects(trx, provider, [subject]);
  const ids = open.filter((one) => one.kind === kind).map(({ id }) => id);
  await closeRecommendations(trx, provider, ids, 'superseded', now);
}

function builtOn(why: string): ApiError {
  return new ApiError('recommendation_built_on', why);
}

/** Why a recommendation cannot be undone: the end of the sentence "The recommendation cannot be undone: ...". Null if it can. */
async function findUndoObstacle(
  db: Database,
  provider: Provider,
  { id, change, appliedAt }: Recommendation,
  now: Date,
): Promise<string | null> {
  const { type } = change.target;
  if (type === 'manifest') return findManifestObstacle(db, provider, change);
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
