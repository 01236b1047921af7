import type { Provider } from '@quartermaster/contracts/providers.ts';
import { ownPrefixes } from './name-key.ts';
import { folded } from './queries.ts';
import { vendorNames, vendorOfHost } from './vendors.ts';

/** What a provider is called by. */
export type NamedProvider = Pick<Provider, 'name' | 'aliases' | 'baseUrl'>;

/** A provider's name and aliases, case-folded: what manifests may call it by. */
export function calledNames({ name, aliases }: Pick<Provider, 'name' | 'aliases'>): string[] {
  return [...new Set([name, ...aliases].map(folded))];
}

/** The spellings of the vendors that a provider is, by its names and by its base URL; its own names first. */
function vendorSpellings({ baseUrl, ...called }: NamedProvider): string[] {
  const names = calledNames(called);
  const vendor = baseUrl === null ? null : vendorOfHost(hostOf(baseUrl));
  return [...new Set([...names, ...names.flatMap(vendorNames), ...(vendor === null ? [] : vendorNames(vendor))])];
}

/** What may stand before the name of one of its models and says nothing. */
export function modelPrefixes(provider: NamedProvider): string[] {
  return [...new Set([...ownPrefixes(provider.name), ...vendorSpellings(provider)])];
}

/** The host of a URL as `server.address` has it: lower case, without brackets and port. */
export function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '').toLowerCase();
}
