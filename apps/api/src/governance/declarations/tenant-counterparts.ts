import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { hostOf, isSendersOwnHost } from '@quartermaster/naming/provider-names.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { vendorOfHost } from '@quartermaster/naming/vendors.ts';
import { knownProviders, portOf } from './known-providers.ts';
import { providerLookup } from './provider-lookup.ts';

/** A provider of a sub-tenant. */
export type SubTenantProvider = Pick<Provider, 'id' | 'name' | 'aliases' | 'baseUrl'>;

/**
 * Finds the providers of the whole tenant that providers of sub-tenants declare again: those with the same host, those of the
 * vendor whose API is at the host, and those with the same name or alias if one of the two has no address. A loopback address
 * counts as no address. Matching decides in the same way which blocks of the tenant a sub-tenant cannot hide.
 *
 * @returns a look-up function
 */
export async function findTenantCounterparts(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  subTenantProviders: readonly SubTenantProvider[],
): Promise<(provider: SubTenantProvider) => Provider[]> {
  const wholeTenant = { tenantId, subTenantId: null };
  const lookup = providerLookup();
  for (const provider of subTenantProviders) {
    const { host } = addressOf(provider);
    const vendor = host === null ? null : vendorOfHost(host);
    if (host !== null) lookup.addHost(host);
    if (vendor !== null) lookup.addVendor(vendor);
    for (const name of namesOf(provider)) {
      lookup.addVendor(name);
      lookup.addRewritten(name);
    }
  }
  const known = knownProviders(wholeTenant);
  for (const provider of await lookup.find(db, wholeTenant)) known.add(provider);

  return (provider) => {
    const { host, port } = addressOf(provider);
    const named = namesOf(provider).flatMap((name) => [
      ...known.findOfVendor(name),
      ...[known.findByName(name), known.findServer(name)].filter((match) => match !== undefined),
    ]);
    if (host === null) return [...new Set(named)];
    const vendor = vendorOfHost(host);
    return [
      ...new Set([
        ...known.findAtHost(host, port),
        ...(vendor === null ? [] : known.findOfVendor(vendor)),
        ...named.filter((match) => addressOf(match).host === null),
      ]),
    ];
  };
}

function namesOf({ name, aliases }: SubTenantProvider): string[] {
  return [name, ...aliases];
}

function addressOf({ baseUrl }: Pick<Provider, 'baseUrl'>): { host: string | null; port: number | null } {
  const host = baseUrl === null ? null : hostOf(baseUrl);
  return host === null || isSendersOwnHost(host) ? { host: null, port: null } : { host, port: portOf(baseUrl) };
}
