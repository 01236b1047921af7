import type { Denial } from '@quartermaster/contracts/denials.ts';
import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import {
  addDecisionCounts,
  addObservationDenials,
  addSessionDecisions,
  countDeniedOnly,
  type DecisionCount,
  findExistingSessions,
  findPlacesOfAccounts,
  insertDecisionBatch,
  type SessionDecisions,
} from '@quartermaster/db/repositories/decision-counts.ts';
import { findProviders } from '@quartermaster/db/repositories/providers.ts';
import { findObservationsInPlace } from '@quartermaster/db/repositories/runtime-observations.ts';
import { findReportingAccounts } from '@quartermaster/db/repositories/usage-rollups.ts';
import { findMissingPlace } from '@quartermaster/db/repositories/tenants.ts';
import { type TenantPlace, wholeTenant } from '@quartermaster/db/tenancy.ts';
import { wasDeniedByManifest } from '../declarations/manifest-denials.ts';
import { subjectKey } from '../declarations/subject-key.ts';
import { type AggregationLimits, aggregateSightings } from '../observations/aggregate.ts';
import { openCardinalityTask } from '../observations/cardinality-task.ts';
import { reevaluateDenied } from '../observations/reevaluate.ts';
import { emptySighting, type Sighting } from '../observations/sightings.ts';

/**
 * Open observations of an account that were only denied, never used. Each has a review task. Further denials are counted, but not
 * observed, so that a flood of invented names leaves few tasks.
 */
const MAX_DENIED_ONLY = 20;

/** While the telemetry of an account reported a call within this time, in milliseconds, it counts in place of calls through the MCP proxy. */
const TELEMETRY_COUNTS_MS = 24 * 3600 * 1000;

/** Uses of one thing by one account. */
type NotedUses = {
  /** The place of the session. */
  place: TenantPlace;
  providerId: string;
  kind: InventoryKind;
  name: string;
  /** `user:<id>` or `service_account:<tenant>/<id>`. */
  account: string;
  count: number;
  firstAt: string;
  lastAt: string;
};

/** Calls that the MCP proxy passed on. */
export type NotedCalls = NotedUses;

/** Uses that a gateway denied, or would have denied in the mode `enforce`. */
export type NotedDenial = NotedUses & { gatewayId: string; reason: Denial; lastSessionId: string };

/** What was decided for one tenant since the last batch. */
export type DecisionBatch = {
  id: string;
  denials: readonly NotedDenial[];
  calls: readonly NotedCalls[];
  counts: readonly DecisionCount[];
  sessions: readonly SessionDecisions[];
};

type Limits = Pick<AggregationLimits, 'observations' | 'tenantLimits'>;

/** Identifies what was denied to whom, and at which place. */
type DeniedSubject = Pick<NotedDenial, 'place' | 'providerId' | 'kind' | 'name' | 'account'>;

/**
 * Adds a batch of decisions of a tenant to the counts and to the observations, in a transaction with the tenant's lock. A batch
 * that was added before changes nothing. Calls through the MCP proxy count as calls, unless telemetry reports those of the
 * account.
 *
 * @returns the ids of the observations that count the denials
 */
export async function foldDecisions(
  trx: Database,
  tenantId: string,
  { batch, limits }: { batch: DecisionBatch; limits: Limits },
  now: Date,
): Promise<{ subject: DeniedSubject; observationId: string }[]> {
  const tenant = { tenantId, subTenantId: null };
  // The tenant may have been deleted in the meantime, and even erased.
  if ((await findMissingPlace(trx, tenant)) === 'tenant') return [];
  if (!(await insertDecisionBatch(trx, tenant, batch.id, now))) return [];
  const ids = batch.sessions.map(({ sessionId }) => sessionId);
  const existing = await findExistingSessions(trx, tenant, ids);
  await addSessionDecisions(
    trx,
    tenant,
    batch.sessions.filter(({ sessionId }) => existing.has(sessionId)),
  );
  const uses = [...batch.denials, ...(await withoutReported(trx, tenant, batch.calls, now))];
  const places = await placesOf(trx, tenant, [...uses, ...batch.counts]);
  const placed = batch.counts.map((count) => {
    const subTenantId = count.sub_tenant_id === '' ? null : count.sub_tenant_id;
    const { account } = count;
    return { ...count, sub_tenant_id: places({ account, place: { tenantId, subTenantId } }).subTenantId ?? '' };
  });
  await addDecisionCounts(trx, tenant, placed);
  const folded: { subject: DeniedSubject; observationId: string }[] = [];
  const groups = Map.groupBy(uses, (use) => JSON.stringify([places(use).subTenantId, use.account]));
  for (const ofAccount of groups.values()) {
    const [first] = ofAccount;
    if (first === undefined) continue;
    folded.push(...(await foldAccount(trx, places(first), { uses: ofAccount, account: first.account, limits }, now)));
  }
  return folded;
}

