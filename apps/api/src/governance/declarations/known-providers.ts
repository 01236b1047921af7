import type { Provider } from '@quartermaster/contracts/providers.ts';
import { rewrittenName } from '@quartermaster/naming/name-family.ts';
import { caseFoldedNames, hostOf } from '@quartermaster/naming/provider-names.ts';
import { caseFolded } from '@quartermaster/naming/case-folded.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { canonicalVendor, productFamily, vendorOfHost } from '@quartermaster/naming/vendors.ts';

/** The providers that the names of a batch may mean. */
export type KnownProviders = ReturnType<typeof knownProviders>;

/**
 * An index of providers by host, name, vendor and server name. If several providers match, a declared one precedes a
 * discovered one, and one of the place itself precedes one of the whole tenant. Lists contain equally good matches, the
 * disabled ones last, in a stable order.
 */
export function knownProviders(place: TenantPlace) {
  const byHosts = new Map<string, Provider[]>();
  /** What was found by host and port. */
  const atHosts = new Map<string, readonly Provider[]>();
  const byNames = new Map<string, Provider[]>();
  const byFamilies = new Map<string, Provider[]>();
  const byVendors = new Map<string, Provider[]>();
  const byProducts = new Map<string, Provider[]>();
  const byId = new Map<string, Provider>();
  const nearest = (providers: readonly Provider[]) => nearestTo(place, providers);

  return {
    add,
    get: (id: string) => byId.get(id),
    findAtHost,
    findByName,
    findOfVendor,
    findServer,
  };

  function add(provider: Provider): void {
    if (byId.has(provider.id)) return;
    byId.set(provider.id, provider);
    atHosts.clear();
    if (provider.baseUrl !== null) addTo(byHosts, hostOf(provider.baseUrl), provider);
    for (const name of caseFoldedNames(provider)) {
      addTo(byNames, name, provider);
      addTo(byFamilies, rewrittenName(name), provider);
    }
    if (provider.kind === 'mcp') return;
    const vendors = vendorsOf(provider);
    for (const vendor of vendors) addTo(byVendors, vendor, provider);
    for (const product of new Set(vendors.map(productFamily))) addTo(byProducts, product, provider);
  }

  /** The providers whose base URL has the host. If one of them has the port as well, only those with the port. */
  function findAtHost(host: string, port: number | null): readonly Provider[] {
    const all = byHosts.get(host);
    if (all === undefined) return [];
    const address = `${host} ${port}`;
    const known = atHosts.get(address);
    if (known !== undefined) return known;
    const atPort = all.filter(({ baseUrl }) => portOf(baseUrl) === port);
    const found = nearest(atPort.length > 0 ? atPort : all);
    atHosts.set(address, found);
    return found;
  }

  /** All providers with a name or alias. A sub-tenant's alias does not count if the whole tenant declared the name. */
  function allNamed(name: string): Provider[] {
    const all = byNames.get(caseFolded(name)) ?? [];
    const isTaken = all.some(({ subTenantId, status }) => subTenantId === null && status !== 'discovered');
    if (!isTaken) return all;
    return all.filter((provider) => provider.subTenantId === null || caseFolded(provider.name) === caseFolded(name));
  }

  /** The provider with a name or alias. */
  function findByName(name: string): Provider | undefined {
    return nearest(allNamed(name))[0];
  }

  /**
   * The providers of a vendor: by exactly this name, otherwise by another spelling or the vendor's API host, otherwise a
   * declared provider of another product of the vendor.
   */
  function findOfVendor(vendor: string): Provider[] {
    const canonical = canonicalVendor(vendor);
    const exact = allNamed(vendor);
    const same = canonical === null ? [] : (byVendors.get(canonical) ?? []);
    const products = canonical === null ? [] : (byProducts.get(productFamily(canonical)) ?? []);
    const isDeclared = ({ status }: Provider) => status !== 'discovered';
    const declared = [exact, same, products].find((some) => some.some(isDeclared));
    // Discovered providers are never shared by several products of a vendor.
    return nearest(declared ?? [exact, same].find((some) => some.length > 0) ?? []);
  }

  /** The server with a name or alias: in exactly this spelling, otherwise as frameworks rewrite it. Never a model vendor. */
  function findServer(name: string): Provider | undefined {
    const isServer = ({ kind }: Provider) => kind !== 'llm';
    const exact = nearest(allNamed(name).filter(isServer));
    if (exact.length > 0) return exact[0];
    const rewritten = nearest((byFamilies.get(rewrittenName(name)) ?? []).filter(isServer));
    return rewritten.length === 1 ? rewritten[0] : undefined;
  }
}

/** The providers that are closest to a place: see {@link knownProviders}. */
function nearestTo(place: TenantPlace, providers: readonly Provider[]): Provider[] {
  const distance = ({ status, subTenantId }: Provider) =>
    (status === 'discovered' ? 2 : 0) + (subTenantId === place.subTenantId ? 0 : 1);
  const closest = Math.min(...providers.map(distance));
  const order = ({ status, id }: Provider) => `${status === 'disabled' ? 1 : 0} ${id}`;
  return providers
    .filter((provider) => distance(provider) === closest)
    .toSorted((a, b) => (order(a) < order(b) ? -1 : 1));
}

/** The canonical names of a provider's vendors, by its names and by the host of its base URL. */
function vendorsOf(provider: Provider): string[] {
  const byUrl = provider.baseUrl === null ? null : vendorOfHost(hostOf(provider.baseUrl));
  const vendors = [byUrl, ...caseFoldedNames(provider).map(canonicalVendor)];
  return [...new Set(vendors.filter((vendor) => vendor !== null))];
}

/** Whether a model provider is known to belong to another vendor. Products of one vendor count as the same vendor. */
export function isOfOtherVendor(provider: Provider, vendor: string): boolean {
  const families = vendorsOf(provider).map(productFamily);
  return families.length > 0 && !families.includes(productFamily(canonicalVendor(vendor) ?? vendor));
}

function addTo(providers: Map<string, Provider[]>, key: string, provider: Provider): void {
  const same = providers.get(key);
  if (same) same.push(provider);
  else providers.set(key, [provider]);
}

/** The port of a base URL. */
export function portOf(baseUrl: string | null): number | null {
  if (baseUrl === null) return null;
  const { port, protocol } = new URL(baseUrl);
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}
