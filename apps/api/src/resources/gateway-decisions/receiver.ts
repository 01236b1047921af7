import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type AccessDecision,
  type DecideAccessInput,
  decideAccess,
} from '@quartermaster/contracts/gateway-decisions.ts';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import { answerOf } from '../../http/errors/problems.ts';
import { validate } from '../../http/errors/validation.ts';
import { hasBody, readBody } from '../../http/messages/body.ts';
import { type Answer, sendAnswer, sendText, sendWhole } from '../../http/messages/send.ts';
import type { Counted, RateLimit } from '../../http/rate-limits/rate-limit.ts';
import { ApiError, problemOf } from '../../platform/errors.ts';
import { requestIdOf, shownRequestIdOf } from '../../platform/request-id.ts';
import type { Services } from '../../platform/services.ts';
import { boundedName } from '../../telemetry/reading/visible-name.ts';
import { ownSession } from './access.ts';
import type { Asked, DecidedSubject, Decision, Decisions, LiveSession } from './decide.ts';
import { explainDenial, type ReadRequest, readMcpHead, readMcpRequest, readModelRequest } from './forward-auth.ts';
import { whenKnown } from './live-cache.ts';
import type { DecisionPath } from './paths.ts';

type Receiver = {
  services: Pick<Services, 'now' | 'publicUrl'>;
  decisions: Decisions;
  /** The headers of every answer, as names and values in turn. */
  headers: readonly string[];
  /** The rate limit of each tenant's decisions. Null: not limited. */
  limit: RateLimit | null;
  /** Counts a request without a valid token, by its address. @throws ApiError 429 */
  countUnmatched: (req: IncomingMessage, res: ServerResponse) => Promise<void>;
  /** Logs a bug, and counts a refusal. */
  onRefused: (error: unknown, answer: Answer, info: { operation: Operation; requestId: string }) => void;
  /** Passes MCP requests on. */
  proxyMcp: (
    req: IncomingMessage,
    res: ServerResponse,
    at: { session: LiveSession; path: DecisionPath },
  ) => Promise<void>;
};

/** A request, and the session that its token was last found to name. */
type Asking = { req: IncomingMessage; res: ServerResponse; path: DecisionPath; session: LiveSession | null };

/**
 * Answers decisions: forward authentication of reverse proxies, and the questions of guards. Its credential is the token of a
 * gateway session. It does not use the request pipeline, which takes ten times as long as a decision.
 */
