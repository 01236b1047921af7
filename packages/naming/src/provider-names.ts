import { caseFolded } from './case-folded.ts';
import { ownPrefixes } from './name-key.ts';
import { vendorNames, vendorOfHost } from './vendors.ts';

/** The names of a provider, and its address. */
export type NamedProvider = { name: string; aliases: readonly string[]; baseUrl: string | null };

/** A provider's name and aliases, case-folded. Manifests may use any of them. */
export function caseFoldedNames({ name, aliases }: Omit<NamedProvider, 'baseUrl'>): string[] {
  return [...new Set([name, ...aliases].map(caseFolded))];
}

/** The form of a provider's id, see `newId`. */
const PROVIDER_ID = /^prov_[0-9a-z]{26}$/;

/**
 * The texts by which a manifest may refer to a provider: its id, and its name and aliases if `byName` is true. A name in the
 * form of an id is left out. Otherwise a provider that has the id of another one as its name would get what a manifest allows
 * the other one by its id.
 */
export function manifestReferences(
  provider: Omit<NamedProvider, 'baseUrl'> & { id: string },
  { byName }: { byName: boolean },
): string[] {
  const names = byName ? caseFoldedNames(provider).filter((name) => !PROVIDER_ID.test(name)) : [];
  return [...names, provider.id];
}

/** The spellings of the vendors that a provider's names and base URL belong to. Its own names come first. */
function vendorSpellings({ baseUrl, ...called }: NamedProvider): string[] {
  const names = caseFoldedNames(called);
  const vendor = baseUrl === null ? null : vendorOfHost(hostOf(baseUrl));
  return [...new Set([...names, ...names.flatMap(vendorNames), ...(vendor === null ? [] : vendorNames(vendor))])];
}

/** The prefixes of a provider's model names that do not belong to the model. */
export function modelPrefixes(provider: NamedProvider): string[] {
  return [...new Set([...ownPrefixes(provider.name), ...vendorSpellings(provider)])];
}

/** The host of a URL as `server.address` has it: lower case, without brackets, port and the dot at the end of a full name. */
export function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|[\].]$/g, '').toLowerCase();
}

/** Whether a host is the sender's own machine. Such an address does not identify a provider. */
export function isSendersOwnHost(host: string): boolean {
  return /^127(\.\d{1,3}){3}$/.test(host) || host === '::1' || host === 'localhost' || host.endsWith('.localhost');
}
