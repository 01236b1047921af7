import { isIP } from 'node:net';
import { hostAndPort } from '../urls.ts';

const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
const MAX_HOST_CHARACTERS = 253;

/**
 * The host of a URL, of `host:port` or of a host, in lower case, without a dot at its end. IPv6 addresses without brackets, in
 * their shortest form. Null if there is none.
 */
export function hostIn(text: string): string | null {
  const authority = hostAndPort(text);
  const plain = /^\[(.*)\](?::\d+)?$/.exec(authority)?.[1] ?? authority.replace(/^([^:]+):\d+$/, '$1');
  if (isIP(plain) === 6) return URL.parse(`http://[${plain}]`)?.hostname.slice(1, -1) ?? plain.toLowerCase();
  return plain.toLowerCase().replace(/\.$/, '') || null;
}

/** Whether the text can only be a host: an IP address, `localhost`, or a name with a dot. */
export function isHost(text: string): boolean {
  if (text === 'localhost' || isIP(text) !== 0) return true;
  const labels = text.replace(/\.$/, '').split('.');
  return text.length <= MAX_HOST_CHARACTERS && labels.length > 1 && labels.every((label) => LABEL.test(label));
}

/** Whether the text can only be an address: an IP address, or a host with a port. */
export function isAddress(text: string): boolean {
  return isIP(hostIn(text) ?? '') !== 0 || /^[\w.-]+:\d{1,5}$/.test(text);
}
