import { CreateInventoryItemInputSchema, type InventoryItem } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import {
  type AppliedRecommendations,
  type ApplyRecommendationsInput,
  type Recommendation,
  type SkipReasonSchema,
  WIDENING_KINDS,
} from '@quartermaster/contracts/recommendations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { findProvider } from '@quartermaster/db/repositories/providers.ts';
import {
  findApproved,
  findOpenRecommendations,
  findRecommendations,
  markApplied,
} from '@quartermaster/db/repositories/recommendations.ts';
import { scopeOf, type TenantScope } from '@quartermaster/db/tenancy.ts';
import type { z } from 'zod';
import { principalName } from '../access/principal.ts';
import { write } from '../audit-events/write.ts';
import { notFound } from '../providers/service.ts';
import { recomputeUnknown } from '../runtime-observations/unknown.ts';
import type { CallerContext } from '../trpc.ts';
import { registerItem, registerItemChange } from './register-item.ts';

type Skipped = { id: string; reason: z.infer<typeof SkipReasonSchema> };

/** Open recommendations that one call without ids takes. */
const MOST_AT_ONCE = 1000;

/**
 * Applies recommendations of one provider in one transaction, all or nothing. Whoever can send spans can cause
 * recommendations, so those that widen what agents may use are taken only where somebody named them, or approved an
 * observation that they rest on.
 */
export async function applyRecommendations(
  ctx: CallerContext,
  providerId: string,
  body: ApplyRecommendationsInput,
): Promise<AppliedRecommendations> {
  const dryRun = body.dryRun ?? false;
  return write(ctx, async (trx, record, now) => {
    const provider = await findProvider(trx, ctx.reach, providerId);
    if (!provider) throw notFound();
    const { chosen, skipped } = await choose(trx, ctx.reach, provider, body);
    if (dryRun) {
      const shown: Recommendation[] = [];
      for (const recommendation of chosen) {
        shown.push({ ...recommendation, change: await registerItemChange(trx, provider, itemOf(recommendation)) });
      }
      return { providerId, dryRun, applied: shown, skipped };
    }
    const applied: Recommendation[] = [];
    const applying = { appliedBy: principalName(ctx.principal), appliedAt: now.toISOString() };
    for (const recommendation of chosen) {
      const item = itemOf(recommendation);
      const change = await registerItem(trx, provider, item, now);
      // Before the observations are looked at again: what is open and needed no more is closed as superseded there.
      applied.push(await markApplied(trx, ctx.reach, recommendation, { ...applying, change }, now));
      await recomputeUnknown(trx, provider, now, item);
      record({ place: recommendation, target: { type: 'recommendation', id: recommendation.id }, changed: ['status'] });
      const { type, id } = change.target;
      if (id !== null) record({ place: provider, target: { type, id }, changed: Object.keys(change.after ?? {}) });
    }
    return { providerId, dryRun, applied, skipped };
  });
}

async function choose(
  db: Database,
  reach: TenantScope,
  provider: Provider,
  { recommendationIds, kinds }: ApplyRecommendationsInput,
): Promise<{ chosen: Recommendation[]; skipped: Skipped[] }> {
  const named = recommendationIds == null ? null : [...new Set(recommendationIds)];
  const scope = scopeOf(provider);
  const found =
    named === null
      ? await findOpenRecommendations(db, scope, { providerId: provider.id, kinds }, MOST_AT_ONCE)
      : await findRecommendations(db, scope, provider.id, named);
  const approved = await findApproved(db, reach, found);
  const skipped: Skipped[] = (named ?? [])
    .filter((id) => !found.some((recommendation) => recommendation.id === id))
    .map((id) => ({ id, reason: 'not_found' }));
  const chosen: Recommendation[] = [];
  for (const recommendation of found) {
    const { id, kind, status } = recommendation;
    if (kinds != null && !kinds.includes(kind)) {
      if (named !== null) skipped.push({ id, reason: 'not_of_kind' });
    } else if (status !== 'open') skipped.push({ id, reason: 'not_open' });
    else if (named === null && WIDENING_KINDS.includes(kind) && !approved.has(id)) {
      skipped.push({ id, reason: 'needs_review' });
    } else chosen.push(recommendation);
  }
  return { chosen, skipped };
}

/** What a recommendation is about: the rules open one kind alone. */
function itemOf({ kind, change }: Recommendation): Pick<InventoryItem, 'kind' | 'name'> {
  if (kind !== 'register_item') throw new Error(`no rule opens a ${kind} yet`);
  return CreateInventoryItemInputSchema.pick({ kind: true, name: true }).strip().parse(change.after);
}
