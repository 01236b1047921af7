import { MAX_GROUPS } from '@quartermaster/contracts/runtime-observations.ts';
import type {
  ObservationGroups,
  ObservationView,
  RuntimeObservation,
  RuntimeObservationCounts,
} from '@quartermaster/contracts/runtime-observations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import type { Page, PageRequest } from '@quartermaster/db/queries.ts';
import {
  countObservationsOfTenants,
  countOpenObservations,
  groupObservations,
  type ObservationGroup,
  type ObservationOrder,
  type ObservationSelection,
  selectObservations,
  selectSortedObservations,
} from '@quartermaster/db/repositories/observation-lists.ts';
import type { TenantScope } from '@quartermaster/db/tenancy.ts';
import type { CallerContext } from '../../auth/context.ts';
import { valueError } from '../../platform/errors.ts';

/** No index helps to count, or to sort by another order than that of creation, so all observations in reach are read. */
const MAX_SORTED = 20_000;
const MAX_COUNTED = 50_000;

type Given<T> = T | null | undefined;

/** The filters of a request, as the contract names them. */
type ObservationQuery = {
  unknown?: Given<boolean>;
  status?: Given<string>;
  view?: Given<ObservationView>;
  min_risk?: Given<'low' | 'medium' | 'high'>;
  provider_id?: Given<string>;
  kind?: Given<string>;
  name?: Given<string>;
  text?: Given<string>;
  agent?: Given<string>;
  account?: Given<string>;
  environment?: Given<string>;
  first_seen_after?: Given<string>;
  first_seen_before?: Given<string>;
  last_seen_after?: Given<string>;
  last_seen_before?: Given<string>;
};

/** One page of observations across providers. @throws 422 if there are too many to sort */
export async function listInbox(
  { services: { db, now } }: CallerContext,
  scope: TenantScope,
  query: ObservationQuery & { sort: 'created_at' | ObservationOrder },
  page: PageRequest,
): Promise<Page<RuntimeObservation>> {
  const selection = selectionOf(query);
  if (query.sort === 'created_at') return selectObservations(db, scope, selection, page);
  await requireAtMost(db, scope, { most: MAX_SORTED, loc: ['query', 'sort'] });
  return selectSortedObservations(db, scope, { ...selection, order: query.sort }, page, now());
}

/** How many observations need a decision, by view and by risk. @throws 422 if there are too many to count */
export async function countInbox(
  { services: { db } }: CallerContext,
  scope: TenantScope,
  query: ObservationQuery,
): Promise<RuntimeObservationCounts> {
  await requireAtMost(db, scope, { most: MAX_COUNTED, loc: ['query', 'tenant_id'] });
  const {
    open,
    new: fresh,
    seenAgain,
    changedDefinition,
    low,
    medium,
    high,
  } = await countOpenObservations(db, scope, selectionOf(query));
  return { open, new: fresh, seenAgain, changedDefinition, byRisk: { low, medium, high } };
}

/** The largest groups of observations, those with the highest risk first. @throws 422 if there are too many to count */
export async function groupInbox(
  { services: { db } }: CallerContext,
  scope: TenantScope,
  { by, ...query }: ObservationQuery & { by: 'provider' | 'agent' },
): Promise<ObservationGroups> {
  await requireAtMost(db, scope, { most: MAX_COUNTED, loc: ['query', 'tenant_id'] });
  const groups = await groupObservations(db, scope, selectionOf(query), by);
  return { items: groups.toSorted(byRiskAndSize).slice(0, MAX_GROUPS), total: groups.length };
}

function byRiskAndSize(a: ObservationGroup, b: ObservationGroup): number {
  return (
    b.byRisk.high - a.byRisk.high ||
    b.byRisk.medium - a.byRisk.medium ||
    b.count - a.count ||
    // The order of groups that are equal does not change from answer to answer.
    (a.key < b.key ? -1 : 1)
  );
}

async function requireAtMost(
  db: Database,
  scope: TenantScope,
  { most, loc }: { most: number; loc: string[] },
): Promise<void> {
  const count = await countObservationsOfTenants(db, scope);
  if (count > most) throw valueError(loc, `there are more than ${most} observations in reach: name a tenant`);
}

/** The filters as the repositories name them. */
function selectionOf(query: ObservationQuery): ObservationSelection {
  const { unknown, status, view, kind, name, text, agent, account, environment } = query;
  return {
    unknown,
    status,
    view,
    minRisk: query.min_risk,
    providerId: query.provider_id,
    kind,
    name,
    text,
    agent,
    account,
    environment,
    firstSeenAfter: query.first_seen_after,
    firstSeenBefore: query.first_seen_before,
    lastSeenAfter: query.last_seen_after,
    lastSeenBefore: query.last_seen_before,
  };
}
