import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import { requireRights, requireRightsBeforeInput, requireTenantsInReach, type Rights } from '../auth/authorize.ts';
import type { Principal } from '../auth/principal.ts';
import type { Services } from '../platform/services.ts';
import type { CallerContext, Context } from '../auth/context.ts';
import { checkAnswer } from './check-answer.ts';
import type { Endpoint } from './endpoint.ts';
import { validate } from './errors/validation.ts';
import { idempotencyKeyOf } from './idempotency/key-header.ts';
import { performOnce } from './idempotency/perform-once.ts';
import { checkPreconditionHeaders, performIfMatch } from './preconditions/require-match.ts';
import { tagAnswer } from './preconditions/tag-answer.ts';
import type { RawInput } from './messages/query.ts';
import type { UnreadAnswers } from './unread-answers.ts';
import { inTurn } from './rate-limits/in-turn.ts';
import type { Callers } from './rate-limits/callers.ts';
import { callerRequestIdOf, requestIdOf } from '../platform/request-id.ts';

/** A request, in the form that its transport brought it: REST or tRPC. */
export type PipelineRequest = {
  req: IncomingMessage;
  res: ServerResponse;
  /** Finds the endpoint of the request. @throws ApiError 404 or 405 */
  match: () => Match;
  /** Reads the body, and adds it to the input. @throws 413, 415 or 422 */
  readInput: (operation: Operation, inputBeforeBody: RawInput | null) => Promise<RawInput>;
};

/**
 * The endpoint of a request, and the input that is known before the body is read. Null for a write over tRPC, whose whole
 * input is in the body.
 */
type Match = { endpoint: Endpoint; inputBeforeBody: RawInput | null };

/** What the steps have found out about a request. The log and the audit need it for refused requests as well. */
export type Progress = { operation: Operation | null; principal: Principal | null };

/** What was refused, and to whom. */
export type Refused = Progress & { requestId: string; callerRequestId: string | null };

/** The result of the pipeline. The transport writes the answer from it. */
type Outcome = {
  output: unknown;
  /** Whether the answer is 304, because the caller already has this state of the record. */
  notModified: boolean;
};

/** What the steps need besides the request. */
export type Pipeline = {
  services: Services;
  /** Authenticates callers, and counts their requests against rate limits. */
  callers: Callers;
  /** The answers that clients have not read yet. */
  unread: UnreadAnswers;
  /** The client's address, behind trusted proxies too. */
  addressOf: (req: IncomingMessage) => string;
  /** Counts a request that matches no operation. @throws ApiError 429 */
  countUnmatched: (req: IncomingMessage, res: ServerResponse) => Promise<void>;
  /** Called once the operation of a request is known. */
  onMatched: (res: ServerResponse, operation: Operation) => void;
  /** Called when the turn of a request begins, with how long it waited for that. */
  onTurn: (res: ServerResponse, waitedMs: number) => void;
  /** Whether every answer is checked against its contract. Only for tests, because it takes as long as making the answer. */
  checkAnswers: boolean;
};

/**
 * If the body takes longer to arrive than this, the caller is authenticated again. A body may take a minute, and a caller who
 * lost their rights in the meantime could otherwise still create an API key, which would last. In milliseconds.
 */
const RIGHTS_FRESH_MS = 1000;

/**
 * The steps of every request over REST and tRPC, in this order. A step refuses the request by throwing. The order is part of
 * the interface: the caller is authorized before the body is read, so callers without rights learn nothing from validation.
 *
 * The transports `http/rest/rest.ts` and `http/trpc-handler.ts` call it and write the answer. Telemetry has encodings and
 * limits of its own, and passes `telemetry/ingest/receiver.ts` instead.
 *
 * @param progress the steps fill it in
 */
