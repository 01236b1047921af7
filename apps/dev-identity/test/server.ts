import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express from 'express';
import type { HttpSession } from '../src/http-session.ts';
import { createHttpSession } from '../src/http-session.ts';
import type { DevIdentity } from '../src/provider.ts';
import { createDevIdentity } from '../src/provider.ts';
import { readSignInSecret } from '../src/sign-in-secret.ts';

export const AUDIENCE = 'https://quartermaster.test/api';
export const CLIENT_ID = 'quartermaster-dev';
export const CALLBACK = 'http://127.0.0.1:45678/callback';

export type DevServer = {
  origin: string;
  issuer: string;
  /** The secret of this start. */
  secret: string;
  secretFile: string;
  signInLink: string;
  close: () => Promise<void>;
};

/** The secrets of the running servers, by origin. {@link submit} sends them together with an email. */
const secrets = new Map<string, string>();

/** Starts the provider as the API mounts it, or with `bare` on a plain http.Server that does not strip the path. */
export async function startServer({
  bare = false,
  audience = AUDIENCE,
}: {
  bare?: boolean;
  audience?: string;
} = {}): Promise<DevServer> {
  // The issuer contains the port, so the provider is created after the server listens.
  let devIdentity: DevIdentity | undefined;
  const app = express();
  app.use('/oidc', (req, res) => devIdentity?.handle(req, res));
  const server = http.createServer(bare ? (req, res) => devIdentity?.handle(req, res) : app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  const folder = await mkdtemp(join(tmpdir(), 'quartermaster-dev-identity-'));
  const identity = await createDevIdentity({
    issuer: `${origin}/oidc`,
    audience,
    secretFile: join(folder, 'sign-in'),
    allowedHosts: [`127.0.0.1:${port}`, `localhost:${port}`],
    accounts: [
      { email: 'admin@example.com', displayName: 'Ada <Admin>' },
      { email: 'viewer@example.com', displayName: 'Vic Viewer' },
    ],
  });
  devIdentity = identity;
  const { issuer, secretFile, signInLink } = identity;
  const secret = await readSignInSecret({ issuer, file: secretFile });
  secrets.set(origin, secret);
  return {
    origin,
    issuer,
    secret,
    secretFile,
    signInLink,
    close: async () => {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      await identity.close();
      await rm(folder, { recursive: true });
    },
  };
}

export type Pkce = { verifier: string; challenge: string };

export function createPkce(): Pkce {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

/** The URL of an authorization request. Parameters with the value undefined are left out. */
export function authorizationUrl(
  issuer: string,
  pkce: Pkce,
  overrides: Record<string, string | undefined> = {},
): string {
  const params: Record<string, string | undefined> = {
    response_type: 'code',
    client_id: CLIENT_ID,
    redirect_uri: CALLBACK,
    scope: 'openid email profile',
    state: 'state-1',
    code_challenge: pkce.challenge,
    code_challenge_method: 'S256',
    ...overrides,
  };
  const url = new URL(`${issuer}/auth`);
  for (const [name, value] of Object.entries(params)) if (value !== undefined) url.searchParams.set(name, value);
  return url.href;
}

/** A browser that has opened the sign-in link. */
export async function unlockedBrowser({ signInLink }: DevServer): Promise<HttpSession> {
  const browser = createHttpSession();
  await (await browser.get(signInLink)).body?.cancel();
  return browser;
}

/** Follows redirects to a page, or to the callback of the client, which nothing serves. */
async function follow(
  browser: HttpSession,
  response: Response,
  at: string,
): Promise<{ url: string; response: Response; html: string }> {
  let current = response;
  let url = at;
  for (let step = 0; step < 10; step += 1) {
    const location = current.headers.get('location');
    if (location === null) return { url, response: current, html: await current.text() };
    url = new URL(location, url).href;
    if (url.startsWith('http://127.0.0.1:45678/')) return { url, response: current, html: '' };
    current = await browser.get(url);
  }
  throw new Error('too many redirects');
}

export async function open(browser: HttpSession, url: string) {
  return follow(browser, await browser.get(url), url);
}

/** Submits a form. If it contains an email, the secret of the server is added. */
export async function submit(browser: HttpSession, url: string, form: Record<string, string>) {
  const secret = 'email' in form ? secrets.get(new URL(url).origin) : undefined;
  return follow(browser, await browser.post(url, secret === undefined ? form : { ...form, secret }), url);
}

/** Signs in on the sign-in page. Returns the parameters of the callback. */
export async function signIn({
  issuer,
  email = 'admin@example.com',
  browser = createHttpSession(),
  overrides = {},
}: {
  issuer: string;
  email?: string;
  browser?: HttpSession;
  overrides?: Record<string, string | undefined>;
}): Promise<{ params: URLSearchParams; pkce: Pkce }> {
  const pkce = createPkce();
  const page = await open(browser, authorizationUrl(issuer, pkce, overrides));
  const end = await submit(browser, page.url, { email });
  return { params: new URL(end.url).searchParams, pkce };
}

export async function exchange(
  issuer: string,
  form: Record<string, string>,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const body = new URLSearchParams({ client_id: CLIENT_ID, ...form });
  const response = await fetch(`${issuer}/token`, { method: 'POST', body });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** Sends a request with exactly these headers, even `Host`, which `fetch` does not allow. */
export function rawRequest(
  url: string,
  { method = 'GET', headers = {}, body = '' }: { method?: string; headers?: http.OutgoingHttpHeaders; body?: string },
): Promise<{ status: number; body: string; headers: http.IncomingHttpHeaders }> {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text, headers: response.headers }));
    });
    request.on('error', reject);
    request.end(body);
  });
}
