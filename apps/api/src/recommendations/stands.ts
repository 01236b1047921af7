import type { Provider } from '@quartermaster/contracts/providers.ts';
import { type RecommendationKind, WIDENING_KINDS } from '@quartermaster/contracts/recommendations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import type { StandingRecommendation, Subject } from '@quartermaster/db/repositories/recommendations.ts';
import {
  closeRecommendations,
  deleteLinks,
  findDismissedCauses,
  findLinks,
  insertLinks,
  insertRecommendations,
  type Link,
  updateApplicable,
  updateReason,
} from '@quartermaster/db/repositories/standing-recommendations.ts';
import { scopeOf, type TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { Wanted } from './rules/rule.ts';

type InTenant = Pick<TenantPlace, 'tenantId'>;
type About = Subject & { kind: RecommendationKind };

/** What a rule says of one recommendation, and whether it is open. */
export type Stand = {
  provider: Provider;
  about: About;
  standing: StandingRecommendation | undefined;
  wanted: Wanted | null;
};

/** How what is not wanted any more ends: by itself, or because somebody decided about its observations. */
export type Ending = 'superseded' | 'dismissed';

/** What tells recommendations apart: one of each kind about a subject may be open. */
export function aboutKey({ providerId, kind, subject }: About): string {
  return `${providerId} ${kind} ${subject}`;
}

/** Opens, keeps or ends recommendations of a tenant. Answers those that were opened. */
export async function settleStands(
  db: Database,
  tenant: InTenant,
  { stands, ending }: { stands: readonly Stand[]; ending: Ending },
  now: Date,
): Promise<Stand[]> {
  const unwanted = stands.filter(({ wanted }) => !wanted);
  await closeRecommendations(db, tenant, idsOf(unwanted), ending, now);
  // What an id stands for never changes: whoever looked at it and names it applies what they saw, or nothing.
  const changed = stands.filter(({ standing, wanted }) => standing && wanted && !isSame(standing, wanted));
  await closeRecommendations(db, tenant, idsOf(changed), 'superseded', now);
  const kept = stands.flatMap(({ standing, wanted }) =>
    standing && wanted && isSame(standing, wanted) ? [{ standing, wanted }] : [],
  );
  await keep(db, tenant, kept, now);
  const missing = stands.flatMap((stand) => {
    const { standing, wanted } = stand;
    return wanted && !(standing && isSame(standing, wanted)) ? [{ ...stand, wanted }] : [];
  });
  return open(db, tenant, missing, now);
}

function isSame(standing: StandingRecommendation, { change }: Wanted): boolean {
  return JSON.stringify(standing.change) === JSON.stringify(change);
}

function idsOf(stands: readonly Stand[]): string[] {
  return stands.flatMap(({ standing }) => standing?.id ?? []);
}

/** Lets what stands open rest on exactly the observations that it is wanted for. */
async function keep(
  db: Database,
  tenant: InTenant,
  kept: readonly { standing: StandingRecommendation; wanted: Wanted }[],
  now: Date,
): Promise<void> {
  for (const { standing, wanted } of kept) {
    if (standing.reason !== wanted.reason) await updateReason(db, scopeOf(standing), standing.id, wanted.reason, now);
  }
  for (const isApplicable of [true, false]) {
    const ids = kept.filter(({ standing, wanted }) => isApplicable === canBeApplied(standing.kind, wanted));
    await updateApplicable(
      db,
      tenant,
      ids.map(({ standing }) => standing.id),
      isApplicable,
    );
  }
  const found = await findLinks(
    db,
    tenant,
    kept.map(({ standing }) => standing.id),
  );
  const wanted = kept.flatMap(({ standing, wanted: { rests } }) => linksOf(standing.id, rests));
  const keyOf = ({ recommendationId, observationId }: Link) => `${recommendationId} ${observationId}`;
  const [isFound, isWanted] = [new Set(found.map(keyOf)), new Set(wanted.map(keyOf))];
  await deleteLinks(
    db,
    tenant,
    found.filter((link) => !isWanted.has(keyOf(link))),
  );
  await insertLinks(
    db,
    tenant,
    wanted.filter((link) => !isFound.has(keyOf(link))),
  );
}

/** Opens what is wanted, unless somebody dismissed it for the same cause. */
async function open<Missing extends Stand & { wanted: Wanted }>(
  db: Database,
  tenant: InTenant,
  missing: readonly Missing[],
  now: Date,
): Promise<Missing[]> {
  const dismissedCauseOf = await findDismissedCauses(
    db,
    tenant,
    missing.map(({ about }) => about),
  );
  const opened = missing.filter(({ about, wanted }) => dismissedCauseOf(about) !== wanted.cause);
  const made = opened.map(({ provider: { subTenantId }, about, wanted }) => ({
    ...about,
    subTenantId,
    reason: wanted.reason,
    change: wanted.change,
    isApplicable: canBeApplied(about.kind, wanted),
  }));
  const ids = await insertRecommendations(db, tenant, made, now);
  const links = opened.flatMap(({ wanted: { rests } }, index) => linksOf(ids[index] ?? '', rests));
  await insertLinks(db, tenant, links);
  return opened;
}

/**
 * Whether `apply` without ids looks at it first. It may still skip it, for who approved it. A provider has at most one
 * recommendation to adopt it, so that one is always among them.
 */
function canBeApplied(kind: RecommendationKind, { rests }: Wanted): boolean {
  return (
    !WIDENING_KINDS.includes(kind) || kind === 'adopt_provider' || rests.some(({ status }) => status === 'approved')
  );
}

function linksOf(recommendationId: string, rests: Wanted['rests']): Link[] {
  return rests.map(({ id }) => ({ recommendationId, observationId: id }));
}
