import type * as http from 'node:http';

/**
 * Why this request must not be served, or undefined. The provider lets anyone sign in, so it answers only requests that
 * address this machine directly. Another Host means DNS rebinding. A forwarding header means a proxy in front of it.
 */
export function refusal(req: http.IncomingMessage, allowedHosts: ReadonlySet<string>): string | undefined {
  const host = req.headers.host?.toLowerCase();
  if (host === undefined || !allowedHosts.has(host)) {
    return 'The development identity provider does not answer for this Host.';
  }
  if (Object.keys(req.headers).some(isForwardingHeader)) {
    return 'The development identity provider does not answer forwarded requests.';
  }
  if (req.method === 'POST' && !isForPrograms(req) && isCrossOrigin(req, host)) {
    return 'This form was submitted from another origin.';
  }
  return undefined;
}

function isForwardingHeader(name: string): boolean {
  return name === 'forwarded' || name === 'via' || name === 'x-real-ip' || name.startsWith('x-forwarded-');
}

// Browser applications call these from their own origin, and CORS protects them. Every other POST is one of our forms.
const PROGRAM_ENDPOINTS = new Set(['/token', '/me', '/device/auth']);

function isForPrograms(req: http.IncomingMessage): boolean {
  return PROGRAM_ENDPOINTS.has((req.url ?? '').split('?', 1)[0] ?? '');
}

/** Programs send neither header, browsers always one. `same-site` is refused as well: it means another port of this machine. */
function isCrossOrigin(req: http.IncomingMessage, host: string): boolean {
  const site = req.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  const { origin } = req.headers;
  return origin !== undefined && origin.toLowerCase() !== `http://${host}`;
}
