import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Denial } from '@quartermaster/contracts/denials.ts';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import { findSubject } from '@quartermaster/db/repositories/gateway-sessions.ts';
import { covers, type TenantScope } from '@quartermaster/db/tenancy.ts';
import { requireRights } from '../../auth/authorize.ts';
import { type Principal, principalName } from '../../auth/principal.ts';
import { answerOf } from '../../http/errors/problems.ts';
import { validate } from '../../http/errors/validation.ts';
import { readBody } from '../../http/messages/body.ts';
import { type Answer, sendAnswer, sendText } from '../../http/messages/send.ts';
import type { Callers } from '../../http/rate-limits/callers.ts';
import type { RateLimit } from '../../http/rate-limits/rate-limit.ts';
import { ApiError, requireFound, ValidationFailure } from '../../platform/errors.ts';
import { requestIdOf, shownRequestIdOf } from '../../platform/request-id.ts';
import type { Services } from '../../platform/services.ts';
import type { CompiledPolicy } from '../gateway-sessions/policy.ts';
import { BindingTokens } from './binding-tokens.ts';
import { type DecidedSubject, type Decisions, reasonOf } from './decide.ts';
import type { DialectAnswer, DialectRequest } from './dialect.ts';
import type { DialectPath } from './dialect-paths.ts';
import { explainDenial } from './forward-auth.ts';
import { plainCredential, sessionTokenOf } from './plain-credential.ts';
import { countForTenant, countRefused, reviewUrlOf, setHeaders } from './receiver.ts';

type DialectReceiver = {
  services: Pick<Services, 'db' | 'publicUrl' | 'now' | 'secrets' | 'audit'>;
  decisions: Decisions;
  /** The headers of every answer, as names and values in turn. */
  headers: readonly string[];
  callers: Callers;
  /** The rate limit of each tenant's decisions. Null: not limited. */
  limit: RateLimit | null;
  /** Counts a request without a valid token, by its address. @throws ApiError 429 */
  countUnmatched: (req: IncomingMessage, res: ServerResponse) => Promise<void>;
  /** Logs a bug, and counts a refusal. */
  onRefused: (
    error: unknown,
    answer: Answer,
    info: { operation: Operation; principal: Principal | null; requestId: string },
  ) => void;
};

/** Whom a credential stands for. `reach`: where an API key may ask about others. Null: a session asks only about itself. */
type Caller = { subject: DecidedSubject; reach: TenantScope | null; principal: Principal | null };

type WithTokens = DialectReceiver & { tokens: BindingTokens };

/** Answers decisions in the protocols of others: AuthZEN, Open Policy Agent, and those of gateways and coding agents. */
export function dialectReceiver(given: DialectReceiver) {
  const options = { ...given, tokens: new BindingTokens(given.services) };
  const { onRefused, countUnmatched } = options;
  return async (req: IncomingMessage, res: ServerResponse, path: DialectPath): Promise<void> => {
    const { operation, dialect } = path;
    setHeaders({ res, session: null }, options.headers);
    let caller: Caller | null = null;
    const authenticated = async (): Promise<Caller> => {
      const found = await callerOf(options, { req, res, path });
      res.setHeader('X-Quartermaster-Mode', found.subject.policy.gateway.enforcement);
      return found;
    };
    try {
      if (req.method !== operation.method)
        throw new ApiError('method_not_allowed', `This path supports only ${operation.method}.`, {
          headers: { Allow: operation.method },
        });
      caller = await authenticated();
      await countForTenant(options.limit, caller.subject);
      const start = performance.now();
      const body = await readInput(req, path);
      if (performance.now() - start > RIGHTS_FRESH_MS) caller = await authenticated();
      const questions = dialect.questionsIn?.(body) ?? 1;
      if (questions > 1) await countForTenant(options.limit, caller.subject, questions - 1);
      const output = await dialect.answer(requestOf(options, { req, res, path, caller, body }));
      sendJson(req, res, output);
    } catch (error) {
      const counted = await countRefused(error, () => countUnmatched(req, res));
      // The protocols of others define 400, but not 422.
      const refused =
        counted instanceof ValidationFailure ? new ApiError('request_malformed', counted.message) : counted;
      const answer = answerOf(refused, shownRequestIdOf(res));
      onRefused(refused, answer, { operation, principal: caller?.principal ?? null, requestId: requestIdOf(res) });
      if (dialect.refusal === undefined) sendAnswer(req, res, answer);
      else sendJson(req, res, dialect.refusal(refused instanceof ApiError ? refused.message : 'Internal error.'));
    }
  };
}

