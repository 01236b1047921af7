import type { Provider } from '@quartermaster/contracts/providers.ts';
import { type RecommendationKind, WIDENING_KINDS } from '@quartermaster/contracts/recommendations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import type { OpenRecommendation, Subject } from '@quartermaster/db/repositories/recommendations.ts';
import {
  closeRecommendations,
  deleteObservationLinks,
  findDismissedCauses,
  findObservationLinks,
  insertObservationLinks,
  insertRecommendations,
  type Link,
  setApplicable,
  updateReasons,
} from '@quartermaster/db/repositories/open-recommendations.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { Proposal } from './rule.ts';

type InTenant = Pick<TenantPlace, 'tenantId'>;
type RecommendationKey = Subject & { kind: RecommendationKind };

/** What a rule proposes for a subject, and the open recommendation of its kind. */
export type RuleEvaluation = {
  provider: Provider;
  key: RecommendationKey;
  open: OpenRecommendation | undefined;
  proposal: Proposal | null;
};

/** The status that a recommendation gets if its rule no longer proposes it. `dismissed`: a person decided that. */
export type ClosingStatus = 'superseded' | 'dismissed';

/** Identifies the open recommendation of a kind about a subject. There is at most one. */
export function recommendationKey({ providerId, kind, subject }: RecommendationKey): string {
  return `${providerId} ${kind} ${subject}`;
}

/**
 * Opens, updates and closes recommendations of a tenant, so that they match what the rules propose now.
 *
 * @returns the evaluations for which a recommendation was opened
 */
export async function applyEvaluations(
  db: Database,
  tenant: InTenant,
  { evaluations, closeAs }: { evaluations: readonly RuleEvaluation[]; closeAs: ClosingStatus },
  now: Date,
): Promise<RuleEvaluation[]> {
  const withoutProposal = evaluations.filter(({ proposal }) => !proposal);
  await closeRecommendations(db, tenant, openIds(withoutProposal), closeAs, now);
  // The change of an open recommendation is never edited, so a person who applies it by its id gets the change that they saw.
  const changed = evaluations.filter(({ open, proposal }) => open && proposal && !isSameChange(open, proposal));
  await closeRecommendations(db, tenant, openIds(changed), 'superseded', now);
  const unchanged = evaluations.flatMap(({ open, proposal }) =>
    open && proposal && isSameChange(open, proposal) ? [{ open, proposal }] : [],
  );
  await updateOpenRecommendations(db, tenant, unchanged, now);
  const missing = evaluations.flatMap((evaluation) => {
    const { open, proposal } = evaluation;
    return proposal && !(open && isSameChange(open, proposal)) ? [{ ...evaluation, proposal }] : [];
  });
  return openRecommendations(db, tenant, missing, now);
}

function isSameChange(open: OpenRecommendation, { change }: Proposal): boolean {
  return JSON.stringify(open.change) === JSON.stringify(change);
}

function openIds(evaluations: readonly RuleEvaluation[]): string[] {
  return evaluations.flatMap(({ open }) => open?.id ?? []);
}

/** Updates the reason, the observations and the applicability of open recommendations. */
async function updateOpenRecommendations(
  db: Database,
  tenant: InTenant,
  unchanged: readonly { open: OpenRecommendation; proposal: Proposal }[],
  now: Date,
): Promise<void> {
  const reasons = unchanged
    .filter(({ open, proposal }) => open.reason !== proposal.reason)
    .map(({ open: { id }, proposal: { reason } }) => ({ id, reason }));
  await updateReasons(db, tenant, reasons, now);
  for (const isApplicable of [true, false]) {
    const some = unchanged.filter(({ open, proposal }) => isApplicable === canBeApplied(open.kind, proposal));
    const ids = some.map(({ open }) => open.id);
    await setApplicable(db, tenant, ids, isApplicable);
  }
  const allIds = unchanged.map(({ open }) => open.id);
  const stored = await findObservationLinks(db, tenant, allIds);
  const proposed = unchanged.flatMap(({ open, proposal }) => linksOf(open.id, proposal));
  const keyOf = ({ recommendationId, observationId }: Link) => `${recommendationId} ${observationId}`;
  const [isStored, isProposed] = [new Set(stored.map(keyOf)), new Set(proposed.map(keyOf))];
  const obsolete = stored.filter((link) => !isProposed.has(keyOf(link)));
  await deleteObservationLinks(db, tenant, obsolete);
  const added = proposed.filter((link) => !isStored.has(keyOf(link)));
  await insertObservationLinks(db, tenant, added);
}

/** Opens what rules propose, unless a person dismissed a recommendation for the same cause. */
async function openRecommendations<Missing extends RuleEvaluation & { proposal: Proposal }>(
  db: Database,
  tenant: InTenant,
  missing: readonly Missing[],
  now: Date,
): Promise<Missing[]> {
  const keys = missing.map(({ key }) => key);
  const dismissedCauseOf = await findDismissedCauses(db, tenant, keys);
  const opened = missing.filter(({ key, proposal }) => dismissedCauseOf(key) !== proposal.cause);
  const rows = opened.map(({ provider: { subTenantId }, key, proposal }) => ({
    ...key,
    subTenantId,
    reason: proposal.reason,
    change: proposal.change,
    isApplicable: canBeApplied(key.kind, proposal),
  }));
  const ids = await insertRecommendations(db, tenant, rows, now);
  const links = opened.flatMap(({ proposal }, index) => linksOf(ids[index] ?? '', proposal));
  await insertObservationLinks(db, tenant, links);
  return opened;
}

/**
 * Whether applying without ids considers the recommendation. It may still skip it, depending on who approved it.
 * `adopt_provider` is always considered, because a provider has at most one.
 */
function canBeApplied(kind: RecommendationKind, { observations }: Proposal): boolean {
  if (!WIDENING_KINDS.includes(kind) || kind === 'adopt_provider') return true;
  return observations.some(({ status }) => status === 'approved');
}

function linksOf(recommendationId: string, { observations }: Proposal): Link[] {
  return observations.map(({ id }) => ({ recommendationId, observationId: id }));
}
