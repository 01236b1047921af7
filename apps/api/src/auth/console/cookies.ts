import type { IncomingMessage } from 'node:http';
import { isLoopback } from '../../platform/loopback.ts';

/** The names of the web console's cookies, and whether browsers send them only over https. */
export type CookieNames = {
  session: string;
  /** One for each pending sign-in, so that two tabs can sign in at the same time. */
  signIn: (state: string) => string;
  secure: boolean;
};

/**
 * The cookies of a service with this public URL. Over https their names have the prefix `__Host-`, so that browsers refuse
 * cookies that another host of the domain sets. That is not possible over http, which is allowed only on loopback. There the
 * name contains the port, because cookies are not separated by port.
 *
 * @returns null for http on other hosts, where a session would be readable on the network
 */
export function cookieNames(publicUrl: string): CookieNames | null {
  const { protocol, hostname, port } = new URL(publicUrl);
  if (protocol === 'https:') return namesOf('__Host-quartermaster', '', true);
  return isLoopback(hostname) ? namesOf('quartermaster', `_${port || 80}`, false) : null;
}

function namesOf(prefix: string, suffix: string, secure: boolean): CookieNames {
  return {
    session: `${prefix}_session${suffix}`,
    signIn: (state) => `${prefix}_sign_in${suffix}_${state.slice(0, 16).replaceAll(/[^\w-]/g, '')}`,
    secure,
  };
}

/** The value of a cookie; undefined if the request has none, or several of this name. */
export function cookieOf({ headers }: IncomingMessage, name: string): string | undefined {
  const values: string[] = [];
  for (const pair of (headers.cookie ?? '').split(';')) {
    const at = pair.indexOf('=');
    if (at > 0 && pair.slice(0, at).trim() === name) values.push(pair.slice(at + 1).trim());
  }
  return values.length === 1 ? values[0] : undefined;
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