/** A body may take minutes to arrive. If it takes longer than this, the caller is authenticated again. In milliseconds. */
const RIGHTS_FRESH_MS = 1000;

type Asking = { req: IncomingMessage; res: ServerResponse; path: DialectPath };

/** @throws ApiError 401, 403, 404, 409 or 429 */
async function callerOf({ decisions, callers }: DialectReceiver, { req, res, path }: Asking): Promise<Caller> {
  const gatewayId = path.parameters['gateway_id'] ?? '';
  const { operation } = path;
  plainCredential(req);
  const token = sessionTokenOf(req);
  if (token !== undefined) return { subject: await decisions.session(token, gatewayId), reach: null, principal: null };
  const principal = await callers.authenticate(req, res, { operation, requestId: requestIdOf(res) });
  // A request without a credential counts against its address. Others count as decisions of the tenant.
  if (principal === null) await callers.limitRate(req, res, { operation, principal });
  try {
    const rights = requireRights(operation, principal, {});
    const found = await decisions.policyOf(gatewayId);
    const policy = requireFound(found && covers(rights.reach, found.gateway) ? found : undefined, 'gateway_not_found');
    if (policy.gateway.status !== 'active') throw new ApiError('gateway_not_active', 'The gateway is disabled.');
    return { subject: accountAt(policy, principalName(rights.principal)), reach: rights.reach, principal };
  } catch (error) {
    // It does not become a decision, so it counts as a request.
    if (principal !== null) await callers.limitRate(req, res, { operation, principal });
    throw error;
  }
}

/** An account without a session. The policy of the gateway decides about it. */
function accountAt(policy: CompiledPolicy, subject: string): DecidedSubject {
  const { tenantId, subTenantId } = policy.gateway;
  return { policy, state: { id: null, tenantId, subTenantId, subject, providerIds: null } };
}

async function readInput(req: IncomingMessage, { operation, parameters }: DialectPath): Promise<unknown> {
  const { bodyMaxBytes: limit } = operation;
  const raw = operation.body === undefined ? undefined : await readBody(req, { optional: false, limit });
  const { body } = validate(operation, { path: parameters, query: {}, body: raw }) as { body: unknown };
  return body;
}

function requestOf(
  options: WithTokens,
  { req, res, path, caller, body }: Asking & { caller: Caller; body: unknown },
): DialectRequest {
  const { dialect, parameters } = path;
  const { services, tokens } = options;
  const { policy } = caller.subject;
  const ofPath = parameters['provider'];
  return {
    body,
    query: Object.fromEntries(new URL(req.url ?? '/', 'http://localhost').searchParams),
    rest: parameters['path'] ?? parameters['agent'] ?? parameters['task_id'] ?? '',
    policy,
    caller: caller.subject,
    reach: caller.reach,
    principal: caller.principal,
    requestId: requestIdOf(res),
    point: services.publicUrl + pointPath(parameters),
    services,
    tokens,
    head: (status, headers) => {
      res.statusCode = status;
      for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
    },
    find: (reference) => {
      const named = ofPath ?? reference;
      return named === null ? undefined : policy.find(named);
    },
    ask: (question, subject = caller.subject) => ask(options, subject, { ...question, point: dialect.point }),
    refuse: (reason) => refusalIn(policy, reason),
    subjectOf: (type, id, token) => subjectOf(options, caller, { type, id, token }),
  };
}

