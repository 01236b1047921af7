import type { Provider } from '@quartermaster/contracts/providers.ts';
import { hostOf } from '@quartermaster/naming/provider-names.ts';
import { canonicalVendor, vendorOfHost } from '@quartermaster/naming/vendors.ts';

/** Headers without which the API of a vendor refuses each request, in lower case. */
const REQUIRED: Record<string, Record<string, string>> = {
  // https://docs.anthropic.com/en/api/versioning
  anthropic: { 'anthropic-version': '2023-06-01' },
};

/** The headers in the clear that requests to a provider carry: those that its vendor requires, then its own. In lower case. */
export function requestHeaders({ name, baseUrl, headers }: Pick<Provider, 'name' | 'baseUrl' | 'headers'>) {
  const vendor = (baseUrl === null ? null : vendorOfHost(hostOf(baseUrl))) ?? canonicalVendor(name);
  const own = Object.fromEntries(headers.map((header) => [header.name.toLowerCase(), header.value]));
  return { ...(vendor !== null && REQUIRED[vendor]), ...own };
}
