import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type AccessDecision,
  type DecideAccessInput,
  decideAccess,
} from '@quartermaster/contracts/gateway-decisions.ts';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import { answerOf } from '../../http/errors/problems.ts';
import { validate } from '../../http/errors/validation.ts';
import { readBody } from '../../http/messages/body.ts';
import { type Answer, sendAnswer, sendText } from '../../http/messages/send.ts';
import type { RateLimit } from '../../http/rate-limits/rate-limit.ts';
import { ApiError } from '../../platform/errors.ts';
import { requestIdOf, shownRequestIdOf } from '../../platform/request-id.ts';
import type { Services } from '../../platform/services.ts';
import { ownSession } from './access.ts';
import type { Asked, DecidedSubject, Decision, Decisions, LiveSession } from './decide.ts';
import { explainDenial, type ReadRequest, readMcpRequest, readModelRequest } from './forward-auth.ts';
import type { DecisionPath } from './paths.ts';

type Receiver = {
  services: Pick<Services, 'now' | 'publicUrl'>;
  decisions: Decisions;
  /** Of a tenant. Null: not limited. */
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

/**
 * Answers decisions: forward authentication of reverse proxies, and the questions of guards. Its credential is the token of a gateway
 * session. It passes no common pipeline, because a decision takes a tenth of what the pipeline takes.
 */
export function decisionReceiver({ services, decisions, limit, countUnmatched, onRefused, proxyMcp }: Receiver) {
  const handle = async (req: IncomingMessage, res: ServerResponse, path: DecisionPath): Promise<void> => {
    const session = await decisions.session(tokenOf(req), path.gatewayId);
    await countForTenant(limit, session);
    res.setHeader('X-Quartermaster-Mode', session.policy.gateway.enforcement);
    switch (path.operation.operationId) {
      case 'get_own_gateway_session':
        requireMethod(req, 'GET');
        return sendOwnSession(req, res, session, services.now());
      case 'decide_access':
        requireMethod(req, 'POST');
        return sendJson(req, res, await decideOne(req, session, path));
      case 'authorize_session':
        return sendAllowed(res, session, null);
      case 'authorize_mcp_request':
        return authorize(res, session, { path, read: await readMcpRequest(req, provesHeaders(session, path)) });
      case 'send_mcp_message':
      case 'open_mcp_stream':
      case 'end_mcp_session':
        return proxyMcp(req, res, { session, path });
      default:
        return authorize(res, session, { path, read: await readModelRequest(req, path.rest) });
    }
  };

  const decideOne = async (req: IncomingMessage, session: LiveSession, path: DecisionPath): Promise<AccessDecision> => {
    const raw = await readBody(req, { optional: false, limit: decideAccess.bodyMaxBytes });
    const input = { path: { gateway_id: path.gatewayId }, query: {}, body: raw };
    const { body } = validate(decideAccess, input) as { body: DecideAccessInput };
    const asked = { provider: session.policy.find(body.provider), kind: body.kind, name: body.name };
    const decision = decisions.decide(session, asked, { point: 'guard', attempts: body.attempts });
    const { allowed, mode, reason } = decision;
    const observationId = await decisions.observationOf(decision);
    return {
      allowed,
      wouldDeny: reason !== null,
      mode,
      reason,
      observationId,
      reviewUrl: reason === null ? null : reviewUrlOf(services.publicUrl, asked, observationId),
    };
  };

  const authorize = async (
    res: ServerResponse,
    session: LiveSession,
    { path, read }: { path: DecisionPath; read: ReadRequest },
  ): Promise<void> => {
    if (read.kind === 'free') return sendAllowed(res, session, null);
    const { enforcement } = session.policy.gateway;
    if (read.kind === 'unclear') {
      if (enforcement === 'observe') return sendAllowed(res, session, read.code);
      throw new ApiError(read.code, read.detail, { headers: { 'X-Quartermaster-Reason': read.code } });
    }
    const provider = path.provider === null ? undefined : session.policy.find(path.provider);
    const asked = { provider, kind: read.itemKind, name: read.name };
    const decision = decisions.decide(session, asked, { point: 'forward_auth' });
    if (!decision.allowed) {
      const observationId = await decisions.observationOf(decision);
      throw denied(decision, { asked, observationId, publicUrl: services.publicUrl });
    }
    sendAllowed(res, session, decision.reason);
  };

  return async (req: IncomingMessage, res: ServerResponse, path: DecisionPath): Promise<void> => {
    try {
      await handle(req, res, path);
    } catch (error) {
      const refused = await countRefused(error, () => countUnmatched(req, res));
      const answer = answerOf(refused, shownRequestIdOf(res));
      onRefused(refused, answer, { operation: path.operation, requestId: requestIdOf(res) });
      sendAnswer(req, res, answer);
    }
  };
}

/** The token of a session. Null: there is none, or two that differ. */
export function tokenOf(req: IncomingMessage): string | null {
  const own = req.headersDistinct['x-quartermaster-session'] ?? [];
  const bearer = (req.headersDistinct['authorization'] ?? []).map((value) => /^Bearer +(\S+)$/i.exec(value)?.[1] ?? '');
  const tokens = new Set([...own, ...bearer]);
  const [token] = tokens;
  return tokens.size === 1 && token !== undefined && token !== '' ? token : null;
}

/** A token may be a guess, so requests without a valid one count against their address. */
export async function countRefused(error: unknown, count: () => Promise<void>): Promise<unknown> {
  if (!(error instanceof ApiError) || error.reason !== 'session_token_invalid') return error;
  return count().then(
    () => error,
    (limited: unknown) => limited,
  );
}

/** @throws ApiError 429 */
export async function countForTenant(limit: RateLimit | null, { state }: DecidedSubject): Promise<void> {
  if (limit === null) return;
  const count = limit.count({ tenantId: state.tenantId, id: state.tenantId });
  const { allowed, resetSeconds } = count instanceof Promise ? await count : count;
  if (allowed) return;
  const detail = 'The tenant asks for too many decisions in this minute.';
  throw new ApiError('rate_limited', detail, { headers: { 'Retry-After': String(Math.max(1, resetSeconds)) } });
}

function provesHeaders({ policy }: LiveSession, { provider }: DecisionPath): boolean {
  const checks = provider === null ? undefined : policy.find(provider)?.provider.mcp?.headerChecks;
  return checks === 'verified' || checks === 'trusted';
}

function requireMethod(req: IncomingMessage, method: string): void {
  if (req.method === method) return;
  throw new ApiError('method_not_allowed', `This path supports only ${method}.`, { headers: { Allow: method } });
}

/** 200 without a body: what every proxy takes as permission. @param wouldDeny why the mode `enforce` would deny it */
function sendAllowed(res: ServerResponse, { state }: LiveSession, wouldDeny: string | null): void {
  res.setHeader('X-Quartermaster-Session-Id', state.id);
  res.setHeader('X-Quartermaster-Subject', state.subject);
  if (wouldDeny !== null) res.setHeader('X-Quartermaster-Reason', wouldDeny);
  res.setHeader('Content-Length', 0);
  res.statusCode = 200;
  res.end();
}

function denied(
  { reason }: Decision,
  { asked, observationId, publicUrl }: { asked: Asked; observationId: string | null; publicUrl: string },
): ApiError {
  if (reason === null) throw new Error('an allowed use is no denial');
  const detail = `Denied: ${explainDenial(reason, asked)}`;
  const headers = { 'X-Quartermaster-Reason': reason };
  if (reason === 'provider_not_listed') return new ApiError('provider_not_listed', detail, { headers });
  return new ApiError('not_granted', detail, {
    headers,
    reason,
    observationId,
    reviewUrl: reviewUrlOf(publicUrl, asked, observationId),
  });
}

/** The inbox of the console, with what was denied. With its observation, if that is known: its name may be spelled otherwise. */
export function reviewUrlOf(
  publicUrl: string,
  { provider, kind, name }: Asked,
  observationId: string | null = null,
): string {
  const named = { ...(provider && { provider: provider.provider.id }), kind, name };
  const query = new URLSearchParams({ ...named, ...(observationId !== null && { item: observationId }) });
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
