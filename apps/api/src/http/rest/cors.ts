import type { IncomingMessage, ServerResponse } from 'node:http';

/** The headers that an OTLP exporter in a browser sets, beyond those that need no permission. */
const REQUEST_HEADERS = 'authorization, content-encoding, content-type, x-api-key';

/** How long a browser remembers the answer to a preflight, in seconds. Chrome uses at most this. */
const PREFLIGHT_SECONDS = 7200;

/**
 * Lets pages of the listed origins read an answer (CORS). Credentials that a browser adds by itself, such as cookies, are never
 * allowed. Without a list nothing changes.
 *
 * @returns whether the request comes from a listed origin
 */
export function allowOrigin(req: IncomingMessage, res: ServerResponse, origins: readonly string[]): boolean {
  if (origins.length === 0) return false;
  res.setHeader('Vary', 'Origin');
  const { origin } = req.headers;
  if (origin === undefined || !origins.includes(origin)) return false;
  res.setHeader('Access-Control-Allow-Origin', origin);
  res.setHeader('Access-Control-Expose-Headers', 'Retry-After');
  return true;
}

/** Whether a browser asks what it may send. */
export function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

/** Answers a preflight for a path that takes POST alone. */
export function sendPreflight(res: ServerResponse): void {
  res.statusCode = 204;
  res.setHeader('Access-Control-Allow-Methods', 'POST');
  res.setHeader('Access-Control-Allow-Headers', REQUEST_HEADERS);
  res.setHeader('Access-Control-Max-Age', String(PREFLIGHT_SECONDS));
  res.end();
}