export function decisionReceiver(receiver: Receiver) {
  const { services, decisions, headers, limit, countUnmatched, onRefused, proxyMcp } = receiver;

  /** Finds the session of a request's token. A promise only if it has to be read or verified first. */
  const sessionNow = (asking: Asking): LiveSession | Promise<LiveSession> =>
    whenKnown(decisions.session(tokenOf(asking.req), asking.path.gatewayId), (session) => {
      asking.session = session;
      return session;
    });

  const handle = async (asking: Asking): Promise<void> => {
    const { req, res, path } = asking;
    const found = sessionNow(asking);
    const session = found instanceof Promise ? await found : found;
    const counting = countForTenant(limit, session);
    if (counting !== undefined) await counting;
    switch (path.operation.operationId) {
      case 'get_own_gateway_session':
        requireMethod(req, 'GET');
        setHeaders(asking, headers);
        return sendOwnSession(req, res, session, services.now());
      case 'decide_access': {
        requireMethod(req, 'POST');
        const decision = await decideOne(asking);
        setHeaders(asking, headers);
        return sendJson(req, res, decision);
      }
      case 'authorize_session':
        return authorize(asking, session, readSessionRequest(session, path));
      case 'authorize_mcp_request': {
        if (!hasBody(req)) return authorize(asking, session, readMcpHead(req, provesHeaders(session, path)));
        const read = await readMcpRequest(req);
        return authorize(asking, await sessionNow(asking), read);
      }
      case 'send_mcp_message':
      case 'open_mcp_stream':
      case 'end_mcp_session':
        setHeaders(asking, headers);
        return proxyMcp(req, res, { session, path });
      default: {
        const read = await readModelRequest(req, path.rest);
        return authorize(asking, await afterBody(asking, session), read);
      }
    }
  };

  const decideOne = async (asking: Asking): Promise<AccessDecision> => {
    const { req, path } = asking;
    const raw = await readBody(req, { optional: false, limit: decideAccess.bodyMaxBytes });
    const input = { path: { gateway_id: path.gatewayId }, query: {}, body: raw };
    const { body } = validate(decideAccess, input) as { body: DecideAccessInput };
    const session = await sessionNow(asking);
    const asked = { provider: session.policy.find(body.provider), kind: body.kind, name: body.name };
    const decision = decisions.decide(session, asked, { point: 'guard', attempts: body.attempts });
    const { allowed, mode, reason } = decision;
    const observationId = reason === null ? null : await decisions.observationOf(decision);
    return {
      allowed,
      wouldDeny: reason !== null,
      mode,
      reason,
      observationId,
      reviewUrl: reason === null ? null : reviewUrlOf(services.publicUrl, asked, observationId),
    };
  };

  /** The session after the body was read: a body may take minutes to arrive, and the session may have ended since. */
  const afterBody = (asking: Asking, session: LiveSession) => (hasBody(asking.req) ? sessionNow(asking) : session);

  const authorize = (asking: Asking, session: LiveSession, read: ReadRequest): Promise<void> | undefined => {
    const { path } = asking;
    if (read.kind === 'free') return sendAllowed(asking, session, null);
    const { enforcement } = session.policy.gateway;
    if (read.kind === 'unclear') {
      if (enforcement === 'observe') return sendAllowed(asking, session, read.code);
      throw new ApiError(read.code, read.detail, { headers: { 'X-Quartermaster-Reason': read.code } });
    }
    const provider = path.provider === null ? undefined : session.policy.find(path.provider);
    const asked = { provider, kind: read.itemKind, name: read.name };
    const decision = decisions.decide(session, asked, { point: 'forward_auth' });
    return decision.allowed ? sendAllowed(asking, session, decision.reason) : deny(asking, asked, decision);
  };

  /** The answer is not an error that is thrown, because each error collects a stack trace. */
  const deny = async (asking: Asking, asked: Asked, decision: Decision): Promise<void> => {
    const { reason } = decision;
    if (reason === null) throw new Error('an allowed use is no denial');
    const observationId = await decisions.observationOf(decision);
    const shared = { detail: `Denied: ${explainDenial(reason, asked)}`, requestId: shownRequestIdOf(asking.res) };
    const reviewUrl = reviewUrlOf(services.publicUrl, asked, observationId);
    const problem =
      reason === 'provider_not_listed'
        ? problemOf(reason, shared)
        : problemOf('not_granted', { ...shared, reason, observationId, reviewUrl });
    const head = headOf(asking, headers);
    head.push('X-Quartermaster-Reason', reason, 'Content-Type', 'application/problem+json');
    sendWhole(asking.res, { status: problem.status, head, text: JSON.stringify(problem) });
  };

  /** Answers 200 without a body, which every proxy takes as permission. @param wouldDeny why the mode `enforce` would deny it */
  const sendAllowed = (asking: Asking, { state }: LiveSession, wouldDeny: string | null): undefined => {
    const head = headOf(asking, headers);
    head.push('X-Quartermaster-Session-Id', state.id, 'X-Quartermaster-Subject', state.subject);
    if (wouldDeny !== null) head.push('X-Quartermaster-Reason', wouldDeny);
    sendWhole(asking.res, { status: 200, head, text: '' });
  };

  return async (req: IncomingMessage, res: ServerResponse, path: DecisionPath): Promise<void> => {
    const asking: Asking = { req, res, path, session: null };
    try {
      await handle(asking);
    } catch (error) {
      if (!res.headersSent) setHeaders(asking, headers);
      const refused = await countRefused(error, () => countUnmatched(req, res));
      const answer = answerOf(refused, shownRequestIdOf(res));
      onRefused(refused, answer, { operation: path.operation, requestId: requestIdOf(res) });
      sendAnswer(req, res, answer);
    }
  };
}

