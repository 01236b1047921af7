import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { caseFolded } from '@quartermaster/naming/case-folded.ts';
import { discoveredProvider } from '@quartermaster/db/repositories/discovered-providers.ts';
import { findDeletedProviders, findProviders } from '@quartermaster/db/repositories/providers.ts';
import { findProvidersOfTraffic } from '@quartermaster/db/repositories/providers-of-traffic.ts';
import { scopeOf, type TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { CallChange } from './call-changes.ts';
import type { CallUse } from './call-span.ts';

type ChangedCalls = {
  changes: readonly CallChange[];
  /** Further uses that may count. */
  uses?: readonly CallUse[];
  /** The providers of matched uses, by their ids. */
  providers: ReadonlyMap<string, Provider>;
  /** The discovered providers that are not stored yet. */
  newProviders: ReadonlySet<Provider>;
};

/** The providers of calls. Each map is by the ids that the calls were matched to. */
export type ProvidersOfCalls = {
  /** The providers that exist, and those that are discovered now. */
  byId: ReadonlyMap<string, Provider>;
  newProviders: ReadonlySet<Provider>;
  /** The ids of deleted providers. Their observations stay as they are. Calls are taken back from their usage only. */
  deleted: ReadonlySet<string>;
  /**
   * The providers that replace those that do not exist: the provider of the same name, or a discovered one. New calls count at
   * the replacement. The whole trace must move there, because a later correction takes calls back from the provider that the
   * trace names.
   */
  replacements: ReadonlyMap<string, Provider>;
};

/**
 * Finds the providers of calls. A provider does not exist if it was deleted since the call was matched to it, or if it was never
 * stored: a limit was full, or another span of the call decided.
 */
export async function findProvidersOfCalls(
  db: Database,
  place: TenantPlace,
  { changes, uses = [], providers, newProviders }: ChangedCalls,
  now: Date,
): Promise<ProvidersOfCalls> {
  const missing = new Map<string, { provider: CallUse['provider']; isCounted: boolean }>();
  const add = (provider: CallUse['provider'], isCounted: boolean) => {
    if (providers.has(provider.id)) return;
    missing.set(provider.id, { provider, isCounted: isCounted || missing.get(provider.id)?.isCounted === true });
  };
  for (const { call, by } of changes) add(call.provider, by > 0);
  for (const { provider } of uses) add(provider, true);
  const replacements = new Map<string, Provider>();
  if (missing.size === 0) return { byId: providers, newProviders, deleted: new Set(), replacements };
  const byId = new Map(providers);
  const tenant = scopeOf({ tenantId: place.tenantId, subTenantId: null });
  for (const provider of await findProviders(db, tenant, [...missing.keys()])) byId.set(provider.id, provider);
  const unknown = [...missing.values()].filter(({ provider }) => !byId.has(provider.id));
  if (unknown.length === 0) return { byId, newProviders, deleted: new Set(), replacements };
  const unknownIds = unknown.map(({ provider }) => provider.id);
  const deleted = await findDeletedProviders(db, tenant, unknownIds);
  const counted = unknown.filter(({ isCounted }) => isCounted).map(({ provider }) => provider);
  const names = counted.map(({ name }) => caseFolded(name));
  const stored = names.length === 0 ? [] : await findProvidersOfTraffic(db, place, { hosts: [], names, families: [] });
  const named = new Map([...stored, ...newProviders].map((provider) => [caseFolded(provider.name), provider]));
  const allNewProviders = new Set(newProviders);
  for (const provider of counted) {
    const name = caseFolded(provider.name);
    const known = named.get(name);
    const replacing = known ?? discoveredProvider(place, provider, now);
    if (!known) allNewProviders.add(replacing);
    named.set(name, replacing);
    replacements.set(provider.id, replacing);
  }
  return { byId, newProviders: allNewProviders, deleted, replacements };
}
