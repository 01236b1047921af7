import type { Provider } from '@quartermaster/contracts/providers.ts';
import { type RecommendationKind, REVIEWED_KINDS } from '@quartermaster/contracts/recommendations.ts';
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
  // The change of an open recommendation is never edited, so a person who applies it by its id gets the change that they saw.
  const changed = evaluations.filter(({ open, proposal }) => open && proposal && !isSameChange(open, proposal));
  const unchanged = evaluations.flatMap(({ open, proposal }) =>
    open && proposal && isSameChange(open, proposal) ? [{ open, proposal }] : [],
  );
  const missing = evaluations.flatMap((evaluation) => {
    const { open, proposal } = evaluation;
    return proposal && !(open && isSameChange(open, proposal)) ? [{ ...evaluation, proposal }] : [];
  });
  const stored = await findObservationLinks(db, tenant, openIds(unchanged));
  const dismissedCauseOf = await findDismissedCauses(
    db,
    tenant,
    missing.map(({ key }) => key),
  );

  const { obsolete, added } = compareLinks(stored, unchanged);
  // A person dismissed a recommendation for the same cause: it is not opened again.
  const opened = missing.filter(({ key, proposal }) => dismissedCauseOf(key) !== proposal.cause);

  await closeRecommendations(db, tenant, openIds(withoutProposal), closeAs, now);
  await closeRecommendations(db, tenant, openIds(changed), 'superseded', now);
  await updateReasons(db, tenant, changedReasons(unchanged), now);
  for (const isApplicable of [true, false]) {
    const some = unchanged.filter(({ open, proposal }) => isApplicable === canBeApplied(open.kind, proposal));
    await setApplicable(db, tenant, openIds(some), isApplicable);
  }
  await deleteObservationLinks(db, tenant, obsolete);
  const ids = await insertRecommendations(db, tenant, opened.map(newRecommendation), now);
  const linksOfOpened = opened.flatMap(({ proposal }, index) => linksOf(ids[index] ?? '', proposal));
  await insertObservationLinks(db, tenant, [...added, ...linksOfOpened]);
  return opened;
}

function isSameChange(open: OpenRecommendation, { change }: Proposal): boolean {
  return JSON.stringify(open.change) === JSON.stringify(change);
}

function openIds(evaluations: readonly Pick<RuleEvaluation, 'open'>[]): string[] {
  return evaluations.flatMap(({ open }) => open?.id ?? []);
}

/** An open recommendation, and what its rule proposes now: the same change. */
type Unchanged = { open: OpenRecommendation; proposal: Proposal };

function changedReasons(unchanged: readonly Unchanged[]): { id: string; reason: string }[] {
  return unchanged
    .filter(({ open, proposal }) => open.reason !== proposal.reason)
    .map(({ open: { id }, proposal: { reason } }) => ({ id, reason }));
}

/** Compares the stored links of open recommendations to observations with the links that their rules propose now. */
function compareLinks(stored: readonly Link[], unchanged: readonly Unchanged[]): { obsolete: Link[]; added: Link[] } {
  const proposed = unchanged.flatMap(({ open, proposal }) => linksOf(open.id, proposal));
  const keyOf = ({ recommendationId, observationId }: Link) => `${recommendationId} ${observationId}`;
  const [isStored, isProposed] = [new Set(stored.map(keyOf)), new Set(proposed.map(keyOf))];
  return {
    obsolete: stored.filter((link) => !isProposed.has(keyOf(link))),
    added: proposed.filter((link) => !isStored.has(keyOf(link))),
  };
}

function newRecommendation({ provider: { subTenantId }, key, proposal }: RuleEvaluation & { proposal: Proposal }) {
  const { reason, change } = proposal;
  return { ...key, subTenantId, reason, change, isApplicable: canBeApplied(key.kind, proposal) };
}

/**
 * Whether applying without ids considers the recommendation. It may still skip it, depending on who approved it.
 * `adopt_provider` is always considered, because a provider has at most one.
 */
function canBeApplied(kind: RecommendationKind, { observations }: Proposal): boolean {
  if (!REVIEWED_KINDS.includes(kind) || kind === 'adopt_provider') return true;
  return observations.some(({ status }) => status === 'approved');
}

function linksOf(recommendationId: string, { observations }: Proposal): Link[] {
  return observations.map(({ id }) => ({ recommendationId, observationId: id }));
}
