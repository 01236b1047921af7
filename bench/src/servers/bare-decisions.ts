import { createPublicKey, verify, type KeyObject } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { headersOf, settingsFromParent } from '../floors/floor.ts';

/** An answer as this API sends it. */
type Ready = { headers: readonly (readonly [string, string])[]; body: Uint8Array };

export type BareDecisionsSettings = {
  /** Whether it verifies each token once, or with each request. */
  remembersTokens: boolean;
  /** The public key of this API's tokens. */
  jwk: Record<string, string>;
  gatewayId: string;
  /** The tools that are granted. */
  names: readonly string[];
  allowed: Ready;
  denied: Ready;
};

// The lowest floor of forward authentication: node:http, a token, and a set of names.
const settings = await settingsFromParent<BareDecisionsSettings>();
const key: KeyObject = createPublicKey({ key: settings.jwk, format: 'jwk' });
const granted = new Set(settings.names);
const expiries = new Map<string, number>();
const [allowedHeaders, deniedHeaders] = [headersOf(settings.allowed), headersOf(settings.denied)];
const deniedBody = Buffer.from(settings.denied.body);

const server = createServer((req, res) => {
  const expiresAt = expiryOf((req.headers.authorization ?? '').slice('Bearer '.length));
  if (expiresAt === null || expiresAt <= Date.now()) res.writeHead(401).end();
  else if (isGranted(req)) res.writeHead(200, allowedHeaders(0)).end();
  else res.writeHead(403, deniedHeaders(deniedBody.length)).end(deniedBody);
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));

function isGranted({ headers }: IncomingMessage): boolean {
  const isCall = headers['mcp-method'] === 'tools/call' && headers['mcp-protocol-version'] === '2026-07-28';
  return isCall && granted.has(String(headers['mcp-name']));
}

/** When a token of the gateway expires, in milliseconds. Null: it is not valid. */
function expiryOf(token: string): number | null {
  const known = expiries.get(token);
  if (known !== undefined) return known;
  const [header = '', payload = '', signature = ''] = token.split('.');
  const signed = Buffer.from(`${header}.${payload}`);
  const isSigned = verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url'));
  if (!isSigned) return null;
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { aud: string; exp: number };
  if (claims.aud !== settings.gatewayId) return null;
  if (settings.remembersTokens) expiries.set(token, claims.exp * 1000);
  return claims.exp * 1000;
}
