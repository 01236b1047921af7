import { setImmediate as breathe } from 'node:timers/promises';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import {
  type AppliedRecommendations,
  type ApplyRecommendationsInput,
  type Recommendation,
  type SkipReasonSchema,
  WIDENING_KINDS,
} from '@quartermaster/contracts/recommendations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { listItemIds } from '@quartermaster/db/repositories/inventory.ts';
import { findProvider } from '@quartermaster/db/repositories/providers.ts';
import type { SessionReference } from '@quartermaster/db/repositories/sessions-of-items.ts';
import {
  type FormerObservations,
  findUndone,
  markApplied,
} from '@quartermaster/db/repositories/recommendation-states.ts';
import {
  findDecided,
  findOpenRecommendations,
  findRecommendation,
  findRecommendations,
  findUnapproved,
} from '@quartermaster/db/repositories/recommendations.ts';
import { covers, scopeOf, type TenantScope } from '@quartermaster/db/tenancy.ts';
import { staysWithin } from '@quartermaster/db/transaction.ts';
import type { z } from 'zod';
import { principalName } from '../access/principal.ts';
import { type Change as AuditedChange, write } from '../audit-events/write.ts';
import { notFound } from '../providers/service.ts';
import type { TenantLimits } from '../tenants/limits.ts';
import type { CallerContext } from '../trpc.ts';
import { changedNames, makeChange } from './change.ts';
import { itemOf, subjectState } from './reconcile.ts';
import { type Blocked, endSessions } from './settle.ts';

type SkipReason = z.infer<typeof SkipReasonSchema>;
type Skipped = { id: string; reason: SkipReason };

/** Open recommendations that one call without ids takes. */
const MOST_AT_ONCE = 1000;

/** Recommendations applied before the event loop gets a turn. */
const OF_TURN = 20;

/** Sessions that an answer lists. */
const SESSIONS_SHOWN = 1000;

/** What a dry run throws, so that the transaction leaves nothing behind. */
class DryRun extends Error {
  readonly answer: AppliedRecommendations;

  constructor(answer: AppliedRecommendations) {
    super('nothing is kept of a dry run');
    this.answer = answer;
  }
}

/**
 * Applies recommendations of one provider in one transaction, all or nothing. Whoever can send spans can cause
 * recommendations, so those that widen what agents may use are taken only where somebody named them, or approved an
 * observation that they rest on. A dry run does the same, and takes it back: it cannot show anything else.
 */
export async function applyRecommendations(
  ctx: CallerContext,
  providerId: string,
  body: ApplyRecommendationsInput,
): Promise<AppliedRecommendations> {
  const dryRun = body.dryRun ?? false;
  try {
    return await write(ctx, async (trx, record, now) => {
      const provider = await findProvider(trx, ctx.reach, providerId);
      if (!provider) throw notFound();
      staysWithin(trx, provider.tenantId);
      const { chosen, skipped } = await choose(trx, ctx.reach, provider, body);
      const applied: Recommendation[] = [];
      const blocked: Blocked = [];
      const appliedBy = principalName(ctx.principal);
      const { tenantLimits } = ctx.services;
      for (const [index, recommendation] of narrowingFirst(chosen).entries()) {
        if (index % OF_TURN === OF_TURN - 1) await breathe();
        const done = await applyOpen(trx, record, { provider, recommendation, appliedBy, tenantLimits, now });
        if ('skipped' in done) {
          skipped.push({ id: recommendation.id, reason: done.skipped });
          continue;
        }
        applied.push(
          dryRun ? { ...recommendation, change: shown(recommendation, done.recommendation) } : done.recommendation,
        );
        blocked.push(...done.blocked);
      }
      const revokedSessions = await endSessions(trx, record, { provider, blocked }, now);
      const answer = {
        providerId,
        dryRun,
        applied,
        skipped,
        revokedSessions: shownSessions(ctx.reach, revokedSessions),
      };
      if (dryRun) throw new DryRun(answer);
      return answer;
    });
  } catch (error) {
    if (error instanceof DryRun) return error.answer;
    throw error;
  }
}

type Applying = {
  provider: Provider;
  recommendation: Recommendation;
  appliedBy: string;
  tenantLimits: TenantLimits;
  now: Date;
};
type Applied = { recommendation: Recommendation; blocked: Blocked };

/**
 * Applies one recommendation, within a transaction: what it says is changed, and what follows from that is settled. For
 * the caller it leaves to end the sessions of what is blocked by it.
 *
 * @returns why it was left out, where it is not open (any more) or cannot be applied
 */
