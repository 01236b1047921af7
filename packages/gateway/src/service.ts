import type { Decision, KnownProvider, Mode, Use } from './access.ts';
import { GuardError } from './errors.ts';

/** The longest that one request may take. */
const TIMEOUT_MS = 5000;

/** A public key of `/.well-known/jwks.json` (RFC 7517). */
export type Jwk = { kid?: string; kty?: string; crv?: string; x?: string; y?: string; use?: string; alg?: string };

/** What `GET /v1/gateways/{gateway_id}/session` answers. */
type SessionView = {
  mode: Mode;
  expiresAt: string;
  complete: boolean;
  providers: readonly KnownProvider[];
};

/** A view, or what the headers say if the list has not changed. */
type ViewAnswer =
  | { changed: true; view: SessionView; etag: string | null }
  | { changed: false; mode: Mode; expiresAt: string };

export type OpenInput = { subject?: string; providerIds?: readonly string[]; ttlSeconds?: number };

/** The requests of a guard. Each one throws a `GuardError`, and nothing else. */
export type Service = {
  keys(): Promise<readonly Jwk[]>;
  view(token: string, etag: string | null): Promise<ViewAnswer>;
  decide(token: string, question: Use & { attempts: number }): Promise<Decision>;
  open(apiKey: string, input: OpenInput): Promise<string>;
};

export type ServiceOptions = { issuer: string; gatewayId: string; fetch?: typeof fetch };

type Sent = { method?: 'GET' | 'POST'; headers?: Record<string, string>; body?: unknown };

export function connectService({ issuer, gatewayId, fetch = globalThis.fetch }: ServiceOptions): Service {
  const gateway = `/v1/gateways/${encodeURIComponent(gatewayId)}`;

  async function send(path: string, { method = 'GET', headers = {}, body }: Sent): Promise<Response> {
    const json = body === undefined ? {} : { 'content-type': 'application/json' };
    try {
      return await fetch(`${issuer}${path}`, {
        method,
        headers: { accept: 'application/json', ...json, ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        // A credential must not follow a redirect to another address. `error` is not available in Cloudflare Workers.
        redirect: 'manual',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
    } catch (cause) {
      throw new GuardError('unavailable', 'The service could not be reached.', { cause });
    }
  }

  return {
    async keys() {
      const answer = await send('/.well-known/jwks.json', {});
      if (answer.status !== 200) throw await refusalOf(answer);
      const { keys } = await jsonOf<{ keys: readonly Jwk[] }>(answer);
      if (!Array.isArray(keys)) throw unexpected(answer);
      return keys;
    },

    async view(token, etag) {
      const condition = etag === null ? {} : { 'if-none-match': etag };
      const answer = await send(`${gateway}/session`, { headers: { ...bearer(token), ...condition } });
      if (answer.status === 304) {
        const mode = answer.headers.get('x-quartermaster-mode');
        const expiresAt = answer.headers.get('x-quartermaster-expires-at');
        if (!isMode(mode) || expiresAt === null) throw unexpected(answer);
        return { changed: false, mode, expiresAt };
      }
      if (answer.status !== 200) throw await refusalOf(answer);
      const view = await jsonOf<SessionView>(answer);
      if (!isMode(view.mode) || !Array.isArray(view.providers)) throw unexpected(answer);
      return { changed: true, view, etag: answer.headers.get('etag') };
    },

    async decide(token, question) {
      const answer = await send(`${gateway}/decisions`, { method: 'POST', headers: bearer(token), body: question });
      if (answer.status !== 200) throw await refusalOf(answer);
      const decision = await jsonOf<Decision>(answer);
      if (typeof decision.allowed !== 'boolean' || !isMode(decision.mode)) throw unexpected(answer);
      return decision;
    },

    async open(apiKey, body) {
      const answer = await send(`${gateway}/sessions`, { method: 'POST', headers: { 'x-api-key': apiKey }, body });
      // The answers 4xx of this operation are about the key and the gateway, so trying again does not help.
      const isRefused = answer.status >= 400 && answer.status < 500 && answer.status !== 429;
      if (isRefused) {
        const { code, detail } = await problemOf(answer);
        const message = `The service refused to open a session: ${detail ?? code ?? answer.status}`;
        throw new GuardError('open_refused', message, { reason: code });
      }
      if (!answer.ok) throw unexpected(answer);
      const { token } = await jsonOf<{ token: string }>(answer);
      if (typeof token !== 'string') throw unexpected(answer);
      return token;
    },
  };
}

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}

function isMode(value: unknown): value is Mode {
  return value === 'observe' || value === 'enforce';
}

/** A guard acts on the two 401 answers. Anything else means that the service cannot decide now. */
async function refusalOf(answer: Response): Promise<GuardError> {
  const { code, reason } = await problemOf(answer);
  if (answer.status !== 401) return unexpected(answer);
  if (code === 'gateway_session_ended') return new GuardError('ended', 'The session has ended.', { reason });
  return new GuardError('token_invalid', 'The service refused the session token.', { reason: code });
}

function unexpected(answer: Response): GuardError {
  return new GuardError('unavailable', `The service answered ${answer.status}, which decides nothing.`);
}

async function problemOf(
  answer: Response,
): Promise<{ code: string | null; reason: string | null; detail: string | null }> {
  const problem = await answer.json().catch(() => null);
  const textOf = (member: string) => {
    const value: unknown = (problem as Record<string, unknown> | null)?.[member];
    return typeof value === 'string' ? value : null;
  };
  return { code: textOf('code'), reason: textOf('reason'), detail: textOf('detail') };
}

async function jsonOf<Body>(answer: Response): Promise<Body> {
  try {
    const body: unknown = await answer.json();
    if (typeof body === 'object' && body !== null) return body as Body;
  } catch (cause) {
    throw new GuardError('unavailable', 'The answer of the service is not JSON.', { cause });
  }
  throw unexpected(answer);
}
