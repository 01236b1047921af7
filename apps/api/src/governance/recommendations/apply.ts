import type { Provider } from '@quartermaster/contracts/providers.ts';
import {
  type AppliedRecommendations,
  type ApplyRecommendationsInput,
  type PlanRecommendationsInput,
  type Recommendation,
  REVIEWED_KINDS,
  type SkipReasonSchema,
  WIDENING_KINDS,
} from '@quartermaster/contracts/recommendations.ts';
import { inBatches } from '@quartermaster/db/batches.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { listItemIds } from '@quartermaster/db/repositories/inventory.ts';
import { findProvider } from '@quartermaster/db/repositories/providers.ts';
import type { SessionReference } from '@quartermaster/db/repositories/sessions-of-items.ts';
import {
  type FormerObservations,
  findRecommendationsOfApply,
  findUndoneRecommendations,
  markApplied,
} from '@quartermaster/db/repositories/recommendation-states.ts';
import {
  findBackedByDecision,
  findOpenRecommendations,
  findRecommendation,
  findRecommendations,
  findUnapprovedRecommendations,
} from '@quartermaster/db/repositories/recommendations.ts';
import { newId } from '@quartermaster/db/ids.ts';
import { covers, scopeOf, type TenantScope, wholeTenant } from '@quartermaster/db/tenancy.ts';
import { confineToTenant, inRolledBackTransaction } from '@quartermaster/db/transaction.ts';
import type { z } from 'zod';
import { principalName, reachOf } from '../../auth/principal.ts';
import { type AuditedChange, auditedWrite } from '../../platform/audit/audited-write.ts';
import { requireFound, valueError } from '../../platform/errors.ts';
import type { TenantLimits } from '../../platform/tenant-limits.ts';
import type { CallerContext } from '../../auth/context.ts';
import {
  type BlockCandidates,
  revokeSessionsOfBlocked,
  revokeSessionsOfChangedProvider,
} from '../observations/revoke-sessions.ts';
import { findSubjectState, itemOf, reconcileSubject } from '../rules/reconcile.ts';
import { applyChange, changedBy } from './change.ts';

type SkipReason = z.infer<typeof SkipReasonSchema>;
type Skipped = { id: string; reason: SkipReason };

/** The maximum number of recommendations that a request without ids applies. */
const MAX_APPLIED = 1000;

/** Recommendations per batch. After each batch the event loop gets a turn. */
const BATCH_SIZE = 20;

/** The maximum number of revoked sessions that an answer lists. */
const MAX_SESSIONS_LISTED = 1000;

/**
 * Applies recommendations of one provider in one transaction, all or nothing. Anyone who can send spans can cause
 * recommendations. So a recommendation that widens what agents may use is applied only if the request names its id, or if
 * an observation that it is based on was approved. A dry run applies them and rolls back, so it shows exactly what would
 * happen.
 */
export async function applyRecommendations(
  ctx: CallerContext,
  providerId: string,
  body: ApplyRecommendationsInput,
): Promise<AppliedRecommendations> {
  if (body.dryRun === true) return dryRunRecommendations(ctx, { providerId, body, sessionReach: ctx.reach });
  return auditedWrite(ctx, (trx, record, now) =>
    applyChosen(ctx, { trx, record, now }, { providerId, body, sessionReach: ctx.reach }),
  );
}

/** The dry run for callers who may read recommendations. It shows only the sessions that they may read as well. */
export function planRecommendations(
  ctx: CallerContext,
  providerId: string,
  body: PlanRecommendationsInput,
): Promise<AppliedRecommendations> {
  const sessionReach = reachOf(ctx.principal, 'gateway_sessions:read');
  return dryRunRecommendations(ctx, { providerId, body: { ...body, dryRun: true }, sessionReach });
}

type Request = {
  providerId: string;
  body: ApplyRecommendationsInput;
  /** Where the caller may see which sessions are revoked. */
  sessionReach: TenantScope;
};

function dryRunRecommendations(ctx: CallerContext, request: Request): Promise<AppliedRecommendations> {
  const { db, now } = ctx.services;
  return inRolledBackTransaction(db, (trx) => applyChosen(ctx, { trx, record: () => {}, now: now() }, request));
}

