import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import {
  countDiscoveredProviders,
  insertDiscoveredProviders,
} from '@quartermaster/db/repositories/discovered-providers.ts';
import {
  addToObservationCounts,
  countObservations,
  countObservationShares,
} from '@quartermaster/db/repositories/observation-counts.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { type Filled, roomWithinShares } from '../../platform/fair-share.ts';
import type { TenantLimits } from '../../platform/tenant-limits.ts';
import { findExactItems } from '../declarations/covering-items.ts';
import { type FullLimit, openCardinalityTask } from './cardinality-task.ts';
import type { Sighting } from './sightings.ts';

/** A sighting, and the observation of its subject if there is one. */
export type ObservedSighting = { sighting: Sighting; former: RuntimeObservation | undefined };

/** How many calls were not observed, for each kind of limit or share that was full. */
export type Unobserved = Readonly<Record<Filled, number>>;

export const NOTHING_UNOBSERVED: Unobserved = { tenant: 0, account: 0, sub_tenant: 0 };

type Admission = {
  all: readonly ObservedSighting[];
  /** Discovered providers that are not stored yet. */
  newProviders: ReadonlySet<Provider>;
  sender: string;
  limits: { observations: number; tenantLimits: TenantLimits };
};

/**
 * Leaves out sightings that need a new observation or provider beyond the tenant's limit, or beyond the fair share of the
 * sender or its sub-tenant. Sightings of existing observations are always admitted. So are sightings of blocked names.
 * Otherwise a sender could hide the use of a blocked item by filling the limit. A place has at most one observation for each
 * blocked item. Counts the new observations, and opens an operator task if something was left out.
 */
export async function admitSightings(
  db: Database,
  place: TenantPlace,
  { all, newProviders, sender, limits }: Admission,
  now: Date,
): Promise<{ admitted: ObservedSighting[]; unobserved: Unobserved }> {
  const added = all.filter(({ former }) => !former);
  if (added.length === 0) return { admitted: [...all], unobserved: NOTHING_UNOBSERVED };
  const wantedProviders = new Set(
    added.map(({ sighting }) => sighting.provider).filter((provider) => newProviders.has(provider)),
  );
  const observations = await observationRoom(db, place, { wanted: added.length, sender, limit: limits.observations });
  const providers =
    wantedProviders.size === 0 || observations.room === 0
      ? null
      : await providerRoom(db, place, { wanted: wantedProviders.size, sender, tenantLimits: limits.tenantLimits });
  const blocked = added.length <= observations.room ? NONE : await findBlocked(db, place, added);
  const refused = new Set<ObservedSighting>();
  const discovered = new Set<Provider>();
  const unobserved = { ...NOTHING_UNOBSERVED };
  let firstFull: FullLimit | null = null;
  let newObservations = 0;
  for (const observed of added) {
    if (blocked.has(observed)) continue;
    const { provider, count, removed } = observed.sighting;
    const isDiscovery = newProviders.has(provider) && !discovered.has(provider);
    const full =
      newObservations === observations.room
        ? observations
        : isDiscovery && discovered.size === providers?.room
          ? providers
          : null;
    if (full !== null) {
      refused.add(observed);
      // Subtracts calls that are taken back, because they were counted as unobserved before.
      unobserved[full.filled] += Math.max(0, count - removed.count);
      firstFull ??= full;
      continue;
    }
    newObservations += 1;
    if (isDiscovery) discovered.add(provider);
  }
  if (discovered.size > 0) await limits.tenantLimits.addUpTo(db, place.tenantId, 'providers', discovered.size);
  const counted = { subTenantId: place.subTenantId, firstAccount: sender, by: newObservations + blocked.size };
  await addToObservationCounts(db, place, [counted]);
  if (firstFull !== null) await openCardinalityTask(db, place, { sender, full: firstFull }, now);
  return { admitted: all.filter((observed) => !refused.has(observed)), unobserved };
}

/**
 * Stores discovered providers for which only tokens were reported so far, within the limit of the tenant and the fair share of
 * the sender. The first call at such a provider opens the recommendation to adopt it.
 *
 * @returns the stored ones
 */
export async function storeProvidersOfTokens(
  db: Database,
  place: TenantPlace,
  { providers, sender, tenantLimits }: { providers: readonly Provider[]; sender: string; tenantLimits: TenantLimits },
): Promise<ReadonlySet<Provider>> {
  if (providers.length === 0) return new Set();
  const { room } = await providerRoom(db, place, { wanted: providers.length, sender, tenantLimits });
  const stored = providers.slice(0, Math.max(0, room));
  if (stored.length > 0) await tenantLimits.addUpTo(db, place.tenantId, 'providers', stored.length);
  await insertDiscoveredProviders(db, place, { providers: stored, account: sender });
  return new Set(stored);
}

const NONE: ReadonlySet<ObservedSighting> = new Set();

/** The sightings whose exact name an inventory item blocks. */
async function findBlocked(
  db: Database,
  place: TenantPlace,
  sightings: readonly ObservedSighting[],
): Promise<ReadonlySet<ObservedSighting>> {
  const itemOf = await findExactItems(
    db,
    place,
    sightings.map(({ sighting }) => sighting),
  );
  return new Set(sightings.filter(({ sighting }) => itemOf(sighting)?.status === 'blocked'));
}

/** A limit, and how many records may still be added. */
type Room = FullLimit & { room: number };

async function observationRoom(
  db: Database,
  place: TenantPlace,
  { wanted, sender, limit }: { wanted: number; sender: string; limit: number },
): Promise<Room> {
  const used = await countObservations(db, place);
  const countOwn = () => countObservationShares(db, place, { firstAccount: sender, subTenantId: place.subTenantId });
  const share = await roomWithinShares(db, place, { used, free: limit - used, wanted, countOwn });
  return { ...share, of: 'observations', limit };
}

async function providerRoom(
  db: Database,
  place: TenantPlace,
  { wanted, sender, tenantLimits }: { wanted: number; sender: string; tenantLimits: TenantLimits },
): Promise<Room> {
  const { limit, room: free } = await tenantLimits.roomFor(db, place.tenantId, 'providers', wanted);
  const countOwn = () => countDiscoveredProviders(db, place, sender);
  const share = await roomWithinShares(db, place, { used: limit - free, free, wanted, countOwn });
  return { ...share, of: 'providers', limit };
}
