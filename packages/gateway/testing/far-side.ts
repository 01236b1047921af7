import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Grant, Mode, Use } from '../src/access.ts';

/** One item that the gateway permits. */
type Item = { provider: string; kind: string; name: string };

type SessionState = { id: string; expiresAt: number; ended: string | null };

/** What the far side was asked. */
type Asked = { method: string; path: string; status: number; body: unknown; isUnderstood: boolean };

type Answer = { status: number; body?: unknown; headers?: Record<string, string> };

export type FarSide = Awaited<ReturnType<typeof startFarSide>>;

export const GATEWAY_ID = 'gw_01';
export const API_KEY = 'qm_key_test';
export const SUBJECT = 'service_account:acme/billing-agent';

/** The providers of the gateway: `id`, `name` and aliases. */
const PROVIDERS = [
  { id: 'prov_files', name: 'files', aliases: ['file-server'], kind: 'mcp' },
  { id: 'prov_openai', name: 'openai', aliases: [], kind: 'llm' },
];

/**
 * The part of Quartermaster that a guard talks to: signing keys, sessions, and decisions, over HTTP. Tests change its public members.
 * A request that the service would not understand is answered 400.
 */
export async function startFarSide() {
  const signers = [newSigner('sig_1')];
  const sessions = new Map<string, SessionState>();
  const asked: Asked[] = [];
  const state = {
    mode: 'enforce' as Mode,
    complete: true,
    granted: [] as Item[],
    /** Answers every request with this instead. */
    outage: null as Answer | null,
    /** Waited for before each answer. */
    pause: null as Promise<void> | null,
  };
  const server = createServer((req, res) => {
    void respond(req, res);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function respond(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    await state.pause;
    const body: unknown = text === '' ? null : JSON.parse(text);
    const own = answerTo(req, body);
    const answer = state.outage ?? own;
    const isUnderstood = ![400, 404, 422].includes(own.status);
    asked.push({ method: req.method ?? '', path: req.url ?? '', status: answer.status, body, isUnderstood });
    const sent = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
    const type = answer.status < 400 ? 'application/json' : 'application/problem+json';
    res
      .writeHead(answer.status, { 'content-type': type, ...answer.headers })
      .end(answer.body === undefined ? '' : sent);
  }

  function answerTo(req: IncomingMessage, body: unknown): Answer {
    const gateway = `/v1/gateways/${GATEWAY_ID}`;
    switch (`${req.method} ${req.url}`) {
      case 'GET /.well-known/jwks.json':
        return { status: 200, body: { keys: signers.map(({ jwk }) => jwk) } };
      case `POST ${gateway}/sessions`:
        return open(req, body);
      case `GET ${gateway}/session`:
        return withSession(req, (session) => view(req, session));
      case `POST ${gateway}/decisions`:
        return withSession(req, () => decide(req, body));
      default:
        return problem(404, 'route_not_found');
    }
  }

  function open(req: IncomingMessage, body: unknown): Answer {
    if (req.headers['x-api-key'] !== API_KEY) return problem(401, 'credentials_invalid');
    const input = (body ?? {}) as { subject?: string; providerIds?: string[]; ttlSeconds?: number };
    const unknown = Object.keys(input).filter((name) => !['subject', 'providerIds', 'ttlSeconds'].includes(name));
    if (unknown.length > 0 || !isJson(req)) return problem(422, 'request_malformed');
    const { subject: sub = SUBJECT, ttlSeconds = 600 } = input;
    return { status: 201, body: { token: newToken({ sub, ttlSeconds }), tokenType: 'Bearer' } };
  }

  function withSession(req: IncomingMessage, answer: (session: SessionState) => Answer): Answer {
    const [, token = ''] = /^Bearer ([^ ]+)$/.exec(req.headers.authorization ?? '') ?? [];
    const [, payload = ''] = token.split('.');
    const { jti } = JSON.parse(Buffer.from(payload, 'base64url').toString() || '{}') as { jti?: string };
    const session = sessions.get(jti ?? '');
    if (session === undefined || session.expiresAt <= Date.now()) return problem(401, 'session_token_invalid');
    if (session.ended !== null) return problem(401, 'gateway_session_ended', { reason: session.ended });
    return answer(session);
  }

  function view(req: IncomingMessage, session: SessionState): Answer {
    const providers = PROVIDERS.map(({ id, ...rest }) => ({ id, ...rest, items: itemsOf(rest.name) }));
    const etag = `"${createHash('sha256').update(JSON.stringify(providers)).digest('hex')}"`;
    const expiresAt = new Date(session.expiresAt).toISOString();
    const headers = { etag, 'x-quartermaster-expires-at': expiresAt, 'x-quartermaster-mode': state.mode };
    if (req.headers['if-none-match'] === etag) return { status: 304, headers };
    const { mode, complete } = state;
    const of = { sessionId: session.id, subject: SUBJECT, gatewayId: GATEWAY_ID, checkedAt: new Date().toISOString() };
    return { status: 200, headers, body: { ...of, mode, expiresAt, complete, providers } };
  }

  function itemsOf(provider: string): { kind: string; name: string }[] {
    return state.granted.filter((item) => item.provider === provider).map(({ kind, name }) => ({ kind, name }));
  }

  function decide(req: IncomingMessage, body: unknown): Answer {
    const { provider, kind, name, attempts = 1, ...rest } = body as Use & { attempts?: number };
    const isKind = ['tool', 'model', 'prompt', 'resource', 'agent'].includes(kind);
    const isCount = Number.isInteger(attempts) && attempts >= 1 && attempts <= 1000;
    const isName = typeof provider === 'string' && typeof name === 'string' && name !== '' && name.length <= 512;
    if (!isKind || !isCount || !isName || Object.keys(rest).length > 0 || !isJson(req))
      return problem(400, 'request_malformed');
    const found = PROVIDERS.find(({ id, name, aliases }) => [id, name, ...aliases].includes(provider));
    const isGranted = state.granted.some((item) => {
      // Snapshots of a model are covered by its base name, which only the service knows.
      const isCovered = kind === 'model' && name.startsWith(`${item.name}-20`);
      return item.provider === found?.name && item.kind === kind && (item.name === name || isCovered);
    });
    const observationId = isGranted ? null : 'obs_1';
    const answer = {
      allowed: isGranted || state.mode === 'observe',
      wouldDeny: !isGranted,
      mode: state.mode,
      reason: isGranted ? null : found === undefined ? 'provider_not_listed' : 'not_in_inventory',
      observationId,
      reviewUrl: observationId && `${issuer}/console/inbox?observation=${observationId}`,
    };
    return { status: 200, body: answer };
  }

  type TokenInput = {
    sub?: string;
    ttlSeconds?: number;
    claims?: Record<string, unknown>;
    header?: Record<string, unknown>;
  };

  /** A new session with its token. `claims` and `header` replace those of the service. */
  function newToken({ sub = SUBJECT, ttlSeconds = 600, claims = {}, header = {} }: TokenInput = {}): string {
    const id = `ses_${sessions.size + 1}`;
    const iat = Math.floor(Date.now() / 1000);
    sessions.set(id, { id, expiresAt: (iat + ttlSeconds) * 1000, ended: null });
    const own = { iss: issuer, aud: GATEWAY_ID, sub, jti: id, tenant_id: 'acme', iat, exp: iat + ttlSeconds };
    const signer = signers.at(-1);
    if (signer === undefined) throw new Error('there is no signing key');
    return signed(
      signer,
      { alg: 'ES256', typ: 'qm-session+jwt', kid: signer.jwk.kid, ...header },
      { ...own, ...claims },
    );
  }

  return {
    issuer,
    state,
    asked,
    newToken,
    /** Permits tools of the provider `files`. */
    grantTools: (...names: string[]): void => {
      state.granted.push(...names.map((name) => ({ provider: 'files', kind: 'tool', name })));
    },
    /** The questions and the attempts that they report, such as `secret 2`. */
    questions: (): string[] =>
      asked
        .filter(({ path, status }) => path.endsWith('/decisions') && status === 200)
        .map(({ body }) => {
          const { name, attempts = 1 } = body as Use & { attempts?: number };
          return `${name} ${attempts}`;
        }),
    requests: (path: string): number => asked.filter((request) => request.path.endsWith(path)).length,
    endSession: (id: string, reason: string): void => {
      const session = sessions.get(id);
      if (session !== undefined) session.ended = reason;
    },
    /** The service adds a signing key, which signs from now on. */
    rotateKey: (): void => {
      signers.push(newSigner(`sig_${signers.length + 1}`));
    },
    /** Fails if the service would have refused a request as malformed. */
    stop: async (): Promise<void> => {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      const malformed = asked.filter(({ isUnderstood }) => !isUnderstood);
      if (malformed.length > 0) throw new Error(`malformed requests: ${JSON.stringify(malformed)}`);
    },
  };
}

/** Like the service: with the grants, or only their digest (RFC 8785 form). */
export const grants: Grant[] = [
  { providerId: 'prov_files', providerName: 'files', items: [{ kind: 'tool', name: 'écho "1"' }] },
];
export const grantsDigest: string = `sha256:${createHash('sha256')
  .update('[{"items":[{"kind":"tool","name":"écho \\"1\\""}],"providerId":"prov_files","providerName":"files"}]')
  .digest('hex')}`;

type Signer = { jwk: { kid: string; [member: string]: unknown }; key: KeyObject };

function newSigner(kid: string): Signer {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { jwk: { ...publicKey.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig' }, key: privateKey };
}

function signed({ key }: Signer, header: object, claims: object): string {
  const encoded = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  const signature = sign('sha256', Buffer.from(encoded), { key, dsaEncoding: 'ieee-p1363' });
  return `${encoded}.${signature.toString('base64url')}`;
}

function isJson(req: IncomingMessage): boolean {
  return req.headers['content-type'] === 'application/json';
}

function problem(status: number, code: string, members: object = {}): Answer {
  return { status, body: { type: `urn:quartermaster:problem:${code}`, title: code, status, code, ...members } };
}