type Write = { trx: Database; record: (change: AuditedChange) => void; now: Date };

async function applyChosen(
  ctx: CallerContext,
  { trx, record, now }: Write,
  { providerId, body, sessionReach }: Request,
): Promise<AppliedRecommendations> {
  const dryRun = body.dryRun ?? false;
  let provider = requireFound(await findProvider(trx, ctx.reach, providerId), 'provider_not_found');
  confineToTenant(trx, provider.tenantId);
  const appliedBy = principalName(ctx.principal);
  const { chosen, skipped } = await choose(trx, ctx.reach, provider, body);
  const applyId = await applyIdOf(trx, provider, { body, appliedBy, count: chosen.length, now });
  const applied: Recommendation[] = [];
  const candidates: BlockCandidates[number][] = [];
  const { tenantLimits } = ctx.services;
  for await (const batch of inBatches(narrowingFirst(chosen), BATCH_SIZE)) {
    for (const recommendation of batch) {
      const position = { applyId, applyOrder: applied.length };
      const options = { provider, recommendation, appliedBy, ...position, tenantLimits, now };
      const result = await applyOpenRecommendation(trx, record, options);
      if ('skipped' in result) {
        skipped.push({ id: recommendation.id, reason: result.skipped });
        continue;
      }
      applied.push(
        dryRun
          ? { ...recommendation, change: withoutNewId(recommendation, result.recommendation) }
          : result.recommendation,
      );
      candidates.push(...result.candidates);
      // The next recommendations need the changed provider, because the risk of what they change depends on it.
      if (recommendation.change.target.type === 'provider') {
        provider = requireFound(await findProvider(trx, scopeOf(provider), providerId), 'provider_not_found');
      }
    }
  }
  const revokedSessions = await revokeSessionsOfBlocked(trx, record, { provider, candidates }, now);
  if (applied.some(({ change }) => change.target.type === 'provider')) {
    revokedSessions.push(...(await revokeSessionsOfChangedProvider(trx, record, provider, now)));
  }
  return { providerId, dryRun, applied, skipped, revokedSessions: visibleSessions(sessionReach, revokedSessions) };
}

type ApplyOptions = {
  provider: Provider;
  recommendation: Recommendation;
  appliedBy: string;
  applyId: string;
  applyOrder: number;
  tenantLimits: TenantLimits;
  now: Date;
};
type Applied = { recommendation: Recommendation; candidates: BlockCandidates };

/**
 * Applies one recommendation within a transaction, and reevaluates what it changed. The caller revokes the sessions that
 * grant one of the returned `candidates`, if they are blocked.
 *
 * @returns why it was skipped, if it is no longer open or cannot be applied
 */
export async function applyOpenRecommendation(
  trx: Database,
  record: (change: AuditedChange) => void,
  { provider, recommendation: { id }, appliedBy, applyId, applyOrder, tenantLimits, now }: ApplyOptions,
): Promise<Applied | { skipped: SkipReason }> {
  const scope = scopeOf(provider);
  // It may be superseded by a recommendation that the same request applied before it.
  let open = await findRecommendation(trx, scope, id);
  if (open?.status === 'open' && open.kind === 'allow_in_manifest') {
    // Gateways and manifests may have changed since the rule was last asked.
    await reconcileSubject(trx, provider, itemOf(open.change), now);
    open = await findRecommendation(trx, scope, id);
  }
  if (open?.status !== 'open') return { skipped: 'not_open' };
  if (open.change.after?.['credentialId'] === null) return { skipped: 'needs_successor' };
  const former = await findFormerStates(trx, provider, open);
  const itemsBefore = open.kind === 'adopt_provider' ? await listItemIds(trx, scope, provider.id) : null;
  const { change, reevaluate } = await applyChange(
    trx,
    provider,
    { change: open.change, tenantLimits, record, appliedBy },
    now,
  );
  const state = { appliedBy, appliedAt: now.toISOString(), applyId, applyOrder, change, former, itemsBefore };
  const applied = await markApplied(trx, scope, id, state, now);
  if (!applied) throw new Error(`the recommendation ${id} is no longer open`);
  const candidates = await reevaluate();
  record({
    place: open,
    target: { type: 'recommendation', id },
    changed: { fields: ['status'], before: open, after: applied },
  });
  const { type, id: targetId } = change.target;
  if (targetId !== null && type !== 'manifest') {
    record({ place: provider, target: { type, id: targetId }, changed: changedBy(change) });
  }
  return { recommendation: applied, candidates };
}