/** Leaves out the calls of accounts whose telemetry counts. */
async function withoutReported(
  trx: Database,
  tenant: Pick<TenantPlace, 'tenantId'>,
  calls: readonly NotedCalls[],
  now: Date,
): Promise<NotedCalls[]> {
  const accounts = [...new Set(calls.map(({ account }) => account))];
  const since = new Date(now.getTime() - TELEMETRY_COUNTS_MS);
  const reporting = await findReportingAccounts(trx, tenant, accounts, since);
  return calls.filter(({ account }) => !reporting.has(account));
}

/** Uses count at the place of the account, as those that its telemetry reports. For a user that is the place of the session. */
async function placesOf(
  trx: Database,
  tenant: Pick<TenantPlace, 'tenantId'>,
  uses: readonly Pick<NotedUses, 'account'>[],
): Promise<(use: Pick<NotedUses, 'account' | 'place'>) => TenantPlace> {
  const idOf = (account: string) => /^service_account:[^/]*\/(.*)$/.exec(account)?.[1];
  const ids = new Set(uses.flatMap(({ account }) => idOf(account) ?? []));
  const places = await findPlacesOfAccounts(trx, tenant, [...ids]);
  return ({ account, place }) => places.get(idOf(account) ?? '') ?? place;
}

type Noted = NotedDenial | NotedCalls;

type OfAccount = { uses: readonly Noted[]; account: string; limits: Limits };

async function foldAccount(
  trx: Database,
  place: TenantPlace,
  { uses, account, limits }: OfAccount,
  now: Date,
): Promise<{ subject: DeniedSubject; observationId: string }[]> {
  const providerIds = [...new Set(uses.map(({ providerId }) => providerId))];
  const found = await findProviders(trx, wholeTenant(place.tenantId), providerIds);
  const providers = new Map(found.map((provider) => [provider.id, provider]));
  const sightings = new Map<string, { sighting: Sighting; denials: NotedDenial[]; calls: NotedCalls[] }>();
  for (const use of uses) {
    const provider = providers.get(use.providerId);
    if (!provider) continue;
    const sighting = { ...emptySighting(provider, use), names: new Set([use.name]) };
    const subject = subjectKey(sighting);
    const entry = sightings.get(subject) ?? { sighting, denials: [], calls: [] };
    if (isDenial(use)) entry.denials.push(use);
    else entry.calls.push(use);
    sightings.set(subject, entry);
  }
  const entries = [...sightings.values()].map((entry) => ({
    ...entry,
    sighting: { ...entry.sighting, ...sumOfDenials(entry.denials), ...sumOfCalls(entry.calls) },
  }));
  const former = await observed(trx, place, entries);
  const known = new Set(former.map(subjectKey));
  const newEntries = entries.filter(({ sighting, calls }) => calls.length === 0 && !known.has(subjectKey(sighting)));
  const openCount = newEntries.length === 0 ? 0 : await countDeniedOnly(trx, place, { account, most: MAX_DENIED_ONLY });
  const overLimit = new Set(newEntries.slice(Math.max(0, MAX_DENIED_ONLY - openCount)));
  if (overLimit.size > 0) {
    const full = { of: 'denied names', limit: MAX_DENIED_ONLY, filled: 'account' } as const;
    await openCardinalityTask(trx, place, { sender: account, full }, now);
  }
  const admitted = entries.filter((entry) => !overLimit.has(entry));
  await aggregateSightings(
    trx,
    place,
    { sightings: admitted.map(({ sighting }) => sighting), newProviders: new Set(), sender: account, limits },
    now,
  );
  const observations = await observed(trx, place, admitted);
  const idOf = new Map(observations.map((row) => [subjectKey(row), row.id]));
  const noted = admitted.flatMap(({ sighting, denials: ofSubject }) => {
    const observationId = idOf.get(subjectKey(sighting));
    // A limit of observations may have left it out.
    return observationId === undefined ? [] : ofSubject.map((denial) => ({ denial, observationId }));
  });
  await addObservationDenials(trx, place, noted.map(rowOf).reduce(merged, []));
  const deniedByManifest = new Set(
    noted.filter(({ denial }) => denial.reason === 'manifest').map(({ observationId }) => observationId),
  );
  // What was denied for this reason before and waits for a decision needs nothing more.
  const waiting = new Set(former.filter(isWaitingForEntry).map(({ id }) => id));
  const opened = observations
    .filter(({ id }) => deniedByManifest.has(id) && !waiting.has(id))
    .flatMap((observation) => {
      const provider = providers.get(observation.providerId);
      return provider ? [{ provider, observation }] : [];
    });
  await reevaluateDenied(trx, place, { observed: opened, opens: true }, now);
  return noted.map(({ denial, observationId }) => ({ subject: denial, observationId }));
}

