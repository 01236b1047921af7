import type { IncomingMessage } from 'node:http';
import { basePathOf } from '../platform/base-path.ts';
import { isLoopback } from '../platform/loopback.ts';

/** The names of the web console's cookies, and whether browsers send them only over https. */
export type CookieNames = {
  session: string;
  /** One for each pending sign-in, so that two tabs can sign in at the same time. */
  signIn: (state: string) => string;
  /** What the names of all sign-ins begin with. */
  signInPrefix: string;
  secure: boolean;
};

/**
 * The cookies of a service with this public URL. Over https their names have the prefix `__Host-`, so that browsers refuse
 * cookies that another host of the domain sets. That is not possible over http, which is allowed only on loopback. There the
 * name contains the port, because cookies are not separated by port. The prefix also needs `Path=/`, so the name contains the path of
 * the public URL: another service at another path of the host has other cookies.
 *
 * @returns null for http on other hosts, where a session would be readable on the network
 */
export function cookieNames(publicUrl: string): CookieNames | null {
  const { protocol, hostname, port } = new URL(publicUrl);
  const path = basePathOf(publicUrl).replaceAll(/[^\w-]+/g, '_');
  if (protocol === 'https:') return namesOf('__Host-quartermaster', path, true);
  return isLoopback(hostname) ? namesOf('quartermaster', `_${port || 80}${path}`, false) : null;
}

function namesOf(prefix: string, suffix: string, secure: boolean): CookieNames {
  const signInPrefix = `${prefix}_sign_in${suffix}_`;
  return {
    session: `${prefix}_session${suffix}`,
    signIn: (state) => signInPrefix + state.slice(0, 16).replaceAll(/[^\w-]/g, ''),
    signInPrefix,
    secure,
  };
}

/** The value of a cookie; undefined if the request has none, or several of this name. */
export function cookieOf(req: IncomingMessage, name: string): string | undefined {
  const found = cookiesOf(req).filter((cookie) => cookie.name === name);
  return found.length === 1 ? found[0]?.value : undefined;
}

/** The maximum number of bytes of one browser's pending sign-ins. Node refuses a request with more than 16 KiB of headers. */
const MAX_PENDING_BYTES = 6000;

/** The names of the oldest pending sign-ins, beyond the bytes that all may have together. */
export function surplusSignIns(req: IncomingMessage, { signInPrefix }: CookieNames): string[] {
  let bytes = 0;
  // Browsers send cookies with the same path in the order of their creation (RFC 6265, section 5.4).
  const newestFirst = cookiesOf(req)
    .filter(({ name }) => name.startsWith(signInPrefix) && /^[\w-]+$/.test(name))
    .toReversed();
  const surplus = newestFirst.filter(({ name, value }) => {
    bytes += name.length + value.length;
    return bytes > MAX_PENDING_BYTES;
  });
  return surplus.map(({ name }) => name);
}

function cookiesOf({ headers }: IncomingMessage): { name: string; value: string }[] {
  return (headers.cookie ?? '').split(';').flatMap((pair) => {
    const at = pair.indexOf('=');
    return at > 0 ? { name: pair.slice(0, at).trim(), value: pair.slice(at + 1).trim() } : [];
  });
}

type Attributes = {
  secure: boolean;
  /** `Lax` for cookies that the browser has to send with the redirect from the identity provider's site. */
  sameSite: 'Strict' | 'Lax';
  /** In seconds; 0 removes the cookie. */
  maxAge: number;
};

/** A Set-Cookie header. No script can read the cookie. */
export function setCookie(name: string, value: string, { secure, sameSite, maxAge }: Attributes): string {
  const attributes = ['Path=/', `Max-Age=${maxAge}`, 'HttpOnly', `SameSite=${sameSite}`];
  return [`${name}=${value}`, ...attributes, ...(secure ? ['Secure'] : [])].join('; ');
}
