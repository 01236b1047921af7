/**
 * A provider's credential is bound to the base URL that the provider had when the credential was stored. The credential is
 * sent only to this origin and below this path.
 */

/** Path segments that cannot lead out of a path: no percent-encoding, no path parameters, no dot segments. */
const PLAIN_PATH = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~!$&'()*+,=:@-]+)*$/;

/** The URL that is stored, and that the sealed secret is bound to; null if the provider has no base URL. */
export function bindingOf(baseUrl: string | null): string | null {
  if (baseUrl === null) return null;
  const { origin, pathname, search } = new URL(baseUrl);
  return `${origin}${withoutEndSlash(pathname)}${search}`;
}

/**
 * Whether a provider with this base URL may use a credential that is bound to `boundUrl`. The base URL's path may go deeper.
 * Its query has to be the same, because a proxy may choose the target by it.
 */
export function isBoundTo(boundUrl: string | null, baseUrl: string | null): boolean {
  if (boundUrl === null || baseUrl === null) return false;
  return new URL(baseUrl).search === new URL(boundUrl).search && isWithinBinding(boundUrl, new URL(baseUrl));
}

/** Whether a request may carry a credential that is bound to `boundUrl`: same origin, and the same path or one below. */
export function isWithinBinding(boundUrl: string, target: URL): boolean {
  const bound = new URL(boundUrl);
  if (bound.origin !== target.origin) return false;
  const prefix = withoutEndSlash(bound.pathname);
  const path = withoutEndSlash(target.pathname);
  return path === prefix || (path.startsWith(`${prefix}/`) && PLAIN_PATH.test(path.slice(prefix.length)));
}

function withoutEndSlash(path: string): string {
  return path.replace(/\/+$/, '');
}