/** The path of the decision point that a request asks. */
function pointPath({ gateway_id: gateway = '', provider }: DialectPath['parameters']): string {
  const ofProvider = provider === undefined ? '' : `/providers/${encodeURIComponent(provider)}`;
  return `/v1/gateways/${encodeURIComponent(gateway)}${ofProvider}`;
}

/** The reasons of denials that a review can change. A blocked item was decided. */
const REVIEWABLE: ReadonlySet<string> = new Set<Denial>(['not_in_inventory', 'manifest']);

async function ask(
  { services, decisions }: DialectReceiver,
  subject: DecidedSubject,
  {
    point,
    uncounted = false,
    ...asked
  }: Parameters<DialectRequest['ask']>[0] & { point: DialectPath['dialect']['point'] },
): Promise<DialectAnswer> {
  const { enforcement: mode } = subject.policy.gateway;
  const decision = uncounted ? null : decisions.decide(subject, asked, { point });
  const reason = decision === null ? reasonOf(subject, asked) : decision.reason;
  const observationId = async () => (decision === null ? null : decisions.observationOf(decision));
  if (reason === null)
    return { allowed: true, reason, explanation: null, mode, observationId, reviewTask: NO_TASK, reviewUrl: null };
  const reviewUrl = reviewUrlOf(services.publicUrl, asked);
  const explanation = `Denied: ${explainDenial(reason, asked)} ${reviewUrl}`;
  const isReviewable = decision !== null && mode === 'enforce' && REVIEWABLE.has(reason);
  const reviewTask = isReviewable ? (id: string) => decisions.reviewTaskOf(decision, id) : NO_TASK;
  return { allowed: mode === 'observe', reason, explanation, mode, observationId, reviewTask, reviewUrl };
}

/** What cannot be decided is denied, except in the mode `observe`. */
function refusalIn({ gateway }: CompiledPolicy, reason: string): DialectAnswer {
  const explanation = `Denied: the request cannot be decided (${reason}).`;
  const mode = gateway.enforcement;
  return {
    allowed: mode === 'observe',
    reason,
    explanation,
    mode,
    observationId: NONE,
    reviewTask: NO_TASK,
    reviewUrl: null,
  };
}

const NONE = async () => null;
const NO_TASK = async () => undefined;

/** @returns `subject_unknown`, also for subjects out of the caller's reach; or `gateway_session_ended` */
async function subjectOf(
  { services, decisions }: DialectReceiver,
  { subject: caller, reach }: Caller,
  { type, id, token }: { type: string; id: string; token: string | null },
): Promise<DecidedSubject | string> {
  const { policy } = caller;
  const { gateway } = policy;
  if (type === 'session') {
    if (reach === null) return caller.state.id === id ? caller : 'subject_unknown';
    try {
      const session =
        token === null ? await decisions.sessionWithId(id, policy) : await decisions.session(token, gateway.id);
      return session.state.id === id ? session : 'subject_unknown';
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      return error.reason === 'gateway_session_ended' ? error.reason : 'subject_unknown';
    }
  }
  if (type !== 'user' && type !== 'service_account') return 'subject_unknown';
  const isLocal = type === 'service_account' && !id.includes('/');
  const name = `${type}:${isLocal ? `${gateway.tenantId}/` : ''}${id}`;
  if (reach === null) return caller.state.subject === name ? caller : 'subject_unknown';
  const found = await findSubject(services.db, gateway, name);
  const isInReach = found?.places.every((place) => covers(reach, place)) === true;
  return isInReach ? accountAt(policy, name) : 'subject_unknown';
}

function sendJson(req: IncomingMessage, res: ServerResponse, body: object): void {
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  sendText(req, res, JSON.stringify(body));
}