/** The token of a session. Null: there is none, or two that differ. */
export function tokenOf(req: IncomingMessage): string | null {
  const { 'x-quartermaster-session': sessionHeader, authorization = [] } = req.headersDistinct;
  const bearer = authorization.map((value) => /^Bearer +(\S+)$/i.exec(value)?.[1] ?? '');
  const tokens = sessionHeader === undefined ? bearer : [...sessionHeader, ...bearer];
  const [token = ''] = tokens;
  return token !== '' && tokens.every((one) => one === token) ? token : null;
}

/** A token may be a guess, so requests without a valid one count against their address. */
export async function countRefused(error: unknown, count: () => Promise<void>): Promise<unknown> {
  if (!(error instanceof ApiError) || error.reason !== 'session_token_invalid') return error;
  return count().then(
    () => error,
    (limited: unknown) => limited,
  );
}

/** Counts a request against the limit of its tenant. @throws ApiError 429 */
export function countForTenant(
  limit: RateLimit | null,
  { state: { tenantId } }: DecidedSubject,
  questions = 1,
): Promise<void> | undefined {
  const count = limit?.count({ tenantId, id: tenantId }, questions);
  if (count instanceof Promise) return count.then(requireAllowed);
  if (count !== undefined) requireAllowed(count);
  return undefined;
}

function requireAllowed({ allowed, resetSeconds }: Counted): void {
  if (allowed) return;
  const detail = 'The tenant asks for too many decisions in this minute.';
  throw new ApiError('rate_limited', detail, { headers: { 'Retry-After': String(Math.max(1, resetSeconds)) } });
}

function provesHeaders({ policy }: LiveSession, { provider }: DecisionPath): boolean {
  const checks = provider === null ? undefined : policy.find(provider)?.provider.mcp?.headerChecks;
  return checks === 'verified' || checks === 'trusted';
}

/**
 * A path that names a provider and then ends otherwise than `/mcp` or `/models` is a mistake in a proxy's configuration. Taken as a
 * question about the session alone, it would permit everything.
 */
function readSessionRequest({ policy }: LiveSession, { below }: DecisionPath): ReadRequest {
  if (below === null || policy.find(below) === undefined) return { kind: 'free' };
  const detail = `The path names the provider ${JSON.stringify(below)}, and neither \`/mcp\` nor \`/models\` follows.`;
  return { kind: 'unclear', code: 'name_missing', detail };
}

function requireMethod(req: IncomingMessage, method: string): void {
  if (req.method === method) return;
  throw new ApiError('method_not_allowed', `This path supports only ${method}.`, { headers: { Allow: method } });
}

/** The headers of every answer, as names and values in turn. */
function headOf({ res, session }: Pick<Asking, 'res' | 'session'>, headers: readonly string[]): string[] {
  const head = ['X-Request-Id', shownRequestIdOf(res), ...headers];
  if (session !== null) head.push('X-Quartermaster-Mode', session.policy.gateway.enforcement);
  return head;
}

/** Sets the headers of every answer, for those that set others later. */
export function setHeaders(asking: Pick<Asking, 'res' | 'session'>, headers: readonly string[]): void {
  const head = headOf(asking, headers);
  for (let at = 0; at < head.length; at += 2) asking.res.setHeader(head[at] ?? '', head[at + 1] ?? '');
}

/** The inbox of the console, with what was denied. With its observation, if that is known: its name may be spelled otherwise. */
export function reviewUrlOf(
  publicUrl: string,
  { provider, kind, name }: Asked,
  observationId: string | null = null,
): string {
  const query = new URLSearchParams();
  if (provider !== undefined) query.append('provider', provider.provider.id);
  query.append('kind', kind);
  query.append('name', boundedName(name));
  if (observationId !== null) query.append('item', observationId);
  return `${publicUrl}/console/inbox?${query.toString()}`;
}

function sendOwnSession(req: IncomingMessage, res: ServerResponse, session: LiveSession, now: Date): void {
  const { answer, etag } = ownSession(session, now);
  res.setHeader('ETag', etag);
  res.setHeader('X-Quartermaster-Expires-At', answer.expiresAt);
  if (req.headers['if-none-match'] === etag) {
    res.statusCode = 304;
    res.end();
    return;
  }
  sendJson(req, res, answer);
}

function sendJson(req: IncomingMessage, res: ServerResponse, body: unknown): void {
  res.statusCode = 200;
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  sendText(req, res, JSON.stringify(body));
}