export async function applyOpen(
  trx: Database,
  record: (change: AuditedChange) => void,
  { provider, recommendation: { id }, appliedBy, tenantLimits, now }: Applying,
): Promise<Applied | { skipped: SkipReason }> {
  const scope = scopeOf(provider);
  // What was applied before it in the same call may have settled it.
  const open = await findRecommendation(trx, scope, id);
  if (open?.status !== 'open') return { skipped: 'not_open' };
  if (open.change.after?.['credentialId'] === null) return { skipped: 'needs_successor' };
  const former = await formerStates(trx, provider, open);
  const itemsBefore = open.change.target.type === 'provider' ? await listItemIds(trx, scope, provider.id) : null;
  const made = await makeChange(trx, provider, { change: open.change, tenantLimits }, now);
  const { change } = made;
  const state = { appliedBy, appliedAt: now.toISOString(), change, former, itemsBefore };
  const applied = await markApplied(trx, scope, id, state, now);
  if (!applied) throw new Error(`the recommendation ${id} is not open any more`);
  const blocked = await made.settle();
  record({ place: open, target: { type: 'recommendation', id }, changed: ['status'] });
  const { type, id: targetId } = change.target;
  if (targetId !== null) {
    record({ place: provider, target: { type, id: targetId }, changed: changedNames(change) });
  }
  return { recommendation: applied, blocked };
}

/** Gateways of the whole tenant may list a sub-tenant's provider: whom their sessions belong to is not for all to see. */
function shownSessions(reach: TenantScope, revoked: readonly SessionReference[]) {
  return revoked
    .filter((session) => covers(reach, session))
    .slice(0, SESSIONS_SHOWN)
    .map(({ id, gatewayId, subject }) => ({ id, gatewayId, subject }));
}

/** What an undo has to bring back besides the change itself. */
async function formerStates(db: Database, provider: Provider, { change }: Recommendation): Promise<FormerObservations> {
  if (change.target.type !== 'inventory_item') return {};
  const { kind, name } = itemOf(change);
  const { observations } = await subjectState(db, { provider, kind, name });
  return Object.fromEntries(
    observations.map(({ id, status, drift, review }) => [
      id,
      { status, drift, reviewedAt: review?.reviewedAt ?? null },
    ]),
  );
}

/** What is blocked or retired first: a block stands against what would widen it in the same call. */
function narrowingFirst(chosen: readonly Recommendation[]): Recommendation[] {
  const widening = ({ kind }: Recommendation) => (WIDENING_KINDS.includes(kind) ? 1 : 0);
  return chosen.toSorted((a, b) => widening(a) - widening(b));
}

/** In a dry run nothing is made: what would be has no id yet. */
function shown(before: Recommendation, { change }: Recommendation): Recommendation['change'] {
  return { ...change, target: before.change.target };
}

/** Whether a call that names no id takes it only where somebody decided about what it rests on. */
function needsReview(kind: Recommendation['kind']): boolean {
  return kind === 'block_item' || WIDENING_KINDS.includes(kind);
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
  const decided = await findDecided(db, reach, found);
  const ids = found.map(({ id }) => id);
  const undone = named === null ? await findUndone(db, scope, ids) : new Set<string>();
  const skipped: Skipped[] = (named ?? [])
    .filter((id) => !found.some((recommendation) => recommendation.id === id))
    .map((id) => ({ id, reason: 'not_found' }));
  if (named === null && found.length < MOST_AT_ONCE) {
    const left = MOST_AT_ONCE - found.length;
    for (const { id, isUndone } of await findUnapproved(db, scope, { providerId: provider.id, kinds }, left)) {
      skipped.push({ id, reason: isUndone ? 'undone' : 'needs_review' });
    }
  }
  const chosen: Recommendation[] = [];
  for (const recommendation of found) {
    const { id, kind, status } = recommendation;
    if (kinds != null && !kinds.includes(kind)) {
      if (named !== null) skipped.push({ id, reason: 'not_of_kind' });
    } else if (status !== 'open') skipped.push({ id, reason: 'not_open' });
    else if (undone.has(id)) skipped.push({ id, reason: 'undone' });
    else if (named === null && needsReview(kind) && !decided.has(id)) {
      skipped.push({ id, reason: 'needs_review' });
    } else chosen.push(recommendation);
  }
  return { chosen, skipped };
}
