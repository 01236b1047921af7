import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { caseFolded } from '@quartermaster/db/queries.ts';
import { discoveredProvider } from '@quartermaster/db/repositories/discovered-providers.ts';
import { findDeletedProviders, findProviders } from '@quartermaster/db/repositories/providers.ts';
import { findProvidersOfTraffic } from '@quartermaster/db/repositories/providers-of-traffic.ts';
import { scopeOf, type TenantPlace } from '@quartermaster/db/tenancy.ts';
import { type AggregationLimits, aggregateSightings } from '../../governance/observations/aggregate.ts';
import { gatherSightings } from './gather-sightings.ts';
import {
  NOTHING_UNOBSERVED,
  storeProvidersOfTokens,
  type Unobserved,
} from '../../governance/observations/admit-sightings.ts';
import { addUsage } from '../usage/add-usage.ts';
import type { CallChange } from './call-changes.ts';
import type { CallUse } from './call-span.ts';

type ChangeBatch = {
  changes: readonly CallChange[];
  /** The providers of matched uses, by their ids. */
  providers: ReadonlyMap<string, Provider>;
  /** The discovered ones that are not stored yet. */
  newProviders: ReadonlySet<Provider>;
  sender: string;
  limits: AggregationLimits;
};

/**
 * Aggregates changes of calls into observations and usage.
 *
 * @returns how many calls were not observed, because a limit of the tenant or a fair share of it is full
 */
export async function applyChanges(
  db: Database,
  place: TenantPlace,
  { changes, providers, newProviders, sender, limits }: ChangeBatch,
  now: Date,
): Promise<Unobserved> {
  if (changes.length === 0) return NOTHING_UNOBSERVED;
  const found = await findProvidersOfCalls(db, place, { changes, providers, newProviders }, now);
  const providerOf = ({ call, by }: CallChange) => (by < 0 ? found.ofRemoved : found.byId).get(call.provider.id);
  const counted = changes.filter(({ call }) => call.times > 0 || call.failed);
  const sightings = await gatherSightings(counted, providerOf, now);
  const { unobserved, refused } = await aggregateSightings(
    db,
    place,
    { sightings, newProviders: found.newProviders, sender, limits },
    now,
  );
  // Without them, tokens that come before the first call at a provider would have no provider in the usage.
  const called = new Set(sightings.map(({ provider }) => provider));
  const ofTokens = new Set(changes.filter(({ call, by }) => by > 0 && call.times === 0).map(providerOf));
  const providersOfTokens = [...refused].filter((provider) => ofTokens.has(provider) && !called.has(provider));
  const { tenantLimits } = limits;
  const stored = await storeProvidersOfTokens(db, place, { providers: providersOfTokens, sender, tenantLimits });
  const storedProviderOf = (change: CallChange) => {
    const provider = providerOf(change);
    return provider && refused.has(provider) && !stored.has(provider) ? undefined : provider;
  };
  // Without a stored provider no call of the subject is counted, so its failure alone is left out.
  const ofUsage = changes.filter((change) => {
    const { times, failed } = change.call;
    return times > 0 || !failed || storedProviderOf(change);
  });
  await addUsage(db, place, { changes: ofUsage, providerOf: storedProviderOf, account: sender, limits }, now);
  return unobserved;
}

/** Providers by the ids that calls were matched to. */
type FoundProviders = {
  byId: ReadonlyMap<string, Provider>;
  /** Where calls are taken back. Without deleted providers: their observations are gone, and their usage stays with their ids. */
  ofRemoved: ReadonlyMap<string, Provider>;
  newProviders: ReadonlySet<Provider>;
};

/**
 * The providers of calls, by the ids that the calls were matched to. A provider that was never stored, or was deleted since
 * then, is replaced by the provider of its name, or discovered again.
 */
async function findProvidersOfCalls(
  db: Database,
  place: TenantPlace,
  { changes, providers, newProviders }: Pick<ChangeBatch, 'changes' | 'providers' | 'newProviders'>,
  now: Date,
): Promise<FoundProviders> {
  const missing = new Map<string, { provider: CallUse['provider']; isCounted: boolean; isRemoved: boolean }>();
  for (const { call, by } of changes) {
    const { provider } = call;
    if (providers.has(provider.id)) continue;
    const { isCounted = false, isRemoved = false } = missing.get(provider.id) ?? {};
    missing.set(provider.id, { provider, isCounted: isCounted || by > 0, isRemoved: isRemoved || by < 0 });
  }
  if (missing.size === 0) return { byId: providers, ofRemoved: providers, newProviders };
  const byId = new Map(providers);
  const allNewProviders = new Set(newProviders);
  const tenant = scopeOf({ tenantId: place.tenantId, subTenantId: null });
  for (const provider of await findProviders(db, tenant, [...missing.keys()])) byId.set(provider.id, provider);
  const unknown = [...missing.values()].filter(
    ({ provider, isCounted, isRemoved }) => (isCounted || isRemoved) && !byId.has(provider.id),
  );
  if (unknown.length === 0) return { byId, ofRemoved: byId, newProviders: allNewProviders };
  const unknownIds = unknown.map(({ provider }) => provider.id);
  const deleted = await findDeletedProviders(db, tenant, unknownIds);
  const names = unknown.map(({ provider }) => caseFolded(provider.name));
  const named = new Map<string, Provider>();
  for (const provider of [
    ...(await findProvidersOfTraffic(db, place, { hosts: [], names, families: [] })),
    ...newProviders,
  ]) {
    named.set(caseFolded(provider.name), provider);
  }
  for (const { provider, isCounted } of unknown) {
    if (!isCounted && deleted.has(provider.id)) continue;
    const name = caseFolded(provider.name);
    const same = named.get(name) ?? (isCounted ? discoveredProvider(place, provider, now) : undefined);
    if (same === undefined) continue;
    if (!named.has(name)) allNewProviders.add(same);
    named.set(name, same);
    byId.set(provider.id, same);
  }
  const ofRemoved = new Map([...byId].filter(([id]) => !deleted.has(id)));
  return { byId, ofRemoved, newProviders: allNewProviders };
}
