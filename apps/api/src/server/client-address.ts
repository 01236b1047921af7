import type { IncomingMessage } from 'node:http';
import express from 'express';

/** Whether a hop is a proxy of ours: Express compiles it from the setting `trust proxy`. */
export type Trust = (address: string, hop: number) => boolean;

/** Compiles the setting `trustedProxies`. */
export function trustIn(proxies: readonly string[]): Trust {
  const app = express();
  app.set('trust proxy', proxies);
  return app.get('trust proxy fn') as Trust;
}

/**
 * The caller's address: the connection's, or, where that is a trusted proxy's, the last one in X-Forwarded-For that is
 * none. What a caller wrote into the header beyond that counts for nothing.
 */
export function clientAddress(req: IncomingMessage, trust: Trust): string {
  let address = req.socket.remoteAddress ?? '';
  const header = req.headers['x-forwarded-for'];
  if (header === undefined || !trust(address, 0)) return address;
  const forwarded = String(header)
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
  for (const [index, one] of forwarded.toReversed().entries()) {
    address = one;
    if (!trust(address, index + 1)) break;
  }
  return address;
}
