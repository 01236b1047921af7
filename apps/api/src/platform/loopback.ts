import { isIPv4 } from 'node:net';

/** Whether a host means this machine: `localhost`, `::1` with or without brackets, or an address in 127.0.0.0/8. */
export function isLoopback(host: string): boolean {
  return ['localhost', '::1', '[::1]'].includes(host) || (isIPv4(host) && host.startsWith('127.'));
}
