import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { countDiscoveredProviders } from '@quartermaster/db/repositories/discovered-providers.ts';
import { countObservations, countObservationsOf } from '@quartermaster/db/repositories/observation-counts.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { type Filled, roomWithinShares } from '../tenants/fair-share.ts';
import type { TenantLimits } from '../tenants/limits.ts';
import { type FullTable, settleRoom } from './cardinality.ts';
import type { Sighting } from './sightings.ts';

/** A sighting, and what was observed of its subject before. */
export type Seen = { sighting: Sighting; former: RuntimeObservation | undefined };

/** Calls that were not observed, by whose limit or share was full. */
export type Unobserved = Readonly<Record<Filled, number>>;

export const NOTHING_UNOBSERVED: Unobserved = { tenant: 0, account: 0, sub_tenant: 0 };

type Limited = {
  all: readonly Seen[];
  /** Discovered providers that are not stored yet. */
  made: ReadonlySet<Provider>;
  sender: string;
  limits: { observations: number; tenantLimits: TenantLimits };
};

/**
 * Leaves out what the tenant may not have any more observations of, or no provider of, and what would exceed the fair share
 * of the sender or of its sub-tenant. What is known already goes on being counted. A provider that would have to be made
 * comes with an observation that would have to be, too.
 */
export async function withinLimits(
  db: Database,
  place: TenantPlace,
  { all, made, sender, limits }: Limited,
  now: Date,
): Promise<{ kept: Seen[]; unobserved: Unobserved }> {
  const added = all.filter(({ former }) => !former);
  if (added.length === 0) return { kept: [...all], unobserved: NOTHING_UNOBSERVED };
  const wanted = new Set(added.map(({ sighting }) => sighting.provider).filter((provider) => made.has(provider)));
  const observations = await observationRoom(db, place, { wanted: added.length, sender, limit: limits.observations });
  const providers =
    wanted.size === 0 || observations.room === 0
      ? null
      : await providerRoom(db, place, { wanted: wanted.size, sender, tenantLimits: limits.tenantLimits });
  const left = new Set<Seen>();
  const discovered = new Set<Provider>();
  const unobserved = { ...NOTHING_UNOBSERVED };
  let full: FullTable | null = null;
  let taken = 0;
  for (const seen of added) {
    const { provider, count } = seen.sighting;
    const isDiscovery = made.has(provider) && !discovered.has(provider);
    const table =
      taken === observations.room
        ? observations
        : isDiscovery && discovered.size === providers?.room
          ? providers
          : null;
    if (table !== null) {
      left.add(seen);
      unobserved[table.filled] += count;
      full ??= table;
      continue;
    }
    taken += 1;
    if (isDiscovery) discovered.add(provider);
  }
  if (discovered.size > 0) await limits.tenantLimits.addUpTo(db, place.tenantId, 'providers', discovered.size);
  await settleRoom(db, place, { taken, sender, full }, now);
  return { kept: all.filter((seen) => !left.has(seen)), unobserved };
}

type Room = FullTable & { room: number };

async function observationRoom(
  db: Database,
  place: TenantPlace,
  { wanted, sender, limit }: { wanted: number; sender: string; limit: number },
): Promise<Room> {
  const used = await countObservations(db, place);
  const countOwn = () => countObservationsOf(db, place, { firstAccount: sender, subTenantId: place.subTenantId });
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
