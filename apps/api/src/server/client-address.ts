import type { IncomingMessage } from 'node:http';
import express from 'express';

/** Whether an address is a trusted proxy. Express compiles this function from the setting `trust proxy`. */
export type Trust = (address: string, hop: number) => boolean;

/** The function for the setting `trustedProxies`. */
export function trustIn(proxies: readonly string[]): Trust {
  const app = express();
  app.set('trust proxy', proxies);
  return app.get('trust proxy fn') as Trust;
}

/**
 * The caller's address: the peer of the connection, or, if that is a trusted proxy, the rightmost address in X-Forwarded-For
 * that is not a trusted proxy. Everything to the left of it may be forged, and is ignored.
 */
export function clientAddress(req: IncomingMessage, trust: Trust): string {
  let address = req.socket.remoteAddress ?? '';
  const header = req.headers['x-forwarded-for'];
  if (header === undefined || !trust(address, 0)) return address;
  const forwarded = String(header)
    .split(',')
    .map((one) => withoutPort(one.trim()))
    .filter((one) => one !== '');
  for (const [index, one] of forwarded.toReversed().entries()) {
    address = one;
    if (!trust(address, index + 1)) break;
  }
  return address;
}

/**
 * The address of an entry such as `192.0.2.1:4711`, `[2001:db8::1]:4711` or `[2001:db8::1]`. Some proxies add the port, for example
 * Azure Application Gateway. With it, each connection of a client would have a rate limit of its own.
 */
function withoutPort(entry: string): string {
  const [, v6, v4] = /^(?:\[([^\]]+)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/.exec(entry) ?? [];
  return v6 ?? v4 ?? entry;
}
