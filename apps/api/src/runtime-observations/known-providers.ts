import type { Provider } from '@quartermaster/contracts/providers.ts';
import { rewrittenName } from '@quartermaster/db/name-family.ts';
import { calledNames, hostOf } from '@quartermaster/db/provider-names.ts';
import { folded } from '@quartermaster/db/queries.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { canonicalVendor, productFamily, vendorOfHost } from '@quartermaster/db/vendors.ts';

/** The providers that a batch may mean, by what spans call them. */
export type KnownProviders = ReturnType<typeof knownProviders>;

/**
 * Finds providers by host, name, vendor and as servers. Where several fit, a declared provider comes before a discovered one,
 * and one of the place itself before one of the whole tenant. Lists are of those that fit equally well, in a stable order.
 */
export function knownProviders(place: TenantPlace) {
  const byHosts = new Map<string, Provider[]>();
  const byNames = new Map<string, Provider[]>();
  const byFamilies = new Map<string, Provider[]>();
  const byVendors = new Map<string, Provider[]>();
  const byProducts = new Map<string, Provider[]>();
  const byId = new Map<string, Provider>();

  return { learn, get: (id: string) => byId.get(id), atHost, called, ofVendor, server };

  function learn(provider: Provider): void {
    if (byId.has(provider.id)) return;
    byId.set(provider.id, provider);
    if (provider.baseUrl !== null) add(byHosts, hostOf(provider.baseUrl), provider);
    for (const name of calledNames(provider)) {
      add(byNames, name, provider);
      add(byFamilies, rewrittenName(name), provider);
    }
    if (provider.kind === 'mcp') return;
    const vendors = vendorsOf(provider);
    for (const vendor of vendors) add(byVendors, vendor, provider);
    for (const product of new Set(vendors.map(productFamily))) add(byProducts, product, provider);
  }

  /** Those whose base URL has a host; of several, those whose port fits. */
  function atHost(host: string, port: number | null): Provider[] {
    const all = byHosts.get(host) ?? [];
    const fitting = all.filter(({ baseUrl }) => portOf(baseUrl) === port);
    return nearest(fitting.length > 0 ? fitting : all);
  }

  /** Those of a name or an alias. An alias within a sub-tenant takes nothing from a declared provider of the whole tenant. */
  function named(name: string): Provider[] {
    const all = byNames.get(folded(name)) ?? [];
    const isTaken = all.some(({ subTenantId, status }) => subTenantId === null && status !== 'discovered');
    if (!isTaken) return all;
    return all.filter((one) => one.subTenantId === null || folded(one.name) === folded(name));
  }

  /** The one of a name or an alias. */
  function called(name: string): Provider | undefined {
    return nearest(named(name))[0];
  }

  /** Those of a vendor: by this very name, else by another spelling or the vendor's API host, else another product of it. */
  function ofVendor(vendor: string): Provider[] {
    const canonical = canonicalVendor(vendor);
    const exact = named(vendor);
    const same = canonical === null ? [] : (byVendors.get(canonical) ?? []);
    const products = canonical === null ? [] : (byProducts.get(productFamily(canonical)) ?? []);
    const isDeclared = ({ status }: Provider) => status !== 'discovered';
    const declared = [exact, same, products].find((some) => some.some(isDeclared));
    // Each product that traffic names is discovered by itself.
    return nearest(declared ?? [exact, same].find((some) => some.length > 0) ?? []);
  }

  /** The server of a name or an alias: in this very spelling, else as frameworks rewrite it. A vendor of models is none. */
  function server(name: string): Provider | undefined {
    const isServer = ({ kind }: Provider) => kind !== 'llm';
    const exact = nearest(named(name).filter(isServer));
    if (exact.length > 0) return exact[0];
    const rewritten = nearest((byFamilies.get(rewrittenName(name)) ?? []).filter(isServer));
    return rewritten.length === 1 ? rewritten[0] : undefined;
  }

  function nearest(providers: readonly Provider[]): Provider[] {
    const closest = Math.min(...providers.map(distance));
    return providers.filter((one) => distance(one) === closest).toSorted((a, b) => (a.id < b.id ? -1 : 1));
  }

  function distance({ status, subTenantId }: Provider): number {
    return (status === 'discovered' ? 2 : 0) + (subTenantId === place.subTenantId ? 0 : 1);
  }
}

/** The canonical names of the vendors that a provider is, by its names and by its base URL. */
function vendorsOf(provider: Provider): string[] {
  const byUrl = provider.baseUrl === null ? null : vendorOfHost(hostOf(provider.baseUrl));
  const vendors = [byUrl, ...calledNames(provider).map(canonicalVendor)];
  return [...new Set(vendors.filter((vendor) => vendor !== null))];
}

function add(providers: Map<string, Provider[]>, key: string, provider: Provider): void {
  const same = providers.get(key);
  if (same) same.push(provider);
  else providers.set(key, [provider]);
}

function portOf(baseUrl: string | null): number | null {
  if (baseUrl === null) return null;
  const { port, protocol } = new URL(baseUrl);
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}