export async function runPipeline(pipeline: Pipeline, request: PipelineRequest, progress: Progress): Promise<Outcome> {
  const { endpoint, inputBeforeBody } = await match(pipeline, request);
  const { operation } = endpoint;
  progress.operation = operation;

  const begunAt = pipeline.services.now().getTime();
  const beforeBody = await authenticate(pipeline, request, operation);
  progress.principal = beforeBody;
  await limitRate(pipeline, request, { operation, principal: beforeBody });

  const rightsBeforeBody = authorizeBeforeBody(operation, beforeBody, inputBeforeBody);
  const raw = await request.readInput(operation, inputBeforeBody);
  const isOld = pipeline.services.now().getTime() - begunAt > RIGHTS_FRESH_MS;
  const principal = isOld ? await authenticate(pipeline, request, operation) : beforeBody;
  const rights = (isOld ? null : rightsBeforeBody) ?? authorize(operation, principal, raw);
  authorizeBody(rights, raw);

  const context = contextOf(pipeline, request, principal);
  return inTurn(context, operation, async (waitedMs) => {
    pipeline.onTurn(request.res, waitedMs);
    const input = validate(operation, raw);
    checkPreconditionHeaders(operation, context);
    const charge = async (points: number) => principal && pipeline.callers.chargeWork(principal, points);
    const callerContext = { ...context, operation, charge, reach: rights?.reach ?? [] } as CallerContext;
    const run = (services: Services) => perform(endpoint, { ...callerContext, services }, input);
    const isOwn = rights === null || rights.concernsOwnRecords;
    const output = await performIdempotently({ request, context: callerContext, raw, isOwn }, run);
    if (pipeline.checkAnswers) checkAnswer(operation, output);
    const notModified = tagAnswer({ operation, req: request.req, res: request.res }, output);
    return { output, notModified };
  });
}

async function match(pipeline: Pipeline, { req, res, match: find }: PipelineRequest): Promise<Match> {
  let found: Match;
  try {
    found = find();
  } catch (error) {
    await pipeline.countUnmatched(req, res);
    throw error;
  }
  pipeline.onMatched(res, found.endpoint.operation);
  return found;
}

/** The principal of the request. Null if no credential was sent, or if the operation is public. */
function authenticate({ callers }: Pipeline, { req, res }: PipelineRequest, operation: Operation) {
  return callers.authenticate(req, res, { operation, requestId: requestIdOf(res) });
}

function limitRate(
  { callers }: Pipeline,
  { req, res }: PipelineRequest,
  { operation, principal }: { operation: Operation; principal: Principal | null },
): Promise<void> {
  return callers.limitRate(req, res, { operation, principal });
}

function contextOf(
  { services, addressOf }: Pipeline,
  { req, res }: PipelineRequest,
  principal: Principal | null,
): Context {
  return {
    services,
    requestId: requestIdOf(res),
    callerRequestId: callerRequestIdOf(req),
    address: addressOf(req),
    principal,
    ifMatch: req.headers['if-match'],
    ifNoneMatch: req.headers['if-none-match'],
  };
}

/** Checks the operation's scope, and the tenant that the query names. Null for a public operation. @throws ApiError 401, 403 */
function authorize(operation: Operation, principal: Principal | null, { path, query }: RawInput): Rights | null {
  if (operation.scope === 'public') return null;
  const rights = requireRights(operation, principal, { path });
  if (!rights.concernsOwnRecords) requireTenantsInReach(rights.reach, { query });
  return rights;
}

/**
 * The rights, as far as they are known before the body is read. Null over tRPC: the path is in the body.
 *
 * @throws ApiError 401, 403
 */
function authorizeBeforeBody(
  operation: Operation,
  principal: Principal | null,
  inputBeforeBody: RawInput | null,
): Rights | null {
  if (inputBeforeBody !== null) return authorize(operation, principal, inputBeforeBody);
  if (operation.scope !== 'public') requireRightsBeforeInput(operation, principal);
  return null;
}

/** Checks the tenant that the body names. @throws ApiError 403 */
function authorizeBody(rights: Rights | null, { body }: RawInput): void {
  if (rights !== null && !rights.concernsOwnRecords) requireTenantsInReach(rights.reach, { body });
}

/** Performs a write with an Idempotency-Key only once, and stores its answer in the same transaction. */
async function performIdempotently(
  {
    request: { req, res },
    context,
    raw,
    isOwn,
  }: { request: PipelineRequest; context: CallerContext; raw: RawInput; isOwn: boolean },
  run: (services: Services) => Promise<unknown>,
): Promise<unknown> {
  const { services, operation, principal } = context;
  const key = operation.idempotency === 'none' ? undefined : idempotencyKeyOf(req);
  if (key === undefined) return run(services);
  const { output, replayed } = await performOnce({ services, operation, principal, key, raw, isOwn }, run);
  if (replayed) res.setHeader('Idempotency-Replayed', 'true');
  return output;
}

/** Runs the handler. With If-Match it runs in the transaction that compares the record's tag. */
async function perform({ run, current }: Endpoint, context: CallerContext, input: unknown): Promise<unknown> {
  const header = context.ifMatch;
  if (header === undefined || current === null) return run({ ctx: context, input });
  return performIfMatch({ ctx: context, input, header }, current, async (inside) => run({ ctx: inside, input }));
}
