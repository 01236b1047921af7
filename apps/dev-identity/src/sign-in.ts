import { hash, randomBytes } from 'node:crypto';
import type { HttpSession } from './http-session.ts';
import { createHttpSession } from './http-session.ts';
import { readSignInSecret, SECRET_FILE_MEMBER } from './sign-in-secret.ts';

export class SignInError extends Error {
  override readonly name = 'SignInError';
  /** `unreachable`: nothing answers; `no_provider`: something else does; `refused`: the provider said no. */
  readonly code: 'unreachable' | 'no_provider' | 'refused';

  constructor(code: SignInError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * Signs in at a running development provider like a browser and a client: discovery, the authorization code flow with PKCE
 * (RFC 7636), our sign-in page, the token endpoint. It reads the sign-in secret from the file that the provider names, so it
 * works only on the provider's machine, for the user who started it. `expiresIn` is in seconds.
 *
 * @throws {SignInError}
 */
export async function obtainToken(options: {
  issuer: string;
  clientId?: string;
  email: string;
  scope?: string;
  signal?: AbortSignal;
}): Promise<{ accessToken: string; idToken: string; expiresIn: number }> {
  const { issuer, clientId = 'quartermaster-dev', email, scope = 'openid email profile', signal } = options;
  const http = createHttpSession(signal);
  const endpoints = await discover(http, issuer, signal);
  const secret = await secretOf(issuer, endpoints.secretFile);
  const verifier = randomBytes(32).toString('base64url');
  const state = randomBytes(16).toString('base64url');

  const request = new URL(endpoints.authorization);
  request.search = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: REDIRECT_URI,
    scope,
    state,
    code_challenge: hash('sha256', verifier, 'base64url'),
    code_challenge_method: 'S256',
  }).toString();

  const callback = await authorize({ http, issuer, url: request.href, form: { email, secret } });
  const error = callback.get('error');
  if (error !== null) throw new SignInError('refused', `${error}: ${callback.get('error_description') ?? ''}`);
  // RFC 9207: check that the response comes from this provider.
  if (callback.get('state') !== state || callback.get('iss') !== issuer) {
    throw new SignInError('refused', 'the answer does not belong to this sign-in');
  }

  const form = {
    grant_type: 'authorization_code',
    client_id: clientId,
    redirect_uri: REDIRECT_URI,
    code: callback.get('code') ?? '',
    code_verifier: verifier,
  };
  const response = await http.post(endpoints.token, form, { accept: 'application/json' });
  const tokens = await json(response);
  const { access_token: accessToken, id_token: idToken, expires_in: expiresIn } = tokens;
  if (typeof accessToken !== 'string' || typeof idToken !== 'string' || typeof expiresIn !== 'number') {
    throw new SignInError('refused', `no tokens: ${String(tokens['error_description'] ?? response.status)}`);
  }
  return { accessToken, idToken, expiresIn };
}

// No program listens there. The redirect to it is read, not followed.
const REDIRECT_URI = 'http://127.0.0.1/callback';
const REDIRECTS_MAX = 10;

async function discover(
  http: HttpSession,
  issuer: string,
  signal: AbortSignal | undefined,
): Promise<{ authorization: string; token: string; secretFile: string }> {
  let response: Response;
  try {
    response = await http.get(`${issuer}/.well-known/openid-configuration`);
  } catch (cause) {
    signal?.throwIfAborted();
    throw new SignInError('unreachable', `nothing answers at ${issuer}`, { cause });
  }
  const document = response.ok ? await json(response) : {};
  const { issuer: named, authorization_endpoint: authorization, token_endpoint: token } = document;
  const secretFile = document[SECRET_FILE_MEMBER];
  const isOurs = typeof authorization === 'string' && typeof token === 'string' && typeof secretFile === 'string';
  if (named !== issuer || !isOurs) {
    throw new SignInError(
      'no_provider',
      `${issuer} is not a development identity provider (status ${response.status})`,
    );
  }
  return { authorization, token, secretFile };
}

async function secretOf(issuer: string, file: string): Promise<string> {
  try {
    return await readSignInSecret({ issuer, file });
  } catch (cause) {
    throw new SignInError('refused', cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/** Follows the redirects through the sign-in page. Returns the parameters of the callback. */
async function authorize({
  http,
  issuer,
  url,
  form,
}: {
  http: HttpSession;
  issuer: string;
  url: string;
  form: { email: string; secret: string };
}): Promise<URLSearchParams> {
  let response = await http.get(url);
  let at = url;
  let submitted = false;
  for (let step = 0; step < REDIRECTS_MAX; step += 1) {
    const location = response.headers.get('location');
    if (location !== null) {
      const next = new URL(location, at);
      if (`${next.origin}${next.pathname}` === REDIRECT_URI) return next.searchParams;
      if (next.origin !== new URL(issuer).origin) throw new SignInError('refused', `redirected to ${next.origin}`);
      await response.body?.cancel();
      at = next.href;
      response = await http.get(at);
    } else if (response.ok && !submitted) {
      await response.body?.cancel();
      submitted = true;
      response = await http.post(at, form);
    } else {
      break;
    }
  }
  throw new SignInError('refused', `the sign-in as ${form.email} ended with status ${response.status}`);
}

async function json(response: Response): Promise<Record<string, unknown>> {
  const body: unknown = await response.json().catch(() => undefined);
  return typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
}