/**
 * The id of the apply that a call belongs to: a new one, or an earlier one of the same caller in the same tenant. Otherwise a caller could
 * add changes to what somebody else is about to undo.
 *
 * @throws 422
 */
async function applyIdOf(
  trx: Database,
  provider: Provider,
  { body, appliedBy, count, now }: { body: ApplyRecommendationsInput; appliedBy: string; count: number; now: Date },
): Promise<string> {
  const { applyId } = body;
  if (applyId == null) return newId('app', now);
  const before = await findRecommendationsOfApply(trx, wholeTenant(provider.tenantId), applyId);
  if (before.length === 0 || before.some((recommendation) => recommendation.appliedBy !== appliedBy)) {
    throw valueError(
      ['body', 'applyId'],
      'applyId should be that of something that you applied in this tenant',
      applyId,
    );
  }
  if (before.length + count > MAX_APPLIED) {
    throw valueError(['body', 'applyId'], `an apply should have at most ${MAX_APPLIED} recommendations`, applyId);
  }
  return applyId;
}

/**
 * The revoked sessions that the caller may see. Gateways of the whole tenant may list a sub-tenant's provider, and the
 * sub-tenant's administrators do not see the sessions of these gateways.
 */
function visibleSessions(reach: TenantScope, revoked: readonly SessionReference[]) {
  return revoked
    .filter((session) => covers(reach, session))
    .slice(0, MAX_SESSIONS_LISTED)
    .map(({ id, gatewayId, subject }) => ({ id, gatewayId, subject }));
}

/** The states of the observations before the change. An undo restores them. */
async function findFormerStates(
  db: Database,
  provider: Provider,
  { change }: Recommendation,
): Promise<FormerObservations> {
  if (change.target.type !== 'inventory_item' && change.target.type !== 'manifest') return {};
  const { kind, name } = itemOf(change);
  const { observations } = await findSubjectState(db, { provider, kind, name });
  return Object.fromEntries(
    observations.map(({ id, status, drift, review }) => [
      id,
      { status, drift, reviewedAt: review?.reviewedAt ?? null },
    ]),
  );
}

/** Sorts recommendations that block or retire before those that widen: a block supersedes what would allow the same. */
function narrowingFirst(chosen: readonly Recommendation[]): Recommendation[] {
  const widening = ({ kind }: Recommendation) => (WIDENING_KINDS.includes(kind) ? 1 : 0);
  return chosen.toSorted((a, b) => widening(a) - widening(b));
}

/** The change for the answer of a dry run. A record that would be created has no id. */
function withoutNewId(before: Recommendation, { change }: Recommendation): Recommendation['change'] {
  if (change.target.type !== 'manifest') return { ...change, target: before.change.target };
  const { gatewayIds } = change.after ?? {};
  return { ...before.change, after: { ...before.change.after, gatewayIds } };
}

/** Whether a request without ids skips a recommendation of this kind if no observation that it is based on was reviewed. */
function needsReview(kind: Recommendation['kind']): boolean {
  return kind === 'block_item' || REVIEWED_KINDS.includes(kind);
}

/** Chooses the recommendations to apply: the named ones, or else the open ones that need no further review. */
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
      ? await findOpenRecommendations(db, scope, { providerId: provider.id, kinds }, MAX_APPLIED)
      : await findRecommendations(db, scope, provider.id, named);
  const decided = await findBackedByDecision(db, reach, found);
  const ids = found.map(({ id }) => id);
  const undone = named === null ? await findUndoneRecommendations(db, scope, ids) : new Set<string>();
  const skipped: Skipped[] = (named ?? [])
    .filter((id) => !found.some((recommendation) => recommendation.id === id))
    .map((id) => ({ id, reason: 'not_found' }));
  if (named === null && found.length < MAX_APPLIED) {
    const left = MAX_APPLIED - found.length;
    for (const { id, isUndone } of await findUnapprovedRecommendations(
      db,
      scope,
      { providerId: provider.id, kinds },
      left,
    )) {
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
