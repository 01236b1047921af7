import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { rewrittenName } from '@quartermaster/naming/name-family.ts';
import { caseFolded } from '@quartermaster/naming/case-folded.ts';
import {
  findDeclaredProvidersByHostSuffix,
  findProvidersOfTraffic,
} from '@quartermaster/db/repositories/providers-of-traffic.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { vendorHosts, vendorNames } from '@quartermaster/naming/vendors.ts';

/** Names per statement. SQLite takes at most 32,766 parameters. */
const NAMES_PER_STATEMENT = 5000;

/** Collects hosts and names, and finds the providers that they may mean with few statements. */
export function providerLookup() {
  const hosts = new Set<string>();
  const names = new Set<string>();
  const families = new Set<string>();
  const suffixes = new Set<string>();

  return {
    addHost: (host: string) => hosts.add(host),
    addName: (name: string) => names.add(caseFolded(name)),
    /** A name as frameworks may rewrite it. */
    addRewritten: (name: string) => families.add(rewrittenName(name)),
    /** A name, and if it is one of a vendor: all spellings of the vendor, and the hosts of its API. */
    addVendor(vendor: string): void {
      for (const name of [caseFolded(vendor), ...vendorNames(vendor)]) names.add(name);
      const api = vendorHosts(vendor);
      for (const host of api.hosts) hosts.add(host);
      for (const suffix of api.suffixes) suffixes.add(suffix);
    },
    find,
  };

  async function find(db: Database, place: TenantPlace): Promise<Provider[]> {
    const found = new Map<string, Provider>();
    const all = { hosts: [...hosts], names: [...names], families: [...families] };
    const longest = Math.max(...Object.values(all).map((list) => list.length));
    for (let start = 0; start < longest; start += NAMES_PER_STATEMENT) {
      const end = start + NAMES_PER_STATEMENT;
      const batch = {
        hosts: all.hosts.slice(start, end),
        names: all.names.slice(start, end),
        families: all.families.slice(start, end),
      };
      for (const provider of await findProvidersOfTraffic(db, place, batch)) found.set(provider.id, provider);
    }
    if (suffixes.size > 0) {
      for (const provider of await findDeclaredProvidersByHostSuffix(db, place, [...suffixes]))
        found.set(provider.id, provider);
    }
    return [...found.values()];
  }
}
