import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { folded } from '@quartermaster/db/queries.ts';
import { discoveredProvider } from '@quartermaster/db/repositories/discovered-providers.ts';
import { findProviders } from '@quartermaster/db/repositories/providers.ts';
import { findProvidersOfTraffic } from '@quartermaster/db/repositories/providers-of-traffic.ts';
import { scopeOf, type TenantPlace } from '@quartermaster/db/tenancy.ts';
import { type FoldLimits, foldSightings } from '../../runtime-observations/fold.ts';
import { gatherSightings } from '../../runtime-observations/sightings.ts';
import { NOTHING_UNOBSERVED, type Unobserved } from '../../runtime-observations/within-limits.ts';
import { addUsage } from '../usage/add-usage.ts';
import type { CallChange } from './call-changes.ts';
import type { CallUse } from './call-span.ts';
import type { Call } from './resolve.ts';

type Applied = {
  changes: readonly CallChange[];
  /** Providers that are known, by their ids. */
  providers: ReadonlyMap<string, Provider>;
  /** Those of them that are not stored yet. */
  made: ReadonlySet<Provider>;
  sender: string;
  limits: FoldLimits;
};

/**
 * Brings changes of calls into observations and usage.
 *
 * @returns how many calls were not observed, because a limit of the tenant or a share of it is full
 */
export async function applyChanges(
  db: Database,
  place: TenantPlace,
  { changes, providers, made, sender, limits }: Applied,
  now: Date,
): Promise<Unobserved> {
  if (changes.length === 0) return NOTHING_UNOBSERVED;
  const found = await providersOf(db, place, { changes, providers, made }, now);
  const providerOf = (call: Call) => found.byId.get(call.provider.id);
  const counted = changes.filter(({ isTokensOnly }) => !isTokensOnly);
  const sightings = await gatherSightings(counted, providerOf, now);
  const { unobserved, refused } = await foldSightings(db, place, { sightings, made: found.made, sender, limits }, now);
  const storedProviderOf = (call: Call) => {
    const provider = providerOf(call);
    return provider && refused.has(provider) ? undefined : provider;
  };
  await addUsage(db, place, { changes, providerOf: storedProviderOf, account: sender, limits }, now);
  return unobserved;
}

/** The providers of calls, by the ids that they were matched to. Those that were not stored, or deleted since, are made. */
async function providersOf(
  db: Database,
  place: TenantPlace,
  { changes, providers, made }: Pick<Applied, 'changes' | 'providers' | 'made'>,
  now: Date,
): Promise<{ byId: ReadonlyMap<string, Provider>; made: ReadonlySet<Provider> }> {
  const missing = new Map<string, { provider: CallUse['provider']; isCounted: boolean }>();
  for (const { call, by } of changes) {
    const { provider } = call;
    if (providers.has(provider.id)) continue;
    const isCounted = by > 0 || missing.get(provider.id)?.isCounted === true;
    missing.set(provider.id, { provider, isCounted });
  }
  if (missing.size === 0) return { byId: providers, made };
  const byId = new Map(providers);
  const allMade = new Set(made);
  const tenant = scopeOf({ tenantId: place.tenantId, subTenantId: null });
  for (const provider of await findProviders(db, tenant, [...missing.keys()])) byId.set(provider.id, provider);
  const unknown = [...missing.values()].filter(({ provider, isCounted }) => isCounted && !byId.has(provider.id));
  if (unknown.length === 0) return { byId, made: allMade };
  const names = unknown.map(({ provider }) => folded(provider.name));
  const named = new Map<string, Provider>();
  for (const provider of [...(await findProvidersOfTraffic(db, place, { hosts: [], names, families: [] })), ...made]) {
    named.set(folded(provider.name), provider);
  }
  for (const { provider } of unknown) {
    const same = named.get(folded(provider.name)) ?? discoveredProvider(place, provider, now);
    if (!named.has(folded(provider.name))) allMade.add(same);
    named.set(folded(provider.name), same);
    byId.set(provider.id, same);
  }
  return { byId, made: allMade };
}
