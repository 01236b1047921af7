import type { Database } from '@quartermaster/db/database.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { type AggregationLimits, aggregateSightings } from '../../governance/observations/aggregate.ts';
import { gatherSightings } from '../calls/gather-sightings.ts';
import {
  NOTHING_UNOBSERVED,
  storeProvidersOfTokens,
  type Unobserved,
} from '../../governance/observations/admit-sightings.ts';
import { addUsage } from '../usage/add-usage.ts';
import type { CallChange } from '../calls/call-changes.ts';
import type { ProvidersOfCalls } from '../calls/providers-of-calls.ts';

type ChangeBatch = {
  changes: readonly CallChange[];
  found: ProvidersOfCalls;
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
  { changes, found, sender, limits }: ChangeBatch,
  now: Date,
): Promise<Unobserved> {
  if (changes.length === 0) return NOTHING_UNOBSERVED;
  const providerOf = ({ call }: CallChange) => found.byId.get(call.provider.id);
  const counted = changes.filter(({ call }) => call.times > 0 || call.failed);
  const sightings = await gatherSightings(counted, providerOf, now);
  const { unobserved, refused } = await aggregateSightings(
    db,
    place,
    { sightings, newProviders: found.newProviders, sender, limits },
    now,
  );
  // Also stores providers for which only tokens were reported. Otherwise tokens that come before the first call at a
  // provider would have no provider in the usage.
  const called = new Set(sightings.map(({ provider }) => provider));
  const ofTokens = new Set(changes.filter(({ call, by }) => by > 0 && call.times === 0).map(providerOf));
  const providersOfTokens = [...refused].filter((provider) => ofTokens.has(provider) && !called.has(provider));
  const { tenantLimits } = limits;
  const stored = await storeProvidersOfTokens(db, place, { providers: providersOfTokens, sender, tenantLimits });
  const storedProviderOf = (change: CallChange) => {
    const provider = providerOf(change);
    return provider && refused.has(provider) && !stored.has(provider) ? undefined : provider;
  };
  const ofDeleted = ({ call }: CallChange) => found.deleted.has(call.provider.id);
  await addUsage(db, place, { changes, providerOf: storedProviderOf, ofDeleted, account: sender, limits }, now);
  return unobserved;
}
