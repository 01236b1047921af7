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

/** Uses of one thing that a gateway denied one account, or would have denied in the mode `enforce`. */
export type NotedDenial = {
  gatewayId: string;
  /** The place of the session. */
  place: TenantPlace;
  providerId: string;
  kind: InventoryKind;
  name: string;
  /** `user:<id>` or `service_account:<tenant>/<id>`. */
  account: string;
  reason: Denial;
  count: number;
  firstAt: string;
  lastAt: string;
  lastSessionId: string;
};

/** What was decided for one tenant since the last batch. */
export type DecisionBatch = {
  id: string;
  denials: readonly NotedDenial[];
  counts: readonly DecisionCount[];
  sessions: readonly SessionDecisions[];
};

type Limits = Pick<AggregationLimits, 'observations' | 'tenantLimits'>;

/** Identifies what a denial is about, at the place where it is observed. */
export type DeniedSubject = Pick<NotedDenial, 'providerId' | 'kind' | 'name' | 'account'>;

/**
 * Adds a batch of decisions of a tenant to the counts and to the observations, in a transaction with the tenant's lock. A batch that
 * was added before changes nothing.
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
  await addDecisionCounts(trx, tenant, batch.counts);
  const ids = batch.sessions.map(({ sessionId }) => sessionId);
  const existing = await findExistingSessions(trx, tenant, ids);
  await addSessionDecisions(
    trx,
    tenant,
    batch.sessions.filter(({ sessionId }) => existing.has(sessionId)),
  );
  const places = await placesOf(trx, tenant, batch.denials);
  const folded: { subject: DeniedSubject; observationId: string }[] = [];
  const groups = Map.groupBy(batch.denials, (denial) => JSON.stringify([places(denial).subTenantId, denial.account]));
  for (const denials of groups.values()) {
    const [first] = denials;
    if (first === undefined) continue;
    folded.push(...(await foldAccount(trx, places(first), { denials, account: first.account, limits }, now)));
  }
  return folded;
}

/** A denial is observed at the place of the account, as its calls are. For a user that is the place of the session. */
async function placesOf(
  trx: Database,
  tenant: Pick<TenantPlace, 'tenantId'>,
  denials: readonly NotedDenial[],
): Promise<(denial: NotedDenial) => TenantPlace> {
  const idOf = (account: string) => /^service_account:[^/]*\/(.*)$/.exec(account)?.[1];
  const ids = new Set(denials.flatMap(({ account }) => idOf(account) ?? []));
  const places = await findPlacesOfAccounts(trx, tenant, [...ids]);
  return ({ account, place }) => places.get(idOf(account) ?? '') ?? place;
}

type OfAccount = { denials: readonly NotedDenial[]; account: string; limits: Limits };

async function foldAccount(
  trx: Database,
  place: TenantPlace,
  { denials, account, limits }: OfAccount,
  now: Date,
): Promise<{ subject: DeniedSubject; observationId: string }[]> {
  const providerIds = [...new Set(denials.map(({ providerId }) => providerId))];
  const found = await findProviders(trx, wholeTenant(place.tenantId), providerIds);
  const providers = new Map(found.map((provider) => [provider.id, provider]));
  const sightings = new Map<string, { sighting: Sighting; denials: NotedDenial[] }>();
  for (const denial of denials) {
    const provider = providers.get(denial.providerId);
    if (!provider) continue;
    const sighting = { ...emptySighting(provider, denial), names: new Set([denial.name]) };
    const subject = subjectKey(sighting);
    const entry = sightings.get(subject) ?? { sighting, denials: [] };
    entry.denials.push(denial);
    sightings.set(subject, entry);
  }
  const entries = [...sightings.values()].map((entry) => ({
    ...entry,
    sighting: { ...entry.sighting, ...sumOf(entry.denials) },
  }));
  const former = await observed(trx, place, entries);
  const known = new Set(former.map(subjectKey));
  const added = entries.filter(({ sighting }) => !known.has(subjectKey(sighting)));
  const open = added.length === 0 ? 0 : await countDeniedOnly(trx, place, { account, most: MAX_DENIED_ONLY });
  const beyond = new Set(added.slice(Math.max(0, MAX_DENIED_ONLY - open)));
  if (beyond.size > 0) {
    const full = { of: 'denied names', limit: MAX_DENIED_ONLY, filled: 'account' } as const;
    await openCardinalityTask(trx, place, { sender: account, full }, now);
  }
  const admitted = entries.filter((entry) => !beyond.has(entry));
  await aggregateSightings(
    trx,
    place,
    { sightings: admitted.map(({ sighting }) => sighting), newProviders: new Set(), sender: account, limits },
    now,
  );
  const observations = await observed(trx, place, admitted);
  const idOf = new Map(observations.map((one) => [subjectKey(one), one.id]));
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

function sumOf(
  denials: readonly NotedDenial[],
): Pick<Sighting, 'firstSeenAt' | 'lastSeenAt'> & Pick<Required<Sighting>, 'denied'> {
  const [firstSeenAt = ''] = denials.map(({ firstAt }) => firstAt).toSorted();
  const lastSeenAt =
    denials
      .map(({ lastAt }) => lastAt)
      .toSorted()
      .at(-1) ?? '';
  const count = denials.reduce((sum, denial) => sum + denial.count, 0);
  const reasons = new Set(denials.map(({ reason }) => reason));
  return { firstSeenAt, lastSeenAt, denied: { count, lastAt: lastSeenAt, reasons } };
}

type DenialRow = Parameters<typeof addObservationDenials>[2][number];

function rowOf({ denial, observationId }: { denial: NotedDenial; observationId: string }): DenialRow {
  const { gatewayId, account, count, reason, lastSessionId, lastAt } = denial;
  return { observationId, gatewayId, account, denials: count, reason, lastSessionId, lastDeniedAt: lastAt };
}

/** One row for each key, because an upsert cannot change a row twice. Variants of a name are one observation. */
function merged(rows: DenialRow[], row: DenialRow): DenialRow[] {
  const same = rows.find((one) => one.observationId === row.observationId && one.gatewayId === row.gatewayId);
  if (same === undefined) return [...rows, row];
  same.denials += row.denials;
  return rows;
}