function isWaitingForEntry(observation: RuntimeObservation): boolean {
  return observation.status !== 'resolved' && wasDeniedByManifest(observation);
}

function observed(trx: Database, place: TenantPlace, entries: readonly { sighting: Sighting }[]) {
  return findObservationsInPlace(
    trx,
    place,
    entries.map(({ sighting: { providerId, kind, nameKey: key } }) => ({ providerId, kind, nameKey: key })),
  );
}

function isDenial(use: Noted): use is NotedDenial {
  return 'reason' in use;
}

function sumOfDenials(denials: readonly NotedDenial[]): Partial<Sighting> {
  if (denials.length === 0) return {};
  const { count, ...times } = sumOf(denials);
  const reasons = new Set(denials.map(({ reason }) => reason));
  return { ...times, denied: { count, lastAt: times.lastSeenAt, reasons } };
}

function sumOfCalls(calls: readonly NotedCalls[]): Partial<Sighting> {
  if (calls.length === 0) return {};
  const sum = sumOf(calls);
  return { ...sum, latest: sum.lastSeenAt, hasNewCall: true, source: 'proxy' };
}

function sumOf(uses: readonly NotedUses[]): Pick<Sighting, 'count' | 'firstSeenAt' | 'lastSeenAt'> {
  const [firstSeenAt = ''] = uses.map(({ firstAt }) => firstAt).toSorted();
  const [lastSeenAt = ''] = uses.map(({ lastAt }) => lastAt).toSorted((a, b) => (a > b ? -1 : 1));
  return { count: uses.reduce((sum, use) => sum + use.count, 0), firstSeenAt, lastSeenAt };
}

type DenialRow = Parameters<typeof addObservationDenials>[2][number];

function rowOf({ denial, observationId }: { denial: NotedDenial; observationId: string }): DenialRow {
  const { gatewayId, account, count, reason, lastSessionId, lastAt } = denial;
  return { observationId, gatewayId, account, denials: count, reason, lastSessionId, lastDeniedAt: lastAt };
}

/** One row for each key, because an upsert cannot change a row twice. Variants of a name are one observation. */
function merged(rows: DenialRow[], row: DenialRow): DenialRow[] {
  const same = rows.find((entry) => entry.observationId === row.observationId && entry.gatewayId === row.gatewayId);
  if (same === undefined) return [...rows, row];
  same.denials += row.denials;
  return rows;
}
